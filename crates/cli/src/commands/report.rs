//! `oscost report`.

use analysis::{Compared, NoiseCheck, Recorded, Settings};
use report::{Comparison, ReportRun, report_html};
use results::{Document, Store};
use runner::{recorded, stored_noise_checks};

use super::compare::{comparison, find};
use super::files::write;
use crate::args::Report;
use crate::ending::{Ending, Usage};
use crate::output::note;
use crate::store::store_to_read;

/// Writes runs as one page.
pub fn report(args: &Report) -> anyhow::Result<Ending> {
    let names = if args.runs.is_empty() { &["last".to_owned()][..] } else { &args.runs };
    let documents = names.iter().map(|name| find(name, &args.store));
    let documents = documents.collect::<anyhow::Result<Vec<Document>>>()?;
    if let Some(area) = &args.section {
        check_section(area, &documents)?;
    }
    // Files have no rounds, and need no store.
    let store = store_to_read(&args.store).ok();
    let recorded = documents.iter().map(|document| recorded_of(store.as_ref(), document));
    let recorded = recorded.collect::<anyhow::Result<Vec<Option<Recorded>>>>()?;
    let compared = match &documents[..] {
        [base, news @ ..] if !news.is_empty() => Some(compare(base, news, store.as_ref())?),
        _ => None,
    };
    let runs = documents.iter().zip(&recorded);
    let runs = runs.map(|(document, recorded)| ReportRun { document, recorded: recorded.as_ref() });
    let runs: Vec<ReportRun> = runs.collect();
    let page = report_html(&report::Report {
        title: args.title.as_deref(),
        section: args.section.as_deref(),
        runs: &runs,
        comparison: compared.as_ref(),
    });
    write(&args.output, page.as_bytes())?;
    note(&format!("wrote {}", args.output.display()));
    Ok(Ending::Done)
}

fn check_section(area: &str, documents: &[Document]) -> Result<(), Usage> {
    let prefix = format!("{area}/");
    let has = |document: &Document| document.results.iter().any(|r| r.case.starts_with(&prefix));
    match documents.iter().any(has) {
        true => Ok(()),
        false => Err(Usage(format!(
            "no run has results of the area {area:?}; `oscost list` has the areas"
        ))),
    }
}

/// What the store has of the rounds of the run; `None` if it is not stored there.
fn recorded_of(store: Option<&Store>, document: &Document) -> anyhow::Result<Option<Recorded>> {
    let Some(store) = store else { return Ok(None) };
    if store.resolve_whole_name(&document.run.id)?.is_none() {
        return Ok(None);
    }
    Ok(recorded(store, document)?)
}

fn compare(
    base: &Document,
    news: &[Document],
    store: Option<&Store>,
) -> anyhow::Result<Comparison> {
    let mut ids: Vec<&str> = news.iter().map(|new| new.run.id.as_str()).collect();
    ids.push(&base.run.id);
    let noise = match store {
        Some(store) => stored_noise_checks(store, base, &ids)?,
        None => NoiseCheck::default(),
    };
    let settings = Settings::default();
    let compared: Vec<Vec<Compared>> =
        news.iter().map(|new| analysis::compare(base, new, &noise, &settings)).collect();
    Ok(comparison(base, news, &compared, &noise, &settings))
}

//! `oscost report`.

use analysis::history::By;
use analysis::study::StudyFindings;
use analysis::{Dimension, Question, Recorded, Selection, Settings};
use command::ending::{Ending, Usage};
use command::options::{is_stdout, write};
use command::output::note;
use command::store::store_to_read;
use report::{Comparison, ReportRun, Standings, report_html};
use results::{Document, Store, StoreError};
use runner::recorded;

use super::check::existing;
use super::compare::columns::{SideBySide, runs, side_by_side};
use super::compare::{compare_runs, comparison, find, is_document};
use super::fleet::fleet_page;
use super::history::history_page;
use super::study::study_of_runs;
use crate::args::Report;

/// Writes runs as one page.
pub fn report(args: &Report) -> anyhow::Result<Ending> {
    if args.history {
        let by = args.by.as_ref().map(|by| By::parse(&by.to_string())).transpose();
        let by = by.map_err(Usage)?;
        let page = history_page(&args.runs, by.as_ref(), args.title.as_deref(), &args.store)?;
        return write_to(args, &page);
    }
    if args.fleet {
        let page =
            fleet_page(args.runs.first().map(String::as_str), args.title.as_deref(), &args.store)?;
        return write_to(args, &page);
    }
    let last = ["last".to_owned()];
    let names = if args.runs.is_empty() { &last[..] } else { &args.runs };
    // The store is optional: files have no rounds, and need none.
    let store = store_to_read(&args.store).ok();
    match (&args.study, dimension(args, names, store.as_ref())?) {
        (Some(study), _) => of_study(args, study, names, store.as_ref()),
        (None, Some(by)) => of_columns(args, &by, names, store.as_ref()),
        (None, None) => of_runs(args, names, store.as_ref()),
    }
}

/// The dimension of the columns: systems, if the only named run was measured on several.
fn dimension(
    args: &Report,
    names: &[String],
    store: Option<&Store>,
) -> anyhow::Result<Option<Dimension>> {
    if args.by.is_some() || args.study.is_some() {
        return Ok(args.by.clone());
    }
    Ok(match (names, store) {
        ([only], Some(store)) if !is_document(only) => {
            let together = store.group_of(&store.resolve(only)?)?;
            (together.len() > 1).then_some(Dimension::System)
        }
        _ => None,
    })
}

/// One run, or the comparison of several with the first.
fn of_runs(args: &Report, names: &[String], store: Option<&Store>) -> anyhow::Result<Ending> {
    let documents = names.iter().map(|name| find(name, &args.store));
    let documents = documents.collect::<anyhow::Result<Vec<Document>>>()?;
    let compared = match &documents[..] {
        [base, news @ ..] if !news.is_empty() => Some(compare(base, news)),
        _ => None,
    };
    let page = report::Report { comparison: compared.as_ref(), ..report::Report::default() };
    write_page(args, &documents, store, page)
}

/// Shows the values of a dimension side by side.
fn of_columns(
    args: &Report,
    by: &Dimension,
    names: &[String],
    store: Option<&Store>,
) -> anyhow::Result<Ending> {
    let at = Selection(args.at.clone());
    let documents = runs(names.iter(), by, &at, &args.store)?;
    let question = Question { at, base: args.base_value.clone(), ..Question::default() };
    let settings = Settings::default();
    let ladder = *by == Dimension::System;
    let compared = side_by_side(&documents, by, &question, &settings, true, ladder);
    let compared = match compared {
        // A failure is ignored if the user did not request a comparison, such as when only one of several systems could be
        // measured.
        Err(error) if args.by.is_none() => {
            note(&format!("the systems are not compared: {error}"));
            None
        }
        compared => Some(compared?),
    };
    write_page(args, &documents, store, page_with(compared.as_ref()))
}

/// A page with a comparison by columns, if there is one.
fn page_with<'a>(compared: Option<&'a SideBySide<'_>>) -> report::Report<'a> {
    report::Report {
        comparison: compared.map(|compared| &compared.comparison),
        standings: compared.map(|all| Standings {
            overview: &all.overview,
            counts: &all.counts,
            ladders: &all.ladders,
        }),
        ..report::Report::default()
    }
}

/// A study, with the runs that it is judged by.
fn of_study(
    args: &Report,
    name: &str,
    names: &[String],
    store: Option<&Store>,
) -> anyhow::Result<Ending> {
    let documents = existing(names, &args.store)?;
    let study = study_of_runs(name, &documents)?;
    let of_study = StudyFindings::of(&study, &documents);
    // Several systems are compared as well; runs of one have no columns.
    let (by, question) = (Dimension::System, Question::default());
    let compared = match documents.len() {
        0 | 1 => None,
        _ => side_by_side(&documents, &by, &question, &Settings::default(), true, true).ok(),
    };
    let page = report::Report { study: Some(&of_study), ..page_with(compared.as_ref()) };
    write_page(args, &documents, store, page)
}

/// Writes the page of these documents; `page` has the comparisons of them.
fn write_page(
    args: &Report,
    documents: &[Document],
    store: Option<&Store>,
    page: report::Report,
) -> anyhow::Result<Ending> {
    if let Some(area) = &args.section {
        check_section(area, documents)?;
    }
    let recorded = documents.iter().map(|document| recorded_of(store, document));
    let recorded = recorded.collect::<anyhow::Result<Vec<Option<Recorded>>>>()?;
    let runs = documents.iter().zip(&recorded);
    let runs = runs.map(|(document, recorded)| ReportRun { document, recorded: recorded.as_ref() });
    let runs: Vec<ReportRun> = runs.collect();
    let text = report_html(&report::Report {
        title: args.title.as_deref(),
        section: args.section.as_deref(),
        runs: &runs,
        ..page
    });
    write_to(args, &text)
}

fn write_to(args: &Report, page: &str) -> anyhow::Result<Ending> {
    write(&args.output, page.as_bytes())?;
    if !is_stdout(&args.output) {
        note(&format!("wrote {}", args.output.display()));
    }
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

/// The records of the run's rounds from the store; `None` if the run is not stored there.
fn recorded_of(store: Option<&Store>, document: &Document) -> anyhow::Result<Option<Recorded>> {
    let Some(store) = store else { return Ok(None) };
    match recorded(store, document) {
        Err(StoreError::UnknownRun { .. }) => Ok(None), // the document of a file
        recorded => Ok(recorded?),
    }
}

fn compare(base: &Document, news: &[Document]) -> Comparison {
    let settings = Settings::default();
    let compared = compare_runs(base, news, &settings);
    comparison(base, news, &compared, &settings)
}

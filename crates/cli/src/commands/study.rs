//! `oscost study`: published comparisons, repeated.

mod json;

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use analysis::claim::judge;
use analysis::study::{MeasuredTable, NAMES, Size, Study, TEMPLATE, included, name_systems};
use report::{StudyLine, StudyPage, studies_table, study_text};
use results::Document;
use runner::{Options, Plan, Request, Selection};

use super::check::{ending, existing};
use super::exchange::read_text;
use super::measure::{best_clock, how_to_resume, plan_of, watched};
use crate::args::{FILTERS, Study as Args};
use crate::ending::{Ending, Usage};
use crate::interrupt::stop_on_interrupt;
use crate::output::{note, page, print};
use crate::store::store_to_write;

/// The option under which a run stores the name of its study.
const STUDY: &str = "study";
/// The option under which a run stores that it has the original sizes, and its value.
const SIZE: &str = "size";
const FULL: &str = "full";

/// Lists the studies, writes a template, or repeats a study.
pub fn study(args: &Args) -> anyhow::Result<Ending> {
    match (&args.new, &args.study) {
        (Some(path), _) => write_template(path),
        (None, None) => list(args.json),
        (None, Some(name)) => repeat(name, args),
    }
}

/// Writes the template to a file that does not exist yet.
fn write_template(path: &Path) -> anyhow::Result<Ending> {
    let name = path.display();
    let wrong = |error: std::io::Error| Usage(format!("cannot write {name}: {error}"));
    let mut file = std::fs::File::create_new(path).map_err(wrong)?;
    file.write_all(TEMPLATE.as_bytes()).map_err(wrong)?;
    note(&format!("a study to begin with is in {name}"));
    Ok(Ending::Done)
}

fn list(as_json: bool) -> anyhow::Result<Ending> {
    let mut lines = Vec::new();
    for name in NAMES {
        let text = included(name).unwrap_or_default();
        let study = parsed(name, text, Size::Default)?;
        let original = parsed(name, text, Size::Full)?;
        lines.push(StudyLine {
            name: study.name.clone(),
            question: study.question.clone(),
            takes: duration_of(&planned(&study, Size::Default)?),
            takes_in_full: duration_of(&planned(&original, Size::Full)?),
        });
    }
    match as_json {
        true => print(&json::list(&lines)?)?,
        false => print(&studies_table(&lines, &page()))?,
    }
    Ok(Ending::Done)
}

fn duration_of(plan: &Plan) -> Duration {
    Duration::from_millis(plan.budget_ms)
}

fn repeat(name: &str, args: &Args) -> anyhow::Result<Ending> {
    let text = text_of(name)?;
    let asked = if args.full { Size::Full } else { Size::Default };
    // A mistake in the file is reported before anything is measured or read.
    let study = parsed(name, &text, asked)?;
    let (study, mut runs) = match args.runs.is_empty() {
        true => match measured(&study, asked, args)? {
            Some(run) => (study, vec![run]),
            None => return Ok(Ending::NotMeasured),
        },
        false => {
            let runs = existing(&args.runs, &args.store)?;
            (of_runs(name, &text, asked, &runs)?, runs)
        }
    };
    let named = name_systems(&study, &mut runs);
    let tables: Vec<MeasuredTable> =
        study.tables.iter().map(|table| MeasuredTable::of(table, &runs)).collect();
    let claims = judge(&study.claims, &runs);
    let page_of_study =
        StudyPage { study: &study, tables: &tables, claims: &claims, runs: &runs, named: &named };
    match args.json {
        true => print(&json::study(&page_of_study)?)?,
        false => print(&study_text(&page_of_study, &page()))?,
    }
    Ok(ending(&claims, args.strict))
}

/// A study with the sizes that these runs have.
pub fn study_of_runs(name: &str, runs: &[Document]) -> anyhow::Result<Study> {
    of_runs(name, &text_of(name)?, Size::Default, runs)
}

fn of_runs(name: &str, text: &str, asked: Size, runs: &[Document]) -> anyhow::Result<Study> {
    let size = if is_full(runs) { Size::Full } else { asked };
    Ok(parsed(name, text, size)?)
}

/// The text of an included study, or of a file.
fn text_of(name: &str) -> anyhow::Result<String> {
    if let Some(text) = included(name) {
        return Ok(text.to_owned());
    }
    let path = Path::new(name);
    if !path.exists() {
        let all = NAMES.join(", ");
        return Err(Usage(format!("{name:?} is neither a study ({all}) nor a file")).into());
    }
    Ok(read_text(path)?)
}

fn parsed(name: &str, text: &str, size: Size) -> Result<Study, Usage> {
    Study::parse(text, size).map_err(|error| Usage(format!("{name}: {error}")))
}

fn planned(study: &Study, size: Size) -> anyhow::Result<Plan> {
    let selections = study
        .measure
        .iter()
        .map(|measure| Selection { filters: measure.cases.clone(), params: measure.params.clone() })
        .collect();
    plan_of(&Options {
        selections,
        full: size == Size::Full,
        precision: study.precision,
        budget: study.budget,
        ..Options::default()
    })
}

/// Measures the points of a study in a new run; `None` if it was stopped.
fn measured(study: &Study, size: Size, args: &Args) -> anyhow::Result<Option<Document>> {
    if study.measure.is_empty() {
        return Err(Usage(format!("{} has no [[measure]]: give a --run", study.name)).into());
    }
    let stop = stop_on_interrupt()?;
    let plan = planned(study, size)?;
    runner::check_directories(&plan)?;
    let time = report::quantity::format_duration(duration_of(&plan));
    note(&format!("study {}: {} points, up to {time}", study.name, plan.points.len()));
    let points = plan.points.iter().map(|point| (point.case.as_str(), &point.params));
    cases::net::limits::notes(points).iter().for_each(|line| note(line));
    let clock = best_clock()?;
    let mut store = store_to_write(&args.store)?;
    let mut asked = vec![(STUDY.to_owned(), study.name.clone())];
    if size == Size::Full {
        asked.push((SIZE.to_owned(), FULL.to_owned()));
    }
    let filters = study.measure.iter().flat_map(|measure| measure.cases.clone());
    asked.push((FILTERS.to_owned(), filters.collect::<Vec<_>>().join(" ")));
    let asked = asked.into_iter().collect();
    let request = Request { plan: &plan, asked, tags: Default::default(), clock: &clock };
    let (ended, took) = watched(|watch| runner::begin(request, &mut store, &stop, watch))?;
    let id = &ended.id;
    let again = format!("oscost study {} --run {id}", args.study.as_deref().unwrap_or_default());
    if ended.ending == runner::Ending::Stopped {
        let resume = how_to_resume(id, &args.store);
        note(&format!("stopped; to continue: {resume}, then `{again}`"));
        return Ok(None);
    }
    let took = report::quantity::format_duration(took);
    note(&format!("saved as run {id} in {took}; to print it again: {again}"));
    Ok(Some(store.document(id)?))
}

/// Whether the runs have the original sizes.
fn is_full(runs: &[Document]) -> bool {
    runs.iter().any(|run| run.run.asked.get(SIZE).is_some_and(|size| size == FULL))
}

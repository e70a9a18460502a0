//! `oscost study`: published comparisons, repeated.

mod json;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use analysis::claim::Claim;
use analysis::study::{NAMES, Size, Study, StudyFindings, TEMPLATE, included};
use command::command_line::{in_one_line, store_option};
use command::ending::{Ending, Usage};
use command::measure::{FILTERS, plan_of, print_announcement};
use command::output::{note, page, print, print_json};
use report::{StudyLine, studies_table, study_text};
use results::Document;
use runner::{Options, Questions, Selection};

use super::check::existing;
use super::exchange::read_text;
use super::gate::{Tally, write_claims};
use super::needed::Needed;
use crate::args::Study as Args;

/// Option under which a run stores the name of its study.
const STUDY: &str = "study";
/// Option under which a run stores that it has the original sizes, and its value.
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
            takes: duration_of(&study, Size::Default)?,
            takes_in_full: duration_of(&original, Size::Full)?,
        });
    }
    match as_json {
        true => print_json(&json::list(&lines))?,
        false => print(&studies_table(&lines, &page()))?,
    }
    Ok(Ending::Done)
}

fn duration_of(study: &Study, size: Size) -> anyhow::Result<Duration> {
    Ok(Duration::from_millis(plan_of(&options_of(study, size, 1))?.budget_ms))
}

fn repeat(name: &str, args: &Args) -> anyhow::Result<Ending> {
    let text = text_of(name)?;
    let asked = if args.full { Size::Full } else { Size::Default };
    // A mistake in the file is reported before anything is measured or read.
    let study = parsed(name, &text, asked)?;
    let (study, runs) = match args.runs.is_empty() {
        true => match measured(&study, asked, args)? {
            Some(runs) => (study, runs),
            None => return Ok(Ending::NotMeasured),
        },
        false => {
            let runs = existing(&args.runs, &args.store)?;
            (of_runs(name, &text, asked, &runs)?, runs)
        }
    };
    let findings = StudyFindings::of_runs(&study, &runs, args.gate.across_machines);
    match args.json {
        true => print_json(&json::study(&findings))?,
        false => {
            print_announcement("figures", findings.runs)?;
            print(&study_text(&findings, &page()))?;
        }
    }
    write_claims(Some(&study.question), &findings.claims, findings.runs, &args.gate)?;
    let tally = Tally::of_claims(&findings.claims);
    tally.print(args.json)?;
    Ok(tally.ending(args.gate.undecided))
}

/// The claims of the study for which a run was begun; `None` if there was none.
pub fn claims_of(begun: &Document) -> Option<anyhow::Result<Vec<Claim>>> {
    let name = begun.run.asked.get(STUDY)?;
    let runs = std::slice::from_ref(begun);
    Some(study_of_runs(name, runs).map(|study| study.claims_on(runs)))
}

/// The study with the sizes of these runs.
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

/// The options for measuring a study on this number of systems. The budget that a study states is that of one run.
fn options_of(study: &Study, size: Size, systems: usize) -> Options {
    let selections = study
        .measure
        .iter()
        .map(|measure| Selection { filters: measure.cases.clone(), params: measure.params.clone() })
        .collect();
    let systems = u32::try_from(systems.max(1)).unwrap_or(u32::MAX);
    Options {
        observations: study.rounds_shown(),
        selections,
        full: size == Size::Full,
        precision: study.precision,
        budget: study.budget.map(|budget| budget * systems),
        ..Options::default()
    }
}

/// Measures the points of a study in a new run on each system; `None` if it was stopped.
fn measured(study: &Study, size: Size, args: &Args) -> anyhow::Result<Option<Vec<Document>>> {
    if study.measure.is_empty() {
        return Err(Usage(format!("{} has no [[measure]]: give a --run", study.name)).into());
    }
    let filters: BTreeSet<&str> =
        study.measure.iter().flat_map(|measure| &measure.cases).map(String::as_str).collect();
    let mut asked: BTreeMap<String, String> = [
        (STUDY.to_owned(), study.name.clone()),
        (FILTERS.to_owned(), Vec::from_iter(filters).join(" ")),
    ]
    .into();
    if size == Size::Full {
        asked.insert(SIZE.to_owned(), FULL.to_owned());
    }
    if let Some(budget) = args.budget {
        asked.insert("budget".to_owned(), format!("{}ms", budget.as_millis()));
    }
    let options = options_of(study, size, args.on.on.len());
    let needed = Needed {
        by: format!("study {}", study.name),
        claims: &study.claims,
        questions: Questions { claims: &|runs| study.claims_on(runs) },
        options: &Options { budget: args.budget.or(options.budget), ..options },
        asked,
        roles: study.systems.iter().map(|role| (role.name.clone(), role.os.clone())).collect(),
        on: &args.on,
        present: &[],
        store: &args.store,
    };
    let name = args.study.as_deref().unwrap_or_default();
    let mut words = ["oscost", "study", name].map(str::to_owned).to_vec();
    words.extend(store_option(&args.store));
    let again = in_one_line(&words);
    needed.measure(|id| format!("{again} --run {id}"))
}

/// Whether the runs have the original sizes.
fn is_full(runs: &[Document]) -> bool {
    runs.iter().any(|run| run.run.asked.get(SIZE).is_some_and(|size| size == FULL))
}

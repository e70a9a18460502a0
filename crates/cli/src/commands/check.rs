//! `oscost check`: judges claims.

pub(super) mod document;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use analysis::claim::{Claim, ClaimFile, ClaimVerdict, Content, JudgedClaim, check_names, judge};
use report::{claims_junit, claims_markdown, claims_text};
use results::Document;
use runner::{Options, Plan, Request};

use super::compare::is_document;
use super::exchange::{read_document, read_text};
use super::files::write;
use super::measure::{best_clock, how_to_resume, watched};
use crate::args::{Check, FILTERS, StoreArg};
use crate::ending::{Ending, Usage};
use crate::interrupt::stop_on_interrupt;
use crate::output::{note, page, print};
use crate::store::{store_to_read, store_to_write};

/// The key under which the name of the file is kept with the run.
const CLAIMS: &str = "claims";
/// How many times the usual time a run for claims may take.
const SLACK: u64 = 3;

/// Judges the claims of a file by existing runs, or by a new one.
pub fn check(args: &Check) -> anyhow::Result<Ending> {
    let name = args.file.display().to_string();
    let text = read_text(&args.file)?;
    let wrong = |error| Usage(format!("{name}: {error}"));
    let file = ClaimFile::parse(&text).map_err(wrong)?;
    let documents = match args.runs.is_empty() {
        true => {
            check_names(&file.claims, &[]).map_err(wrong)?;
            let Some(documents) = measured(&file.claims, args)? else {
                return Ok(Ending::NotMeasured);
            };
            documents
        }
        false => {
            let documents = existing(&args.runs, &args.store)?;
            check_names(&file.claims, &documents).map_err(wrong)?;
            documents
        }
    };
    let judged = judge(&file.claims, &documents);
    show(&file, &judged, &documents, args)?;
    let lacks_figures = |claim: &JudgedClaim| {
        claim.verdict == ClaimVerdict::NotMeasurable
            && matches!(claim.claim.content, Content::Statement(_))
    };
    if !args.runs.is_empty() && judged.iter().any(lacks_figures) {
        note(&format!(
            "`oscost check {name}` without a run measures what the claims need on this system"
        ));
    }
    Ok(ending(&judged, args.strict))
}

/// The runs that were named, each with those that were measured together with it.
pub(super) fn existing(names: &[String], store: &StoreArg) -> anyhow::Result<Vec<Document>> {
    let mut documents: Vec<Document> = Vec::new();
    for name in names {
        if is_document(name) {
            documents.push(read_document(Path::new(name))?);
            continue;
        }
        let store = store_to_read(store)?;
        let group = store.group_of(&store.resolve(name)?)?;
        let known = |id: &String| documents.iter().any(|document| &document.run.id == id);
        let new: Vec<String> = group.into_iter().filter(|id| !known(id)).collect();
        for id in new {
            documents.push(store.document(&id)?);
        }
    }
    Ok(documents)
}

/// Measures the points that the claims need; `None` if the run was stopped. No run if they need none.
fn measured(claims: &[Claim], args: &Check) -> anyhow::Result<Option<Vec<Document>>> {
    let Some(plan) = plan_for(claims, args)? else { return Ok(Some(Vec::new())) };
    runner::check_directories(&plan)?;
    announce(&plan);
    let stop = stop_on_interrupt()?;
    let clock = best_clock()?;
    let mut store = store_to_write(&args.store)?;
    let request =
        Request { plan: &plan, asked: asked(&plan, args), tags: Default::default(), clock: &clock };
    let (ended, _) = watched(|watch| runner::begin(request, &mut store, &stop, watch))?;
    if ended.ending == runner::Ending::Stopped {
        let (id, file) = (&ended.id, args.file.display());
        let resume = how_to_resume(id, &args.store);
        note(&format!("stopped; to continue: {resume}, then `oscost check {file} {id}`"));
        return Ok(None);
    }
    note(&format!("saved as run {}", ended.id));
    Ok(Some(vec![store.document(&ended.id)?]))
}

/// The plan of the points that the claims need; `None` if they need none.
fn plan_for(claims: &[Claim], args: &Check) -> anyhow::Result<Option<Plan>> {
    let options = Options {
        quick: args.quick,
        precision: args.precision,
        budget: args.budget,
        ..Options::default()
    };
    let cpus = platform::cpu::allowed();
    let points = runner::points_of_claims(claims, &options, &cpus)
        .map_err(|error| Usage(format!("{}: {error}", args.file.display())))?;
    if points.is_empty() {
        return Ok(None);
    }
    let mut plan = runner::plan_of(points, &options, &cpus, runner::random_seed())?;
    if args.budget.is_none() {
        // Too few rounds decide nothing. A quiet machine does not take the time.
        plan.budget_ms *= SLACK;
        plan.sampling_ms *= SLACK;
    }
    Ok(Some(plan))
}

/// The options to be kept with the run: what it measures, as filters.
fn asked(plan: &Plan, args: &Check) -> BTreeMap<String, String> {
    let mut cases: Vec<&str> = plan.points.iter().map(|point| point.case.as_str()).collect();
    cases.sort_unstable();
    cases.dedup();
    let mut asked: BTreeMap<String, String> = [
        (FILTERS.to_owned(), cases.join(" ")),
        (CLAIMS.to_owned(), args.file.display().to_string()),
    ]
    .into();
    if args.quick {
        asked.insert("size".to_owned(), "quick".to_owned());
    }
    if let Some(share) = args.precision {
        asked.insert("precision".to_owned(), format!("{}%", share * 100.0));
    }
    if let Some(budget) = args.budget {
        asked.insert("budget".to_owned(), format!("{}ms", budget.as_millis()));
    }
    asked
}

fn announce(plan: &Plan) {
    let points = plan.points.len();
    let time = report::quantity::format_duration(Duration::from_millis(plan.budget_ms));
    note(&format!("{points} points for these claims: up to {time}"));
}

/// Prints the verdicts, and writes the files that were asked for.
fn show(
    file: &ClaimFile,
    judged: &[JudgedClaim],
    documents: &[Document],
    args: &Check,
) -> anyhow::Result<()> {
    let title = file.title.as_deref();
    match args.json {
        true => print(&document::to_json(title, judged, documents)?)?,
        false => print(&claims_text(title, judged, &page()))?,
    }
    if let Some(path) = &args.markdown {
        write(path, claims_markdown(title, judged).as_bytes())?;
    }
    if let Some(path) = &args.junit {
        write(path, claims_junit(title, judged, args.strict).as_bytes())?;
    }
    Ok(())
}

/// How a command ends that has judged these claims.
pub(super) fn ending(judged: &[JudgedClaim], strict: bool) -> Ending {
    let any = |verdict| judged.iter().any(|claim| claim.verdict == verdict);
    match any(ClaimVerdict::Fails) || (strict && any(ClaimVerdict::Undecided)) {
        true => Ending::CheckFailed,
        false if any(ClaimVerdict::Undecided) || any(ClaimVerdict::NotMeasurable) => {
            Ending::NotMeasured
        }
        false => Ending::Done,
    }
}

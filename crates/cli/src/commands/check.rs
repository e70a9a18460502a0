//! `oscost check`: judges claims.

pub(super) mod document;
mod missing;
mod request;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use analysis::claim::{Claim, ClaimFile, JudgedClaim, absent_systems, check_names, judge_runs};
use command::ending::{Ending, Usage};
use command::measure::{FILTERS, print_announcement};
use command::options::StoreArg;
use command::output::{note, page, print, print_json};
use command::store::store_to_read;
use report::claims_text;
use results::Document;
use runner::{Options, Questions};

use self::missing::Missing;
use self::request::{again, in_file, options_of};
use super::compare::is_document;
use super::exchange::{read_document, read_text};
use super::gate::{Tally, write_claims};
use super::needed::Needed;
use crate::args::Check;

/// Key under which a run stores the name of its claim file.
const CLAIMS: &str = "claims";

/// Name of the system that a document of `--baseline` stands for.
const BASELINE: &str = "baseline";

/// Judges the claims of a file by existing runs, or by a new one on each system.
pub fn check(args: &Check) -> anyhow::Result<Ending> {
    let name = args.file.display().to_string();
    let text = read_text(&args.file)?;
    let wrong = |error| Usage(format!("{name}: {error}"));
    let file = ClaimFile::parse(&text).map_err(wrong)?;
    let measures = args.runs.is_empty() || args.measure_missing;
    if !measures && (args.quick || args.precision.is_some() || args.budget.is_some()) {
        let problem = "--quick, --precision and --budget are for measuring: with runs, give --measure-missing too";
        return Err(Usage(problem.to_owned()).into());
    }
    let mut documents = existing(&args.runs, &args.store)?;
    let baseline = args.baseline.as_deref().map(baseline).transpose()?;
    check_names(&file.claims, &documents).map_err(wrong)?;
    let needed = match args.runs.is_empty() {
        true => file.claims.clone(),
        false => {
            let missing = Missing::of(&file.claims, &documents, args)?;
            missing.measured_or_named(&documents, args)?
        }
    };
    match measured(needed, args)? {
        Some(new) => documents.extend(new),
        None => return Ok(Ending::NotMeasured),
    }
    documents.extend(baseline);
    let judged = judge_runs(&file.claims, &documents, args.gate.across_machines);
    show(&file, &judged, &documents, args)?;
    let absent: Vec<String> = absent_systems(&file.claims, &documents).into_iter().collect();
    if !absent.is_empty() {
        let names = absent.join(", ");
        note(&format!(
            "claims name systems that were not measured: {names}; --on measures several"
        ));
    }
    let tally = Tally::of_claims(&judged);
    tally.print(args.json)?;
    Ok(tally.ending(args.gate.undecided))
}

/// The document of a file, as the system [`BASELINE`].
fn baseline(path: &Path) -> anyhow::Result<Document> {
    let mut document = read_document(path)?;
    document.machine.insert("system".to_owned(), BASELINE.into());
    Ok(document)
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

/// The claims of the file for which a run was begun; `None` if there was none.
pub fn claims_of(begun: &Document) -> Option<anyhow::Result<Vec<Claim>>> {
    let file = begun.run.asked.get(CLAIMS)?;
    let read = |file: &String| -> anyhow::Result<Vec<Claim>> {
        let parsed = ClaimFile::parse(&read_text(Path::new(file))?);
        Ok(parsed.map_err(|error| Usage(format!("{file}: {error}")))?.claims)
    };
    Some(read(file))
}

/// Measures the points that these claims need, in a new run on each system; `None` if it was stopped.
fn measured(claims: Vec<Claim>, args: &Check) -> anyhow::Result<Option<Vec<Document>>> {
    if claims.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let options = Options { claims, ..options_of(args) };
    let needed = Needed {
        by: "these claims".to_owned(),
        claims: &options.claims,
        questions: Questions { claims: &|_| options.claims.clone() },
        options: &options,
        asked: asked(&options, args),
        roles: Vec::new(),
        on: &args.on,
        present: if args.baseline.is_some() { &[BASELINE] } else { &[] },
        store: &args.store,
    };
    let again = again(args)?;
    needed.measure(|id| format!("{again} {id}")).map_err(|error| in_file(error, args))
}

/// Options to be stored with the run: the points that it measures, as filters.
fn asked(options: &Options, args: &Check) -> BTreeMap<String, String> {
    let cases: BTreeSet<&str> =
        options.claims.iter().flat_map(Claim::sides).map(|side| side.case.value.as_str()).collect();
    let cases: Vec<&str> = cases.into_iter().collect();
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

/// Prints the verdicts, and writes the files that the user named.
fn show(
    file: &ClaimFile,
    judged: &[JudgedClaim],
    documents: &[Document],
    args: &Check,
) -> anyhow::Result<()> {
    let title = file.title.as_deref();
    match args.json {
        true => print_json(&document::to_json(title, judged, documents))?,
        false => {
            print_announcement("figures", documents)?;
            print(&claims_text(title, judged, &page()))?;
        }
    }
    write_claims(title, judged, documents, &args.gate)
}

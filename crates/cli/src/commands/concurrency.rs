//! `oscost concurrency`: serial or concurrent, for one's own jobs?

use std::time::Duration;

use analysis::{Answer, Choice};
use cases::concurrency::{LIST, candidates, list, list_of};
use measure::Params;
use results::Document;
use runner::{Options, Plan, Point};
use serde_json::json;

use super::measure::{best_clock, carry_out, random_seed, stop_on_interrupt};
use crate::args::{Concurrency, Goal};
use crate::ending::{Ending, Usage};
use crate::output::{note, page};

/// The case that the candidates are measured with.
const CASE: &str = "concurrency/answer";
/// What a run's goal is kept under.
const GOAL: &str = "goal";
/// Who waits longer than this wants to know how to wait less.
const LONG: Duration = Duration::from_secs(300);

/// Measures the candidates for the jobs asked for, and says which is best.
pub fn concurrency(args: &Concurrency) -> anyhow::Result<Ending> {
    args.output.files.check()?;
    let stop = stop_on_interrupt()?;
    let jobs = jobs_of(args)?;
    let plan = plan_for(&jobs, args)?;
    announce(&plan, args);
    let clock = best_clock()?;
    let mut asked = jobs;
    asked.insert(GOAL.to_owned(), word(args.goal).to_owned());
    asked.insert("rounds".to_owned(), args.rounds.to_string());
    carry_out(&plan, asked, &args.output, &clock, &args.store, &stop)
}

/// The jobs as parameters of the case: what they are described by, or the file and its checksum.
fn jobs_of(args: &Concurrency) -> anyhow::Result<Params> {
    let owned = |pairs: &[(&str, &str)]| -> Params {
        pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    let Some(path) = &args.from else {
        let count = args.jobs.unwrap_or(40).to_string();
        let length = args.length.as_deref().unwrap_or("5ms..80ms");
        let bound = args.bound.as_deref().unwrap_or("mixed:30");
        return Ok(owned(&[("jobs", count.as_str()), ("length", length), ("bound", bound)]));
    };
    let name = path.to_str().ok_or_else(|| Usage("the file's name is not UTF-8".into()))?;
    let (_, checksum) = list::read(path).map_err(|e| Usage(format!("{name}: {e}")))?;
    Ok(owned(&[(LIST, &format!("{name}#{checksum}"))]))
}

fn plan_for(jobs: &Params, args: &Concurrency) -> anyhow::Result<Plan> {
    let cpus = platform::cpu::allowed();
    let list = list_of(jobs).map_err(|case_error| Usage(case_error.to_string()))?;
    let points = candidates(&list, cpus.len()).into_iter().map(|mut params| {
        params.extend(jobs.clone());
        Point { case: CASE.to_owned(), params }
    });
    let (trials, budget) = (Some(args.rounds), args.budget);
    let options = Options { trials, budget, ..Options::default() };
    Ok(runner::plan_of(points.collect(), &options, &cpus, random_seed())?)
}

/// Says how much is to be measured and how long that takes.
fn announce(plan: &Plan, args: &Concurrency) {
    let budget = Duration::from_millis(plan.budget_ms);
    let (ways, trials) = (plan.points.len(), plan.trials);
    let time = report::quantity::format_duration(budget);
    let shorter = match budget > LONG && args.budget.is_none() {
        true => "; fewer --rounds or a --budget end it sooner",
        false => "",
    };
    note(&format!("{ways} ways to do these jobs, {trials} times each: up to {time}{shorter}"));
}

fn word(goal: Goal) -> &'static str {
    match goal {
        Goal::Elapsed => "elapsed",
        Goal::Turnaround => "turnaround",
        Goal::Worst => "worst",
    }
}

/// The choice that a run was made for; `None` for a run that was not.
pub fn choice_of(document: &Document) -> Option<Choice> {
    let goal = match document.run.asked.get(GOAL)?.as_str() {
        "elapsed" => analysis::Goal::Elapsed,
        "turnaround" => analysis::Goal::Turnaround,
        "worst" => analysis::Goal::WorstTurnaround,
        _ => return None,
    };
    Some(analysis::choose(&document.results, goal))
}

/// The choice in words and a table.
pub fn in_words(choice: &Choice, document: &Document) -> String {
    let asked = |name: &str| document.run.asked.get(name);
    let jobs = match (asked(LIST), asked("jobs")) {
        (Some(file), _) => {
            format!("the jobs in {}", file.rsplit_once('#').map_or(file.as_str(), |(name, _)| name))
        }
        (_, Some(count)) if count != "1" => format!("these {count} jobs"),
        _ => "this job".to_owned(),
    };
    report::answer_text(choice, &jobs, &page())
}

/// The run as one document, with the answer it was made for.
pub fn with_answer(document: &Document, choice: &Choice) -> anyhow::Result<String> {
    let mut whole: serde_json::Value = serde_json::from_str(&results::to_json(document))?;
    whole["answer"] = as_json(choice);
    Ok(serde_json::to_string_pretty(&whole)?)
}

/// The choice in JSON, to stand beside the run it is from.
fn as_json(choice: &Choice) -> serde_json::Value {
    let candidates: Vec<_> = choice
        .candidates
        .iter()
        .map(|candidate| {
            let params = |name: &str| candidate.params.get(name);
            json!({
                "executor": params("executor"), "degree": params("degree"), "order": params("order"),
                "elapsed": candidate.elapsed, "turnaround": candidate.turnaround,
                "worst": candidate.worst,
                "against_best": candidate.against_best.map(|r| json!({"mid": r.mid, "low": r.low, "high": r.high})),
                "ending": candidate.ending.as_ref().map(|(outcome, why)| json!({"outcome": outcome, "reason": why})),
                "doubts": candidate.doubts,
            })
        })
        .collect();
    let (verdict, among) = match &choice.answer {
        Answer::Best { .. } => ("best", vec![0]),
        Answer::CannotTell { among, .. } => ("cannot-tell", among.clone()),
        Answer::NoFigure => ("no-figure", Vec::new()),
    };
    json!({
        "goal": choice.goal.metric(),
        "verdict": verdict,
        "best_or_tied": among,
        "advised": choice.advised(),
        "rounds_that_would_settle": choice.rounds_that_would_settle(),
        "candidates": candidates,
    })
}

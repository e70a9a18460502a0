//! The answer of `oscost concurrency`, as text and as JSON.

use std::time::Duration;

use measure::count::parse_duration;
use report::Page;
use results::Document;
use serde_json::{Value, json};

use super::answer::LIST;
use super::answer_text::{answer_text, within_text};
use super::choice::{Answer, Candidate, Choice, Goal, Within, choose};
use super::limits::Limits;
use super::limits_text::limits_text;

/// Option under which a run stores its goal.
pub const GOAL: &str = "goal";
/// Option under which a run stores the limit of a foreground task's delay.
pub const WITHIN: &str = "within";

/// The answer of a run of `oscost concurrency`; `None` for other runs.
pub fn answer(document: &Document, page: &Page) -> Option<report::Conclusion> {
    let choice = choice_of(document)?;
    Some(report::Conclusion {
        text: in_words(&choice, document, page),
        replaces_tables: true,
        is_all: false,
        key: "answer",
        json: answer_json(&choice, document),
    })
}

/// The choice among the candidates of a run of `oscost concurrency`; `None` for other runs.
fn choice_of(document: &Document) -> Option<Choice> {
    let goal = match document.run.asked.get(GOAL)?.as_str() {
        "elapsed" => Goal::Elapsed,
        "turnaround" => Goal::Turnaround,
        "worst" => Goal::WorstTurnaround,
        "foreground" => Goal::ForegroundDelay,
        _ => return None,
    };
    Some(choose(&document.results, goal))
}

/// The choice as sentences and a table.
fn in_words(choice: &Choice, document: &Document, page: &Page) -> String {
    let asked = |name: &str| document.run.asked.get(name);
    let jobs = match (asked(LIST), asked("jobs")) {
        (Some(file), _) => {
            format!("the jobs in {}", file.rsplit_once('#').map_or(file.as_str(), |(name, _)| name))
        }
        (_, Some(count)) if count != "1" => format!("these {count} jobs"),
        _ => "this job".to_owned(),
    };
    let best = choice.candidates.iter().filter_map(|candidate| candidate.elapsed);
    let best = best.map(|elapsed| elapsed.median).min_by(f64::total_cmp);
    let limits = Limits::from_params(&document.run.asked);
    let limits = limits.map(|limits| limits_text(&limits, best, page));
    let answer = answer_text(choice, &jobs, page) + &limits.unwrap_or_default();
    match limit_of(document) {
        Some((limit, ns)) => within_text(choice, limit, ns, page) + "\n" + &answer,
        None => answer,
    }
}

/// Limit of the foreground task's delay, as given by the user and in ns.
fn limit_of(document: &Document) -> Option<(&str, f64)> {
    let limit = document.run.asked.get(WITHIN)?;
    Some((limit, parse_duration(limit).ok()?.as_nanos() as f64))
}

fn answer_json(choice: &Choice, document: &Document) -> Value {
    let (verdict, best_or_tied): (_, &[usize]) = match &choice.answer {
        Answer::Best { .. } => ("best", &[0]),
        Answer::CannotTell { among, .. } => ("cannot-tell", among),
        Answer::NoFigure => ("no-figure", &[]),
    };
    let mut answer = json!({
        "goal": choice.goal.metric(),
        "verdict": verdict,
        "best_or_tied": best_or_tied,
        "advised": choice.advised(),
        "rounds_that_would_settle": choice.rounds_that_would_settle(),
    });
    // Only jobs that depend on each other or share a lock have lower bounds.
    if let Some(limits) = Limits::from_params(&document.run.asked) {
        answer["limits"] = limits_json(&limits);
    }
    if let Some((_, limit_ns)) = limit_of(document) {
        let Within { surely, perhaps, fastest } = choice.within(limit_ns);
        answer["within"] = json!({
            "limit_ns": limit_ns,
            "surely": surely,
            "perhaps": perhaps,
            "fastest": fastest,
        });
    }
    answer["candidates"] = choice.candidates.iter().map(candidate_json).collect();
    answer
}

fn limits_json(limits: &Limits) -> Value {
    let ns = |time: Duration| time.as_nanos() as u64;
    json!({
        "cpus": limits.cpus,
        "serial_ns": ns(limits.serial),
        "critical_path_ns": ns(limits.critical_path),
        "lock_held_ns": ns(limits.lock_held),
        "at_least_ns": ns(limits.at_least),
        "speed_up_at_most": limits.speed_up(),
    })
}

fn candidate_json(candidate: &Candidate) -> Value {
    let ending = candidate.ending.as_ref();
    json!({
        "executor": candidate.params.get("executor"),
        "degree": candidate.params.get("degree"),
        "order": candidate.params.get("order"),
        "elapsed": candidate.elapsed,
        "turnaround": candidate.turnaround,
        "worst": candidate.worst,
        "foreground_delay": candidate.foreground_delay,
        "against_best": candidate.against_best,
        "ending": ending.map(|(outcome, reason)| json!({"outcome": outcome, "reason": reason})),
        "doubts": candidate.doubts,
    })
}

//! The answer of `oscost concurrency`, as text and as JSON.

use analysis::{Answer, Candidate, Choice, Ratio, Within};
use cases::concurrency::LIST;
use cases::concurrency::limits::Limits;
use measure::count::parse_duration;
use measure::{Doubt, Params};
use results::{Document, Estimate, Outcome};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::output::page;

/// The option under which a run stores its goal.
pub const GOAL: &str = "goal";
/// The option under which it stores the limit of a foreground task's delay.
pub const WITHIN: &str = "within";

/// The choice among the candidates of a run of `oscost concurrency`; `None` for other runs.
pub fn choice_of(document: &Document) -> Option<Choice> {
    let goal = match document.run.asked.get(GOAL)?.as_str() {
        "elapsed" => analysis::Goal::Elapsed,
        "turnaround" => analysis::Goal::Turnaround,
        "worst" => analysis::Goal::WorstTurnaround,
        "foreground" => analysis::Goal::ForegroundDelay,
        _ => return None,
    };
    Some(analysis::choose(&document.results, goal))
}

/// The choice as text and a table.
pub fn in_words(choice: &Choice, document: &Document) -> String {
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
    let limits = limits.map(|limits| report::limits_text(&limits, best, &page()));
    let answer = report::answer_text(choice, &jobs, &page()) + &limits.unwrap_or_default();
    match limit_of(document) {
        Some((limit, ns)) => report::within_text(choice, limit, ns, &page()) + "\n" + &answer,
        None => answer,
    }
}

/// The limit of the foreground task's delay, as asked and in ns.
fn limit_of(document: &Document) -> Option<(&str, f64)> {
    let limit = document.run.asked.get(WITHIN)?;
    Some((limit, parse_duration(limit).ok()?.as_nanos() as f64))
}

/// A run's document with its answer.
#[derive(Serialize)]
struct WithAnswer<'a> {
    #[serde(flatten)]
    document: Map<String, Value>,
    answer: AnswerJson<'a>,
}

#[derive(Serialize)]
struct AnswerJson<'a> {
    goal: &'static str,
    verdict: &'static str,
    best_or_tied: &'a [usize],
    advised: Option<usize>,
    rounds_that_would_settle: Option<u32>,
    /// Lower bounds; only of jobs that depend on each other or share a lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<LimitsJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<WithinJson>,
    candidates: Vec<CandidateJson<'a>>,
}

/// The candidates that keep a foreground task's delay within a limit; positions among the candidates.
#[derive(Serialize)]
struct WithinJson {
    limit_ns: f64,
    surely: Vec<usize>,
    perhaps: Vec<usize>,
    fastest: Option<usize>,
}

#[derive(Serialize)]
struct LimitsJson {
    cpus: usize,
    serial_ns: u64,
    critical_path_ns: u64,
    lock_held_ns: u64,
    at_least_ns: u64,
    speed_up_at_most: f64,
}

impl From<Limits> for LimitsJson {
    fn from(limits: Limits) -> Self {
        let [serial_ns, critical_path_ns, lock_held_ns, at_least_ns] =
            [limits.serial, limits.critical_path, limits.lock_held, limits.at_least]
                .map(|time| time.as_nanos() as u64);
        let (cpus, speed_up_at_most) = (limits.cpus, limits.speed_up());
        Self { cpus, serial_ns, critical_path_ns, lock_held_ns, at_least_ns, speed_up_at_most }
    }
}

#[derive(Serialize)]
struct CandidateJson<'a> {
    executor: Option<&'a String>,
    degree: Option<&'a String>,
    order: Option<&'a String>,
    elapsed: Option<Estimate>,
    turnaround: Option<Estimate>,
    worst: Option<Estimate>,
    foreground_delay: Option<Estimate>,
    against_best: Option<Ratio>,
    ending: Option<EndingJson<'a>>,
    doubts: &'a [Doubt],
}

#[derive(Serialize)]
struct EndingJson<'a> {
    outcome: Outcome,
    reason: &'a str,
}

/// The run with its answer as a JSON document.
pub fn with_answer(document: &Document, choice: &Choice) -> anyhow::Result<String> {
    let limit_ns = limit_of(document).map(|(_, ns)| ns);
    let asked = document.run.asked.clone();
    let document = serde_json::from_str(&results::to_json(document))?;
    let whole = WithAnswer { document, answer: answer_json(choice, limit_ns, &asked) };
    Ok(serde_json::to_string_pretty(&whole)?)
}

fn answer_json<'a>(choice: &'a Choice, limit_ns: Option<f64>, asked: &Params) -> AnswerJson<'a> {
    let within = limit_ns.map(|limit_ns| {
        let Within { surely, perhaps, fastest } = choice.within(limit_ns);
        WithinJson { limit_ns, surely, perhaps, fastest }
    });
    let (verdict, best_or_tied): (_, &[usize]) = match &choice.answer {
        Answer::Best { .. } => ("best", &[0]),
        Answer::CannotTell { among, .. } => ("cannot-tell", among),
        Answer::NoFigure => ("no-figure", &[]),
    };
    AnswerJson {
        goal: choice.goal.metric(),
        verdict,
        best_or_tied,
        advised: choice.advised(),
        rounds_that_would_settle: choice.rounds_that_would_settle(),
        limits: Limits::from_params(asked).map(LimitsJson::from),
        within,
        candidates: choice.candidates.iter().map(candidate_json).collect(),
    }
}

fn candidate_json(candidate: &Candidate) -> CandidateJson<'_> {
    let ending = candidate.ending.as_ref();
    CandidateJson {
        executor: candidate.params.get("executor"),
        degree: candidate.params.get("degree"),
        order: candidate.params.get("order"),
        elapsed: candidate.elapsed,
        turnaround: candidate.turnaround,
        worst: candidate.worst,
        foreground_delay: candidate.foreground_delay,
        against_best: candidate.against_best,
        ending: ending.map(|(outcome, reason)| EndingJson { outcome: *outcome, reason }),
        doubts: &candidate.doubts,
    }
}

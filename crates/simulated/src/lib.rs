//! For tests of what computes with results: simulated results, noise of trials, arbitrary rows, and a few areas.

pub mod areas;
pub mod text;

use std::collections::BTreeMap;

use measure::stats::median;
use proptest::prelude::*;
use rand::RngExt;
use rand::rngs::StdRng;
use results::{
    CaseResult, Direction, Document, Estimate, GROUP, Interval, NextRun, Outcome, PointKey,
    RunInfo, RunSummary, SYSTEM, Source,
};

/// A sum of uniform numbers, close enough to normal for a simulation, with mean 0, variance 1.
pub fn noise(rng: &mut StdRng) -> f64 {
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

/// The factor on a time on a shared machine: in 15 % of trials up to 1.4.
pub fn outlier(rng: &mut StdRng) -> f64 {
    if rng.random::<f64>() < 0.15 { 1.0 + 0.4 * rng.random::<f64>() } else { 1.0 }
}

/// Seven lengths of jobs, as written and in ns.
pub const LENGTHS: [(&str, f64); 7] = [
    ("1us", 1e3),
    ("2us", 2e3),
    ("5us", 5e3),
    ("10us", 1e4),
    ("20us", 2e4),
    ("50us", 5e4),
    ("100us", 1e5),
];

/// [`LENGTHS`] in ns.
pub fn job_lengths() -> Vec<f64> {
    LENGTHS.iter().map(|(_, ns)| *ns).collect()
}

/// Rounds of 64 jobs at each of [`LENGTHS`]: jobs that take `share` of their length and `overhead` ns each, and the same jobs
/// executed serially.
pub fn rounds_of_jobs(
    (share, overhead): (f64, f64),
    rounds: usize,
    rng: &mut StdRng,
) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let mut draw = |ns: f64| -> Vec<f64> {
        (0..rounds).map(|_| ns * (1.0 + 0.02 * noise(rng)) * outlier(rng)).collect()
    };
    let threads = job_lengths().iter().map(|ns| draw(64.0 * (ns * share + overhead))).collect();
    let serial = job_lengths().iter().map(|ns| draw(64.0 * ns)).collect();
    (threads, serial)
}

/// Six equal rounds at each of [`LENGTHS`].
pub fn flat(values: [f64; 7]) -> Vec<Vec<f64>> {
    values.iter().map(|value| vec![*value; 6]).collect()
}

/// A run with this id, of which nothing else is known.
pub fn run_info(id: &str) -> RunInfo {
    RunInfo {
        id: id.to_owned(),
        started: "2026-11-21T20:36:55Z".to_owned(),
        finished: None,
        seed: 1,
        oscost: "0.1.0".to_owned(),
        tags: BTreeMap::new(),
        asked: BTreeMap::new(),
        core_clock_ghz: None,
        area_seconds: BTreeMap::new(),
    }
}

/// A run on a core of 3.75 GHz.
pub fn run_at_3_75_ghz() -> RunInfo {
    let core_clock_ghz = Some(Interval { low: 3.35, median: 3.75, high: 3.85 });
    RunInfo { core_clock_ghz, ..run_info("20261121-203655-4f2a") }
}

/// Parameters, or other named texts.
pub fn params(named: &[(&str, &str)]) -> BTreeMap<String, String> {
    named.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// A run on the system of that name, which is also its id, in turn with others.
pub fn document(system: &str, results: Vec<CaseResult>) -> Document {
    let asked = params(&[(GROUP, "simulated")]);
    let run = RunInfo { started: String::new(), oscost: String::new(), asked, ..run_info(system) };
    let machine = [(SYSTEM.to_owned(), system.into())].into_iter().collect();
    Document { schema: results::SCHEMA, run, machine, results }
}

/// A run on this operating system, in turn with others; the system has a name if it is not the one that oscost was started on.
pub fn document_on(os: &str, system: Option<&str>, results: Vec<CaseResult>) -> Document {
    let facts = [Some(("os", os)), system.map(|name| (SYSTEM, name))];
    let facts = facts.into_iter().flatten();
    let machine = facts.map(|(name, fact)| (name.to_owned(), fact.into())).collect();
    let run = RunInfo {
        asked: params(&[(GROUP, "together")]),
        ..run_info(&format!("20260101-000000-{os}{}", system.unwrap_or_default()))
    };
    Document { schema: results::SCHEMA, run, machine, results }
}

/// A result of twelve rounds that differ by a part in a thousand.
pub fn result(
    case: &str,
    params: &[(&str, &str)],
    metric: &str,
    unit: &str,
    value: f64,
) -> CaseResult {
    let rounds: Vec<f64> = (0..12).map(|i| value * (1.0 + 2e-4 * f64::from(i % 5 - 2))).collect();
    CaseResult {
        estimate: Some(Estimate {
            median: value,
            low: value * 0.999,
            high: value * 1.001,
            level: 0.95,
        }),
        rounds: 12,
        round_values: rounds,
        ..CaseResult::blank(case, self::params(params), metric, unit, Direction::Lower)
    }
}

/// A point of a test: a case alone, or with its parameters.
pub trait AsPoint {
    /// The point.
    fn point(self) -> PointKey;
}

impl AsPoint for &str {
    fn point(self) -> PointKey {
        (self, []).point()
    }
}

impl<const N: usize> AsPoint for (&str, [(&str, &str); N]) {
    fn point(self) -> PointKey {
        PointKey { case: self.0.to_owned(), params: params(&self.1) }
    }
}

impl AsPoint for (&str, &BTreeMap<String, String>) {
    fn point(self) -> PointKey {
        PointKey { case: self.0.to_owned(), params: self.1.clone() }
    }
}

impl AsPoint for &PointKey {
    fn point(self) -> PointKey {
        self.clone()
    }
}

/// A time at a point, from its rounds.
pub fn rounds_of(point: impl AsPoint, rounds: &[f64]) -> CaseResult {
    figure_of(point, ("time", "ns/op", Direction::Lower), rounds.to_vec())
}

/// A figure at a point, with its metric's name, unit and direction, from its rounds.
pub fn figure_of(
    point: impl AsPoint,
    (metric, unit, better): (&str, &str, Direction),
    rounds: Vec<f64>,
) -> CaseResult {
    let PointKey { case, params } = point.point();
    let median = median(&mut rounds.clone());
    CaseResult {
        estimate: Some(Estimate { median, low: median, high: median, level: 0.95 }),
        rounds: rounds.len() as u32,
        round_values: rounds,
        ..CaseResult::blank(&case, params, metric, unit, better)
    }
}

/// A figure at a point whose `rounds` lie evenly within `relative` of `value`, in an order that `step` and `first` give.
pub fn evenly(
    point: impl AsPoint,
    metric: (&str, &str, Direction),
    [value, relative]: [f64; 2],
    [rounds, step, first]: [usize; 3],
) -> CaseResult {
    let half_width = value.abs() * relative;
    let place = |i: usize| ((i * step + first) % rounds) as f64 / (rounds - 1) as f64;
    let round = |i: usize| value + half_width * (2.0 * place(i) - 1.0);
    let (low, high) = (value - half_width, value + half_width);
    CaseResult {
        estimate: Some(Estimate { median: value, low, high, level: 0.95 }),
        ..figure_of(point, metric, (0..rounds).map(round).collect())
    }
}

/// The result with an interval from the least of its rounds to the greatest.
pub fn with_extremes(result: CaseResult) -> CaseResult {
    let extremes = |estimate: Estimate| {
        let rounds = || result.round_values.iter().copied();
        let low = rounds().fold(f64::INFINITY, f64::min);
        Estimate { low, high: rounds().fold(f64::NEG_INFINITY, f64::max), ..estimate }
    };
    CaseResult { estimate: result.estimate.map(extremes), ..result }
}

/// What is known of the next run from so many visits, whose deviation has these degrees of freedom.
pub fn next_run([low, high]: [f64; 2], deviation: f64, degrees: f64, visits: u32) -> NextRun {
    let source = Source::Visits;
    NextRun { low, high, level: 0.95, deviation, degrees, visits, boots: 1, days: 1, source }
}

/// The summary of a run with this id, of which nothing else is known.
pub fn run_summary(id: &str) -> RunSummary {
    let RunInfo { id, started, finished, oscost, tags, asked, .. } = run_info(id);
    let (rounds, results, machine) = (0, 0, String::new());
    RunSummary { id, started, finished, oscost, tags, asked, rounds, results, machine }
}

/// A time that a system lacks.
pub fn unsupported(point: impl AsPoint, reason: &str) -> CaseResult {
    ended(point, Outcome::Unsupported, reason)
}

/// A time that was not measured, and why.
pub fn ended(point: impl AsPoint, outcome: Outcome, reason: &str) -> CaseResult {
    CaseResult { outcome, reason: Some(reason.to_owned()), ..blank(point) }
}

fn blank(point: impl AsPoint) -> CaseResult {
    let PointKey { case, params } = point.point();
    CaseResult::blank(&case, params, "time", "ns/op", Direction::Lower)
}

/// A row of `case`, as a file from elsewhere may have it.
pub fn any_row(case: &'static str, metric: &'static str) -> impl Strategy<Value = CaseResult> {
    let value = prop_oneof![
        8 => (-3.0f64..12.0).prop_map(|exponent| 10f64.powf(exponent)),
        1 => prop::sample::select(&[0.0, -1.0, f64::NAN, f64::INFINITY, 1e300, 1e-300][..]),
    ];
    let values = prop::collection::vec(value, 0..12);
    let params = (
        prop::sample::select(&["serial", "threads", "pool", "tokio", "x"][..]),
        prop::sample::select(&["1", "2", "3", "4", "8", "0", "many"][..]),
        prop::sample::select(&["1us", "2us", "5us", "1ms", "", "7"][..]),
        prop::sample::select(&["given", "shortest"][..]),
    );
    (params, values, any::<bool>()).prop_map(
        move |((executor, degree, length, order), values, measured)| {
            let params =
                [("executor", executor), ("degree", degree), ("length", length), ("order", order)];
            let params = params.map(|(k, v)| (k.to_owned(), v.to_owned())).into_iter().collect();
            let first = values.first().copied().filter(|_| measured);
            let estimate =
                first.map(|median| Estimate { median, low: median, high: median, level: 0.95 });
            let ended = estimate.is_none();
            CaseResult {
                estimate,
                outcome: if ended { Outcome::TimedOut } else { Outcome::Measured },
                reason: ended.then(|| "time was up".to_owned()),
                round_values: values,
                ..CaseResult::blank(case, params, metric, "ns/op", Direction::Lower)
            }
        },
    )
}

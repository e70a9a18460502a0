//! Simulated results, for the tests of what computes with results: noise of trials, and arbitrary rows.

use std::collections::BTreeMap;

use measure::stats::median;
use proptest::prelude::*;
use rand::RngExt;
use rand::rngs::StdRng;
use results::{
    CaseResult, Direction, Document, Estimate, GROUP, Outcome, PointKey, RunInfo, SYSTEM,
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

/// A run on the system of that name, which is also its id, in turn with others.
pub fn document(system: &str, results: Vec<CaseResult>) -> Document {
    let run = RunInfo {
        id: system.to_owned(),
        started: String::new(),
        finished: None,
        seed: 1,
        oscost: String::new(),
        tags: BTreeMap::new(),
        asked: BTreeMap::from([(GROUP.to_owned(), "simulated".to_owned())]),
        core_clock_ghz: None,
        area_seconds: BTreeMap::new(),
    };
    let machine = [(SYSTEM.to_owned(), system.into())].into_iter().collect();
    Document { schema: results::SCHEMA, run, machine, results }
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
        let params = self.1.map(|(name, value)| (name.to_owned(), value.to_owned()));
        PointKey { case: self.0.to_owned(), params: params.into() }
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

/// A time that a system lacks.
pub fn unsupported(point: impl AsPoint, reason: &str) -> CaseResult {
    let outcome = Outcome::Unsupported;
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

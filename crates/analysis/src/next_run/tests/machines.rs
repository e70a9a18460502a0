//! Simulated machines whose runs find them in different states.

use std::f64::consts::FRAC_PI_2;

use measure::stats::{median, t_quantile};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use results::{CaseResult, Distribution, Document, Estimate, Interval, PerOp};
use serde_json::json;

use simulated::{document, noise, rounds_of};

/// Course of a machine from visit to visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Course {
    /// Only the rounds differ.
    Steady,
    /// Entries into the kernel cost one of 3 to 6 values, 8 to 14 cycles apart, drawn anew at each visit.
    States,
    /// Entries into the kernel cost one of these values, which stays for half of the visits.
    Sticky,
    /// All costs change randomly from visit to visit.
    Drift,
    /// Most visits are alike, and some are slower.
    Skewed,
    /// All costs change permanently by 3 %, once in 20 visits.
    Steps,
}

impl Course {
    pub(crate) const ALL: [Self; 6] =
        [Self::Steady, Self::States, Self::Sticky, Self::Drift, Self::Skewed, Self::Steps];
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    UserCode,
    Entry,
    Memory,
    Trial,
}

struct Point {
    kind: Kind,
    /// Cost in ns, or in core cycles of one ns.
    cost: f64,
    calls: f64,
    /// Standard error of a run's figure, as a share.
    error: f64,
    /// Share of the variance between visits that this point does not share with others.
    own: f64,
}

pub(crate) struct Machine {
    course: Course,
    rng: StdRng,
    points: Vec<Point>,
    states: Vec<f64>,
    state: usize,
    /// Logarithm of the factor on all costs since the first visit.
    shift: f64,
    began: f64,
    booted: f64,
}

/// Number of rounds of each figure.
const ROUNDS: usize = 8;
/// Standard deviation between visits of memory and of trials, as a share.
const BETWEEN: f64 = 0.02;

impl Machine {
    pub(crate) fn new(course: Course, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut states = vec![0.0];
        for _ in 0..rng.random_range(2..6) {
            states.push(states[states.len() - 1] + rng.random_range(8.0..14.0));
        }
        let point = |kind: Kind, rng: &mut StdRng| Point {
            kind,
            cost: 10f64.powf(rng.random_range(2.3..4.0)),
            calls: f64::from(rng.random_range(1..4_u32)),
            error: match kind {
                Kind::UserCode | Kind::Entry => 10f64.powf(rng.random_range(-3.5..-2.5)),
                Kind::Memory | Kind::Trial => 10f64.powf(rng.random_range(-2.3..-1.0)),
            },
            own: rng.random_range(0.3..1.0),
        };
        let kinds = [Kind::UserCode, Kind::Entry, Kind::Memory, Kind::Trial];
        let points = kinds.iter().flat_map(|kind| [*kind; 8]).map(|kind| point(kind, &mut rng));
        let points = points.collect();
        let state = rng.random_range(0..states.len());
        Self { course, points, states, state, rng, shift: 0.0, began: 1.8e9, booted: 1.8e9 - 5e4 }
    }

    /// A run six hours after the one before.
    pub(crate) fn visit(&mut self) -> Document {
        self.began += 6.0 * 3600.0;
        let stays = self.course == Course::Sticky && self.rng.random::<f64>() < 0.5;
        if !stays {
            self.state = self.rng.random_range(0..self.states.len());
        }
        match self.course {
            Course::Drift => self.shift += 0.004 * noise(&mut self.rng),
            Course::Steps if self.rng.random::<f64>() < 0.05 => self.shift += 0.03,
            _ => {}
        }
        let skew = match self.course {
            Course::Skewed => 0.01 * -(1.0 - self.rng.random::<f64>()).ln(),
            _ => 0.0,
        };
        self.run(skew)
    }

    /// A visit whose run is not in turn with any other run.
    pub(crate) fn separate_visit(&mut self) -> Document {
        let mut run = self.visit();
        run.run.asked.clear();
        run.run.id = run.run.started.clone();
        // The facts about the CPU are removed, since cycles of unknown processors are not compared.
        for fact in ["vendor", "family", "model", "stepping", "flags", "caches"] {
            run.machine.insert(format!("cpu_{fact}"), json!("1"));
        }
        run
    }

    /// A run 75 s after the one before, in the same state with this probability.
    pub(crate) fn again(&mut self, repeats: f64) -> Document {
        self.began += 75.0;
        if self.rng.random::<f64>() >= repeats {
            self.state = self.rng.random_range(0..self.states.len());
        }
        self.run(0.0)
    }

    fn run(&mut self, skew: f64) -> Document {
        let has_states = matches!(self.course, Course::States | Course::Sticky);
        let state = if has_states { self.states[self.state] } else { 0.0 };
        let shared = noise(&mut self.rng);
        let mut results = Vec::new();
        for (nth, point) in self.points.iter().enumerate() {
            let rng = &mut self.rng;
            let own = noise(rng);
            let by_visit = match point.kind {
                _ if self.course == Course::Steady => 0.0,
                Kind::UserCode => 0.0,
                Kind::Entry => (1.0 + state * point.calls / point.cost).ln(),
                Kind::Memory | Kind::Trial => {
                    BETWEEN * (point.own.sqrt() * own + (1.0 - point.own).sqrt() * shared)
                }
            };
            let centre = point.cost * (by_visit + self.shift + skew).exp();
            // The error of a median is greater than that of a mean by the root of half of pi.
            let apart = point.error * (ROUNDS as f64 / FRAC_PI_2).sqrt();
            let rounds = std::array::from_fn(|_| centre * (apart * noise(rng)).exp());
            results.push(result(nth, point, rounds));
        }
        let mut run = document("native", results);
        let began = jiff::Timestamp::from_second(self.began as i64).expect("in this century");
        run.run.started = began.to_string();
        run.machine.insert("uptime_seconds".into(), json!(self.began - self.booted));
        run
    }

    /// True standard deviation of the logarithm of a point's figure in one visit.
    pub(crate) fn deviation(&self, result: &CaseResult) -> f64 {
        let nth: usize = result.params["n"].parse().expect("a number");
        let point = &self.points[nth];
        let mean = self.states.iter().sum::<f64>() / self.states.len() as f64;
        let squares: f64 = self.states.iter().map(|state| (state - mean).powi(2)).sum();
        let states = (squares / self.states.len() as f64).sqrt();
        let between = match (self.course, point.kind) {
            (Course::Steady, _) => 0.0,
            (Course::States | Course::Sticky, Kind::Entry) => {
                states * point.calls / (point.cost + mean * point.calls)
            }
            (_, Kind::Memory | Kind::Trial) => BETWEEN,
            _ => 0.0,
        };
        let skew = if self.course == Course::Skewed { 0.01 } else { 0.0 };
        (between.powi(2) + skew * skew + point.error.powi(2)).sqrt()
    }
}

fn result(nth: usize, point: &Point, rounds: [f64; ROUNDS]) -> CaseResult {
    let figure = median(&mut rounds.clone());
    let logs = rounds.map(f64::ln);
    let mean = logs.iter().sum::<f64>() / ROUNDS as f64;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let error = (squares / (ROUNDS as f64 - 1.0) * FRAC_PI_2 / ROUNDS as f64).sqrt();
    let half = error * t_quantile(0.975, ROUNDS as f64 - 1.0);
    let name = match point.kind {
        Kind::UserCode => "clock/read",
        Kind::Entry => "syscall/entry",
        Kind::Memory => "memory/load",
        Kind::Trial => "file/create",
    };
    let nth = nth.to_string();
    let (low, high) = (figure * (-half).exp(), figure * half.exp());
    let is_core_bound = matches!(point.kind, Kind::UserCode | Kind::Entry);
    let calls = if point.kind == Kind::Entry { point.calls } else { 0.0 };
    let seen = Distribution {
        min: low,
        p5: low,
        p25: figure,
        p50: figure,
        p75: figure,
        p95: high,
        p99: high,
        mean: figure,
    };
    CaseResult {
        estimate: Some(Estimate { median: figure, low, high, level: 0.95 }),
        cycles: is_core_bound.then_some(Interval { median: figure, low, high }),
        seen: (point.kind != Kind::Trial).then_some(seen),
        per_op: Some(PerOp { syscalls: Some(calls), ..PerOp::default() }),
        rounds: ROUNDS as u32,
        ..rounds_of((name, [("n", nth.as_str())]), &rounds)
    }
}

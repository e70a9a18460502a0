//! Nights that are simulated, and predicted as after a real run.

use analysis::History;
use measure::stats::{median, t_quantile};
use results::{CaseResult, Document, Store};
use serde_json::{Value, json};

use super::{Bench, pages};

/// Number of rounds of a figure.
const ROUNDS: usize = 8;

/// Nights of a machine, one a day from 2026-09-01 on.
pub struct Nights {
    store: Store,
    history: History,
    night: u64,
    state: u64,
}

/// What is the matter with a night.
#[derive(Default, Clone, Copy)]
pub struct Matter<'a> {
    /// Core cycles that each entry into the kernel takes longer.
    pub cycles: f64,
    /// Factor on the time of `memory/copy`.
    pub memory: f64,
    pub kernel: &'a str,
}

impl Nights {
    pub fn new(bench: &Bench) -> Self {
        let store = Store::open(&bench.store()).expect("a store");
        Self { store, history: History::default(), night: 0, state: 20261127 }
    }

    /// A number from -1 to 1 (SplitMix64), the same each time.
    fn noise(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Runs equal nights.
    pub fn run_many(&mut self, count: usize, matter: Matter) {
        (0..count).for_each(|_| drop(self.run(matter)));
    }

    /// Runs a night; returns the id of its run.
    pub fn run(&mut self, matter: Matter) -> String {
        let (month, day) = (9 + self.night / 28, 1 + self.night % 28);
        self.night += 1;
        let id = format!("2026{month:02}{day:02}-020000-0001");
        let state = self.noise();
        let mut results = Vec::new();
        for (nth, calls) in [1.0, 1.0, 2.0].into_iter().enumerate() {
            let entry = 478.0 + 0.5 * state + matter.cycles;
            let cost = 100.0 * nth as f64 + calls * entry;
            results.push(self.result(&format!("syscall/call-{nth}"), cost, 0.002, Some(calls)));
        }
        results.push(self.result("memory/copy", 5_000.0 * matter.memory.max(1.0), 0.005, None));
        let mut document = pages::document(&id, json!({"branch": "main"}), results);
        document["run"]["started"] = format!("2026-{month:02}-{day:02}T02:00:00Z").into();
        document["run"]["finished"] = format!("2026-{month:02}-{day:02}T02:10:00Z").into();
        document["machine"] = json!({
            "os": "Linux", "arch": "x86_64", "cpu": "Simulated", "cpus": 2,
            "release": matter.kernel, "uptime_seconds": 5_000,
        });
        let mut document: Document = serde_json::from_value(document).expect("a document");
        self.history.predict(&mut document);
        self.history.add(&document);
        self.store.import(&document).expect("imported");
        id
    }

    fn result(&mut self, case: &str, cost: f64, error: f64, calls: Option<f64>) -> Value {
        let night = 1.0 + error * self.noise();
        let rounds: Vec<f64> =
            (0..ROUNDS).map(|_| cost * night * (1.0 + error * self.noise())).collect();
        let middle = median(&mut rounds.clone());
        let half = t_quantile(0.975, ROUNDS as f64 - 1.0) * middle * error / (ROUNDS as f64).sqrt();
        let (low, high) = (middle - half, middle + half);
        let mut result = pages::result(case, json!({}), "time", "ns/op", middle);
        result["estimate"] = json!({"median": middle, "low": low, "high": high, "level": 0.95});
        result["seen"] = json!({
            "min": low, "p5": low, "p25": low, "p50": middle, "p75": high, "p95": high, "p99": high, "mean": middle,
        });
        (result["rounds"], result["round_values"]) = (ROUNDS.into(), rounds.into());
        result["per_op"] = json!(calls.map(|calls| json!({"syscalls": calls})));
        result["cycles"] =
            json!(calls.map(|_| json!({"median": middle, "low": low, "high": high})));
        result
    }
}

/// Makes the figures of a result this many times as high.
pub fn scale(result: &mut CaseResult, factor: f64) {
    let estimate = result.estimate.iter_mut();
    let estimate = estimate.flat_map(|one| [&mut one.median, &mut one.low, &mut one.high]);
    let cycles = result.cycles.iter_mut();
    let cycles = cycles.flat_map(|one| [&mut one.median, &mut one.low, &mut one.high]);
    let rounds = result.round_values.iter_mut().chain(&mut result.all_round_values);
    estimate.chain(cycles).chain(rounds).for_each(|figure| *figure *= factor);
}

/// A night as most are.
pub const GOOD: Matter = Matter { cycles: 0.0, memory: 1.0, kernel: "6.12.3" };
/// A night with a kernel that takes longer.
pub const SLOW: Matter = Matter { cycles: 24.0, memory: 1.0, kernel: "6.12.4" };

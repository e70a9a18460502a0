//! Measures how long `history`, `watch` and `compare` take with a store of many runs of all points.
//!
//!     cargo bench -p oscost --bench history [-- RUNS] [--postgres]
//!
//! Makes a store of RUNS runs (default 1,000), one a night, of as many results as a run of all points has, with a step in a tenth
//! of them, and two kernels with thirty nights each. Each time is the median of five whole processes, whose files are in the
//! system's cache. With --postgres the store is in a PostgreSQL server, which the benchmark starts.

mod plans;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use measure::stats::t_quantile;
use results::{
    CaseResult, Direction, Distribution, Document, Estimate, Interval, NextRun, PerOp, RunInfo,
    SCHEMA, Source, Store,
};
use serde_json::json;

const POINTS: usize = 591;
/// Results of a point, in the mean.
const METRICS: usize = 4;
const ROUNDS: usize = 9;
const TRIES: usize = 5;
const NIGHTS_OF_KERNEL: usize = 30;

fn main() {
    let runs = std::env::args().filter_map(|word| word.parse().ok()).next().unwrap_or(1_000);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("store.sqlite");
    let began = Instant::now();
    let server = std::env::args().any(|word| word == "--postgres").then(plans::Server::start);
    let mut store = match &server {
        Some(server) => server.store(),
        None => Store::open(&path).expect("a store"),
    };
    let path = server.as_ref().map_or(path, |server| server.url().into());
    let mut random = Random(7);
    for night in 0..runs {
        store.import(&document(night, runs, &mut random)).expect("imported");
    }
    drop(store);
    let size = match &server {
        Some(server) => server.bytes(),
        None => std::fs::metadata(&path).expect("the store").len() as f64,
    };
    let size = size / 1e6;
    let (results, took) = (POINTS * METRICS, began.elapsed());
    println!("{runs} runs of {results} results: {size:.0} MB, written in {took:.0?}");
    for command in [
        "history",
        "history area3 --all",
        "watch --all",
        "watch area3 --worse-than 1%",
        "compare kernel=old kernel=new --fail-above 5%",
        "show",
        "runs",
    ] {
        let (took, code) = median_of(&path, command);
        println!("{:>6} ms  oscost {command} (exit code {code})", took.as_millis());
    }
    match &server {
        Some(server) => server.print_plans(),
        None => plans::print_of_file(&path),
    }
}

/// Numbers from 0 to 1 (Knuth's MMIX).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn document(night: usize, nights: usize, random: &mut Random) -> Document {
    let (year, month, day) = (2020 + night / 336, 1 + night / 28 % 12, 1 + night % 28);
    let kernel = match nights.saturating_sub(night) {
        left if left <= NIGHTS_OF_KERNEL => "new",
        left if left <= 2 * NIGHTS_OF_KERNEL => "old",
        _ => "older",
    };
    let run = RunInfo {
        id: format!("{year}{month:02}{day:02}-020000-{night:04x}"),
        started: format!("{year}-{month:02}-{day:02}T02:00:00Z"),
        finished: Some(format!("{year}-{month:02}-{day:02}T02:04:00Z")),
        seed: 1,
        oscost: "0.1.0".to_owned(),
        tags: [("kernel".to_owned(), kernel.to_owned())].into(),
        asked: [].into(),
        core_clock_ghz: None,
        area_seconds: [].into(),
    };
    let facts =
        json!({ "os": "Linux", "arch": "x86_64", "cpu": "made up", "cpus": 2, "release": kernel });
    let facts = facts.as_object().cloned().into_iter().flatten();
    let more = (0..80).map(|n| (format!("fact_{n}"), format!("the value of fact {n}").into()));
    let results = (0..POINTS * METRICS).map(|at| result(at, night * 2 > nights, random)).collect();
    Document { schema: SCHEMA, run, machine: facts.chain(more).collect(), results }
}

fn result(at: usize, is_late: bool, random: &mut Random) -> CaseResult {
    let (point, metric) = (at % POINTS, at / POINTS);
    let step = if is_late && at.is_multiple_of(10) { 1.04 } else { 1.0 };
    let value =
        step * (100.0 + point as f64) * (1.0 + 0.01 * (random.next() + random.next() - 1.0));
    let half = value * 0.004;
    let (low, high) = (value - half, value + half);
    let params = [("as", "threads".to_owned()), ("workers", (1 + point % 8).to_string())];
    let params = params.map(|(name, value)| (name.to_owned(), value));
    let case = format!("area{}/case-{point}", point / 40);
    let names = ["time", "cpu-time", "share", "memory"];
    let wide = t_quantile(0.975, 30.0) * 0.005 * value;
    CaseResult {
        estimate: Some(Estimate { median: value, low, high, level: 0.95 }),
        cycles: (metric == 0).then_some(Interval {
            median: 3.0 * value,
            low: 3.0 * low,
            high: 3.0 * high,
        }),
        per_op: Some(PerOp { syscalls: Some(1.0), ..PerOp::default() }),
        seen: Some(Distribution {
            min: low,
            p5: low,
            p25: low,
            p50: value,
            p75: high,
            p95: high,
            p99: high,
            mean: value,
        }),
        next_run: Some(NextRun {
            low: value - wide,
            high: value + wide,
            level: 0.95,
            deviation: 0.005,
            degrees: 30.0,
            visits: 30,
            boots: 1,
            days: 30,
            source: Source::Visits,
        }),
        rounds: ROUNDS as u32,
        round_values: (0..ROUNDS).map(|_| value * (1.0 + 0.004 * (random.next() - 0.5))).collect(),
        ..CaseResult::blank(&case, params.into(), names[metric], "ns/op", Direction::Lower)
    }
}

/// The median time of a command, and its exit code.
fn median_of(store: &Path, command: &str) -> (Duration, i32) {
    let mut code = 0;
    let mut times: Vec<Duration> = (0..TRIES)
        .map(|_| {
            let began = Instant::now();
            let ended = Command::new(env!("CARGO_BIN_EXE_oscost"))
                .args(command.split(' '))
                .env("OSCOST_STORE", store)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            code = ended.expect("it starts").code().unwrap_or(-1);
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    (times[TRIES / 2], code)
}

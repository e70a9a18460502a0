//! Measures the size of runs in the store, and the time of finding and reading one among many.
//!
//!     cargo bench -p oscost-results [-- [--runs N] [STORE]]
//!
//! Makes stores in the folder of temporary files: with ten runs of all points, without and with their rounds; with N such
//! runs without rounds (default 1,000, about 0.4 MB each); and with ten times as many runs without results. The run is the
//! newest one of STORE, or else synthetic, with as many points, results and rounds as a run of all points. A time is the
//! median of several tries that begin with opening the file, which is in the system's cache.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use measure::record::{Line, Series};
use measure::sentinel::Reading;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use results::{
    CaseResult, Direction, Distribution, Document, Estimate, GROUP, Interval, PerOp, Reference,
    RoundRow, RunInfo, SCHEMA, Store,
};

/// Sizes of a run of all points on a 2-CPU machine.
const POINTS: usize = 591;
const RESULTS: usize = 2_557;
const ROUNDS_OF_A_POINT: u64 = 9;
/// Samples per round: rounds of an area that waits for other threads have fewer.
const SAMPLES: [usize; 4] = [70, 70, 30, 1];

const TRIES: usize = 11;

fn main() {
    let mut runs = 1_000;
    let mut template = None;
    let mut given = std::env::args().skip(1);
    while let Some(word) = given.next() {
        match word.as_str() {
            "--bench" => {} // cargo gives this option
            "--runs" => {
                runs = given.next().and_then(|n| n.parse().ok()).expect("--runs takes a number")
            }
            _ => template = Some(PathBuf::from(word)),
        }
    }
    let run = template.map_or_else(Run::made_up, |path| Run::newest_of(&path));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let results = run.document.results.len();
    println!("A run with {results} results and {} rounds.\n", run.rounds.len());
    sizes(&run, folder.path());
    times(&run, runs, folder.path());
    names(&run, 10 * runs, folder.path());
}

/// A run to be stored many times, each time with another id.
struct Run {
    document: Document,
    rounds: Vec<RoundRow>,
    plan: String,
}

impl Run {
    fn newest_of(path: &Path) -> Self {
        let store = Store::open_read_only(path).expect("a store");
        let id = store.resolve("last").expect("a run");
        Self {
            document: store.document(&id).expect("a document"),
            rounds: store.rounds(&id).expect("rounds"),
            plan: store.plan(&id).expect("a run").unwrap_or_default(),
        }
    }

    fn made_up() -> Self {
        let mut random = StdRng::seed_from_u64(1);
        let points: Vec<(String, BTreeMap<String, String>)> = (0..POINTS).map(point).collect();
        let results = (0..RESULTS)
            .map(|at| {
                let (case, params) = &points[at % POINTS];
                result(case, params, at / POINTS, &mut random)
            })
            .collect();
        let rounds = (0..ROUNDS_OF_A_POINT * POINTS as u64)
            .map(|seq| round(&points[seq as usize % POINTS], seq, &mut random))
            .collect();
        let facts = (0..90).map(|n| (format!("fact_{n}"), format!("the value of fact {n}").into()));
        let run = RunInfo {
            id: String::new(),
            started: String::new(),
            finished: Some("2026-11-21T20:47:55Z".to_owned()),
            seed: 1,
            oscost: "0.1.0".to_owned(),
            tags: BTreeMap::new(),
            asked: BTreeMap::from([("precision".to_owned(), "0.5%".to_owned())]),
            core_clock_ghz: Some(Interval { low: 3.35, median: 3.75, high: 3.85 }),
            area_seconds: BTreeMap::from([("syscall".to_owned(), 11.25)]),
        };
        let plan = serde_json::to_string(&points).expect("plain values");
        let document = Document { schema: SCHEMA, run, machine: facts.collect(), results };
        Self { document, rounds, plan }
    }

    /// The run number `n` of a store; each begins a minute after the one before it.
    fn info(&self, n: usize) -> RunInfo {
        let (day, hour, minute) = (n / 1440, n / 60 % 24, n % 60);
        let (month, day) = (1 + day / 28, 1 + day % 28);
        RunInfo {
            id: format!("2026{month:02}{day:02}-{hour:02}{minute:02}00-{n:04x}"),
            started: format!("2026-{month:02}-{day:02}T{hour:02}:{minute:02}:00Z"),
            ..self.document.run.clone()
        }
    }

    fn import_into(&self, store: &mut Store, n: usize) {
        let document = Document { run: self.info(n), ..self.document.clone() };
        store.import(&document).expect("imported");
    }

    /// Stores the run as it is measured: round by round, then the results.
    fn measure_into(&self, store: &mut Store, n: usize) {
        let info = self.info(n);
        store.begin_run(&info, &self.document.machine, &self.plan).expect("begun");
        for round in &self.rounds {
            store.add_round(&info.id, round).expect("stored");
        }
        store.put_results(&info.id, &self.document.results).expect("stored");
    }
}

/// A case with parameters of usual length.
fn point(n: usize) -> (String, BTreeMap<String, String>) {
    let params = [("as", "threads".to_owned()), ("place", "same".to_owned())];
    let params = params.into_iter().chain([("workers", (1 + n % 8).to_string())]);
    (
        format!("area{}/case-{n}", n / 40),
        params.map(|(name, value)| (name.to_owned(), value)).collect(),
    )
}

/// A result: a time with all fields for the point's first metric, else a figure with the values of its rounds.
fn result(
    case: &str,
    params: &BTreeMap<String, String>,
    metric: usize,
    random: &mut StdRng,
) -> CaseResult {
    let mut near = |value: f64| value * random.random_range(0.98..1.02);
    // A round's times are stored with the precision of an f32.
    let round_values: Vec<f64> = match metric {
        0 => (0..ROUNDS_OF_A_POINT - 1).map(|_| f64::from(near(165.0) as f32)).collect(),
        _ => (0..ROUNDS_OF_A_POINT - 1).map(|_| near(80_000.0)).collect(),
    };
    let mut sorted = round_values.clone();
    let median = measure::stats::median(&mut sorted);
    let (low, high) = (sorted[1], sorted[sorted.len() - 2]);
    let name = ["time", "rate", "throughput-p50", "server-cpu", "latency-p99"][metric];
    let unit = if metric == 0 { "ns/op" } else { "ops/s" };
    let direction = if metric == 0 { Direction::Lower } else { Direction::Higher };
    let figure = CaseResult {
        estimate: Some(Estimate { median, low, high, level: 0.95 }),
        rounds: round_values.len() as u32,
        round_starts_ms: (0..round_values.len() as i64)
            .map(|n| 1_795_000_000_000 + n * 20_000 + near(10_000.0) as i64)
            .collect(),
        round_values,
        ..CaseResult::blank(case, params.clone(), name, unit, direction)
    };
    if metric > 0 {
        return figure;
    }
    CaseResult {
        cycles: Some(Interval { median: median * 3.7, low: low * 3.7, high: high * 3.7 }),
        cpus: vec![1],
        seen: Some(Distribution {
            min: low - 3.1,
            p5: low - 2.0,
            p25: low,
            p50: median,
            p75: high,
            p95: high + 4.0,
            p99: high + 20.3,
            mean: near(median),
        }),
        quiet_share: Some(near(0.9)),
        quiet_quartiles: Some([low, high]),
        samples: 1_210,
        converged: Some(true),
        per_op: Some(PerOp { syscalls: Some(1.0), page_faults: Some(0.0), ..PerOp::default() }),
        reference: Some(Reference { alu: near(1370.0), chase: near(1118.0), chain: near(812.0) }),
        ..figure
    }
}

/// A round with samples in steps of the clock, and readings of the sentinel around each.
fn round(
    (case, params): &(String, BTreeMap<String, String>),
    seq: u64,
    random: &mut StdRng,
) -> RoundRow {
    let samples = SAMPLES[seq as usize % SAMPLES.len()];
    let mut steps = |least: f32, step: f32| least + step * random.random_range(0..40) as f32;
    let series = Series {
        cpu: Some(1),
        busy: 1,
        batch: 1_024,
        samples: (0..samples).map(|_| steps(165.0, 0.009_765_625)).collect(),
        readings: (0..=samples)
            .map(|_| Reading {
                chain: steps(812.0, 0.18),
                alu: steps(1370.0, 0.18),
                chase: steps(1118.0, 0.18),
            })
            .collect(),
        ..Series::default()
    };
    let lines = [Line::Series(series), Line::End(Ok(()))];
    let lines = lines.iter().map(|line| serde_json::to_string(line).expect("plain values") + "\n");
    RoundRow {
        seq,
        case: case.clone(),
        params: params.clone(),
        kind: "round".to_owned(),
        outcome: r#"{"reported":{"outcome":"measured"}}"#.to_owned(),
        started_ms: 1_795_000_000_000 + 20 * seq as i64,
        lines: lines.collect(),
    }
}

fn sizes(run: &Run, folder: &Path) {
    const RUNS: usize = 10;
    type Fill = fn(&Run, &mut Store, usize);
    let fills: [(&str, Fill); 2] =
        [("results", Run::import_into), ("results and rounds", Run::measure_into)];
    for (what, fill) in fills {
        let path = folder.join(what);
        let mut store = Store::open(&path).expect("a new store");
        let start = Instant::now();
        (0..RUNS).for_each(|n| fill(run, &mut store, n));
        let took = start.elapsed() / RUNS as u32;
        drop(store);
        let bytes = fs::metadata(&path).expect("the store").len() / RUNS as u64;
        println!("{:6.2} MB for a run's {what}, written in {took:.0?}", bytes as f64 / 1e6);
    }
    println!();
}

fn times(run: &Run, runs: usize, folder: &Path) {
    let path = folder.join("many");
    let mut store = Store::open(&path).expect("a new store");
    (0..runs).for_each(|n| run.import_into(&mut store, n));
    drop(store);
    let read = |name| {
        move |store: &Store| {
            let id = store.resolve(name).expect("a run");
            assert!(!store.document(&id).expect("a document").run.id.is_empty());
        }
    };
    println!("a store of {runs} runs:");
    timed("show: reads the newest", &path, read("last"));
    timed("compare: reads the newest two, and the noise checks", &path, |store| {
        read("last~1")(store);
        read("last")(store);
        assert!(store.tagged("noise").expect("read").is_empty());
    });
    timed("runs: lists all", &path, |store| assert_eq!(store.runs().expect("runs").len(), runs));
    println!();
}

fn names(run: &Run, runs: usize, folder: &Path) {
    let path = folder.join("names");
    let mut store = Store::open(&path).expect("a new store");
    for n in 0..runs {
        let mut info = run.info(n);
        info.tags.insert("build".to_owned(), n.to_string());
        info.asked.insert(GROUP.to_owned(), (n / 2).to_string());
        store.begin_run(&info, &run.document.machine, "{}").expect("begun");
    }
    drop(store);
    let oldest = run.info(0).id;
    let (tag, far) = (format!("build={}", runs / 2), format!("last~{}", runs - 1));
    println!("a store of {runs} runs without results:");
    for name in ["last", "last~1", &far, &tag, &oldest, &oldest[..oldest.len() - 1]] {
        timed(name, &path, |store| drop(store.resolve(name).expect("a run")));
    }
    timed("systems measured together", &path, |store| {
        assert_eq!(store.group_of(&oldest).expect("a run").len(), 2);
    });
    timed("the newest unfinished run", &path, |store| drop(store.unfinished().expect("read")));
    timed("runs: lists all", &path, |store| assert_eq!(store.runs().expect("runs").len(), runs));
}

/// Prints the median time of opening the store and calling `call`.
fn timed(what: &str, path: &Path, call: impl Fn(&Store)) {
    let mut times: Vec<Duration> = (0..TRIES)
        .map(|_| {
            let start = Instant::now();
            call(&Store::open_read_only(path).expect("a store"));
            start.elapsed()
        })
        .collect();
    times.sort();
    println!("{:8.2} ms  {what}", times[TRIES / 2].as_secs_f64() * 1e3);
}

//! Documents for tests: one like that of a run, and arbitrary ones.

use crate::document::Interval;
use std::collections::BTreeMap;

use measure::Doubt;
use measure::doubt::{Axis, OtherSpread, ScalingLaw};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::check::parse_time;
use crate::document::*;

/// A document with one measured result that has all fields, and one unsupported result.
pub(crate) fn document() -> Document {
    Document {
        schema: SCHEMA,
        run: run_info("20261121-203655-4f2a"),
        machine: machine(),
        results: vec![measured("syscall/getppid", 165.2), unsupported("lock/sysv-sem")],
    }
}

pub(crate) fn run_info(id: &str) -> RunInfo {
    RunInfo {
        id: id.to_owned(),
        started: "2026-11-21T20:36:55Z".to_owned(),
        finished: Some("2026-11-21T20:37:55Z".to_owned()),
        seed: u64::MAX,
        oscost: "0.1.0".to_owned(),
        tags: strings(&[("kernel", "new")]),
        asked: strings(&[("precision", "0.5%")]),
        core_clock_ghz: Some(Interval { low: 3.35, median: 3.75, high: 3.85 }),
        area_seconds: [("lock".to_owned(), 20.5), ("syscall".to_owned(), 11.25)].into(),
    }
}

/// The identity of an unfinished run.
pub(crate) fn unfinished_run(id: &str, started: &str) -> RunInfo {
    RunInfo {
        started: started.to_owned(),
        finished: None,
        tags: BTreeMap::new(),
        core_clock_ghz: None,
        area_seconds: BTreeMap::new(),
        ..run_info(id)
    }
}

pub(crate) fn machine() -> Map<String, Value> {
    let machine = json!({"os": "Linux", "release": "6.1.0", "arch": "x86_64", "cpu": "AMD EPYC 7B13", "cpus": 2});
    machine.as_object().expect("an object").clone()
}

pub(crate) fn strings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

pub(crate) fn measured(case: &str, median: f64) -> CaseResult {
    CaseResult {
        case: case.to_owned(),
        params: strings(&[("as", "threads"), ("workers", "2")]),
        metric: "time".to_owned(),
        unit: "ns/op".to_owned(),
        better: Direction::Lower,
        outcome: Outcome::Measured,
        reason: None,
        estimate: Some(Estimate { median, low: median - 1.0, high: median + 2.0, level: 0.95 }),
        next_run: Some(next_run([median - 3.0, median + 4.0], 0.01)),
        this_machine: Some(Interval { median, low: median - 0.5, high: median + 1.0 }),
        seen: Some(Distribution {
            min: 160.0,
            p5: 161.0,
            p25: 164.0,
            p50: 166.0,
            p75: 170.0,
            p95: 220.5,
            p99: 300.0,
            mean: 171.25,
        }),
        quiet_share: Some(0.93),
        quiet_quartiles: Some([164.0, 166.0]),
        disturbed: false,
        cycles: Some(Interval {
            median: median * 4.0,
            low: median * 4.0 - 4.0,
            high: median * 4.0 + 8.0,
        }),
        frequency_slope: Some(FrequencySlope {
            slope: 0.97,
            low: 0.9,
            high: 1.04,
            adjusted: false,
        }),
        cpus: vec![1],
        rounds: 3,
        samples: 1501,
        converged: Some(true),
        per_op: Some(PerOp { syscalls: Some(1.0), ..PerOp::default() }),
        reference: Some(Reference { alu: 560.0, chase: 761.0, chain: 240.0 }),
        doubts: Vec::new(),
        round_values: vec![median, median + 0.5, median - 0.25],
        round_starts_ms: vec![1_795_000_000_000, 1_795_000_000_150, 1_795_000_000_301],
        all_round_values: vec![median, median * 1.5, median + 0.5, median - 0.25],
        all_round_starts_ms: vec![
            1_700_000_000_000,
            1_700_000_000_100,
            1_700_000_000_200,
            1_700_000_000_300,
        ],
        timeline: Vec::new(),
    }
}

/// What is known of the next run, from fourteen visits.
pub(crate) fn next_run([low, high]: [f64; 2], deviation: f64) -> NextRun {
    NextRun {
        low,
        high,
        level: 0.95,
        deviation,
        degrees: 7.5,
        visits: 14,
        boots: 3,
        days: 9,
        source: Source::Visits,
    }
}

pub(crate) fn unsupported(case: &str) -> CaseResult {
    CaseResult {
        outcome: Outcome::Unsupported,
        reason: Some("no SysV IPC,\nsays \"the sandbox\"".to_owned()),
        ..CaseResult::blank(case, BTreeMap::new(), "time", "ns/op", Direction::Lower)
    }
}

fn finite() -> impl Strategy<Value = f64> {
    use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    NORMAL | SUBNORMAL | ZERO | POSITIVE | NEGATIVE
}

/// Any text: quotes, commas, line breaks, NUL, other scripts.
fn text() -> impl Strategy<Value = String> {
    "(?s).{0,12}"
}

fn texts() -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map(text(), text(), 0..4)
}

fn time() -> impl Strategy<Value = String> {
    (0_i64..4_000_000_000_000).prop_map(|ms| {
        jiff::Timestamp::from_millisecond(ms).expect("within jiff's range").to_string()
    })
}

fn estimate() -> impl Strategy<Value = Estimate> {
    (vec(finite(), 3), 0.001..0.999).prop_map(|(mut figures, level)| {
        figures.sort_by(f64::total_cmp);
        Estimate { low: figures[0], median: figures[1], high: figures[2], level }
    })
}

/// Three ascending figures above zero.
fn ascending_positive() -> impl Strategy<Value = [f64; 3]> {
    vec(1e-6..1e12_f64, 3).prop_map(|mut figures| {
        figures.sort_by(f64::total_cmp);
        [figures[0], figures[1], figures[2]]
    })
}

fn cycles() -> impl Strategy<Value = Interval> {
    ascending_positive().prop_map(|[low, median, high]| Interval { median, low, high })
}

fn core_clock() -> impl Strategy<Value = Interval> {
    ascending_positive().prop_map(|[low, median, high]| Interval { low, median, high })
}

fn frequency_slope() -> impl Strategy<Value = FrequencySlope> {
    (vec(finite(), 3), any::<bool>()).prop_map(|(mut figures, adjusted)| {
        figures.sort_by(f64::total_cmp);
        FrequencySlope { low: figures[0], slope: figures[1], high: figures[2], adjusted }
    })
}

fn seen() -> impl Strategy<Value = Distribution> {
    (vec(finite(), 7), finite()).prop_map(|(mut f, mean)| {
        f.sort_by(f64::total_cmp);
        Distribution {
            min: f[0],
            p5: f[1],
            p25: f[2],
            p50: f[3],
            p75: f[4],
            p95: f[5],
            p99: f[6],
            mean,
        }
    })
}

fn per_op() -> impl Strategy<Value = PerOp> {
    vec(option::of(finite()), 9).prop_map(|counts| PerOp {
        syscalls: counts[0],
        voluntary_switches: counts[1],
        involuntary_switches: counts[2],
        page_faults: counts[3],
        instructions: counts[4],
        cycles: counts[5],
        host_syscalls: counts[6],
        host_switches: counts[7],
        host_ptrace_stops: counts[8],
        calls: counts[0].map(|count| ("getppid".to_owned(), count)).into_iter().collect(),
    })
}

fn outcome() -> impl Strategy<Value = (Outcome, Option<String>, Option<Estimate>)> {
    let ending = prop_oneof![
        Just(Outcome::Unsupported),
        Just(Outcome::Failed),
        Just(Outcome::TimedOut),
        Just(Outcome::Implausible)
    ];
    prop_oneof![
        estimate().prop_map(|estimate| (Outcome::Measured, None, Some(estimate))),
        (ending, text()).prop_map(|(ending, why)| (ending, Some(format!("because {why}")), None)),
    ]
}

fn result() -> impl Strategy<Value = CaseResult> {
    let identity = ("[a-z]{1,5}/[a-z0-9-]{1,8}", texts(), "[a-z0-9]{1,5}", "[a-z/]{1,5}");
    let better =
        prop_oneof![Just(Direction::Lower), Just(Direction::Higher), Just(Direction::Neither)];
    let figures = (
        option::of(seen()),
        option::of(0.0..=1.0),
        option::of(per_op()),
        vec(finite(), 0..4),
        reference(),
        option::of(cycles()),
        option::of(frequency_slope()),
    );
    let counts = (
        any::<u32>(),
        any::<u64>(),
        option::of(any::<bool>()),
        vec(doubt(), 0..3),
        vec(0..1024usize, 0..4),
    );
    (identity, better, outcome(), figures, counts).prop_map(
        |(identity, better, outcome, figures, counts)| CaseResult {
            case: identity.0,
            params: identity.1,
            metric: identity.2,
            unit: identity.3,
            better,
            outcome: outcome.0,
            reason: outcome.1,
            estimate: outcome.2,
            next_run: outcome.2.map(|estimate| NextRun {
                low: estimate.median - 1.0,
                high: estimate.median + 1.0,
                level: estimate.level,
                deviation: 0.5,
                degrees: 4.0,
                visits: 1 + counts.0 % 100,
                boots: 1,
                days: 1,
                source: Source::AnyProcessor,
            }),
            this_machine: outcome.2.map(|estimate| Interval {
                median: estimate.median,
                low: estimate.median,
                high: estimate.median + 1.0,
            }),
            seen: figures.0,
            quiet_share: figures.1,
            disturbed: figures.1.is_some_and(|share| share < 0.01),
            // Cycles belong to a time, which is positive.
            cycles: figures.5.filter(|_| outcome.2.is_some_and(|estimate| estimate.median > 0.0)),
            frequency_slope: figures.6,
            quiet_quartiles: figures.1.map(|share| [share, share + 1.0]),
            per_op: figures.2,
            all_round_values: figures.3.iter().map(|value| value / 2.0).collect(),
            all_round_starts_ms: (7..).step_by(150).take(figures.3.len()).collect(),
            round_starts_ms: (0..).step_by(150).take(figures.3.len()).collect(),
            round_values: figures.3,
            reference: figures.4,
            rounds: counts.0,
            samples: counts.1,
            converged: counts.2,
            doubts: counts.3,
            timeline: counts.4.iter().map(|&cpu| [cpu as u64, 2 * cpu as u64]).collect(),
            cpus: counts.4,
        },
    )
}

/// Doubts with fields of each type, and one without fields.
fn doubt() -> impl Strategy<Value = Doubt> {
    let connections = || vec(vec(any::<u32>(), 0..4), 0..4);
    prop_oneof![
        Just(Doubt::ClientSaturated),
        text().prop_map(|reason| Doubt::Emulated { reason }),
        vec(text(), 0..3).prop_map(|lengths| Doubt::LengthsNotMeasured { lengths }),
        text().prop_map(|tool| Doubt::OtherTool { tool, spread: OtherSpread::Processes }),
        text().prop_map(|lowest| Doubt::MayLieBelow { axis: Axis::Work, lowest }),
        connections().prop_map(|connections| Doubt::BoundedRates { connections }),
        (finite(), any::<u64>()).prop_map(|(degree, miss_percent)| Doubt::PoorFit {
            law: ScalingLaw::Usl,
            degree,
            miss_percent,
        }),
    ]
}

fn reference() -> impl Strategy<Value = Option<Reference>> {
    let part = || 1e-6..1e12_f64;
    option::of((part(), part(), part()).prop_map(|(alu, chase, chain)| Reference {
        alu,
        chase,
        chain,
    }))
}

fn arbitrary_run() -> impl Strategy<Value = RunInfo> {
    (
        "[0-9][A-Za-z0-9_.-]{0,63}",
        time(),
        option::of(time()),
        any::<u64>(),
        text(),
        texts(),
        texts(),
        option::of(core_clock()),
        btree_map(text(), 0.0..1e6_f64, 0..3),
    )
        .prop_map(|(id, started, finished, seed, oscost, tags, asked, clock, seconds)| {
            let (mut started, mut finished) = (started, finished);
            if let Some(end) =
                finished.as_mut().filter(|end| parse_time(end) < parse_time(&started))
            {
                std::mem::swap(&mut started, end);
            }
            RunInfo {
                id,
                started,
                finished,
                seed,
                oscost,
                tags,
                asked,
                core_clock_ghz: clock,
                area_seconds: seconds,
            }
        })
}

fn arbitrary_machine() -> impl Strategy<Value = Map<String, Value>> {
    let value = prop_oneof![
        text().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        finite().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    vec((text(), value), 0..5).prop_map(|pairs| pairs.into_iter().collect())
}

/// Any document that passes [`Document::check`].
pub(crate) fn any_document() -> impl Strategy<Value = Document> {
    (arbitrary_run(), arbitrary_machine(), vec(result(), 0..5))
        .prop_map(|(run, machine, results)| Document { schema: SCHEMA, run, machine, results })
        .prop_filter("sound and without duplicates", |document| document.check().is_ok())
}

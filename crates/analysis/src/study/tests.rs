//! Studies: what the included ones state, their verdicts by runs, and mistakes in files.

mod files;
mod published;
mod verdicts;

use results::{CaseResult, Direction, Document, Estimate, RunInfo, SCHEMA};

use super::*;
use crate::claim::ClaimVerdict;

fn parsed(name: &str, size: Size) -> Study {
    let study = Study::parse(included(name).unwrap(), size);
    study.unwrap_or_else(|error| panic!("{name}: {error}"))
}

const SMALL: &str = r#"
name = "s"
title = "t"
question = "q"
source = "o"
[sizes]
n = ["1", "2"]
[[measure]]
cases = ["lock/futex"]
params = { workers = ["$n"] }
[[table]]
title = "t"
rows-are = "r"
columns = [{ title = "c" }]
[[table.row]]
title = "r"
published = ["1"]
point = { case = "lock/futex", params = { workers = "$n" } }
[[claim]]
name = "c"
sentence = "s"
a = { case = "lock/futex", params = { workers = "$n" } }
relation = "value < 1 us"
[[about]]
claim = "c"
"#;

fn document(os: &str, system: Option<&str>, results: Vec<CaseResult>) -> Document {
    let mut machine = serde_json::Map::new();
    machine.insert("os".to_owned(), os.into());
    if let Some(system) = system {
        machine.insert(results::SYSTEM.to_owned(), system.into());
    }
    let run = RunInfo {
        id: format!("20260101-000000-{os}{}", system.unwrap_or_default()),
        started: "2026-01-01T00:00:00Z".to_owned(),
        finished: Some("2026-01-01T00:00:09Z".to_owned()),
        seed: 1,
        oscost: "0.1.0".to_owned(),
        tags: Default::default(),
        // The systems were measured in turn.
        asked: [(results::GROUP.to_owned(), "together".to_owned())].into(),
        core_clock_ghz: None,
        area_seconds: Default::default(),
    };
    Document { schema: SCHEMA, run, machine, results }
}

/// A result of twelve rounds that differ by a part in a thousand.
fn result(case: &str, params: &[(&str, &str)], metric: &str, unit: &str, value: f64) -> CaseResult {
    let params = params.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
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
        ..CaseResult::blank(case, params, metric, unit, Direction::Lower)
    }
}

fn rate(case: &str, params: &[(&str, &str)], value: f64) -> CaseResult {
    CaseResult { better: Direction::Higher, ..result(case, params, "rate", "/s", value) }
}

/// Parameters of a server of 1,000 connections.
fn server(arch: &str) -> [(&str, &str); 4] {
    [("arch", arch), ("connections", "1000"), ("cpus", "1"), ("work", "none")]
}

/// The figures of `timers` with gettimeofday at `ns`.
fn linux_timers(ns: f64) -> Vec<CaseResult> {
    let via = |via, ns| result("clock/gettimeofday", &[("via", via)], "time", "ns/op", ns);
    vec![via("vdso", ns), via("syscall", ns * 3.0)]
}

fn windows_timers(ns: f64) -> Vec<CaseResult> {
    vec![
        result("clock/query-performance-counter", &[], "time", "ns/op", ns),
        result("clock/get-tick-count-64", &[], "granularity", "ns", 10e6),
    ]
}

fn verdicts(study: &Study, runs: &[Document]) -> Vec<(String, ClaimVerdict)> {
    let judged = StudyFindings::of(study, runs).claims;
    judged.into_iter().map(|judged| (judged.claim.name, judged.verdict)).collect()
}

fn verdict(study: &Study, runs: &[Document], claim: &str) -> ClaimVerdict {
    let all = verdicts(study, runs);
    all.into_iter().find(|(name, _)| name == claim).map(|(_, verdict)| verdict).unwrap()
}

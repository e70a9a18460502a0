//! A run with known figures, for tests of exports.

use serde_json::{Value, json};

use super::{Bench, CASE, pages};

/// A file that another tool wrote.
pub fn written_by(tool: &str) -> String {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../results/tests/data/other_tools");
    format!("{data}/{tool}")
}

/// A run with known figures: two times with eight rounds each, of which one has core cycles too, and another metric.
pub fn document() -> Value {
    let time = |case: &str, median: f64| {
        let offsets = [0.0, 0.4, -0.4, 0.2, -0.2, 0.6, -0.6, 0.0];
        json!({
            "case": case, "metric": "time", "unit": "ns/op", "better": "lower", "outcome": "measured",
            "estimate": {"median": median, "low": median - 0.4, "high": median + 0.4, "level": 0.95},
            "rounds": 8, "samples": 4000,
            "round_values": offsets.map(|offset| median + offset),
        })
    };
    let mut getppid = time("syscall/getppid", 72.0);
    getppid["cycles"] = json!({"median": 288.0, "low": 286.4, "high": 289.6});
    let step = json!({
        "case": CASE, "metric": "step", "unit": "ns", "better": "lower", "outcome": "measured",
        "estimate": {"median": 1.0, "level": 0.95}, "rounds": 1, "doubts": [{"code": "disturbed"}],
    });
    let gone = pages::missing("lock/sysv-sem", json!({}), "failed", "no space | left");
    let results = vec![time(CASE, 25.0), step, getppid, gone];
    let mut document = pages::document("run-00", json!({"commit": "abc"}), results);
    document["run"]["started"] = "2026-01-01T00:00:00Z".into();
    document["run"]["finished"] = "2026-01-01T00:01:00Z".into();
    document["machine"]["release"] = "6.1.0".into();
    document["machine"]["cpu"] = "A \"quoted\" one".into();
    document
}

/// A bench with that run in its store, and the document.
pub fn with_run() -> (Bench, Value) {
    let (bench, document) = (Bench::new(), document());
    bench.write("run.json", &document.to_string());
    bench.oscost("import run.json").with(0);
    (bench, document)
}

/// The result for the metric of a case without parameters.
#[track_caller]
pub fn result<'d>(document: &'d Value, case: &str, metric: &str) -> &'d Value {
    let results = document["results"].as_array().expect("results");
    let found = results.iter().find(|r| r["case"] == case && r["metric"] == metric);
    found.unwrap_or_else(|| panic!("{case} {metric} is not in {document}"))
}

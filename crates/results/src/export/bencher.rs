//! Bencher Metric Format: <https://bencher.dev/docs/reference/bencher-metric-format>.

use serde_json::{Map, Value, json};

use super::format::{Extent, TextFormat};
use crate::document::{CaseResult, Document};

/// Bencher Metric Format.
pub const FORMAT: TextFormat = TextFormat {
    name: "bencher",
    about: "Bencher Metric Format (JSON)",
    extent: Extent::All,
    write: to_bencher,
};

/// The measure that every Bencher project has for times in ns.
const LATENCY: &str = "latency";
/// Maximum length of the name of a measure, in characters.
const LONGEST_MEASURE: usize = 64;
/// Maximum length of the name of a benchmark, in characters.
const LONGEST_BENCHMARK: usize = 1024;

/// Each point is a benchmark, and each of its metrics a measure. `time` is the measure `latency`, whose unit is ns in Bencher;
/// others have their unit in the name, since the format has no field for it.
///
/// The format has no failures: what was not measured is left out, and Bencher reports a benchmark that is missing.
fn to_bencher(document: &Document) -> String {
    let mut benchmarks: Map<String, Value> = Map::new();
    for result in &document.results {
        let result = result.sound();
        let Some(metric) = metric(&result) else { continue };
        let name = beginning(&result.label(), LONGEST_BENCHMARK);
        let measures = benchmarks.entry(name).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(measures) = measures {
            measures.insert(measure(&result), metric);
        }
    }
    let text = serde_json::to_string_pretty(&benchmarks);
    text.expect("all keys are strings, and writing to memory cannot fail") + "\n"
}

fn metric(result: &CaseResult) -> Option<Value> {
    let figure = result.figure()?;
    Some(match figure.has_interval() {
        true => json!({
            "value": figure.median,
            "lower_value": figure.low,
            "upper_value": figure.high,
        }),
        false => json!({ "value": figure.median }),
    })
}

fn measure(result: &CaseResult) -> String {
    match (result.metric.as_str(), result.unit.as_str()) {
        ("time", "ns/op" | "ns") => LATENCY.to_owned(),
        (metric, unit) => beginning(&format!("{metric} ({unit})"), LONGEST_MEASURE),
    }
}

fn beginning(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

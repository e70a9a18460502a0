//! The JSON of pyperf, version 1.0. Each run with values is a process.

use measure::Direction;
use measure::doubt::OtherSpread;
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use serde_json::{Map, Value};

use super::figures::{OtherMetric, TIME, of_values};
use super::format::{Reads, ToolFormat, ToolResult, ToolRun};
use super::names;
use super::number::Amount;
use crate::document::MachineFacts;
use crate::import::{ImportError, read};

/// pyperf's JSON.
pub const FORMAT: ToolFormat =
    ToolFormat { name: "pyperf", about: "JSON of pyperf -o", reads: Reads::Text(run) };

#[derive(Deserialize)]
struct Suite {
    #[serde(rename = "version", deserialize_with = "version")]
    _version: (),
    #[serde(default)]
    metadata: Map<String, Value>,
    benchmarks: Vec<Benchmark>,
}

#[derive(Deserialize)]
struct Benchmark {
    #[serde(default)]
    metadata: Map<String, Value>,
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    /// Absent in runs that only calibrate.
    #[serde(default)]
    values: Vec<Amount>,
}

fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    match Value::deserialize(deserializer)?.as_str() {
        Some("1.0") => Ok(()),
        other => Err(D::Error::custom(format_args!(
            "version {} is not 1.0: `python3 -m pyperf convert` of a newer pyperf writes 1.0",
            other.unwrap_or("of another type")
        ))),
    }
}

fn run(text: &str) -> Result<ToolRun, ImportError> {
    let suite: Suite = read(text)?;
    // Metadata that all benchmarks share is the suite's.
    let all = suite.benchmarks.iter().map(|benchmark| &benchmark.metadata);
    let fact = |key: &str| {
        let mut known = std::iter::once(&suite.metadata).chain(all.clone());
        known.find_map(|metadata| metadata.get(key))
    };
    let mut machine = MachineFacts::new();
    for (ours, theirs) in [("cpu", "cpu_model_name"), ("cpus", "cpu_count")] {
        if let Some(value @ (Value::String(_) | Value::Number(_))) = fact(theirs) {
            machine.insert(ours.to_owned(), value.clone());
        }
    }
    let version = fact("perf_version").and_then(Value::as_str).map(str::to_owned);
    let results = suite.benchmarks.iter().filter_map(|one| result(one, &suite.metadata));
    Ok(ToolRun { version, machine, results: results.collect(), ..ToolRun::default() })
}

fn result(benchmark: &Benchmark, of_suite: &Map<String, Value>) -> Option<ToolResult> {
    let text = |key: &str| {
        let value = benchmark.metadata.get(key).or_else(|| of_suite.get(key));
        value.and_then(Value::as_str)
    };
    let (metric, factor): (OtherMetric, f64) = match text("unit") {
        None | Some("second") => (TIME, 1e9),
        Some("byte") => (("memory", "bytes", Direction::Lower), 1.0),
        Some(_) => (("value", "count", Direction::Neither), 1.0),
    };
    let point = names::point(FORMAT.name, text("name").unwrap_or_default(), "name");
    let runs = || benchmark.runs.iter().map(|run| &run.values).filter(|values| !values.is_empty());
    // pyperf's own figure is the mean, so that the value of a process is the mean of its values.
    let mean = |values: &Vec<Amount>| {
        factor * values.iter().map(|value| value.0).sum::<f64>() / values.len() as f64
    };
    let mut result = of_values(&point, metric, runs().map(mean).collect(), OtherSpread::Processes)?;
    result.result.samples = runs().map(|values| values.len() as u64).sum();
    result.result.seen = None;
    Some(result)
}

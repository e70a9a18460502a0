//! The JSON of pyperf, version 1.0: <https://pyperf.readthedocs.io>.

use serde_json::{Map, Value, json};

use super::format::{Extent, TextFormat};
use super::times::{Time, times};
use crate::document::Document;

/// pyperf's JSON.
pub const FORMAT: TextFormat = TextFormat {
    name: "pyperf",
    about: "Times as pyperf's JSON, for its commands",
    extent: Extent::All,
    write: to_pyperf,
};

/// Each time is a benchmark, and each of its rounds a run with one value, as both are fresh processes. pyperf accepts only
/// values above 0.
fn to_pyperf(document: &Document) -> String {
    let are_positive = |time: &Time| time.seconds.iter().all(|value| *value > 0.0);
    let benchmarks: Vec<Value> =
        times(document).iter().filter(|time| are_positive(time)).map(benchmark).collect();
    let suite =
        json!({ "version": "1.0", "metadata": metadata(document), "benchmarks": benchmarks });
    let text = serde_json::to_string_pretty(&suite);
    text.expect("all keys are strings, and writing to memory cannot fail") + "\n"
}

fn benchmark(time: &Time) -> Value {
    let runs: Vec<Value> = time.seconds.iter().map(|value| json!({ "values": [value] })).collect();
    json!({ "metadata": { "name": time.name, "unit": "second" }, "runs": runs })
}

/// Facts under pyperf's names.
fn metadata(document: &Document) -> Map<String, Value> {
    let mut metadata = Map::new();
    let mut add = |key: &str, text: Option<String>| {
        // pyperf rejects empty texts.
        if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
            metadata.insert(key.to_owned(), text.into());
        }
    };
    let fact = |key: &str| document.machine.get(key).and_then(Value::as_str).map(str::to_owned);
    add("cpu_model_name", fact("cpu").filter(|cpu| cpu != "unknown"));
    add("platform", Some(document.machine_line()));
    add("oscost_run", Some(document.run.id.clone()));
    add("oscost_version", Some(document.run.oscost.clone()));
    add("measured_by", document.other_tool().map(str::to_owned));
    metadata
}

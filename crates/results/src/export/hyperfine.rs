//! The JSON that `hyperfine --export-json` writes and its scripts read.

use measure::stats::median;
use serde_json::{Value, json};

use super::format::{Extent, TextFormat};
use super::times::{Time, times};
use crate::document::Document;

/// hyperfine's JSON.
pub const FORMAT: TextFormat = TextFormat {
    name: "hyperfine",
    about: "Times as hyperfine's JSON, for its scripts",
    extent: Extent::All,
    write: to_hyperfine,
};

/// Each time is a `command`, and the values of its rounds are its `times`, in seconds. The fields are those of hyperfine's
/// versions 1 (`times`, `mean`) and 2 (`measurements`, `summary`), except what oscost does not know of a point, such as `user`
/// and `exit_codes`; hyperfine's scripts do not read these.
fn to_hyperfine(document: &Document) -> String {
    let results: Vec<Value> = times(document).iter().map(entry).collect();
    let file = json!({
        "schema_version": 2,
        "primary_metric": "time_wall_clock",
        "results": results,
    });
    let text = serde_json::to_string_pretty(&file);
    text.expect("all keys are strings, and writing to memory cannot fail") + "\n"
}

fn entry(time: &Time) -> Value {
    let values = &time.seconds;
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    // hyperfine writes null for one run too.
    let deviation = (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt());
    let middle = median(&mut values.clone());
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let measurement =
        |value: &f64| json!({ "time_wall_clock": { "value": value, "unit": "second" } });
    let summary = json!({
        "unit": "second",
        "count": values.len(),
        "mean": mean,
        "stddev": deviation,
        "median": middle,
        "min": least,
        "max": greatest,
    });
    json!({
        "command": time.name,
        "measurements": values.iter().map(measurement).collect::<Vec<_>>(),
        "summary": { "time_wall_clock": summary },
        "mean": mean,
        "stddev": deviation,
        "median": middle,
        "min": least,
        "max": greatest,
        "times": values,
        "parameters": time.result.params,
    })
}

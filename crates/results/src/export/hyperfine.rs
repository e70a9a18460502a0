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

/// Each time is a `command`, and the values of its rounds are its `times`, in seconds. Fields of what oscost does not know of a
/// point, such as `user` and `exit_codes`, are absent; hyperfine's scripts do not read them.
fn to_hyperfine(document: &Document) -> String {
    let results: Vec<Value> = times(document).iter().map(entry).collect();
    let text = serde_json::to_string_pretty(&json!({ "results": results }));
    text.expect("all keys are strings, and writing to memory cannot fail") + "\n"
}

fn entry(time: &Time) -> Value {
    let values = &time.seconds;
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    // hyperfine writes null for one run too.
    let deviation = (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt());
    json!({
        "command": time.name,
        "mean": mean,
        "stddev": deviation,
        "median": median(&mut values.clone()),
        "min": values.iter().copied().fold(f64::INFINITY, f64::min),
        "max": values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        "times": values,
        "parameters": time.result.params,
    })
}

//! Values of times, for the formats that know nothing else.

use crate::document::{CaseResult, Document, Outcome};

/// A time with a value for each of its rounds.
pub(super) struct Time {
    /// The point; with the name of the metric, if that is not `time`.
    pub name: String,
    /// Values in seconds, at least one: of the rounds in the order of measurement, or else the estimate.
    pub seconds: Vec<f64>,
    /// The result.
    pub result: CaseResult,
}

/// The measured times of the run.
pub(super) fn times(document: &Document) -> Vec<Time> {
    let sound = document.results.iter().map(|result| result.sound().into_owned());
    sound.filter_map(time).collect()
}

fn time(result: CaseResult) -> Option<Time> {
    let is_time = ["ns/op", "ns"].contains(&result.unit.as_str());
    let estimate = result.estimate.filter(|_| is_time && result.outcome == Outcome::Measured)?;
    let values = match result.round_values.as_slice() {
        [] => &[estimate.median],
        values => values,
    };
    let seconds = values.iter().map(|ns| ns / 1e9).collect();
    Some(Time { name: name(&result), seconds, result })
}

/// The point; with the name of the metric, if that is not `time`.
pub(super) fn name(result: &CaseResult) -> String {
    match result.metric.as_str() {
        "time" => result.label(),
        metric => format!("{} {metric}", result.label()),
    }
}

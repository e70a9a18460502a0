//! Formatting of derived figures.

use results::{CaseResult, Estimate, Outcome};

use report::footnotes::{Reason, joined};
use report::quantity::{figure, half_width};
use report::rows::{ending_words, measured, reason};

/// A figure with its interval, such as `38 us (34 to 41)`, or the reason why there is none.
pub(crate) fn said(result: &CaseResult) -> String {
    match measured(result) {
        Some(estimate) => with_interval(&estimate, &result.unit),
        None => no_figure(result),
    }
}

/// A figure with its interval: `38 us (34 to 41)`. The ends of the interval have units if they differ from that of the figure.
fn with_interval(estimate: &Estimate, unit: &str) -> String {
    let half_width = half_width(estimate.median, estimate.low, estimate.high);
    let [mid, low, high] =
        [estimate.median, estimate.low, estimate.high].map(|value| figure(value, half_width, unit));
    if low.unit == mid.unit && high.unit == mid.unit {
        format!("{mid} ({} to {})", low.number, high.number)
    } else {
        format!("{mid} ({low} to {high})")
    }
}

/// The doubts about figures as text to append, each once.
pub(crate) fn doubts(results: &[&CaseResult]) -> String {
    let all = results.iter().flat_map(|result| &result.doubts);
    let all = joined(all.cloned().map(Reason::Doubt));
    if all.is_empty() { String::new() } else { format!(" (doubtful: {all})") }
}

/// The reason why there is no figure.
pub(crate) fn no_figure(result: &CaseResult) -> String {
    match result.outcome {
        Outcome::Unsupported => reason(result).to_owned(),
        _ => ending_words(result),
    }
}

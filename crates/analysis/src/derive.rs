//! Shared by derived results: sweeps over a parameter, and rows with or without a figure.

use std::collections::BTreeMap;

use measure::Params;
use measure::stats::Interval;
use results::{CaseResult, Estimate, Outcome, PointKey};

/// A result at one value of the parameter of its sweep.
#[derive(Clone, Copy)]
pub struct SweepStep<'a> {
    /// The value.
    pub x: f64,
    /// The value as written in the parameter.
    pub text: &'a str,
    /// Result at this value.
    pub result: &'a CaseResult,
}

/// Sweeps: results that differ only in the parameter `over`, ascending by its value as `parse` reads it, each value once; by
/// their points without that parameter. Results whose value cannot be read are left out.
pub fn sweeps<'a>(
    results: impl IntoIterator<Item = &'a CaseResult>,
    over: &str,
    parse: impl Fn(&str) -> Option<f64>,
) -> BTreeMap<PointKey, Vec<SweepStep<'a>>> {
    let mut sweeps: BTreeMap<PointKey, Vec<SweepStep>> = BTreeMap::new();
    for result in results {
        let Some(text) = result.params.get(over) else { continue };
        let Some(x) = parse(text).filter(|x| x.is_finite() && *x > 0.0) else { continue };
        let mut point = result.point();
        point.params.remove(over);
        sweeps.entry(point).or_default().push(SweepStep { x, text, result });
    }
    for steps in sweeps.values_mut() {
        steps.sort_by(|a, b| a.x.total_cmp(&b.x));
        steps.dedup_by(|a, b| a.x == b.x);
    }
    sweeps
}

/// The result for a metric at a point.
pub fn find<'a>(
    results: &'a [CaseResult],
    case: &str,
    params: &Params,
    metric: &str,
) -> Option<&'a CaseResult> {
    results.iter().find(|r| r.metric == metric && r.case == case && r.params == *params)
}

/// Whether the result was measured, in rounds.
pub fn is_measured(result: &CaseResult) -> bool {
    result.outcome == Outcome::Measured && !result.round_values.is_empty()
}

/// Whether the result was measured, in rounds whose values all have logarithms.
pub fn has_positive_rounds(result: &CaseResult) -> bool {
    result.outcome == Outcome::Measured && are_positive(&result.round_values)
}

/// Whether there are values, and all have logarithms.
pub fn are_positive(values: &[f64]) -> bool {
    !values.is_empty() && values.iter().all(|value| value.is_finite() && *value > 0.0)
}

/// The row with this figure from `rounds` rounds.
pub fn with_figure(row: CaseResult, figure: Interval, rounds: usize) -> CaseResult {
    CaseResult { estimate: Some(Estimate::of(figure)), rounds: rounds as u32, ..row }
}

/// The row with the reason why there is no figure.
pub fn without_figure(row: CaseResult, reason: String) -> CaseResult {
    let (outcome, reason) = (Outcome::Unsupported, Some(reason));
    CaseResult { outcome, reason, estimate: None, round_values: Vec::new(), ..row }
}

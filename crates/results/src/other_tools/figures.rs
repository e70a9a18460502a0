//! Results from values and numbers of other tools.

use measure::Direction;
use measure::doubt::OtherSpread;
use measure::stats::{LEVEL, RoundValue, interval_of, median, quantile};

use super::format::ToolResult;
use crate::document::{CaseResult, Distribution, Estimate, Interval, Outcome};
use crate::point::PointKey;

/// Seed of the bootstrap; it is constant, so that a file always gives the same document.
const SEED: u64 = 1;

/// A metric: its name, unit and direction.
pub type OtherMetric<'m> = (&'m str, &'m str, Direction);

/// The cost of one operation.
pub const TIME: OtherMetric<'static> = ("time", "ns/op", Direction::Lower);

/// Why a time of 0 is no figure: nothing was done, or nothing was timed.
const NO_TIME: &str = "its time is 0";

/// Whether the figure would be a time of 0: no operation takes none.
fn is_no_time(metric: OtherMetric, values: &[f64]) -> bool {
    metric == TIME && values.iter().all(|value| *value <= 0.0)
}

/// A result without a figure.
pub fn blank(point: &PointKey, (metric, unit, better): OtherMetric) -> CaseResult {
    CaseResult::blank(&point.case, point.params.clone(), metric, unit, better)
}

/// The result of one value for each process or repetition. Its interval is that of oscost's own rounds: from three values on.
/// Without values there is no result.
pub fn of_values(
    point: &PointKey,
    metric: OtherMetric,
    values: Vec<f64>,
    spread: OtherSpread,
) -> Option<ToolResult> {
    if values.is_empty() {
        return None;
    }
    if is_no_time(metric, &values) {
        return Some(failed(point, metric, NO_TIME));
    }
    let rounds: Vec<RoundValue> =
        values.iter().map(|value| RoundValue::of(&[*value], SEED)).collect();
    let spread = if values.len() > 1 { spread } else { OtherSpread::Nothing };
    let result = CaseResult {
        estimate: Some(Estimate::of(interval_of(&rounds, SEED))),
        rounds: values.len() as u32,
        samples: values.len() as u64,
        seen: Some(distribution(values.clone())),
        round_values: values,
        ..blank(point, metric)
    };
    Some(ToolResult { result, spread })
}

/// The result of one number.
pub fn of_number(point: &PointKey, metric: OtherMetric, number: f64) -> ToolResult {
    if is_no_time(metric, &[number]) {
        return failed(point, metric, NO_TIME);
    }
    let estimate = Some(Estimate::of(Interval::open(number)));
    let result = CaseResult { estimate, rounds: 1, ..blank(point, metric) };
    ToolResult { result, spread: OtherSpread::Nothing }
}

/// A result that the tool reported as a failure.
pub fn failed(point: &PointKey, metric: OtherMetric, reason: &str) -> ToolResult {
    without_figure(point, metric, Outcome::Failed, reason)
}

/// A result that has this outcome instead of a figure.
pub fn without_figure(
    point: &PointKey,
    metric: OtherMetric,
    outcome: Outcome,
    reason: &str,
) -> ToolResult {
    let said = if reason.trim().is_empty() { "it failed" } else { reason };
    let result = CaseResult { outcome, reason: Some(said.to_owned()), ..blank(point, metric) };
    ToolResult { result, spread: OtherSpread::Nothing }
}

/// The result with the tool's own interval at its own `level`. Ends that do not contain the number are left out.
pub fn of_interval(
    point: &PointKey,
    metric: OtherMetric,
    Estimate { median, low, high, level }: Estimate,
) -> ToolResult {
    let holds = low <= median && median <= high && 0.0 < level && level < 1.0;
    let estimate = match holds {
        true => Estimate { median, low, high, level },
        false => Estimate { level: LEVEL, ..Estimate::of(Interval::open(median)) },
    };
    let result = CaseResult { estimate: Some(estimate), rounds: 1, ..blank(point, metric) };
    ToolResult { result, spread: OtherSpread::Samples }
}

/// The distribution of values, of which there is at least one.
pub fn distribution(mut values: Vec<f64>) -> Distribution {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let p50 = median(&mut values);
    values.sort_unstable_by(f64::total_cmp);
    let at = |p| quantile(&values, p);
    Distribution {
        min: values[0],
        p5: at(0.05),
        p25: at(0.25),
        p50,
        p75: at(0.75),
        p95: at(0.95),
        p99: at(0.99),
        mean,
    }
}

//! Parts of claims as text.

use std::collections::BTreeSet;

use analysis::claim::{
    ClaimVerdict, JudgedClaim, JudgedComparison, QuantityInterval, Scope, SideFigure, Statement,
};
use results::PointKey;
use strum::VariantArray;

use crate::quantity::{figure, format_interval, half_width};

/// Number of claims by verdict: `5 claims: 3 hold, 1 fails, 1 undecided`.
pub(crate) fn counts(claims: &[JudgedClaim]) -> String {
    let count = |verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
    let part = |verdict: ClaimVerdict| match (count(verdict), verdict) {
        (0, _) => None,
        (1, verdict) => Some(format!("1 {}", verdict.word())),
        (n, ClaimVerdict::Holds) => Some(format!("{n} hold")),
        (n, ClaimVerdict::Fails) => Some(format!("{n} fail")),
        (n, verdict) => Some(format!("{n} {}", verdict.word())),
    };
    let parts: Vec<String> = ClaimVerdict::VARIANTS.iter().copied().filter_map(part).collect();
    let names: BTreeSet<&str> = claims.iter().map(|claim| claim.claim.name.as_str()).collect();
    let (named, verdicts) = (names.len(), claims.len());
    let s = if named == 1 { "" } else { "s" };
    let verdicts = match named < verdicts {
        true => format!(", {verdicts} verdicts"),
        false => String::new(),
    };
    let claims = format!("{named} claim{s}{verdicts}");
    format!("{claims}: {}", parts.join(", "))
}

/// The words that introduce the note of a verdict.
pub(super) fn names(verdict: ClaimVerdict) -> &'static str {
    match verdict {
        ClaimVerdict::NotMeasurable => "reason",
        ClaimVerdict::Undecided => "to decide it",
        ClaimVerdict::Holds | ClaimVerdict::Fails => "measured",
    }
}

/// Points that the measured system lacks, with the reasons; only the first of many.
pub(super) fn left_out(judged: &JudgedClaim) -> Option<String> {
    const NAMED: usize = 3;
    let (first, more) = judged.left_out.split_at(judged.left_out.len().min(NAMED));
    let more = match more.len() {
        0 => String::new(),
        n => format!("; and {n} more"),
    };
    (!first.is_empty()).then(|| format!("{}{more}", first.join("; ")))
}

/// A claim's relation with its scope.
pub(super) fn statement(statement: &Statement) -> String {
    let relation = &statement.relation.value;
    let over = match relation.text.contains("with ") {
        true => String::new(),
        false => relation.quantity.over().map(|over| format!(" over {over}")).unwrap_or_default(),
    };
    let scope = match statement.scope {
        Scope::At => String::new(),
        scope => format!(", {} values of the parameters left open", scope.word()),
    };
    format!("{}{over}{scope}", relation.text)
}

/// Combinations of parameters, those that decide the verdict first.
pub(super) fn most_telling(judged: &JudgedClaim) -> Vec<&JudgedComparison> {
    let mut shown: Vec<&JudgedComparison> = judged.comparisons.iter().collect();
    shown.sort_by_key(|comparison| comparison.verdict != judged.verdict);
    shown
}

/// A side with its figure: `lock/futex{workers=2}: 41.3 ns ±1.2 %`.
pub(super) fn side(shown: &SideFigure, comparison: &JudgedComparison) -> String {
    format!("{}: {}", name_of_side(shown, comparison), figure_of(shown))
}

/// The point of a side, with its metric and its system where they differ between sides.
pub(super) fn name_of_side(shown: &SideFigure, comparison: &JudgedComparison) -> String {
    let is_time = shown.metric == measure::TIME.name;
    let metric = if is_time { String::new() } else { format!(", {}", shown.metric) };
    let several = comparison.b.as_ref().is_some_and(|b| b.system != comparison.a.system);
    let system = match (shown.rank, comparison.systems) {
        (Some(rank), Some(systems)) => {
            format!(" on {} ({} of {systems})", shown.system, rank.word())
        }
        _ if several => format!(" on {}", shown.system),
        _ => String::new(),
    };
    format!("{}{metric}{system}", short(&shown.point))
}

/// A point without the parameters that have the only value that the case gives them by default.
fn short(point: &PointKey) -> String {
    let usual = |name: &str| {
        let param = catalog::find(&point.case)?.params.iter().find(|param| param.name == name)?;
        param.default.first().filter(|_| param.default.len() == 1)
    };
    let mut params = point.params.clone();
    params.retain(|name, value| usual(name).is_none_or(|usual| usual != value));
    results::label(&point.case, &params)
}

/// The figure of a side.
pub(super) fn figure_of(shown: &SideFigure) -> String {
    let estimate = &shown.estimate;
    let half = half_width(estimate.median, estimate.low, estimate.high);
    let figure = figure(estimate.median, half, &shown.unit);
    let has_unit = !figure.unit.is_empty() || shown.unit.is_empty();
    let unit = match (has_unit, shown.unit.strip_prefix('/')) {
        (true, _) => String::new(),
        (false, Some(per)) => format!(" per {per}"),
        (false, None) => format!(" {}", shown.unit),
    };
    match format_interval(estimate.median, estimate.low, estimate.high) {
        Some(interval) if half > 0.0 => format!("{figure}{unit} {interval}"),
        _ => format!("{figure}{unit}"),
    }
}

/// The quantity of a combination with its interval: `ratio 2.03 (1.98 to 2.08)`; `None` without figures.
pub(super) fn quantity(comparison: &JudgedComparison) -> Option<String> {
    let interval = comparison.interval?;
    let number = |value: f64| number(value, &interval, &comparison.unit);
    let ends = comparison.values.as_ref().and_then(|values| values.first().zip(values.last()));
    let what = match comparison.over.as_ref().zip(ends) {
        Some((over, (first, last))) => {
            format!("{} over {over} {first} to {last}", comparison.quantity)
        }
        None => comparison.quantity.to_owned(),
    };
    let QuantityInterval { mid, low, high } = interval;
    if low == high {
        return Some(format!("{what} {}, exactly", number(mid)));
    }
    let range = match (is_open(low), is_open(high)) {
        (true, true) => "anything".to_owned(),
        (true, false) => format!("up to {}", number(high)),
        (false, true) => format!("{} or more", number(low)),
        (false, false) => format!("{} to {}", number(low), number(high)),
    };
    match mid.is_finite() && !(mid == 0.0 && comparison.quantity == "crossing") {
        true => Some(format!("{what} {} ({range})", number(mid))),
        // The curves do not cross within the measured values.
        false => Some(format!("{what}: none ({range})")),
    }
}

/// Whether an end of an interval is open; the lower end of a ratio is 0 then, which is infinitely far on the logarithmic scale.
fn is_open(end: f64) -> bool {
    !end.is_finite() || end == 0.0
}

fn number(value: f64, interval: &QuantityInterval, unit: &str) -> String {
    if !unit.is_empty() {
        let half = half_width(interval.mid, interval.low, interval.high);
        return figure(value, if half.is_finite() { half } else { 0.0 }, unit).to_string();
    }
    let width = (interval.high - interval.low).abs();
    if (value - value.round()).abs() < 1e-9 * value.abs() && !width.is_finite() {
        return format!("{value:.0}");
    }
    match if width.is_finite() { width } else { value.abs() } {
        width if width > 20.0 => format!("{value:.0}"),
        width if width > 2.0 => format!("{value:.1}"),
        width if width > 0.02 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

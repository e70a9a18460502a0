//! The points of a run by area, for tables and charts of the page.

use measure::{Doubt, Metric, TIME};
use results::{CaseResult, Estimate, Outcome, PointKey};

use crate::first_seen::{distinct, grouped};
use crate::html::chart::{Bar, LinePoint};
use crate::html::text::{Ids, visible};
use crate::interval::Uncertain;
use crate::labels::{self, Label, Param};
use crate::quantity::{figure, half_width, measured_half_width};
use crate::rows::measured;
pub(super) use crate::swept::is_derived;

/// Maximum number of cases that a command names; if there are more, it names the area.
const CASES_IN_COMMAND: usize = 4;

/// One point with all its results.
pub(super) struct AreaPoint<'r> {
    /// Name without the area and the parameters that all points of the area share.
    pub short: String,
    pub key: PointKey,
    /// Identifier of the point's row.
    pub id: String,
    pub results: Vec<&'r CaseResult>,
}

impl<'r> AreaPoint<'r> {
    pub(super) fn result(&self, metric: &str) -> Option<&'r CaseResult> {
        self.results.iter().find(|result| result.metric == metric).copied()
    }

    /// The time of the point's operation.
    pub(super) fn time(&self) -> Option<&'r CaseResult> {
        self.result(TIME.name)
    }

    /// Whether this system lacks the point.
    pub(super) fn is_unsupported(&self) -> bool {
        self.results.iter().all(|result| result.outcome == Outcome::Unsupported)
    }
}

/// The points of one area in one run.
pub(super) struct AreaPoints<'r> {
    pub name: String,
    /// Parameters that all points share.
    pub shared: Vec<Param>,
    pub points: Vec<AreaPoint<'r>>,
}

/// Label of a point, and its results.
type Labelled<'r> = (Label, Vec<&'r CaseResult>);

/// The points of `results` by area, in the order of the results; points of one case are adjacent.
pub(super) fn by_area<'r>(results: &'r [CaseResult], ids: &mut Ids) -> Vec<AreaPoints<'r>> {
    let mut areas: Vec<(String, Vec<Labelled>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for result in results {
        let area = result.point().area().to_owned();
        let at = areas.iter().position(|(name, _)| *name == area).unwrap_or_else(|| {
            areas.push((area, Vec::new()));
            areas.len() - 1
        });
        let points = &mut areas[at].1;
        // A foreign file may have a second result for the same metric, which becomes another point.
        let same = points.len();
        let place = *places.entry((&result.case, &result.params)).or_insert(same);
        match points.get_mut(place) {
            Some((_, known)) if known.iter().all(|r| r.metric != result.metric) => {
                known.push(result)
            }
            _ => points.push((label(result), vec![result])),
        }
    }
    areas.into_iter().map(|(name, points)| area(name, points, ids)).collect()
}

fn area<'r>(
    name: String,
    mut points: Vec<(Label, Vec<&'r CaseResult>)>,
    ids: &mut Ids,
) -> AreaPoints<'r> {
    let all: Vec<Label> = points.iter().map(|(label, _)| label.clone()).collect();
    let shared = labels::shared(&all);
    points.sort_by_cached_key(|(label, _)| labels::rank(label, &all));
    let point = |(label, results): (Label, Vec<&'r CaseResult>)| {
        let key = results[0].point();
        let (short, id) = (label.without(&shared).short(), ids.of(&key.to_string()));
        AreaPoint { short, key, id, results }
    };
    AreaPoints { name, points: points.into_iter().map(point).collect(), shared }
}

fn label(result: &CaseResult) -> Label {
    Label::cleaned(&result.point(), |part| visible(part).into_owned())
}

/// Name of a result's point without the area and the `shared` parameters.
pub(super) fn short_name(result: &CaseResult, shared: &[Param]) -> String {
    label(result).without(shared).short()
}

/// The estimate of a measured result whose figures are all finite. If the interval is unknown, both ends are the figure.
pub(super) fn estimate(result: &CaseResult) -> Option<Estimate> {
    let e = measured(result)?;
    let is_open = e.low == f64::NEG_INFINITY && e.high == f64::INFINITY;
    let e = if is_open { Estimate { low: e.median, high: e.median, ..e } } else { e };
    [e.median, e.low, e.high].iter().all(|value| value.is_finite()).then_some(e)
}

/// The definition of the result's metric.
pub(super) fn described(result: &CaseResult) -> Option<&'static Metric> {
    catalog::metric(&result.case, &result.metric)
}

/// A figure with its unit: `164.9 ns`.
pub(super) fn figure_of(e: &Estimate, result: &CaseResult) -> String {
    let half = match result.metric == TIME.name {
        true => measured_half_width(e.median, e.low, e.high),
        false => half_width(e.median, e.low, e.high),
    };
    with_unit(figure(e.median, half, &result.unit).to_string(), &result.unit)
}

/// The ends of an interval: `164.1 ns to 165.3 ns`.
pub(super) fn interval_of(e: &Estimate, unit: &str) -> String {
    let half = half_width(e.median, e.low, e.high);
    format!("{} to {}", figure(e.low, half, unit), figure(e.high, half, unit))
}

fn with_unit(figure: String, unit: &str) -> String {
    match crate::quantity::carries_unit(unit) || unit.ends_with("/s") || unit == "x" {
        true => figure,
        false => format!("{figure} {unit}"),
    }
}

/// A point and its figure in words: `spin workers=4, time: 164.9 ns (164.1 ns to 165.3 ns)`.
fn in_words(name: &str, e: &Estimate, result: &CaseResult) -> String {
    let figure = figure_of(e, result);
    let marks: Vec<&str> = result.doubts.iter().filter_map(Doubt::mark).collect();
    let marks: String = marks.iter().map(|mark| format!("; {mark}")).collect();
    match e.low == e.high {
        true => format!("{name}, {}: {figure}{marks}", result.metric),
        false => {
            let interval = interval_of(e, &result.unit);
            format!("{name}, {}: {figure} ({interval}){marks}", result.metric)
        }
    }
}

/// The figure of a result at `x` of a chart of lines; `None` if the result has none. Its name omits the `shared` parameters.
pub(super) fn line_point(
    result: &CaseResult,
    run: &str,
    x: f64,
    shared: &[Param],
) -> Option<LinePoint> {
    let e = estimate(result)?;
    let run = if run.is_empty() { String::new() } else { format!(", {run}") };
    let text = in_words(&(short_name(result, shared) + &run), &e, result);
    Some(LinePoint { x, y: e.median, low: e.low, high: e.high, text, point: Some(result.point()) })
}

/// The figure of a result as a bar; `None` if the result has none.
pub(super) fn bar(result: &CaseResult, label: String) -> Option<Bar> {
    let e = estimate(result)?;
    let marks: Vec<&str> = result.doubts.iter().filter_map(Doubt::mark).collect();
    Some(Bar {
        label,
        value: e.median,
        low: e.low,
        high: e.high,
        figure: figure_of(&e, result),
        interval: interval_words(result),
        remark: marks.join(", "),
        is_open: measured(result).is_some_and(|e| !e.has_interval()),
        point: Some(result.point()),
        ..Bar::default()
    })
}

/// The interval relative to the figure, `±0.2 %`, or `2 rounds` for a figure without one; empty for an exact figure.
pub(super) fn interval_words(result: &CaseResult) -> String {
    let is_exact = |figure: &Uncertain| figure.estimate.low == figure.estimate.high;
    let figure = Uncertain::of(result).filter(|figure| !is_exact(figure));
    figure.and_then(Uncertain::words).unwrap_or_default()
}

/// The command that measures the cases of `results` again: `oscost run lock/spin --param workers=3`; `None` for cases that this
/// version does not know.
pub(super) fn command<'r>(results: impl Iterator<Item = &'r CaseResult>) -> Option<String> {
    let results: Vec<&CaseResult> = results.collect();
    let names = distinct(results.iter().map(|result| result.case.as_str()));
    let unusual = results.iter().flat_map(|result| {
        let case = catalog::find(&result.case);
        let params = result.params.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        params.filter(move |(key, value)| {
            let param = case.and_then(|case| case.params.iter().find(|param| param.name == *key));
            param.is_some_and(|param| !param.default.contains(value))
        })
    });
    let values = grouped(distinct(unusual));
    let known: Vec<_> = names.iter().filter_map(|name| catalog::find(name)).collect();
    let first = known.first()?;
    if let Some(only) = catalog::only_by(first) {
        return Some(only.to_owned());
    }
    let named = match known.len() > CASES_IN_COMMAND {
        true => first.area.to_owned(),
        false => known.iter().map(|case| case.label()).collect::<Vec<_>>().join(" "),
    };
    let param = |(key, values): &(&str, Vec<&str>)| {
        let text = format!("{key}={}", values.join(","));
        let plain = |c: char| c.is_ascii_alphanumeric() || "=,._-/+:".contains(c);
        match text.chars().all(plain) {
            true => format!(" --param {text}"),
            false => format!(" --param '{}'", text.replace('\'', r"'\''")),
        }
    };
    Some(format!("oscost run {named}{}", values.iter().map(param).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use results::Direction;

    use super::*;

    fn result(case: &str, params: &[(&str, &str)], metric: &str) -> CaseResult {
        let params = simulated::params(params);
        CaseResult::blank(case, params, metric, "ns/op", Direction::Lower)
    }

    #[test]
    fn results_of_a_point_come_together_and_repeats_do_not() {
        let results = [
            result("lock/spin", &[("workers", "4")], "time"),
            result("lock/futex", &[("workers", "4")], "time"),
            result("lock/spin", &[("workers", "4")], "pairs"),
            result("lock/spin", &[("workers", "4")], "time"),
        ];
        let areas = by_area(&results, &mut Ids::default());
        let counts: Vec<usize> = areas[0].points.iter().map(|point| point.results.len()).collect();
        assert_eq!((areas.len(), counts), (1, vec![2, 1, 1]));
        assert_eq!(areas[0].points[0].key, results[0].point());
    }

    #[test]
    fn the_command_names_what_a_usual_run_leaves_out() {
        simulated::areas::install();
        let results = [result("syscall/getppid", &[], "time")];
        assert_eq!(command(results.iter()).as_deref(), Some("oscost run syscall/getppid"));
        let odd = [result("foreign/case", &[("a", "b c")], "time")];
        assert_eq!(command(odd.iter()), None);
        let param = catalog::all()
            .into_iter()
            .find_map(|case| Some((case, case.params.first()?)))
            .map(|(case, param)| (case.label(), param.name))
            .unwrap();
        let odd = [result(&param.0, &[(param.1, "o'dd value")], "time")];
        let text = command(odd.iter()).unwrap();
        if text.contains("oscost run") {
            assert!(text.contains(r"'\''"), "{text:?}");
        }
    }
}

//! Charts over a parameter: numbers of connections and workers, sizes, lengths of jobs. The parameters are found by their values,
//! so that a new area gets charts without changes here.

use catalog::Takes;
use measure::count::{parse_duration, parse_size};
use measure::{Direction, Role, TIME};
use results::{CaseResult, Outcome};

use crate::first_seen::distinct;
use crate::html::chart::{Chart, Drawing, LOOKS, Line, Lines, Mark, ScaleKind, XAxis};
use crate::html::facets::{Facet, Item, facets};
use crate::html::points::{
    described, estimate, figure_of, interval_of, is_derived, line_point, short_name,
};
use crate::html::text::Ids;
use crate::labels::Param;

/// Minimum number of values of a parameter for a chart.
const LEAST_VALUES: usize = 3;

/// Maximum numbers of charts: of metrics over a parameter, and of charts of one metric over one parameter.
#[derive(Clone, Copy)]
pub(super) struct Most {
    pub metrics: usize,
    pub charts: usize,
}

impl Most {
    /// All that is worth a chart.
    pub(super) const EVERY: Most = Most { metrics: 4, charts: 4 };
}

/// Maximum number of crossings drawn in a chart.
const MARKS: usize = 6;

/// A result, with the name of its run; the name is empty if there is only one run.
pub(super) type Named<'r> = (&'r str, &'r CaseResult);

/// One point of a chart over a parameter.
#[derive(Clone, Copy)]
struct SweptPoint<'r> {
    x: f64,
    shown: &'r str,
    run: &'r str,
    result: &'r CaseResult,
}

/// Charts of metrics over all parameters of an area's `results`; names omit the `shared` parameters.
pub(super) fn sweeps(results: &[Named], shared: &[Param], most: Most, ids: &mut Ids) -> Vec<Chart> {
    let mut charts = Vec::new();
    for key in swept(results) {
        for metric in metrics(results, key).into_iter().take(most.metrics) {
            let mut facets: Vec<Facet<SweptPoint>> = facets(items(results, key, metric));
            facets.retain(is_sweep);
            let left_out = facets.len().saturating_sub(most.charts);
            for facet in facets.into_iter().take(most.charts) {
                charts.push(chart(results, key, metric, facet, shared, ids));
            }
            if left_out > 0
                && let Some(chart) = charts.last_mut()
            {
                let charts = if left_out == 1 { "chart is" } else { "charts are" };
                chart.notes.push(format!(
                    "{left_out} more such {charts} possible: the table has all figures."
                ));
            }
        }
    }
    charts
}

/// Parameters with several numeric values at which all other parameters are equal.
fn swept<'r>(results: &[Named<'r>]) -> Vec<&'r str> {
    let points = results.iter().filter(|(_, result)| !is_derived(result));
    let mut keys = distinct(points.flat_map(|(_, r)| r.params.keys().map(String::as_str)));
    keys.retain(|key| {
        let times = items(results, key, TIME.name);
        let items = if times.is_empty() { any_items(results, key) } else { times };
        facets(items).iter().any(is_sweep)
    });
    keys
}

fn any_items<'r>(results: &[Named<'r>], key: &str) -> Vec<Item<'r, SweptPoint<'r>>> {
    let metric =
        results.iter().find(|(_, r)| r.params.contains_key(key) && r.outcome == Outcome::Measured);
    metric.map(|(_, r)| items(results, key, &r.metric)).unwrap_or_default()
}

fn is_sweep(facet: &Facet<SweptPoint>) -> bool {
    let enough = |places: &[SweptPoint]| {
        let mut values: Vec<f64> = places.iter().map(|place| place.x).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values.len() >= LEAST_VALUES
    };
    facet.lines.iter().any(|(_, places)| enough(places))
}

/// The measured results of `metric` by the value of `key`.
fn items<'r>(results: &[Named<'r>], key: &str, metric: &str) -> Vec<Item<'r, SweptPoint<'r>>> {
    let item = |(run, result): &Named<'r>| {
        if result.metric != metric || is_derived(result) {
            return None;
        }
        estimate(result)?;
        let shown = result.params.get(key)?;
        let place = SweptPoint { x: number(result, key, shown)?, shown, run, result };
        let others = result.params.iter().filter(|(other, _)| *other != key);
        let name = result.case.rsplit('/').next().unwrap_or(&result.case);
        let keys = [("case", name)].into_iter();
        let keys = keys.chain(others.map(|(k, v)| (k.as_str(), v.as_str()))).chain([("run", *run)]);
        Some(Item { keys: keys.collect(), value: place })
    };
    results.iter().filter_map(item).collect()
}

/// The number that a value stands for: a count, bytes, or ns.
pub(super) fn number(result: &CaseResult, key: &str, value: &str) -> Option<f64> {
    let takes = catalog::find(&result.case)
        .and_then(|case| case.params.iter().find(|param| param.name == key))
        .map(|param| param.takes);
    let count = || parse_size(value).ok().map(|count| count as f64);
    let time = || parse_duration(value).ok().map(|time| time.as_secs_f64() * 1e9);
    let found = match takes {
        Some(Takes::CpuPair | Takes::Directory) => None,
        Some(Takes::Length) => time(),
        Some(_) => count(),
        None => count().or_else(time),
    };
    found.filter(|number| number.is_finite())
}

/// Metrics worth a chart: the time or the metric that replaces it, own costs, 99th percentiles, then others.
fn metrics<'r>(results: &[Named<'r>], key: &str) -> Vec<&'r str> {
    let mut ranked: Vec<(usize, &str)> = Vec::new();
    let with_key =
        |(_, result): &&Named<'r>| result.params.contains_key(key) && estimate(result).is_some();
    for (_, result) in results.iter().filter(with_key) {
        if ranked.iter().all(|(_, known)| *known != result.metric)
            && result.better != Direction::Neither
        {
            ranked.extend(rank(results, result).map(|rank| (rank, result.metric.as_str())));
        }
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, metric)| metric).collect()
}

/// Rank of a metric among those worth a chart; `None` for metrics without a chart.
fn rank(results: &[Named], result: &CaseResult) -> Option<usize> {
    let replaces_time = |(_, other): &Named| {
        other.case == result.case
            && described(other).is_some_and(|metric| metric.role == Role::SameAs(TIME.name))
    };
    let is_percentile = percentile(&result.metric).is_some();
    match described(result).map(|metric| metric.role) {
        _ if result.metric == TIME.name => (!results.iter().any(replaces_time)).then_some(0),
        Some(Role::SameAs(name)) if name == TIME.name => Some(0),
        Some(Role::OwnCost) => Some(1),
        Some(Role::Derived | Role::SameAs(_) | Role::Failures | Role::CpuShare) => None,
        _ if result.metric.ends_with("-p99") => Some(2),
        _ if is_percentile => None,
        _ => Some(3),
    }
}

fn chart(
    results: &[Named],
    key: &str,
    metric: &str,
    facet: Facet<SweptPoint>,
    shared: &[Param],
    ids: &mut Ids,
) -> Chart {
    let places: Vec<SweptPoint> =
        facet.lines.iter().flat_map(|(_, places)| places).copied().collect();
    let mut ticks: Vec<(f64, String)> =
        places.iter().map(|place| (place.x, place.shown.to_owned())).collect();
    ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
    ticks.dedup_by(|a, b| a.0 == b.0);
    let unit = places.first().map_or("", |place| place.result.unit.as_str());
    let what = title(&facet, &places, shared);
    let wide = ticks.first().zip(ticks.last()).is_some_and(|(a, b)| a.0 > 0.0 && b.0 / a.0 > 8.0);
    let common: Vec<Param> = match places.first() {
        Some(first) => {
            let is_common = |(k, v): &(&String, &String)| {
                places.iter().all(|place| place.result.params.get(*k) == Some(*v))
            };
            first
                .result
                .params
                .iter()
                .filter(is_common)
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect()
        }
        None => Vec::new(),
    };
    let marks = marks(results, key, &facet, &places, &common);
    let line = |(look, (name, mut places)): (usize, (String, Vec<SweptPoint>))| {
        places.sort_by(|a, b| a.x.total_cmp(&b.x));
        let point = |place: &SweptPoint| line_point(place.result, place.run, place.x, shared);
        let points = places.iter().filter_map(point).collect();
        Line { name, look: look % (2 * LOOKS), points }
    };
    let notes = marks.iter().map(|mark| mark.text.clone()).collect();
    let lines = Lines {
        x: XAxis {
            title: key.to_owned(),
            kind: if wide { ScaleKind::Logarithmic } else { ScaleKind::Linear },
            named: ticks,
            ..XAxis::default()
        },
        metric: metric.to_owned(),
        unit: unit.to_owned(),
        lines: facet.lines.into_iter().enumerate().map(line).collect(),
        marks,
        ..Lines::default()
    };
    let title = format!("{what}: {metric} by {key}");
    Chart { notes, ..Chart::new(ids.chart(), title, Drawing::Lines(lines)) }
}

/// Title: the cases and parameters that all points of a chart share, such as `net/answer, place=apart`.
fn title(facet: &Facet<SweptPoint>, places: &[SweptPoint], shared: &[Param]) -> String {
    let Some(first) = places.first() else { return String::new() };
    let same = |value: &dyn Fn(&SweptPoint) -> Option<String>| {
        let of_first = value(first);
        of_first
            .filter(|of_first| places.iter().all(|place| value(place).as_ref() == Some(of_first)))
    };
    let area = first.result.point().area().to_owned();
    let mut parts = vec![same(&|place| Some(place.result.case.clone())).unwrap_or(area)];
    for (name, value) in &first.result.params {
        let is_shared = shared.iter().any(|(key, _)| key == name);
        let is_named = facet.keys.iter().any(|(key, _)| key == name);
        let common = same(&|place| place.result.params.get(name).cloned());
        if common.is_some() && (is_named || !is_shared) {
            parts.push(format!("{name}={value}"));
        }
    }
    parts.extend(
        facet
            .keys
            .iter()
            .filter(|(key, run)| *key == "run" && !run.is_empty())
            .map(|(_, run)| (*run).to_owned()),
    );
    parts.join(", ")
}

/// Marks of derived results that are values of `key`: crossings and knees of the lines of this chart.
fn marks(
    results: &[Named],
    key: &str,
    facet: &Facet<SweptPoint>,
    places: &[SweptPoint],
    common: &[Param],
) -> Vec<Mark> {
    let takes = places.first().and_then(|place| {
        let case = catalog::find(&place.result.case)?;
        case.params.iter().find(|param| param.name == key).map(|param| param.takes)
    });
    let fits = |unit: &str| match takes {
        Some(Takes::Length) => unit == "ns",
        Some(Takes::Size(_) | Takes::Footprint(_)) => unit == "bytes",
        _ => unit == key,
    };
    let belongs = |(run, result): &&Named| {
        is_derived(result)
            && fits(&result.unit)
            && places.iter().any(|place| {
                let same =
                    |(k, v): (&String, &String)| result.params.get(k).is_none_or(|own| own == v);
                place.run == *run
                    && place.result.case == result.case
                    && facet
                        .keys
                        .iter()
                        .all(|(k, v)| result.params.get(*k).is_none_or(|own| own == v))
                    && place.result.params.iter().all(same)
            })
    };
    let mark = |(run, result): &Named| {
        let e = estimate(result)?;
        let name = short_name(result, common);
        let run = if run.is_empty() { String::new() } else { format!(", {run}") };
        let (figure, interval) = (figure_of(&e, result), interval_of(&e, &result.unit));
        let text = format!("{} of {name}{run}: {figure} ({interval})", result.metric);
        Some(Mark { at: e.median, text })
    };
    results.iter().filter(belongs).filter_map(mark).take(MARKS).collect()
}

/// Family and percentile of a metric: `reply` and `p99` for `reply-p99`.
pub(super) fn percentile(metric: &str) -> Option<(&str, &str)> {
    let (family, last) = metric.rsplit_once('-')?;
    let is_quantile = last
        .strip_prefix('p')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()));
    (is_quantile || last == "max" || last == "worst").then_some((family, last))
}

#[cfg(test)]
mod tests {
    use results::Estimate;

    use super::*;

    fn result(case: &str, params: &[(&str, &str)], metric: &str, value: f64) -> CaseResult {
        let params = simulated::params(params);
        let estimate = Estimate { median: value, low: value * 0.9, high: value * 1.1, level: 0.95 };
        CaseResult {
            estimate: Some(estimate),
            ..CaseResult::blank(case, params, metric, "ns/op", Direction::Lower)
        }
    }

    #[test]
    fn a_parameter_with_three_numbers_has_a_chart_in_any_area() {
        let results: Vec<CaseResult> = ["1", "2", "4k"]
            .iter()
            .flat_map(|n| {
                ["a", "b"].map(|kind| result("new/case", &[("n", n), ("kind", kind)], "time", 5.0))
            })
            .collect();
        let named: Vec<Named> = results.iter().map(|result| ("", result)).collect();
        let charts = sweeps(&named, &[], Most::EVERY, &mut Ids::default());
        assert_eq!(charts.len(), 1);
        let lines = charts[0].lines().unwrap();
        assert_eq!((lines.lines.len(), lines.points()), (2, 6));
        assert_eq!(charts[0].title, "new/case: time by n");
        assert_eq!(lines.lines[0].points[2].x, 4096.0);
        let of_two_values = sweeps(&named[..4], &[], Most::EVERY, &mut Ids::default());
        assert!(of_two_values.is_empty(), "two values are no sweep");
    }

    #[test]
    fn crossings_are_marked_in_the_chart_over_their_parameter() {
        simulated::areas::install();
        let server = [("arch", "epoll"), ("network", "loopback"), ("place", "apart")];
        let mut results: Vec<CaseResult> = ["1", "10", "100"]
            .iter()
            .map(|n| {
                let params = [&server[..], &[("connections", *n)]].concat();
                CaseResult {
                    unit: "replies/s".into(),
                    better: Direction::Higher,
                    ..result("net/answer", &params, "rate", 5e4)
                }
            })
            .collect();
        let params = [&server[..], &[("than", "thread")]].concat();
        results.push(CaseResult {
            unit: "connections".into(),
            ..result("net/answer", &params, "faster-from", 38.0)
        });
        let named: Vec<Named> = results.iter().map(|result| ("", result)).collect();
        let charts = sweeps(&named, &[], Most::EVERY, &mut Ids::default());
        assert_eq!(charts.len(), 1, "the rate");
        let marks = &charts[0].lines().unwrap().marks;
        assert_eq!(marks.iter().map(|mark| mark.at).collect::<Vec<_>>(), [38.0]);
    }

    #[test]
    fn percentiles_are_recognised() {
        assert_eq!(percentile("reply-p99"), Some(("reply", "p99")));
        assert_eq!(percentile("create-max"), Some(("create", "max")));
        assert_eq!(percentile("faster-from"), None);
        assert_eq!(percentile("x-p"), None);
    }
}

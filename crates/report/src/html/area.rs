//! The section of one area, which opens with a click: its findings, charts made for its parameters, and definitions.

use analysis::answer::answers;
use catalog::Area;
use maud::{Markup, html};
use measure::{Direction, Metric, Role, TIME};
use results::{CaseResult, Estimate, Outcome};

use crate::answers;
use crate::comparison::Comparison;
use crate::first_seen::{distinct, grouped};
use crate::html::chart::{Bar, BarScale, Bars, Chart, Drawing, grid};
use crate::html::comparing;
use crate::html::families::{percentiles, phases};
use crate::html::points::{
    AreaPoint, AreaPoints, bar, command, described, estimate, figure_of, is_derived,
};
use crate::html::sweeps::{Most, Named, sweeps};
use crate::html::text::{Ids, Text};
use crate::html::timeline::timelines;
use crate::html::view::View;
use crate::labels::{self, Label, Param};
use crate::summary::sentences;
use crate::text::number_of;

/// Number of bars from which a chart is split by a parameter with few values.
const ROWS: usize = 20;

/// Maximum number of bars of a chart; the table has all figures.
const MOST_ROWS: usize = 40;

/// Maximum number of values of a parameter by which a chart is split.
const PARTS: usize = 4;

/// Maximum number of runs whose figures are drawn beside each other.
const RUNS: usize = 3;

/// Identifier of an area's section.
pub(super) fn section_id(area: &str) -> String {
    let plain = area.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    format!("area-{}", plain.take(40).collect::<String>())
}

/// The section of the area `name`, for all runs.
pub(super) fn section(
    views: &[View],
    name: &str,
    comparison: Option<&Comparison>,
    is_open: bool,
    ids: &mut Ids,
) -> Markup {
    let areas = in_views(views, name);
    let results = named(&areas);
    let charts = match areas.len() {
        0..=RUNS => charts(&areas, name, Most { metrics: 2, charts: 2 }, ids),
        _ => Vec::new(),
    };
    let findings = findings(views, name);
    let is_supported = |result: &CaseResult| result.outcome != Outcome::Unsupported;
    let measured = results.iter().filter(|(_, result)| is_supported(result) && !is_derived(result));
    let count = distinct(measured.map(|(_, result)| (&result.case, &result.params))).len();
    let headline = match comparison {
        Some(comparison) => comparing::counted(comparison, |row| row.point.area() == name),
        None => findings.first().cloned().or_else(|| range(&areas)).unwrap_or_default(),
    };
    html! {
        details.area id=(section_id(name)) open[is_open] {
            summary {
                h3 { @if name.is_empty() { "other" } @else { (Text(name)) } }
                span.headline { (Text(&headline)) }
                span.note { (number_of(count, "point")) }
            }
            @if comparison.is_none() && findings.len() > 1 { ul.findings { @for line in &findings[1..] { li { (Text(line)) } } } }
            @if let Some(comparison) = comparison { (comparing::area(comparison, name, ids)) }
            (grid(&charts))
            @if areas.len() > RUNS { p.note { "The table below has the figures of all " (areas.len()) " runs." } }
            (definitions(&results))
        }
    }
}

/// The least and the greatest time of one operation in the only run.
fn range(areas: &[InView]) -> Option<String> {
    let [(_, area)] = areas else { return None };
    let times = area.points.iter().filter_map(|point| {
        let time = point.time().filter(|time| !is_derived(time))?;
        Some((point, time, estimate(time)?))
    });
    let mut times: Vec<_> = times.collect();
    times.sort_by(|(_, _, a), (_, _, b)| a.median.total_cmp(&b.median));
    let shown = |(point, time, e): &(&AreaPoint, &CaseResult, Estimate)| {
        format!("{} ({})", figure_of(e, time), point.short)
    };
    match &times[..] {
        [] => None,
        [only] => Some(shown(only)),
        [least, .., greatest] => Some(format!("{} to {}", shown(least), shown(greatest))),
    }
}

/// The area's answers and findings in the only run; none if there are several.
fn findings(views: &[View], name: &str) -> Vec<String> {
    let [view] = views else { return Vec::new() };
    let areas = catalog::areas().iter().copied().filter(|area| area.name == name);
    let areas: Vec<&Area> = areas.collect();
    let results = &view.document.results;
    let answers = answers(results, &areas);
    let answers = answers.iter().filter_map(answers::sentence);
    answers.chain(sentences(results, &areas)).collect()
}

/// An area in one run.
type InView<'v, 'a> = (&'v View<'a>, &'v AreaPoints<'a>);

/// The points of the area in each run that has the area.
pub(super) fn in_views<'v, 'a>(views: &'v [View<'a>], name: &str) -> Vec<InView<'v, 'a>> {
    let of_view =
        |view: &'v View<'a>| Some((view, view.areas.iter().find(|area| area.name == name)?));
    views.iter().filter_map(of_view).collect()
}

/// All results, each with the name of its run if there are several.
pub(super) fn named<'v>(areas: &[InView<'v, '_>]) -> Vec<Named<'v>> {
    let of_run = |(view, area): &InView<'v, '_>| {
        let run = if areas.len() > 1 { view.name.as_str() } else { "" };
        let results = area.points.iter().flat_map(|point| &point.results);
        results.map(|result| (run, *result)).collect::<Vec<_>>()
    };
    areas.iter().flat_map(of_run).collect()
}

/// The charts of the area: lines over parameters, bars of the points that are on no line, and those of several metrics.
pub(super) fn charts(areas: &[InView], name: &str, most: Most, ids: &mut Ids) -> Vec<Chart> {
    let results = named(areas);
    let shared = areas.first().map(|(_, area)| area.shared.as_slice()).unwrap_or_default();
    let mut charts = sweeps(&results, shared, most, ids);
    if let [(_, area)] = areas {
        let is_left =
            |point: &&AreaPoint| !charts.iter().any(|chart| chart.shows(&|key| *key == point.key));
        let left: Vec<&AreaPoint> = area.points.iter().filter(is_left).collect();
        charts.extend(costs(&left, name, shared, ids));
        charts.extend(phases(&results, ids));
        charts.extend(timelines(&results, ids));
    }
    charts.extend(percentiles(&results, shared, ids));
    charts
}

/// The figure by which a point is compared with others: its bandwidth if it has one, otherwise its time.
fn lead<'r>(point: &AreaPoint<'r>) -> Option<&'r CaseResult> {
    let is_bandwidth = |result: &&&CaseResult| {
        let role = described(result).map(|metric| metric.role);
        result.unit == "bytes/s" && role == Some(Role::SameAs(TIME.name))
    };
    let bandwidth = point.results.iter().find(is_bandwidth).copied();
    bandwidth.or_else(|| point.time()).filter(|result| !is_derived(result))
}

/// Bars of the time of one operation or of the bandwidth of each point, the best first.
fn costs(points: &[&AreaPoint], name: &str, shared: &[Param], ids: &mut Ids) -> Vec<Chart> {
    let found = points.iter().filter_map(|point| {
        let result = lead(point)?;
        let bar = bar(result, String::new())?;
        let bar = Bar { row: Some(point.id.clone()), ..bar };
        Some((
            result.metric.as_str(),
            Cost { label: Label::of(&point.key), better: result.better, unit: &result.unit, bar },
        ))
    });
    let mut charts = Vec::new();
    for (metric, costs) in grouped(found) {
        for costs in split(costs) {
            charts.push(chart_of_costs(costs, name, metric, shared, ids));
        }
    }
    charts
}

struct Cost<'r> {
    label: Label,
    better: Direction,
    unit: &'r str,
    bar: Bar,
}

/// Splits many bars by the parameter with few values that most of them have.
fn split(costs: Vec<Cost>) -> Vec<Vec<Cost>> {
    if costs.len() <= ROWS {
        return vec![costs];
    }
    let params = || costs.iter().flat_map(|cost| &cost.label.params);
    let counts = distinct(params().map(|(key, _)| key.clone())).into_iter().filter_map(|key| {
        let of_key = || params().filter(|(other, _)| *other == key);
        let values = distinct(of_key().map(|(_, value)| value)).len();
        let count = of_key().count();
        (2..=PARTS).contains(&values).then_some((count, key))
    });
    let most = counts.max().filter(|(count, _)| count * 3 > costs.len() * 2);
    let Some((_, key)) = most else { return vec![costs] };
    let value =
        |cost: &Cost| cost.label.params.iter().find(|(k, _)| *k == key).map(|(_, v)| v.clone());
    grouped(costs.into_iter().map(|cost| (value(&cost), cost)))
        .into_iter()
        .map(|(_, part)| part)
        .collect()
}

fn chart_of_costs(
    mut costs: Vec<Cost>,
    name: &str,
    metric: &str,
    shared: &[Param],
    ids: &mut Ids,
) -> Chart {
    let labels: Vec<Label> = costs.iter().map(|cost| cost.label.without(shared)).collect();
    let common = labels::shared(&labels);
    // A parameter that only some bars have is named in these bars.
    let is_of_all = |param: &&Param| labels.iter().all(|label| label.params.contains(param));
    let common: Vec<Param> = common.iter().filter(is_of_all).cloned().collect();
    let ascending = costs.first().is_none_or(|cost| cost.better != Direction::Higher);
    costs.sort_by(|a, b| a.bar.value.total_cmp(&b.bar.value));
    if !ascending {
        costs.reverse();
    }
    let what = if metric == TIME.name { "time of one operation" } else { metric };
    let title = labels::title(&format!("{name}: {what}"), &[shared, &common].concat());
    let unit = costs.first().map_or(String::new(), |cost| cost.unit.to_owned());
    let count = costs.len();
    let row =
        |cost: Cost| Bar { label: cost.label.without(shared).without(&common).short(), ..cost.bar };
    let rows = costs.into_iter().take(MOST_ROWS).map(row).collect();
    let mut chart =
        Chart::new(ids.chart(), title, Drawing::Bars(Bars { scale: BarScale::Amount(unit), rows }));
    if count > MOST_ROWS {
        chart.notes.push(format!("The best {MOST_ROWS} of {count}: the table has all figures."));
    }
    chart
}

/// Descriptions of one operation of each case, and the command that measures them again.
fn definitions(results: &[Named]) -> Markup {
    let names = distinct(results.iter().map(|(_, result)| result.case.as_str()));
    let known: Vec<_> =
        names.into_iter().filter_map(|name| Some((name, catalog::find(name)?))).collect();
    // Metrics are listed once, since cases share them.
    let metrics = distinct(known.iter().flat_map(|(name, case)| {
        let is_measured = |metric: &&Metric| {
            results.iter().any(|(_, r)| r.case == *name && r.metric == metric.name)
        };
        let metrics = case.metrics.iter().filter(is_measured);
        metrics.map(|metric| (metric.name, metric.meaning)).collect::<Vec<_>>()
    }));
    html! { @if !known.is_empty() {
        details.definitions { summary { "What one operation is, what the metrics are, and how to measure again" }
            @if let Some(command) = command(results.iter().map(|(_, result)| *result)) { p { code { (Text(&command)) } } }
            dl {
                @for (name, case) in &known { dt { (Text(name)) } dd { (case.operation) } }
                @for (name, meaning) in &metrics { dt { code { (name) } } dd { (meaning) } }
            }
        }
    } }
}

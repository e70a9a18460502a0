//! The section of one area: charts, then tables, then the definitions of the cases' operations.

use maud::{Markup, html};
use measure::Metric;

use crate::comparison::Comparison;
use crate::first_seen::distinct;
use crate::html::chart::{Axis, Chart, Series};
use crate::html::comparing;
use crate::html::families::{percentiles, phases};
use crate::html::points::{AreaPoint, AreaPoints, At, chart_point, estimate, is_derived, notes};
use crate::html::sweeps::{Named, sweeps};
use crate::html::table::tables;
use crate::html::text::{Ids, Text};
use crate::html::timeline::timelines;
use crate::html::view::View;

/// Maximum number of rows of a chart of costs; a chart with more is split by case.
const ROWS: usize = 80;

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
    ids: &mut Ids,
) -> Markup {
    let views: Vec<&View> = views.iter().collect();
    let areas = in_views(&views, name);
    let charts = charts(&views, name, ids);
    let results = named(&areas);
    let shared = areas.first().map(|(_, area)| area.shared.as_slice()).unwrap_or_default();
    let shared: Vec<String> = shared.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let several = views.len() > 1;
    html! {
        section id=(section_id(name)) aria-labelledby={ (section_id(name)) "-h" } {
            h2 id={ (section_id(name)) "-h" } { @if name.is_empty() { "other" } @else { (Text(name)) } }
            @if !shared.is_empty() { p.shared { "All points: " (Text(&shared.join(", "))) } }
            @if let Some(comparison) = comparison { (comparing::area(comparison, name, ids)) }
            div.charts { @for chart in &charts { (chart.figure()) } }
            @for (view, area) in &areas {
                (tables(area, view.recorded, if several { &view.name } else { "" }))
            }
            (definitions(&results))
        }
    }
}

/// The points of the area in each run that has the area.
fn in_views<'v, 'a>(views: &[&'v View<'a>], name: &str) -> Vec<(&'v View<'a>, &'v AreaPoints<'a>)> {
    let of_view =
        |view: &&'v View<'a>| Some((*view, view.areas.iter().find(|area| area.name == name)?));
    views.iter().filter_map(of_view).collect()
}

/// All results, each with the name of its run if there are several.
fn named<'v>(areas: &[(&'v View, &'v AreaPoints)]) -> Vec<Named<'v>> {
    let of_run = |(view, area): &(&'v View, &'v AreaPoints)| {
        let run = if areas.len() > 1 { view.name.as_str() } else { "" };
        let results = area.points.iter().flat_map(|point| &point.results);
        results.map(|result| (run, *result)).collect::<Vec<_>>()
    };
    areas.iter().flat_map(of_run).collect()
}

/// All charts of the area.
pub(super) fn charts(views: &[&View], name: &str, ids: &mut Ids) -> Vec<Chart> {
    let areas = in_views(views, name);
    let results = named(&areas);
    let shared = areas.first().map(|(_, area)| area.shared.as_slice()).unwrap_or_default();
    let mut charts = costs(&areas, name, ids);
    charts.extend(sweeps(&results, shared, ids));
    charts.extend(phases(&results, shared, ids));
    charts.extend(percentiles(&results, shared, ids));
    charts.extend(timelines(&results, ids));
    charts
}

/// Charts of the time of one operation: a row per point and a line per run.
fn costs(areas: &[(&View, &AreaPoints)], name: &str, ids: &mut Ids) -> Vec<Chart> {
    let mut rows: Vec<&AreaPoint> = Vec::new();
    for point in areas.iter().flat_map(|(_, area)| &area.points) {
        let measured =
            point.time().is_some_and(|time| estimate(time).is_some() && !is_derived(time));
        if measured && !rows.iter().any(|row| row.key == point.key) {
            rows.push(point);
        }
    }
    let mut charts = Vec::new();
    for (part, rows) in parts(&rows).into_iter().enumerate() {
        let line = |(look, (view, area)): (usize, &(&View, &AreaPoints))| {
            let run = if areas.len() > 1 { view.name.as_str() } else { "" };
            let points = area.points.iter().filter_map(|point| {
                let row = rows.iter().position(|row| row.key == point.key)?;
                let at = At { run, place: row as f64, in_rows: true };
                chart_point(point.time()?, at, &area.shared)
            });
            Series { name: view.name.clone(), look, points: points.collect(), joined: false }
        };
        let lines: Vec<Series> = areas.iter().enumerate().map(line).collect();
        let of_rows = areas.iter().flat_map(|(_, area)| &area.points);
        let of_rows = of_rows.filter(|point| rows.iter().any(|row| row.key == point.key));
        let about = if part == 0 { String::new() } else { format!(" ({})", part + 1) };
        charts.push(Chart {
            id: ids.chart(),
            title: format!("{name}: time of one operation{about}"),
            notes: notes(of_rows.filter_map(|point| point.time())),
            x: Axis::figures("time", "ns/op"),
            y: Axis::rows(rows.iter().map(|row| row.short.clone())),
            lines,
            ..Chart::default()
        });
    }
    charts
}

/// The rows of each chart: a limited number, with those of one case together.
fn parts<'a, 'r>(rows: &'a [&'r AreaPoint<'r>]) -> Vec<&'a [&'r AreaPoint<'r>]> {
    let mut parts = Vec::new();
    let mut rest = rows;
    while rest.len() > ROWS {
        let case_ends = |at: &usize| rest[*at].key.case != rest[at - 1].key.case;
        let at = (1..=ROWS).rev().find(case_ends).unwrap_or(ROWS);
        let (part, others) = rest.split_at(at);
        parts.push(part);
        rest = others;
    }
    if !rest.is_empty() {
        parts.push(rest);
    }
    parts
}

/// Descriptions of one operation of each case.
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
        details.definitions { summary { "What one operation is, and what the metrics are" }
            dl {
                @for (name, case) in &known { dt { (Text(name)) } dd { (case.operation) } }
                @for (name, meaning) in &metrics { dt { code { (name) } } dd { (meaning) } }
            }
        }
    } }
}

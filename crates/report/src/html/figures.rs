//! All figures in one table, and the distributions of the samples.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write;

use analysis::Samples;
use maud::{Markup, html};
use measure::Doubt;
use results::{CaseResult, Distribution, Outcome};

use crate::first_seen::{distinct, grouped};
use crate::html::points::{AreaPoint, estimate, figure_of, interval_words, is_derived};
use crate::html::text::{Text, path};
use crate::html::view::View;
use crate::quantity::{cycles_figure, figure, format_per_op, format_share, measured_half_width};
use crate::rows::{ending_word, is_of_other_system};
use crate::text::number_of;

/// Size of the picture of a distribution.
const WIDTH: f64 = 120.0;
const HEIGHT: f64 = 24.0;

/// A table that scrolls on its own if it is larger than its place.
pub(super) fn scrolled(caption: &str, rows: Markup) -> Markup {
    html! {
        div.scroll role="region" tabindex="0" aria-label=(Text(caption)) {
            table { caption { (Text(caption)) } (rows) }
        }
    }
}

/// The table of all figures, a row for each metric of each point, the unsupported points, and for a single run the distributions.
pub(super) fn section(views: &[View], only: Option<&str>) -> Markup {
    let areas = distinct(views.iter().flat_map(|view| &view.areas).map(|area| area.name.as_str()));
    let areas = areas.into_iter().filter(|area| only.is_none_or(|only| only == *area));
    let areas: Vec<&str> = areas.collect();
    html! {
        section id="figures" aria-labelledby="figures-h" {
            h2 id="figures-h" { "All figures" }
            @match views {
                [view] => (scrolled("Figures", of_run(view, &areas))),
                _ => (scrolled("Figures of all runs", of_runs(views, &areas))),
            }
            p.note { "Parameters that all points of an area share are not repeated; the area's section names them." }
            @if let [view] = views { (distributions(view, &areas)) }
            @for view in views { (unsupported(view, &areas)) }
        }
    }
}

/// The points of the areas that the system has, each with its area and shown name.
fn points<'v, 'a>(view: &'v View<'a>, areas: &[&str]) -> Vec<(String, &'v AreaPoint<'a>)> {
    let shown = view.areas.iter().filter(|area| areas.contains(&area.name.as_str()));
    let name = |area: &str, short: &str| match area {
        "" => short.to_owned(),
        area => format!("{area}/{short}"),
    };
    let of_area = shown.flat_map(|area| {
        area.points.iter().map(move |point| (name(&area.name, &point.short), point))
    });
    of_area.filter(|(_, point)| !point.is_unsupported()).collect()
}

fn of_run(view: &View, areas: &[&str]) -> Markup {
    let results = &view.document.results;
    let calls = |result: &CaseResult| result.per_op.as_ref().and_then(|per_op| per_op.syscalls);
    let has_cycles = results.iter().any(|result| result.cycles.is_some());
    let has_calls = results.iter().any(|result| calls(result).is_some());
    html! {
        thead { tr {
            th { "point" } th { "metric" } th.n { "figure" } th.n { "interval" }
            @if has_cycles { th.n { "core cycles" } }
            @if has_calls { th.n { "system calls" } }
            th { "marks" }
        } }
        tbody { @for (name, point) in points(view, areas) { @for (nth, result) in point.results.iter().enumerate() {
            tr id=[(nth == 0).then_some(&point.id)] {
                th { (Text(&name)) }
                td { (Text(&result.metric)) }
                (figure_cell(result))
                td { (interval_words(result)) }
                @if has_cycles { td { @if let Some(c) = result.cycles {
                    (cycles_figure(c.median, measured_half_width(c.median, c.low, c.high)).to_string())
                } } }
                @if has_calls { td { (calls(result).map(format_per_op).unwrap_or_default()) } }
                td { (distinct(result.doubts.iter().filter_map(Doubt::mark)).join(", ")) }
            }
        } } }
    }
}

/// A row for each metric of each point, a column for each run.
fn of_runs(views: &[View], areas: &[&str]) -> Markup {
    let of_views: Vec<Vec<(String, &AreaPoint)>> =
        views.iter().map(|view| points(view, areas)).collect();
    let by_id: Vec<HashMap<&str, &AreaPoint>> = of_views
        .iter()
        .map(|points| points.iter().map(|(_, point)| (point.id.as_str(), *point)).collect())
        .collect();
    let mut rows: Vec<(&String, &AreaPoint)> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for (name, point) in of_views.iter().flatten() {
        if known.insert(&point.id) {
            rows.push((name, point));
        }
    }
    html! {
        thead { tr { th { "point" } th { "metric" } @for view in views { th.n { (Text(&view.name)) } } } }
        tbody { @for (name, point) in rows {
            @let found: Vec<Option<&&AreaPoint>> = by_id.iter().map(|points| points.get(point.id.as_str())).collect();
            @let metrics = distinct(found.iter().flatten().flat_map(|point| &point.results).map(|result| result.metric.as_str()));
            @for (nth, metric) in metrics.iter().enumerate() {
                tr id=[(nth == 0).then_some(&point.id)] {
                    th { (Text(name)) }
                    td { (Text(metric)) }
                    @for point in &found { @match point.and_then(|point| point.result(metric)) {
                        Some(result) => { (figure_cell_with(result, &interval_words(result))) }
                        None => { td {} }
                    } }
                }
            }
        } }
    }
}

fn figure_cell(result: &CaseResult) -> Markup {
    figure_cell_with(result, "")
}

/// The figure with its interval, or the outcome.
fn figure_cell_with(result: &CaseResult, interval: &str) -> Markup {
    match estimate(result) {
        Some(e) => {
            html! { td { (Text(&figure_of(&e, result))) @if !interval.is_empty() { small { (interval) } } } }
        }
        None if result.outcome == Outcome::Measured => html! { td.bad { "no figure" } },
        None => html! { td.bad { (ending_word(result)) } },
    }
}

/// The distributions of the samples of each point, folded.
fn distributions(view: &View, areas: &[&str]) -> Markup {
    let found: Vec<(String, &CaseResult, Option<&Samples>)> = points(view, areas)
        .into_iter()
        .filter_map(|(name, point)| {
            let time = point.time()?;
            let samples = view.recorded.and_then(|all| all.samples(&time.case, &time.params));
            (samples.is_some() || time.seen.is_some()).then_some((name, time, samples))
        })
        .collect();
    html! { @if !found.is_empty() {
        details { summary { "Distributions of the samples: " (number_of(found.len(), "point")) }
            p.note { "Light: all samples, as an application would have seen them. Dark: those of quiet moments, which make the figures." }
            (scrolled("Distributions", html! {
                thead { tr {
                    th { "point" } th { "distribution" } th.n { "p50" } th.n { "p95" } th.n { "p99" } th.n { "longest" } th.n { "quiet" } th { "modes" }
                } }
                tbody { @for (name, time, samples) in &found { tr {
                    th { (Text(name)) }
                    td { @match (samples, &time.seen) {
                        (Some(samples), _) => (histogram(samples, &time.unit)),
                        (None, Some(seen)) => (quantile_box(seen, &time.unit)),
                        (None, None) => {}
                    } }
                    @for quantile in quantiles(time, *samples) { td { (quantile.map(|value| about(value, &time.unit)).unwrap_or_default()) } }
                    td { (time.quiet_share.map(format_share).unwrap_or_default()) }
                    td { @if let Some(modes) = samples.map(|samples| &samples.modes).filter(|modes| modes.len() > 1) {
                        (modes.iter().map(|mode| about(*mode, &time.unit)).collect::<Vec<_>>().join(", "))
                    } }
                } } }
            }))
        }
    } }
}

/// A value with three digits.
fn about(value: f64, unit: &str) -> String {
    figure(value, value.abs() * 0.01, unit).to_string()
}

/// The quantiles p50, p95, p99 and maximum of all samples.
fn quantiles(time: &CaseResult, samples: Option<&Samples>) -> [Option<f64>; 4] {
    match (samples, time.seen) {
        (Some(samples), _) => {
            let [p50, p95, p99, _, longest] = samples.quantiles;
            [p50, p95, p99, longest].map(Some)
        }
        (None, Some(seen)) => [Some(seen.p50), Some(seen.p95), Some(seen.p99), None],
        (None, None) => [None; 4],
    }
}

fn histogram(samples: &Samples, unit: &str) -> Markup {
    let words = format!(
        "{} samples, {} quiet, from {}",
        samples.count,
        samples.quiet,
        about(samples.from, unit),
    );
    // Two steps become one: the picture is small.
    let halved = |steps: &[u32]| steps.chunks(2).map(|pair| pair.iter().sum()).collect();
    let [all, quiet]: [Vec<u32>; 2] =
        [&samples.all_steps, &samples.quiet_steps].map(|steps| halved(steps));
    let most = all.iter().copied().max().unwrap_or(1).max(1);
    html! {
        svg.spark viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" {
            title { (Text(&words)) }
            (path("all", &steps(&all, most)))
            (path("quiet", &steps(&quiet, most)))
        }
    }
}

/// The outline of a histogram whose highest step has `most` samples.
fn steps(steps: &[u32], most: u32) -> String {
    let mut path = format!("M0 {HEIGHT}");
    let width = WIDTH / steps.len() as f64;
    let mut run = 0.0;
    let mut last = HEIGHT;
    for count in steps {
        let share = f64::from(*count) / f64::from(most);
        // A step with few samples is drawn at least one unit high, so that it is visible.
        let height = if *count == 0 { 0.0 } else { (share * (HEIGHT - 1.0)).max(1.0) };
        let top = (HEIGHT - height).round();
        if top == last {
            run += width;
            continue;
        }
        if run > 0.0 {
            let _ = write!(path, "h{run}");
        }
        let _ = write!(path, "V{top}");
        (run, last) = (width, top);
    }
    let _ = write!(path, "h{run}V{HEIGHT}z");
    path
}

/// A box from the 25 % to the 75 % quantile with whiskers from 5 % to 95 %.
fn quantile_box(seen: &Distribution, unit: &str) -> Markup {
    let values = [seen.min, seen.p5, seen.p25, seen.p50, seen.p75, seen.p95, seen.p99];
    let (from, to) = (seen.min, seen.p99);
    if !values.iter().all(|value| value.is_finite()) || to <= from {
        return html! {};
    }
    let [_, p5, p25, p50, p75, p95, _] =
        values.map(|value| ((value - from) / (to - from) * WIDTH * 10.0).round() / 10.0);
    let words = format!(
        "all samples: half of them up to {}, 95 % up to {}",
        about(seen.p50, unit),
        about(seen.p95, unit)
    );
    let middle = HEIGHT / 2.0;
    html! {
        svg.spark viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" {
            title { (Text(&words)) }
            path.range d={ "M" (p5) " " (middle) "H" (p95) } {}
            rect.all x=(p25) width=((p75 - p25).max(1.0)) y="5" height=(HEIGHT - 10.0) {}
            path.range d={ "M" (p50) " 3V" (HEIGHT - 3.0) } {}
        }
    }
}

/// Points that the system lacks, and results of several points that these do not tell, by reason, folded.
fn unsupported(view: &View, areas: &[&str]) -> Markup {
    let shown = view.areas.iter().filter(|area| areas.contains(&area.name.as_str()));
    let points = shown.flat_map(|area| area.points.iter().map(move |point| (&area.name, point)));
    let points = points.filter(|(_, point)| point.is_unsupported());
    let (derived, lacking): (Vec<_>, Vec<_>) =
        points.partition(|(_, point)| point.results.iter().all(|result| is_derived(result)));
    let (elsewhere, lacking): (Vec<_>, Vec<_>) = lacking
        .into_iter()
        .partition(|(_, point)| point.results.iter().all(|r| is_of_other_system(r)));
    let list = |title: &str, points: &[(&String, &AreaPoint)]| {
        let mut by_reason = grouped(points.iter().map(|(area, point)| {
            let reason = point.results.iter().find_map(|result| result.reason.as_deref());
            let names = distinct(point.results.iter().map(|result| result.metric.as_str()));
            let name = match point.results.iter().all(|result| is_derived(result)) {
                true => format!("{area}/{}: {}", point.short, names.join(", ")),
                false => format!("{area}/{}", point.short),
            };
            (reason.unwrap_or("no reason was given"), name)
        }));
        by_reason.sort_by_key(|(_, names)| Reverse(names.len()));
        html! { @if !points.is_empty() {
            details { summary { (title) (view.about) ": " (points.len()) }
                dl { @for (reason, names) in &by_reason {
                    dt { (Text(reason)) " (" (names.len()) ")" }
                    dd { (Text(&names.join(", "))) }
                } }
            }
        } }
    };
    html! {
        (list("Unsupported here", &lacking))
        (list("Crossings and limits that the figures do not tell", &derived))
        (list("Only on other operating systems", &elsewhere))
    }
}

//! Tables of an area: a row per point with the time of its operation and the distribution of its samples, and a row per point
//! with its further metrics.

use std::fmt::Write;

use analysis::{Recorded, Samples};
use maud::{Markup, html};
use measure::TIME;
use results::{CaseResult, Distribution, Estimate, Outcome};

use crate::first_seen::{distinct, grouped};
use crate::footnotes::joined;
use crate::html::points::{AreaPoint, AreaPoints, estimate, figure_of, interval_of, is_derived};
use crate::html::text::{Text, path};
use crate::interval::Uncertain;
use crate::quantity::{
    cycles_figure, figure, format_interval, format_per_op, format_share, measured_half_width,
};
use crate::rows::{ending_word, reasons};

/// Size of the picture of a distribution.
const WIDTH: f64 = 120.0;
const HEIGHT: f64 = 24.0;

/// The tables of the points of an area.
pub(super) fn tables(area: &AreaPoints, recorded: Option<&Recorded>, run: &str) -> Markup {
    let (unsupported, shown): (Vec<&AreaPoint>, Vec<&AreaPoint>) =
        area.points.iter().partition(|point| point.is_unsupported());
    let timed: Vec<&AreaPoint> = shown
        .iter()
        .copied()
        .filter(|point| point.time().is_some_and(|time| !is_derived(time)))
        .collect();
    let groups = further(&shown);
    let about = if run.is_empty() { String::new() } else { format!(", {run}") };
    html! {
        @if !timed.is_empty() {
            (scrolled(&format!("Time of one operation: {}{about}", area.name), times(&timed, recorded)))
        }
        @for group in &groups {
            details open[timed.is_empty()] {
                summary { "Further metrics of " (Text(group.case)) (Text(&about)) }
                (scrolled(&format!("Further metrics: {}{about}", group.case), metrics(&timed, group)))
            }
        }
        (missing(&unsupported))
    }
}

/// A table that scrolls on its own if it is wider than the page.
pub(super) fn scrolled(caption: &str, rows: Markup) -> Markup {
    html! {
        div.scroll role="region" tabindex="0" aria-label=(Text(caption)) {
            table { caption { (Text(caption)) } (rows) }
        }
    }
}

fn times(points: &[&AreaPoint], recorded: Option<&Recorded>) -> Markup {
    let costs = || points.iter().filter_map(|point| point.time());
    let has_cycles = costs().any(|cost| cost.cycles.is_some());
    let has_calls =
        costs().any(|cost| cost.per_op.as_ref().is_some_and(|per_op| per_op.syscalls.is_some()));
    html! {
        thead { tr {
            th scope="col" { "point" } th.n scope="col" { "time" } th scope="col" { "interval" }
            @if has_cycles { th.n scope="col" { "core cycles" } }
            th scope="col" { "distribution" } th.n scope="col" { "p50" } th.n scope="col" { "p95" }
            th.n scope="col" { "p99" } th.n scope="col" { "maximum" } th.n scope="col" { "quiet" }
            @if has_calls { th.n scope="col" { "calls" } }
            th scope="col" { "doubts" }
        } }
        tbody { @for point in points { @if let Some(cost) = point.time() {
            @let samples = recorded.and_then(|all| all.samples(&cost.case, &cost.params));
            tr id=(point.id) {
                th scope="row" { (Text(&point.short)) }
                (value_cells(cost))
                @if has_cycles { (cycles(cost)) }
                td { (distribution(cost, samples)) }
                @for quantile in quantiles(cost, samples) { (number(quantile, &cost.unit)) }
                td { (Text(&cost.quiet_share.map(format_share).unwrap_or_default())) }
                @if has_calls {
                    @let calls = cost.per_op.as_ref().and_then(|per_op| per_op.syscalls);
                    td { (Text(&calls.map(format_per_op).unwrap_or_default())) }
                }
                (doubts(std::iter::once(cost)))
            }
        } } }
    }
}

/// Points of one case with the same parameters, and their metrics beside the time.
struct Group<'p, 'r> {
    case: &'r str,
    metrics: Vec<&'r str>,
    points: Vec<&'p AreaPoint<'r>>,
}

/// Groups the points with further metrics by case and parameters. Results that were computed from several points have fewer
/// parameters, and thus separate tables.
fn further<'p, 'r>(points: &[&'p AreaPoint<'r>]) -> Vec<Group<'p, 'r>> {
    let others = |point: &AreaPoint<'r>| {
        let results = point.results.clone().into_iter();
        results.map(|result| result.metric.as_str()).filter(|metric| *metric != TIME.name)
    };
    let with_others = points.iter().copied().filter(|point| others(point).next().is_some());
    let keyed = with_others.map(|point| {
        let first = point.results[0];
        ((first.case.as_str(), first.params.keys().collect()), point)
    });
    let group = |((case, _), points): ((&'r str, Vec<&'r String>), Vec<&'p AreaPoint<'r>>)| {
        let metrics = distinct(points.iter().copied().flat_map(others));
        Group { case, metrics, points }
    };
    grouped(keyed).into_iter().map(group).collect()
}

/// A table with a row per point and a column per metric.
fn metrics(timed: &[&AreaPoint], group: &Group) -> Markup {
    html! {
        thead { tr {
            th scope="col" { "point" }
            @for metric in &group.metrics { th.n scope="col" { (Text(metric)) } }
            th scope="col" { "doubts" }
        } }
        tbody { @for point in &group.points {
            // A row has the point's identifier unless the table of times has a row of the point.
            @let owns = !timed.iter().any(|other| other.id == point.id);
            tr id=[owns.then_some(&point.id)] {
                th scope="row" { (Text(&point.short)) }
                @for metric in &group.metrics { (metric_cell(point.result(metric))) }
                (doubts(point.results.iter().copied().filter(|result| result.metric != TIME.name)))
            }
        } }
    }
}

fn metric_cell(result: Option<&CaseResult>) -> Markup {
    let Some(result) = result else { return html! { td {} } };
    let Some(e) = estimate(result) else { return ending_cell(result) };
    html! {
        td {
            (Text(&figure_of(&e, result)))
            @if let Some(percent) = percent(&e) { small { (Text(&percent)) } }
        }
    }
}

/// Cells with the figure and its interval, or with the outcome.
fn value_cells(result: &CaseResult) -> Markup {
    let Some(e) = estimate(result) else { return html! { (ending_cell(result)) td {} } };
    html! {
        td { (Text(&figure_of(&e, result))) }
        td { @match percent(&e) {
            Some(percent) => { (Text(&percent)) small { (Text(&interval_of(&e, &result.unit))) } }
            None => { @if let Some(few) = few_rounds(result) { (few) } }
        } }
    }
}

/// The interval relative to the figure; `None` for an exact figure.
fn percent(e: &Estimate) -> Option<String> {
    format_interval(e.median, e.low, e.high).filter(|_| e.low != e.high)
}

/// The number of rounds, if they are too few for an interval.
fn few_rounds(result: &CaseResult) -> Option<String> {
    let figure = Uncertain::of(result).filter(|figure| !figure.estimate.has_interval())?;
    figure.words()
}

fn ending_cell(result: &CaseResult) -> Markup {
    let ending = match result.outcome {
        Outcome::Measured => "no figure",
        _ => ending_word(result),
    };
    html! { td.bad { (ending) } }
}

fn cycles(cost: &CaseResult) -> Markup {
    let text = cost
        .cycles
        .map(|c| cycles_figure(c.median, measured_half_width(c.median, c.low, c.high)).to_string());
    html! { td { (Text(&text.unwrap_or_default())) } }
}

fn number(value: Option<f64>, unit: &str) -> Markup {
    let value = value.filter(|value| value.is_finite());
    let text = value.map(|value| figure(value, value.abs() * 0.01, unit).to_string());
    html! { td { (Text(&text.unwrap_or_default())) } }
}

/// The doubts about the results, each once.
fn doubts<'r>(results: impl Iterator<Item = &'r CaseResult>) -> Markup {
    let text = joined(results.flat_map(reasons));
    match text.is_empty() {
        true => html! { td {} },
        false => html! { td.doubts { (Text(&text)) } },
    }
}

/// The quantiles p50, p95, p99 and maximum of all samples.
fn quantiles(cost: &CaseResult, samples: Option<&Samples>) -> [Option<f64>; 4] {
    match (samples, cost.seen) {
        (Some(samples), _) => {
            let [p50, p95, p99, _, longest] = samples.quantiles;
            [p50, p95, p99, longest].map(Some)
        }
        (None, Some(seen)) => [Some(seen.p50), Some(seen.p95), Some(seen.p99), None],
        (None, None) => [None; 4],
    }
}

/// A picture of the distribution of all samples and of the quiet ones, or of the quantiles if no samples are stored.
fn distribution(cost: &CaseResult, samples: Option<&Samples>) -> Markup {
    match (samples, &cost.seen) {
        (Some(samples), _) => histogram(samples, &cost.unit),
        (None, Some(seen)) => quantile_box(seen, &cost.unit),
        (None, None) => html! {},
    }
}

fn histogram(samples: &Samples, unit: &str) -> Markup {
    let shown = |value: f64| figure(value, value.abs() * 0.01, unit).to_string();
    let modes = samples.modes.iter().map(|mode| shown(*mode)).collect::<Vec<_>>();
    let words = format!(
        "{} samples, {} of them quiet, from {} to {}",
        samples.count,
        samples.quiet,
        shown(samples.from),
        shown(samples.quantiles[4]),
    );
    let most = samples.all_steps.iter().copied().max().unwrap_or(1).max(1);
    html! {
        svg.spark viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" {
            title { (Text(&words)) }
            (path("all", &steps(&samples.all_steps, most)))
            (path("quiet", &steps(&samples.quiet_steps, most)))
        }
        @if modes.len() > 1 { span.modes { (modes.len()) " modes: " (Text(&modes.join(", "))) } }
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
    let shown = |value: f64| figure(value, value.abs() * 0.01, unit).to_string();
    let words = format!(
        "all samples: half of them up to {}, 95 % up to {}",
        shown(seen.p50),
        shown(seen.p95)
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

/// Points that this system lacks, by reason.
fn missing(points: &[&AreaPoint]) -> Markup {
    let by_reason = grouped(points.iter().map(|point| {
        let reason = point.results.iter().find_map(|r| r.reason.as_deref());
        (reason.unwrap_or("no reason was given"), point)
    }));
    html! { @if !points.is_empty() {
        details.missing { summary { "Unsupported here: " (points.len()) }
            dl { @for (reason, points) in &by_reason {
                dt { (Text(reason)) }
                @for point in points { dd id=(point.id) { (Text(&point.short)) } }
            } }
        }
    } }
}

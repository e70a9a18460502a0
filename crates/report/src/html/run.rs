//! The sections about a run as a whole: its summary, disturbances, doubtful figures, the machine and the method.

use std::cmp::Reverse;

use analysis::Moment;
use maud::{Markup, html};
use results::Outcome;
use serde_json::Value;

use crate::first_seen::grouped;
use crate::html::chart::{Axis, Chart, ChartPoint, ScaleKind, Series};
use crate::html::points::{estimate, figure_of, interval_of};
use crate::html::table::scrolled;
use crate::html::text::{Ids, Text};
use crate::html::view::View;
use crate::interval::interval_line;
use crate::marks::{few_rounds_line, marks, marks_line, width_line};
use crate::page::Page;
use crate::quantity::cycles_figure;
use crate::results_table::closing_line;
use crate::rows::{ending_word, reasons};
use crate::summary::{cost_rows, machine_line, sentences};

/// A page so wide that only the browser wraps sentences.
const PAGE: Page = Page { width: 100, colour: false, unicode: true, this_run: false };

/// The summary as shown on a terminal.
pub(super) fn summary(view: &View) -> Markup {
    let results = &view.document.results;
    let rows = cost_rows(results, catalog::areas());
    let findings = sentences(results, catalog::areas());
    let closing = closing_line(results, None, &PAGE).replace('\n', " ");
    html! {
        p.machine { (Text(&machine_line(view.document))) }
        @if !rows.is_empty() {
            (scrolled(&format!("Costs of common operations{}", view.about), html! {
                thead { tr {
                    th scope="col" { "cost of one" } th.n scope="col" { "time" } th scope="col" { "interval" }
                    th.n scope="col" { "core cycles" }
                } }
                tbody { @for (row, result) in &rows { tr {
                    th scope="row" { (row.label) }
                    @match estimate(result) {
                        Some(e) => {
                            td {
                                (Text(&figure_of(&e, result)))
                                @for mark in marks(results, result) { span.doubt { " " (mark) } }
                            }
                            td { (Text(&interval_of(&e, &result.unit))) }
                        }
                        None => { td.bad { (ending_word(result)) } td {} }
                    }
                    td {
                        @if let Some(c) = result.cycles {
                            (Text(&cycles_figure(c.median, (c.high - c.low) / 2.0).to_string()))
                        }
                    }
                } } }
            }))
        }
        @if !findings.is_empty() { ul.findings { @for finding in &findings { li { (Text(finding)) } } } }
        p { (Text(closing.trim())) }
        @for line in [marks_line(&view.document.run.id, results), few_rounds_line(results), width_line(results)].into_iter().flatten() { p { (Text(&line)) } }
        @if let Some(line) = interval_line(results) { p { (Text(&line)) } }
    }
}

/// The state of the machine in the course of the run; empty if it was not recorded.
pub(super) fn disturbance(view: &View, ids: &mut Ids) -> Markup {
    let moments = view.recorded.map_or(&[][..], |recorded| &recorded.moments);
    type Part = (&'static str, &'static str, fn(&Moment) -> Option<f64>);
    const PARTS: [Part; 4] = [
        ("core frequency", "GHz", |moment| moment.ghz),
        ("quiet share of the measuring time", "share", |moment| moment.quiet),
        ("CPU time stolen by the hypervisor", "share", |moment| moment.steal),
        ("time throttled by the CPU quota", "share", |moment| moment.throttled),
    ];
    let chart = |(what, unit, of): &Part| {
        let points = moments.iter().filter_map(|moment| {
            let value = of(moment)?;
            let text = format!(
                "after {:.0} s: {}",
                moment.seconds,
                crate::quantity::figure(value, value.abs() * 0.01, unit)
            );
            let x = moment.seconds;
            Some(ChartPoint { x, y: value, low: value, high: value, text, point: None })
        });
        let points: Vec<ChartPoint> = points.collect();
        Chart {
            title: format!("{what} during the run"),
            x: Axis {
                kind: Some(ScaleKind::Linear),
                floats: true,
                ..Axis::figures("time since the run began", "s")
            },
            y: Axis {
                kind: Some(ScaleKind::Linear),
                floats: *unit == "GHz",
                ..Axis::figures(if *unit == "GHz" { "GHz" } else { *what }, unit)
            },
            lines: vec![Series { name: (*what).to_owned(), look: 0, points, joined: true }],
            ..Chart::default()
        }
    };
    let mut charts: Vec<Chart> = PARTS.iter().map(chart).collect();
    charts.iter_mut().for_each(|chart| chart.id = ids.chart());
    html! {
        @if moments.is_empty() { p { "The rounds of this run are not stored here: nothing is known of its course." } }
        div.charts { @for chart in &charts { (chart.figure()) } }
    }
}

/// All doubtful figures and failures by reason.
pub(super) fn doubts(view: &View) -> Markup {
    let all = view.areas.iter().flat_map(|area| area.points.iter().map(move |point| (area, point)));
    let all = all.flat_map(|(area, point)| {
        let results = point.results.iter().filter(|r| r.outcome != Outcome::Unsupported);
        let link = (&point.id, format!("{} {}", area.name, point.short));
        results.flat_map(|result| reasons(result)).map(move |reason| (reason, link.clone()))
    });
    let mut by_reason = grouped(all);
    by_reason.iter_mut().for_each(|(_, points)| points.dedup());
    by_reason.sort_by_cached_key(|(reason, points)| (Reverse(points.len()), reason.to_string()));
    html! {
        @if by_reason.is_empty() { p { "No figure is doubtful, and nothing failed." } }
        @for (reason, points) in &by_reason {
            details { summary { (points.len()) ": " (Text(&reason.to_string())) }
                ul { @for (id, name) in points { li { a href={ "#" (id) } { (Text(name)) } } } }
            }
        }
    }
}

/// Facts about the machine and the options of the run.
pub(super) fn machine(view: &View) -> Markup {
    let run = &view.document.run;
    let fact = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let about = [
        ("run", run.id.clone()),
        ("started", run.started.clone()),
        ("finished", run.finished.clone().unwrap_or_else(|| "not finished".to_owned())),
        ("oscost", run.oscost.clone()),
        ("seed", run.seed.to_string()),
    ];
    let row = |key: &str, value: &str| html! { tr { th scope="row" { (Text(key)) } td.text { (Text(value)) } } };
    let head = html! { thead { tr { th scope="col" { "fact" } th scope="col" { "value" } } } };
    html! {
        (scrolled(&format!("The run{}", view.about), html! { (head) tbody {
            @for (key, value) in &about { (row(key, value)) }
            @for (key, value) in &run.tags { (row(&format!("tag {key}"), value)) }
            @for (key, value) in &run.asked { (row(&format!("asked {key}"), value)) }
        } }))
        (scrolled(&format!("Its machine{}", view.about), html! { (head) tbody {
            @for (key, value) in &view.document.machine { (row(key, &fact(value))) }
        } }))
    }
}

/// A paragraph on how figures are measured.
pub(super) fn method() -> Markup {
    html! { p {
        "Each point is measured in many rounds, each in a fresh process, interleaved over all points in a shuffled order. \
         Reference computations beside each batch of operations show when a neighbour or the hypervisor disturbs the \
         core; samples taken then are kept, but do not enter the estimate. An estimate is the median over rounds of the \
         quiet samples' medians; its interval comes from the spread between rounds. What the core's frequency bounds is \
         estimated in core cycles and given in ns at the median frequency of the run. Distributions show all samples, as \
         an application would have seen them. System calls, switches and faults are counted in a separate, untimed pass."
    } }
}

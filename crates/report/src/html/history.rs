//! The history of series of runs as a page.

use analysis::history::{Change, Event, Trend, fact_changes};
use maud::{Markup, html};

use super::chart::{self, Chart, Drawing, Line, LinePoint, Lines, Mark, ScaleKind, XAxis};
use super::shell;
use super::text::{Ids, Text};
use crate::history::{HistoryOfSeries, date, facts, members, name, percent, size};
use crate::page::Page;
use crate::quantity::{figure, half_width};
use crate::text::number_of;

/// Maximum number of charts of a series.
const CHARTS: usize = 60;
/// Signs of the page: all, without colour.
const PAGE: Page = Page { width: 100, colour: false, unicode: true, this_run: false };

/// Each series with its events, and a chart for each trend that changed: the visits, the range that the visit before each had
/// predicted, and the changes. Trends without a change follow as far as there is room.
pub fn history_html(histories: &[HistoryOfSeries], title: Option<&str>) -> String {
    let mut ids = Ids::default();
    let title = title.map_or_else(|| "oscost: history".to_owned(), str::to_owned);
    let sections = [("events", "What changed"), ("charts", "Figures"), ("method", "Method")];
    let content = html! {
        (shell::section("events", "What changed", html! {
            @for history in histories { (events(history, histories.len() > 1)) }
        }))
        (shell::section("charts", "Figures", html! {
            @for history in histories {
                @if histories.len() > 1 { h3 { (Text(&series_name(history))) } }
                (charts(history, &mut ids))
            }
        }))
        (shell::section("method", "Method", html! { p {
            "Runs of one machine, build of oscost and settings make a series; runs within ten minutes are one visit. A change of the \
             mean is found by E-divisive means with a t-test that is corrected for the search; single spikes do not count. The band \
             is where the visit before said that the figure of the next one would lie, with 95 %."
        } }))
    };
    shell::page(&title, &sections, None, &content)
}

fn series_name(history: &HistoryOfSeries) -> String {
    let newest = history.series.visits.last().and_then(|visit| visit.last());
    let machine = newest.map_or("", |&run| history.runs[run].summary.machine.as_str());
    let parts = [history.series.by.as_deref().unwrap_or_default(), machine, &history.series.name];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(", ")
}

fn events(history: &HistoryOfSeries, is_named: bool) -> Markup {
    let numbers = [
        number_of(history.series.visits.len(), "visit"),
        number_of(history.trends.len(), "figure"),
        number_of(history.events.len(), "event"),
    ];
    html! {
        @if is_named { h3 { (Text(&series_name(history))) } }
        p { (numbers.join(", ")) "." }
        @if !history.events.is_empty() { ul {
            @for event in history.events.iter().rev() { li { (event_line(history, event)) } }
        } }
    }
}

fn event_line(history: &HistoryOfSeries, event: &Event) -> Markup {
    let word = match (event.accepted.is_some(), event.is_worse) {
        (true, _) => "accepted",
        (false, true) => "worse",
        (false, false) => "better",
    };
    html! {
        strong { (date(&history.runs[event.run])) " " (word) ": " (Text(&size(event))) }
        ", " (Text(&members(history.trends, event))) "."
        @if !event.facts.is_empty() { " With " (Text(&facts(&event.facts, &PAGE))) "." }
        @if let Some(why) = &event.accepted { " Accepted: " (Text(why)) "." }
    }
}

fn charts(history: &HistoryOfSeries, ids: &mut Ids) -> Markup {
    let mut trends: Vec<&Trend> =
        history.trends.iter().filter(|trend| trend.visits.len() > 1).collect();
    trends.sort_by_key(|trend| trend.changes.is_empty());
    let left = trends.len().saturating_sub(CHARTS);
    let charts: Vec<Chart> =
        trends.iter().take(CHARTS).map(|trend| chart(history, trend, ids)).collect();
    html! {
        (chart::grid(&charts))
        @if left > 0 { p.note { "Without a chart: " (number_of(left, "figure")) ". Name areas or cases." } }
    }
}

fn chart(history: &HistoryOfSeries, trend: &Trend, ids: &mut Ids) -> Chart {
    let label = name(trend);
    let points = trend.visits.iter().enumerate().map(|(at, visit)| {
        let value = visit.figure.median;
        let (low, high) = visit.predicted.unwrap_or((value, value));
        let run = &history.runs[history.series.visits[visit.number][0]];
        let half = half_width(value, visit.figure.low, visit.figure.high);
        let half = if half.is_finite() { half } else { value.abs() / 100.0 };
        let shown = figure(value, half, &trend.unit);
        LinePoint {
            x: at as f64,
            y: value,
            // A band that dwarfs the figures would hide them.
            low: low.max(value - reach(trend)),
            high: high.min(value + reach(trend)),
            text: format!("{}: {shown}", date(run)),
            point: None,
        }
    });
    let marks = trend.changes.iter().map(|change| mark(history, trend, change));
    let marks = marks.chain(fact_marks(history, trend));
    let named = [0, trend.visits.len() / 2, trend.visits.len() - 1].map(|at| {
        let run = &history.runs[history.series.visits[trend.visits[at].number][0]];
        (at as f64, date(run).to_owned())
    });
    let mut named = named.to_vec();
    named.dedup_by(|one, other| one.0 == other.0);
    let lines = Lines {
        x: XAxis {
            title: "visits".to_owned(),
            unit: String::new(),
            kind: ScaleKind::Linear,
            named,
        },
        metric: trend.metric.clone(),
        unit: trend.unit.clone(),
        floats: true,
        lines: vec![Line { name: label.clone(), look: 0, points: points.collect() }],
        marks: marks.collect(),
    };
    let mut chart = Chart::new(ids.chart(), label, Drawing::Lines(lines));
    chart.notes =
        trend.changes.iter().rev().map(|change| change_note(history, trend, change)).collect();
    chart
}

/// Greatest distance of the band from a figure: as far as all figures reach.
fn reach(trend: &Trend) -> f64 {
    let figures = || trend.visits.iter().map(|visit| visit.figure.median);
    let (least, most) =
        (figures().fold(f64::INFINITY, f64::min), figures().fold(f64::NEG_INFINITY, f64::max));
    match (least, most) {
        (0.0, 0.0) => 1.0,
        _ => (most - least).max(most.abs() * 0.02),
    }
}

fn mark(history: &HistoryOfSeries, trend: &Trend, change: &Change) -> Mark {
    Mark { at: change.at as f64 - 0.5, text: change_note(history, trend, change) }
}

/// Where facts of the machine, or tags, changed.
fn fact_marks(history: &HistoryOfSeries, trend: &Trend) -> Vec<Mark> {
    let run = |at: usize| &history.runs[history.series.visits[trend.visits[at].number][0]];
    let changed = (1..trend.visits.len()).map(|at| (at, fact_changes(run(at - 1), run(at))));
    let changed = changed.filter(|(_, changes)| !changes.is_empty());
    let mark = |(at, changes): (usize, Vec<_>)| Mark {
        at: at as f64 - 0.5,
        text: format!("{}: {}", date(run(at)), facts(&changes, &PAGE)),
    };
    changed.map(mark).collect()
}

fn change_note(history: &HistoryOfSeries, trend: &Trend, change: &Change) -> String {
    let visit = &history.series.visits[trend.visits[change.at].number];
    let size = change.ratio.map_or_else(String::new, |ratio| format!(" {}", percent(ratio)));
    format!(
        "{}:{size}, {} visits before, {} after",
        date(&history.runs[visit[0]]),
        change.before,
        change.after
    )
}

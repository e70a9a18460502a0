//! The text of `oscost history` and `oscost watch`.

mod plot;
mod sparkline;
#[cfg(test)]
mod tests;
mod watched;

use analysis::Ratio;
use analysis::history::{Change, Event, FactChange, HistoryRun, Kind, RunSeries, Trend};
use measure::change_point::LEAST_SIDE;
use measure::stats::Interval;

use crate::grid::{self, Cell, Column};
use crate::labels::Label;
use crate::page::{Ink, Page};
use crate::quantity::{figure, format_interval, measured_half_width};
use crate::text;

pub use plot::history_plot;
pub use watched::{WatchPage, watch_text};

/// One series of runs, with what it says.
#[derive(Debug, Clone, Copy)]
pub struct HistoryOfSeries<'a> {
    /// The series.
    pub series: &'a RunSeries,
    /// All runs, by number.
    pub runs: &'a [HistoryRun],
    /// Its trends.
    pub trends: &'a [Trend],
    /// Its events, the oldest first.
    pub events: &'a [Event],
}

/// Width of the picture of a series.
const PICTURE: usize = 16;
/// Minimum width of a page for the picture of a series, and for the number of its visits.
const ROOM_FOR_VISITS: usize = 72;
/// Maximum number of changes of a point that are listed.
const CHANGES: usize = 4;
/// Maximum number of points of an event that are named.
const NAMED: usize = 4;

/// The history of each series: its events, and a line for each trend. Without `all`, trends without a change are only counted, and
/// so are series without one after the first.
pub fn history_text(histories: &[HistoryOfSeries], all: bool, page: &Page) -> String {
    let is_told = |nth: usize, history: &HistoryOfSeries| {
        nth == 0 || all || history.series.by.is_some() || !history.events.is_empty()
    };
    let told = histories.iter().enumerate().filter(|(nth, history)| is_told(*nth, history));
    let of_each = told.map(|(_, history)| {
        let mut parts = vec![heading(history, page)];
        if !history.events.is_empty() {
            parts.push(events_text(history, page));
        }
        let mut shown: Vec<&Trend> =
            history.trends.iter().filter(|trend| all || !trend.changes.is_empty()).collect();
        shown.sort_by_key(|trend| std::cmp::Reverse(latest_change(trend)));
        if !shown.is_empty() {
            parts.push(trends_table(history, &shown, page));
        }
        let left = || history.trends.iter().filter(|trend| trend.changes.is_empty());
        let have = |count: usize| match count {
            1 => "1 figure has".to_owned(),
            _ => format!("{count} figures have"),
        };
        let judged = left().filter(|trend| trend.can_show_changes()).count();
        let hidden = if all { 0 } else { judged };
        if hidden > 0 {
            let line = format!("{} no change (--all lists them).", have(hidden));
            parts.push(page.prose(Ink::Faint, &line));
        }
        let few = left().count() - judged;
        if few > 0 {
            let line = format!(
                "{} fewer than {} visits: nothing to judge (runs within ten minutes are one visit).",
                have(few),
                2 * LEAST_SIDE
            );
            parts.push(page.prose(Ink::Faint, &line));
        }
        parts.join("\n")
    });
    let mut parts: Vec<String> = of_each.collect();
    let others = histories.len() - parts.len();
    if others > 0 {
        let series = if others == 1 {
            "1 other series has".to_owned()
        } else {
            format!("{others} other series have")
        };
        parts.push(page.prose(Ink::Faint, &format!("{series} no change (--all shows them).")));
    }
    parts.join("\n")
}

/// The visit of the latest change, so that the table begins with it; trends without one come last.
fn latest_change(trend: &Trend) -> Option<usize> {
    trend.changes.last().map(|change| trend.visits[change.at].number)
}

fn heading(history: &HistoryOfSeries, page: &Page) -> String {
    let visits = &history.series.visits;
    let runs: usize = visits.iter().map(Vec::len).sum();
    let ends = [
        visits.first().and_then(|visit| visit.first()),
        visits.last().and_then(|visit| visit.last()),
    ];
    let [from, to] = ends.map(|run| run.map_or("", |&run| date(&history.runs[run])));
    let visits = visits.len();
    let visits = match visits {
        _ if visits == runs => String::new(),
        1 => " (one visit)".to_owned(),
        _ => format!(" ({visits} visits)"),
    };
    let machine = ends[1].map_or("", |&run| history.runs[run].summary.machine.as_str());
    let by = history.series.by.as_ref().map(|by| format!("{by}: ")).unwrap_or_default();
    let name = match history.series.name.is_empty() {
        true => String::new(),
        false => format!("; {}", history.series.name),
    };
    let runs = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
    let period = if from == to { from.to_owned() } else { format!("{from} to {to}") };
    let machine = if machine.is_empty() { String::new() } else { format!(", {machine}") };
    page.paint_lines(
        Ink::Heading,
        &page.hanging("", &text::clean(&format!("{by}{runs}{visits}, {period}{machine}{name}"))),
    )
}

/// The events, the newest first: what changed, by how much, of what, and with which facts.
fn events_text(history: &HistoryOfSeries, page: &Page) -> String {
    let lines = history.events.iter().rev().map(|event| event_text(history, event, page));
    lines.collect()
}

fn event_text(history: &HistoryOfSeries, event: &Event, page: &Page) -> String {
    let (word, ink) = match (event.accepted.is_some(), event.is_worse) {
        (true, _) => ("accepted", Ink::Faint),
        (false, true) => ("worse", Ink::Bad),
        (false, false) => ("better", Ink::Good),
    };
    let first = format!("{}  {word:<8}  ", date(&history.runs[event.run]));
    let size = size(event);
    let steps = if event.kind == Kind::Creep { ", gradually" } else { "" };
    let members = members(history.trends, event);
    let mut lines = page
        .paint_lines(ink, &page.hanging(&first, &page.signs(&format!("{size}{steps}: {members}"))));
    let indent = " ".repeat(first.len());
    let mut more = Vec::new();
    if !event.facts.is_empty() {
        more.push(format!("with {}", facts(&event.facts, page)));
    }
    match &event.accepted {
        Some(why) => more.push(format!("accepted: {}", text::clean(why))),
        None if event.is_worse => more.push(format!("event {}", event.id)),
        None => {}
    }
    for line in more {
        lines.push_str(&page.paint_lines(Ink::Faint, &page.hanging(&indent, &line)));
    }
    lines
}

/// The size of an event, such as `+12 cycles per entry (+2.6 %)`.
pub(crate) fn size(event: &Event) -> String {
    let ratio = event.ratio.map(percent);
    match (event.cycles_per_entry, ratio) {
        (Some(cycles), Some(ratio)) => format!("{cycles:+.0} cycles per entry ({ratio})"),
        (Some(cycles), None) => format!("{cycles:+.0} cycles per entry"),
        (None, Some(ratio)) => ratio,
        (None, None) => "a change".to_owned(),
    }
}

/// A ratio as a signed change, such as `+2.6 %`, or `3.1 times` for large ones.
pub(crate) fn percent(ratio: Ratio) -> String {
    match ratio.mid {
        mid if mid >= 2.0 => format!("{mid:.1} times"),
        mid => format!("{:+.1} %", (mid - 1.0) * 100.0),
    }
}

/// The points of an event, such as `in 31 figures of entries into the kernel: syscall/getppid, ...`.
pub(crate) fn members(trends: &[Trend], event: &Event) -> String {
    let mut names: Vec<String> =
        event.members.iter().map(|&(of, _)| text::clean(&name(&trends[of]))).collect();
    names.sort();
    let count = names.len();
    let names = text::listed(names, NAMED);
    match count {
        1 => names,
        _ => format!("{count} figures ({}): {names}", event.cause),
    }
}

/// The name of a trend: its point, with the metric unless it is the time.
pub(crate) fn name(trend: &Trend) -> String {
    match trend.metric == crate::rows::COST {
        true => trend.point.to_string(),
        false => format!("{} {}", trend.point, trend.metric),
    }
}

/// Facts that changed, such as `release 6.12.3 -> 6.12.4`.
pub(crate) fn facts(changes: &[FactChange], page: &Page) -> String {
    const WIDEST: usize = 40;
    let short = |value: &str| match value {
        "" => "none".to_owned(),
        value => text::shortened(&text::clean(value), WIDEST),
    };
    let of_one = |change: &FactChange| {
        let fact = change.fact.replace('_', " ");
        format!("{fact} {} → {}", short(&change.before), short(&change.after))
    };
    page.signs(&changes.iter().map(of_one).collect::<Vec<_>>().join(", "))
}

fn trends_table(history: &HistoryOfSeries, trends: &[&Trend], page: &Page) -> String {
    let labels: Vec<Label> = trends.iter().map(|trend| Label::of(&trend.point)).collect();
    let metrics = trends.iter().map(|trend| match trend.metric == crate::rows::COST {
        true => String::new(),
        false => trend.metric.clone(),
    });
    let last = |trend: &&Trend| trend.visits.last().map(|visit| visit.figure);
    let figures = trends.iter().map(|trend| match last(trend) {
        Some(Interval { median, low, high }) => {
            Cell::figure(figure(median, shown_half(median, low, high), &trend.unit))
        }
        None => Cell::unknown(),
    });
    let intervals = trends.iter().map(|trend| {
        let words =
            last(trend).and_then(|figure| format_interval(figure.median, figure.low, figure.high));
        Cell::text(page.signs(&words.unwrap_or_default()))
    });
    let pictures = trends.iter().map(|trend| {
        let ink = match trend.changes.last() {
            Some(change) if change.is_worse => Ink::Bad,
            Some(_) => Ink::Good,
            None => Ink::Plain,
        };
        Cell::inked(sparkline::sparkline(trend, PICTURE, page.unicode), ink)
    });
    let runs = trends.iter().map(|trend| Cell::text(trend.visits.len().to_string()));
    let changes = trends.iter().map(|trend| Cell::text(changes(history, trend, page)));
    let mut columns = vec![
        Column::names("point", labels.iter().map(Label::with_area)),
        Column::words("", metrics),
        Column::words("history", pictures),
        Column::figures("last", figures),
        Column::figures("", intervals),
        Column::figures("visits", runs),
        Column::words("changes", changes).wrapping(),
    ];
    if page.table_width() < ROOM_FOR_VISITS {
        // The changes say how many visits there are.
        columns.remove(5);
        columns.remove(2);
    }
    let columns = columns.into_iter().filter_map(Column::unless_blank).collect();
    grid::table(columns, page)
}

/// Half the width by which a figure has its digits; a hundredth of it where there is no interval.
fn shown_half(median: f64, low: f64, high: f64) -> f64 {
    let half = measured_half_width(median, low, high);
    if half.is_finite() { half } else { median.abs() / 100.0 }
}

/// The latest changes of a trend, the newest first: date, size with its interval, and the visits behind both sides.
fn changes(history: &HistoryOfSeries, trend: &Trend, page: &Page) -> String {
    let newest = trend.changes.iter().rev().take(CHANGES);
    let mut words: Vec<String> =
        newest.map(|change| change_words(history, trend, change)).collect();
    let more = trend.changes.len().saturating_sub(CHANGES);
    if more > 0 {
        words.push(format!("and {more} before"));
    }
    page.signs(&words.join("; "))
}

fn change_words(history: &HistoryOfSeries, trend: &Trend, change: &Change) -> String {
    let visit = trend.visits[change.at];
    let run = history.series.visits[visit.number][0];
    let (before, after) = (mean_before(trend, change), mean_after(trend, change));
    let shown = |mean: Interval| {
        figure(mean.median, shown_half(mean.median, mean.low, mean.high), &trend.unit).to_string()
    };
    let size = match change.ratio {
        Some(ratio) if ratio.mid < 2.0 && ratio.mid > 0.5 => {
            let [low, high] = [ratio.low, ratio.high].map(|end| (end - 1.0) * 100.0);
            format!("{} ({low:+.1} to {high:+.1})", percent(ratio))
        }
        Some(ratio) => percent(ratio),
        None => String::new(),
    };
    let kind = if change.kind == Kind::Creep { "gradually " } else { "" };
    let (n, m) = (change.before, change.after);
    let parts = [
        date(&history.runs[run]).to_owned(),
        format!("{kind}{size}"),
        format!("{} → {}", shown(before), shown(after)),
        format!("{n} and {m} visits"),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

fn mean_before(trend: &Trend, change: &Change) -> Interval {
    let found = trend.segments.iter().find(|segment| segment.to == change.at);
    found.map_or(Interval::open(f64::NAN), |segment| segment.mean)
}

fn mean_after(trend: &Trend, change: &Change) -> Interval {
    let found = trend.segments.iter().find(|segment| segment.from == change.at);
    found.map_or(Interval::open(f64::NAN), |segment| segment.mean)
}

/// The day of a run.
pub(crate) fn date(run: &HistoryRun) -> &str {
    run.summary.started.get(..10).unwrap_or(&run.summary.started)
}

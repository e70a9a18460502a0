//! The cost of a connection or a request for the server, and of a connection that is only held open.

use cases::net::metrics::{
    INVOLUNTARY_SWITCHES, MEMORY, PROCESSES, SERVER_CPU, SLOW_SERVED, THREADS, VOLUNTARY_SWITCHES,
};
use measure::Metric;
use measure::TIME;
use results::Estimate;

use crate::footnotes::Footnotes;
use crate::grid::{Cell, Column};
use crate::net::levels::{self, Block, Entry};
use crate::net::rates::per_cpu_second;
use crate::net::sweep::{ANSWER, Point, Sweep};
use crate::net::wording::faint;
use crate::page::{Ink, Page};
use crate::quantity::{figure, format_per_op_briefly, half_width};

/// The maximum number of levels shown, on pages of any width.
const MOST_LEVELS: usize = 3;

/// The figure of a point as a cell of a column.
type EntryOf = fn(&Point) -> Option<Entry>;

/// CPU time, system calls and context switches per reply, and replies per CPU second.
pub(crate) fn table(sweep: &Sweep, page: &Page) -> String {
    const COLUMNS: [(&str, EntryOf); 5] = [
        ("CPU, us", |point| Some(Entry::estimate(&point.estimate(&SERVER_CPU)?, 1e3, ""))),
        ("calls", |point| Some(count(point.result(&TIME)?.per_op.as_ref()?.syscalls?))),
        ("waits", |point| Some(count(point.estimate(&VOLUNTARY_SWITCHES)?.median))),
        ("preempted", |point| Some(count(point.estimate(&INVOLUNTARY_SWITCHES)?.median))),
        ("k/CPU s", |point| Some(Entry::estimate(&per_cpu_second(point)?, 1e3, ""))),
    ];
    let one = if sweep.case == ANSWER { "connection" } else { "request" };
    let title = format!("cost of one {one} for the server, by connections in flight");
    let layout = |(count, shown): (usize, &[(&str, EntryOf)])| {
        let at = levels::shown_levels(sweep, count);
        shown.iter().filter_map(|(heading, cell_of)| block(sweep, heading, &at, *cell_of)).collect()
    };
    let most = sweep.levels.len().min(MOST_LEVELS);
    let layouts: Vec<Vec<Block>> = (1..=most)
        .rev()
        .flat_map(|n| [(n, &COLUMNS[..]), (n, &COLUMNS[..4])])
        .map(layout)
        .collect();
    if layouts.iter().all(Vec::is_empty) {
        return String::new();
    }
    let note = "waits: blocking context switches; preempted: involuntary ones; k/CPU s: thousands per CPU second";
    levels::titled(sweep, &title, layouts, page) + &faint(note, page)
}

/// How much of what slow clients sent was answered, in percent; nothing if there were none.
pub(crate) fn slow_served(sweep: &Sweep, page: &Page) -> String {
    let share = |point: &Point| Some(Entry::estimate(&point.estimate(&SLOW_SERVED)?, 0.01, ""));
    let at: Vec<usize> = (0..sweep.levels.len()).collect();
    let Some(block) = block(sweep, "%", &at, share) else { return String::new() };
    let title = "requests of slow clients answered, % of those sent, by fast connections";
    levels::titled(sweep, title, vec![vec![block]], page)
}

/// Memory, processes and threads per connection held open, and the time to open it.
pub(crate) fn held(sweep: &Sweep, notes: &Footnotes, page: &Page) -> String {
    let title = match sweep.levels[..] {
        [level] => format!("cost of each of {level} idle connections for the server"),
        _ => "cost of an idle connection for the server, by number of connections".to_owned(),
    };
    let layout = |count: usize| -> Vec<Block> {
        let at = levels::shown_levels(sweep, count);
        let mut blocks = vec![
            text_block(sweep, "memory", &at, |point| size(point, &MEMORY)),
            block(sweep, "processes", &at, |point| count_of(point, &PROCESSES)),
            block(sweep, "threads", &at, |point| count_of(point, &THREADS)),
            text_block(sweep, "time to open", &at, |point| size(point, &TIME)),
        ];
        let marks = sweep.archs.iter().map(|arch| notes.mark(&arch.reasons()));
        let marks = Column::words("", marks.map(|mark| Cell::inked(mark, Ink::Doubt)).collect());
        if let Some(last) = blocks.iter_mut().flatten().last().filter(|_| !marks.is_blank()) {
            last.parts.last_mut().into_iter().for_each(|part| part.push(marks.clone().close()));
        }
        blocks.into_iter().flatten().collect()
    };
    levels::titled(sweep, &title, (1..=sweep.levels.len()).rev().map(layout).collect(), page)
}

pub(crate) fn count(times: f64) -> Entry {
    Entry::number(format_per_op_briefly(times), "")
}

pub(crate) fn count_of(point: &Point, metric: &Metric) -> Option<Entry> {
    Some(count(point.estimate(metric)?.median))
}

/// A figure with its own unit.
pub(crate) fn size(point: &Point, metric: &Metric) -> Option<Cell> {
    let e: Estimate = point.estimate(metric)?;
    let half_width = half_width(e.median, e.low, e.high).max(e.median * 0.01);
    Some(Cell::figure(figure(e.median, half_width, &point.result(metric)?.unit)))
}

/// A column for each of the levels `at`; `None` if no point has such a figure.
pub(crate) fn block(sweep: &Sweep, heading: &str, at: &[usize], cell_of: EntryOf) -> Option<Block> {
    let column = |at: &usize| {
        let entry = |point: &Point| cell_of(point).unwrap_or_else(|| Entry::without_figure(point));
        let entries = sweep.archs.iter().map(|arch| entry(&arch.points[*at])).collect();
        vec![levels::column(&under(sweep, heading, *at), entries)]
    };
    let has = any(sweep, |point| cell_of(point).is_some());
    has.then(|| Block::new(over(sweep, heading), at.iter().map(column).collect()))
}

pub(crate) fn text_block(
    sweep: &Sweep,
    heading: &str,
    at: &[usize],
    cell_of: impl Fn(&Point) -> Option<Cell>,
) -> Option<Block> {
    let column = |at: &usize| {
        let cell = |point: &Point| {
            cell_of(point).unwrap_or_else(|| Entry::without_figure(point).into_cell())
        };
        let cells = sweep.archs.iter().map(|arch| cell(&arch.points[*at])).collect();
        vec![Column::figures(&under(sweep, heading, *at), cells)]
    };
    let has = any(sweep, |point| cell_of(point).is_some());
    has.then(|| Block::new(over(sweep, heading), at.iter().map(column).collect()))
}

fn any(sweep: &Sweep, has: impl Fn(&Point) -> bool) -> bool {
    sweep.archs.iter().flat_map(|arch| &arch.points).any(has)
}

/// The heading of a column: its level, or its own name if there is only one level.
fn under(sweep: &Sweep, heading: &str, at: usize) -> String {
    if sweep.levels.len() > 1 { sweep.levels[at].to_string() } else { heading.to_owned() }
}

/// The heading over columns of several levels.
fn over<'a>(sweep: &Sweep, heading: &'a str) -> &'a str {
    if sweep.levels.len() > 1 { heading } else { "" }
}

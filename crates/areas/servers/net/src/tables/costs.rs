//! Cost of a connection or a request for the server, and of a connection that is only held open.

use crate::metrics::{
    INVOLUNTARY_SWITCHES, MEMORY, PROCESSES, SERVER_CPU, SLOW_SERVED, THREADS, VOLUNTARY_SWITCHES,
};
use measure::TIME;

use super::rates::per_cpu_second;
use report::footnotes::Footnotes;
use report::swept::blocks::{EntryOf, block, blocks, count, count_of, size_block};
use report::swept::levels::{self, Block, Entry};
use report::swept::{Point, Sweep};

use super::importance::MOST_INFORMATIVE;
use crate::common::ANSWER;
use report::page::Page;

/// Maximum number of levels shown, on pages of any width.
const MOST_LEVELS: usize = 3;

/// A table of CPU time, system calls and context switches per reply, and of replies per CPU second.
pub(crate) fn table(sweep: &Sweep, page: &Page) -> String {
    const COLUMNS: [(&str, EntryOf); 5] = [
        ("CPU, us", |point| Some(Entry::estimate(&point.estimate(&SERVER_CPU)?, 1e3, ""))),
        ("calls", |point| Some(count(point.result(&TIME)?.per_op.as_ref()?.syscalls?))),
        ("waits", |point| count_of(point, &VOLUNTARY_SWITCHES)),
        ("preempted", |point| count_of(point, &INVOLUNTARY_SWITCHES)),
        ("k/CPU s", |point| Some(Entry::estimate(&per_cpu_second(point)?, 1e3, ""))),
    ];
    let one = if sweep.case == ANSWER { "connection" } else { "request" };
    let title = format!("cost of one {one} for the server, by connections in flight");
    let layouts = (1..=sweep.levels.len().min(MOST_LEVELS)).rev().flat_map(|count| {
        let at = levels::shown_levels(sweep, count, &MOST_INFORMATIVE);
        [&COLUMNS[..], &COLUMNS[..4]].map(|columns| blocks(sweep, columns, &at))
    });
    let note = "waits: blocking context switches; preempted: involuntary ones; k/CPU s: thousands per CPU second";
    levels::remarked(sweep, &title, layouts.collect(), note, page)
}

/// A table of the share of slow clients' requests that was answered, in percent; empty if there were none.
pub(crate) fn slow_served(sweep: &Sweep, page: &Page) -> String {
    let share = |point: &Point| Some(Entry::estimate(&point.estimate(&SLOW_SERVED)?, 0.01, ""));
    let at: Vec<usize> = (0..sweep.levels.len()).collect();
    let Some(block) = block(sweep, "%", &at, share, levels::column) else { return String::new() };
    let title = "requests of slow clients answered, % of those sent, by fast connections";
    levels::titled(sweep, title, vec![vec![block]], page)
}

/// A table of memory, processes and threads per connection held open, and the time to open it.
pub(crate) fn held(sweep: &Sweep, notes: &Footnotes, page: &Page) -> String {
    const COUNTS: [(&str, EntryOf); 2] = [
        ("processes", |point| count_of(point, &PROCESSES)),
        ("threads", |point| count_of(point, &THREADS)),
    ];
    let title = match sweep.levels[..] {
        [level] => format!("cost of each of {level} idle connections for the server"),
        _ => "cost of an idle connection for the server, by number of connections".to_owned(),
    };
    let layout = |count: usize| -> Vec<Block> {
        let at = levels::shown_levels(sweep, count, &MOST_INFORMATIVE);
        let mut all: Vec<Block> = Vec::new();
        all.extend(size_block(sweep, "memory", &at, &MEMORY));
        all.extend(blocks(sweep, &COUNTS, &at));
        all.extend(size_block(sweep, "time to open", &at, &TIME));
        let last = all.last_mut().and_then(|block| block.parts.last_mut());
        last.into_iter().for_each(|part| part.extend(levels::marks(sweep, notes)));
        all
    };
    levels::titled(sweep, &title, (1..=sweep.levels.len()).rev().map(layout).collect(), page)
}

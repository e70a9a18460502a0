//! The cost of a recipient for the sender, and its transactions and connections.

use super::levels::shown_levels;
use crate::metrics::{
    CONNECTIONS, MEMORY, OPEN, ROUND_TRIPS, SENDER_CPU, TRANSACTIONS, VOLUNTARY_SWITCHES,
};
use measure::TIME;
use report::page::Page;
use report::swept::Sweep;
use report::swept::blocks::{EntryOf, blocks, count, count_of, size_block};
use report::swept::levels::{self, Block, Entry};

/// A table of CPU time, system calls and switches per recipient, and of the memory of the sender.
pub(crate) fn costs(sweep: &Sweep, page: &Page) -> String {
    const COLUMNS: [(&str, EntryOf); 3] = [
        ("CPU, us", |point| Some(Entry::estimate(&point.estimate(&SENDER_CPU)?, 1e3, ""))),
        ("calls", |point| Some(count(point.result(&TIME)?.per_op.as_ref()?.syscalls?))),
        ("waits", |point| count_of(point, &VOLUNTARY_SWITCHES)),
    ];
    let title = "cost of a recipient for the sender, and the sender's memory";
    let layout = |at: &[usize]| -> Vec<Block> {
        let shown = blocks(sweep, &COLUMNS, at).into_iter();
        shown.chain(size_block(sweep, "memory", at, &MEMORY)).collect()
    };
    let note =
        "calls: system calls; waits: blocking context switches; memory: in total, with the list";
    levels::remarked(sweep, title, layouts(sweep, layout), note, page)
}

/// A table of transactions and connections per second, open connections, and round trips.
pub(crate) fn done(sweep: &Sweep, page: &Page) -> String {
    const COLUMNS: [(&str, EntryOf); 4] = [
        ("transactions/s", |point| Some(Entry::estimate(&point.estimate(&TRANSACTIONS)?, 1.0, ""))),
        ("connections/s", |point| Some(Entry::estimate(&point.estimate(&CONNECTIONS)?, 1.0, ""))),
        ("at once", |point| count_of(point, &OPEN)),
        ("trips", |point| count_of(point, &ROUND_TRIPS)),
    ];
    let layouts = layouts(sweep, |at| blocks(sweep, &COLUMNS, at));
    let note = "at once: maximum of open connections; trips: round trips per transaction, in total";
    levels::remarked(sweep, "transactions and connections", layouts, note, page)
}

/// A layout for each number of levels, the largest number first.
fn layouts(sweep: &Sweep, layout: impl Fn(&[usize]) -> Vec<Block>) -> Vec<Vec<Block>> {
    let most = shown_levels(sweep, sweep.levels.len()).len();
    (1..=most).rev().map(|count| layout(&shown_levels(sweep, count))).collect()
}

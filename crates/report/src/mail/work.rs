//! The cost of a recipient for the sender, and its transactions and connections.

use super::levels::shown_levels;
use crate::net::costs::{block, count, count_of, size, text_block};
use crate::net::levels::{self, Block, Entry};
use crate::net::sweep::{Point, Sweep};
use crate::net::wording::faint;
use crate::page::Page;
use cases::mail::metrics::{
    CONNECTIONS, MEMORY, OPEN, ROUND_TRIPS, SENDER_CPU, TRANSACTIONS, VOLUNTARY_SWITCHES,
};
use measure::TIME;

/// CPU time, system calls and switches of one recipient; memory of the sender.
pub(crate) fn costs(sweep: &Sweep, page: &Page) -> String {
    type EntryOf = fn(&Point) -> Option<Entry>;
    const COLUMNS: [(&str, EntryOf); 3] = [
        ("CPU, us", |point| Some(Entry::estimate(&point.estimate(&SENDER_CPU)?, 1e3, ""))),
        ("calls", |point| Some(count(point.result(&TIME)?.per_op.as_ref()?.syscalls?))),
        ("waits", |point| count_of(point, &VOLUNTARY_SWITCHES)),
    ];
    let title = "cost of a recipient for the sender, and the sender's memory";
    let layout = |levels: usize| -> Vec<Block> {
        let at = shown_levels(sweep, levels);
        let shown =
            COLUMNS.iter().filter_map(|(heading, cell_of)| block(sweep, heading, &at, *cell_of));
        let memory = text_block(sweep, "memory", &at, |point| size(point, &MEMORY));
        shown.chain(memory).collect()
    };
    let text = laid_out(sweep, title, layout, page);
    let note =
        "calls: system calls; waits: blocking context switches; memory: in total, with the list";
    if text.is_empty() { text } else { text + &faint(note, page) }
}

/// Transactions and connections per second, open connections, and round trips.
pub(crate) fn done(sweep: &Sweep, page: &Page) -> String {
    type EntryOf = fn(&Point) -> Option<Entry>;
    const COLUMNS: [(&str, EntryOf); 4] = [
        ("transactions/s", |point| Some(Entry::estimate(&point.estimate(&TRANSACTIONS)?, 1.0, ""))),
        ("connections/s", |point| Some(Entry::estimate(&point.estimate(&CONNECTIONS)?, 1.0, ""))),
        ("at once", |point| count_of(point, &OPEN)),
        ("trips", |point| count_of(point, &ROUND_TRIPS)),
    ];
    let layout = |levels: usize| -> Vec<Block> {
        let at = shown_levels(sweep, levels);
        COLUMNS
            .iter()
            .filter_map(|(heading, cell_of)| block(sweep, heading, &at, *cell_of))
            .collect()
    };
    let text = laid_out(sweep, "transactions and connections", layout, page);
    let note = "at once: maximum of open connections; trips: round trips per transaction, in total";
    if text.is_empty() { text } else { text + &faint(note, page) }
}

/// The layout with the most levels that fit the page; empty if there are no figures.
fn laid_out(
    sweep: &Sweep,
    title: &str,
    layout: impl Fn(usize) -> Vec<Block>,
    page: &Page,
) -> String {
    let most = shown_levels(sweep, sweep.levels.len()).len();
    let layouts: Vec<Vec<Block>> = (1..=most).rev().map(layout).collect();
    if layouts.iter().all(Vec::is_empty) {
        return String::new();
    }
    levels::titled(sweep, title, layouts, page)
}

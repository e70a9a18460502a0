//! What many small files cost: created and written, read back, asked for their size, renamed, listed and deleted.
//!
//! Each case is one trial of all these phases in a fresh directory, and varies one thing: a file of a few lines.
//! What is on the clock is in [`phases`]; the directory, and whether there is room for it, in [`directory`]; what
//! is in the files, and how it is verified, in [`contents`]; the metrics in [`figures`].

mod cold;
mod common;
mod contents;
mod create;
mod directory;
mod figures;
mod layout;
pub mod metrics;
mod phases;
mod small;
mod sync;
mod workers;

pub use directory::{TEMP, obstacle, path_of};

pub(crate) use common::*;

use crate::{Area, Case, Finding, Layout, Select, SummaryRow};

/// The area.
pub const AREA: Area = Area {
    layout: Layout::Phases,
    summary: &[
        SummaryRow {
            label: "file created and written",
            point: Select::point("file/sync", &[("sync", "none"), ("dir", TEMP)]),
            metric: &metrics::CREATE.times[0],
        },
        SummaryRow {
            label: "file created, written and synced",
            point: Select::point("file/sync", &[("sync", "file"), ("dir", TEMP)]),
            metric: &metrics::CREATE.times[0],
        },
    ],
    findings: &[Finding::Value {
        point: Select::point("file/sync", &[("sync", "file"), ("dir", TEMP)]),
        metric: &metrics::SYNC_COST,
        says: "Syncing each file makes creating it {} times as expensive.",
    }],
    ..Area::new("file", CASES)
};

/// Its cases.
const CASES: &[&Case] =
    &[&small::CASE, &sync::CASE, &create::CASE, &layout::CASE, &workers::CASE, &cold::CASE];

#[cfg(test)]
mod tests;

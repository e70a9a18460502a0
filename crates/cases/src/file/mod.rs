//! The cost of many small files: creating and writing, reading, stat, renaming, listing and deleting.
//!
//! A round of each case is one trial of all these phases in a new directory; each case varies one property. The timed
//! calls are in [`phases`], the directory and the check for free space in [`directory`], the contents of the files and
//! their verification in [`contents`], and the computation of the metrics in [`figures`].

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

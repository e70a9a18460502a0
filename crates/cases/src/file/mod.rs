//! What many small files cost: created and written, read back, asked for their size, renamed, listed and deleted.
//!
//! Each case is one trial of all these phases in a fresh directory, and varies one thing: a file of a few lines.
//! What is on the clock is in [`phases`]; the directory, and whether there is room for it, in [`directory`]; what
//! is in the files, and how it is verified, in [`contents`]; the metrics in [`figures`].

mod cold;
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

use std::time::Duration;

use measure::Params;

use crate::{
    Area, Case, Extent, Finding, Param, Select, SummaryRow, Takes, Trials, count_of, size_of,
    value_of,
};

/// The area.
pub const AREA: Area = Area {
    summary: &[
        SummaryRow {
            label: "file created and written",
            point: Select::point("file/sync", &[("sync", "none"), ("dir", TEMP)]),
            metric: "create-p50",
        },
        SummaryRow {
            label: "file created, written and synced",
            point: Select::point("file/sync", &[("sync", "file"), ("dir", TEMP)]),
            metric: "create-p50",
        },
    ],
    findings: &[Finding::Value {
        point: Select::point("file/sync", &[("sync", "file"), ("dir", TEMP)]),
        metric: "sync-cost",
        says: "Syncing each file makes creating it {} times as expensive.",
    }],
    ..Area::new("file", CASES)
};

/// Its cases.
const CASES: &[&Case] =
    &[&small::CASE, &sync::CASE, &create::CASE, &layout::CASE, &workers::CASE, &cold::CASE];

const UNCOUNTED: Trials = Trials { includes, ..Trials::new(takes) };
const COUNTED: Trials = Trials { counted: true, ..UNCOUNTED };

/// More files than this need more room for what is kept of them than for themselves.
const FILES_AT_MOST: u64 = 1_000_000;

/// The block of most file systems.
const BLOCK: usize = 4096;

/// A larger file is not a small one.
const SIZE_AT_MOST: u64 = 1 << 20;

/// In which directory the fresh one is made.
const DIR: Param = Param {
    name: "dir",
    meaning: "in which directory the fresh one is made: `temp` or, with --dir, any",
    default: &[TEMP],
    full: &[TEMP],
    takes: Takes::Directory,
};

/// How many files there are: in an ordinary run as many as several trials have time for, of which the slowest 1 %
/// are still 20.
const FILES: Param = Param {
    name: "files",
    meaning: "how many files there are",
    default: &["2000"],
    full: &["10000"],
    takes: Takes::Count(FILES_AT_MOST),
};

/// As many as those cases have time for that have more points.
const FEWER_FILES: Param = Param { default: &["1000"], ..FILES };

/// How large each of them is, where that is not what is compared.
const SIZE: Param = Param {
    name: "size",
    meaning: "how large each file is, in bytes",
    default: &["4k"],
    full: &["4k"],
    takes: Takes::Size(SIZE_AT_MOST),
};

/// A quick run has files of at most one block; of the ways to sync, to create and to share a directory
/// those that differ most.
fn includes(params: &Params, extent: Extent) -> bool {
    let is = |name: &str, value: &str| params.get(name).is_some_and(|has| has == value);
    let is_large = size_of(params, "size").is_ok_and(|size| size > BLOCK);
    let differs_little =
        is("sync", "file+dir") || is("how", "tmpfile+link") || is("where", "separate");
    extent != Extent::Quick || !(is_large || differs_little)
}

/// About how long a trial takes on a virtual machine's disk, with removing what is left.
fn takes(params: &Params) -> Duration {
    const FILE: Duration = Duration::from_micros(40);
    const KIB: Duration = Duration::from_nanos(1_500);
    const SYNC: Duration = Duration::from_millis(1);
    let files = count_of(params, "files").unwrap_or(1) as u32;
    let kibs = size_of(params, "size").unwrap_or_default() as u32 / 1024;
    let each = match (value_of(params, "sync"), value_of(params, "dropped")) {
        (Ok("file"), _) => FILE * 2 + SYNC,
        (Ok("file+dir"), _) => FILE * 2 + SYNC * 2,
        (_, Ok(_)) => FILE * 3,
        _ => FILE,
    };
    (each + KIB * kibs) * files
}

#[cfg(test)]
mod tests;

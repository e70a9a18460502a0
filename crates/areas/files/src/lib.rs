//! Costs of files: many small ones created and written, read back, asked for their size, renamed, listed and deleted; single
//! calls; and a large one written, read and copied.
//!
//! A round of a case of small files is one trial of all these phases in a new directory; each case varies one property. The timed
//! calls are in [`phases`], the directory and the check for free space in [`directory`], the contents of the files and their
//! verification in [`contents`], and the computation of the metrics in [`figures`].
//!
//! The contents of large files are in [`pattern`]; the ways to read their blocks, one or several at a time, in [`engine`].

mod cold;
mod common;
mod contents;
mod copy;
mod create;
mod designs;
mod directory;
mod engine;
mod fallocate;
mod figures;
mod layout;
pub mod metrics;
mod mkdir_rmdir;
mod mmap;
mod pattern;
mod phases;
mod random_read;
mod sequential_read;
mod sequential_write;
mod small;
mod stat_deep;
mod stat_long;
mod stat_missing;
mod sync;
mod truncate;
mod workers;

use directory::obstacle;

pub(crate) use common::*;

use measure::Params;

use catalog::{Area, Case, Extent, Finding, Need, Select, SummaryRow, TEMP};

/// The area.
pub static AREA: Area = Area {
    needs: &[
        Need {
            cases: &[],
            what: "free space for its files in each directory (--dir); mode=direct: a file system with O_DIRECT",
        },
        Need { cases: &["cold"], what: "for dropped=all: root (/proc/sys/vm/drop_caches)" },
        Need { cases: &["random-read"], what: "for engine=io_uring: kernel.io_uring_disabled=0" },
    ],
    beyond_quick: &["file/layout", "file/workers"],
    includes: thinned,
    obstacle,
    summary: &[
        SummaryRow::new(
            "file created and written",
            Select::point("file/sync", &[("sync", "none"), ("dir", TEMP)]),
            &metrics::CREATE.times[0],
        ),
        SummaryRow::new(
            "file created, written and synced",
            Select::point("file/sync", &[("sync", "file"), ("dir", TEMP)]),
            &metrics::CREATE.times[0],
        ),
    ],
    findings: &[
        Finding::Value {
            point: Select::point("file/sync", &[("sync", "file"), ("dir", TEMP)]),
            metric: &metrics::SYNC_COST,
            says: "Syncing each file makes creating it {} times as expensive.",
        },
        Finding::Ratio {
            of: Select::point(
                "file/random-read",
                &[("engine", "io_uring"), ("depth", "16"), ("mode", "direct")],
            ),
            to: Select::point(
                "file/random-read",
                &[("engine", "pread"), ("depth", "1"), ("mode", "direct")],
            ),
            metric: &metrics::READS,
            greater: "Past the cache, io_uring with 16 reads at once reads {} as many blocks of 4 KiB a second as pread.",
            less: "Past the cache, pread reads {} as many blocks of 4 KiB a second as io_uring with 16 reads at once.",
            equal: "Past the cache, io_uring with 16 reads at once reads as many blocks of 4 KiB a second as pread ({}).",
        },
    ],
    applications: designs::APPLICATIONS,
    ..Area::new("file", CASES)
};

/// Cases of the area.
const CASES: &[&Case] = &[
    &small::CASE,
    &sync::CASE,
    &create::CASE,
    &layout::CASE,
    &workers::CASE,
    &cold::CASE,
    &mkdir_rmdir::CASE,
    &stat_missing::CASE,
    &stat_deep::CASE,
    &stat_long::CASE,
    &truncate::CASE,
    &fallocate::CASE,
    &mmap::CASE,
    &sequential_write::CASE,
    &sequential_read::CASE,
    &copy::CASE,
    &random_read::CASE,
];

/// Whether a run measures the point: a quick run measures the deep path only.
fn thinned(params: &Params, extent: Extent) -> bool {
    let is_shallow = params.get("levels").is_some_and(|levels| levels != "32");
    extent != Extent::Quick || !is_shallow
}

mod tables;
#[cfg(test)]
mod tests;

pub use tables::LAYOUT;

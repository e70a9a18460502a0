//! What the cases of files share: parameters, and how long a trial takes.

use super::directory::TEMP;
use crate::{Extent, Param, Takes, Trials, count_of, size_of, value_of};
use measure::Params;
use std::time::Duration;

pub const UNCOUNTED: Trials = Trials { includes, ..Trials::new(takes) };
pub const COUNTED: Trials = Trials { counted: true, ..UNCOUNTED };

/// More files than this need more room for what is kept of them than for themselves.
pub const FILES_AT_MOST: u64 = 1_000_000;

/// The block of most file systems.
pub const BLOCK: usize = 4096;

/// A larger file is not a small one.
pub const SIZE_AT_MOST: u64 = 1 << 20;

/// Larger single files have no time in any run.
pub const WHOLE_AT_MOST: u64 = 16 << 30;

/// How large the single file of a trial is: in an ordinary run what several trials have time for.
pub const WHOLE_SIZE: Param = Param {
    name: "size",
    meaning: "the size of the file, in bytes",
    default: &["32m"],
    full: &["1g"],
    takes: Takes::Size(WHOLE_AT_MOST),
};

/// In which directory the fresh one is made.
pub const DIR: Param = Param {
    name: "dir",
    meaning: "in which directory the fresh one is made: `temp` or, with --dir, any",
    default: &[TEMP],
    full: &[TEMP],
    takes: Takes::Directory,
};

/// How many files there are: in an ordinary run as many as several trials have time for, of which the slowest 1 %
/// are still 20.
pub const FILES: Param = Param {
    name: "files",
    meaning: "how many files there are",
    default: &["2000"],
    full: &["10000"],
    takes: Takes::Count(FILES_AT_MOST),
};

/// As many as those cases have time for that have more points.
pub const FEWER_FILES: Param = Param { default: &["1000"], ..FILES };

/// How large each of them is, where that is not what is compared.
pub const SIZE: Param = Param {
    name: "size",
    meaning: "how large each file is, in bytes",
    default: &["4k"],
    full: &["4k"],
    takes: Takes::Size(SIZE_AT_MOST),
};

/// A quick run has files of at most one block; of the ways to sync, to create and to share a directory
/// those that differ most.
pub fn includes(params: &Params, extent: Extent) -> bool {
    let is = |name: &str, value: &str| params.get(name).is_some_and(|has| has == value);
    let is_large = size_of(params, "size").is_ok_and(|size| size > BLOCK);
    let differs_little =
        is("sync", "file+dir") || is("how", "tmpfile+link") || is("where", "separate");
    extent != Extent::Quick || !(is_large || differs_little)
}

/// About how long a trial takes on a virtual machine's disk, with removing what is left.
pub fn takes(params: &Params) -> Duration {
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

//! Shared by the cases of files: parameters, and the duration of a trial.

use catalog::{Extent, Param, TEMP, Takes, Trials, count_of, size_of, value_of};
use measure::Params;
use std::time::Duration;

pub const UNCOUNTED: Trials = Trials { includes, ..Trials::new(takes) };
pub const COUNTED: Trials = Trials { counted: true, on_host: true, ..UNCOUNTED };

/// Trial settings for a large file that is read or written in a `mode`.
pub const SEQUENTIAL: Trials =
    Trials { includes: buffered_if_quick, ..Trials::new(takes_sequentially) };

/// Maximum number of files: with more, their recorded times take more memory than the files.
pub const FILES_AT_MOST: u64 = 1_000_000;

/// Block size of most file systems, in bytes.
pub const BLOCK: usize = 4096;

/// Maximum size of a small file in bytes.
pub const SIZE_AT_MOST: u64 = 1 << 20;

/// Maximum size of the single file of a trial, in bytes.
pub const WHOLE_AT_MOST: u64 = 16 << 30;

/// The parameter `size` of a single file; its default leaves time for several trials.
pub const WHOLE_SIZE: Param = Param::new("size", &["32m"])
    .meaning("the size of the file, in bytes")
    .full(&["1g"])
    .takes(Takes::Size(WHOLE_AT_MOST));

/// The parameter `dir`: parent of the new directory.
pub const DIR: Param = Param::new("dir", &[TEMP])
    .meaning(
        "the parent of the new directory: `temp`, the system's directory for temporary \
         files, or any directory given with --dir",
    )
    .takes(Takes::Directory);

/// The parameter `files`. The default is the largest number for which several trials have time: the slowest 1 % are still 20
/// files.
pub const FILES: Param = Param::new("files", &["2000"])
    .meaning("the number of files, all in one new directory if nothing else is said")
    .full(&["10000"])
    .takes(Takes::Count(FILES_AT_MOST));

/// The parameter `files` of cases with more points.
pub const FEWER_FILES: Param = Param { default: &["1000"], ..FILES };

/// The parameter `size` of each file, in cases that do not vary it.
pub const SIZE: Param = Param::new("size", &["4k"])
    .meaning("the size of each file, in bytes")
    .takes(Takes::Size(SIZE_AT_MOST));

/// Whether a run of this extent measures this point: a quick run has files of at most one block, and only
/// the values of `sync`, `how` and `where` that differ most.
pub fn includes(params: &Params, extent: Extent) -> bool {
    let is = |name: &str, value: &str| params.get(name).is_some_and(|has| has == value);
    let is_large = size_of(params, "size").is_ok_and(|size| size > BLOCK);
    let differs_little =
        is("sync", "file+dir") || is("how", "tmpfile+link") || is("where", "separate");
    extent != Extent::Quick || !(is_large || differs_little)
}

/// Whether a run measures the point: a quick run reads from the cache and writes into it only.
fn buffered_if_quick(params: &Params, extent: Extent) -> bool {
    extent != Extent::Quick || value_of(params, "mode") == Ok("buffered")
}

/// Approximate duration of a trial with a large file, including writing it before it is read, and verifying what was written.
fn takes_sequentially(params: &Params) -> Duration {
    let mib = match value_of(params, "mode") {
        Ok("buffered") => Duration::from_millis(1),
        _ => Duration::from_micros(2_500),
    };
    mib * size_of(params, "size").unwrap_or_default().div_ceil(1 << 20) as u32
}

/// The approximate duration of a trial on a virtual machine's disk, including the removal of the directory.
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

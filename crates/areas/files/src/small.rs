use super::directory::Fresh;
use super::figures::{expect_calls, measure};
use super::metrics;
use super::phases::{FileShard, Plain};
use super::{DIR, FILES, SIZE, SIZE_AT_MOST};
use catalog::{Case, Param, Takes};

/// Phases of many small files with one thread, by file size.
pub const CASE: Case = Case {
    operation: "One file created and written, read back, looked up by stat, renamed and deleted, \
                where all files pass through a phase before the next phase begins, the first files \
                of a fresh process.",
    comparable_to: "The create, stat and delete phases correspond to fio's `filecreate`, \
                `filestat` and `filedelete`; creating with its write corresponds to osbench's \
                `create_files`, which also deletes in the timed loop. lmbench's `lat_fs` creates \
                and deletes files of 0 to 10 KiB.",
    trials: Some(super::COUNTED),
    params: &[
        Param {
            // Sizes of no block, one block and several blocks separate the cost of a file from the cost of its contents. The
            // largest files take longest and show the bandwidth.
            default: &["0", "4k", "128k"],
            full: &["0", "1k", "4k", "8k", "16k", "32k", "64k", "128k"],
            takes: Takes::Size(SIZE_AT_MOST),
            ..SIZE
        },
        FILES,
        DIR,
    ],
    metrics: metrics::ALL,
    run: |params, round| {
        let fresh = Fresh::of(params, round)?;
        let shard = FileShard::flat(&fresh, 0..fresh.files);
        expect_calls(round, &fresh, 0.0);
        measure(round, &fresh, vec![(shard, Box::new(Plain))]).map(drop)
    },
    ..Case::new("file", "small")
};

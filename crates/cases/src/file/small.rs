use measure::{CaseError, Params, Round};

use super::directory::Fresh;
use super::figures::{expect_calls, measure};
use super::metrics;
use super::phases::{FileShard, Plain};
use super::{DIR, FILES, SIZE, SIZE_AT_MOST};
use crate::{Case, Only, Param, Takes};

/// One file after the other, by its size.
pub const CASE: Case = Case {
    area: "file",
    name: "small",
    operation: "One file created and written, read back, asked for its size, renamed and deleted, each \
                phase for all files before the next.",
    comparable_to: "create, stat and delete are fio's filecreate, filestat and filedelete; create with its write is \
            osbench's create_files, which deletes in the same loop.",
    only: Only::Everywhere,
    core_bound: false,
    trials: Some(super::COUNTED),
    params: &[
        Param {
            // Nothing, less than a block, one, and more of them: what a file costs, and what its
            // contents add. The largest takes the longest and settles the bandwidth.
            default: &["0", "1k", "4k", "16k", "128k"],
            full: &["0", "1k", "4k", "8k", "16k", "32k", "64k", "128k"],
            takes: Takes::Size(SIZE_AT_MOST),
            ..SIZE
        },
        FILES,
        DIR,
    ],
    metrics: metrics::ALL,
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    let fresh = Fresh::of(params, round)?;
    let shard = FileShard::flat(&fresh, 0..fresh.files)?;
    expect_calls(round, &fresh, 0.0);
    measure(round, &fresh, vec![(shard, Box::new(Plain))]).map(drop)
}

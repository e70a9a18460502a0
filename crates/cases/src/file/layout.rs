use measure::{CaseError, Params, Round};

use super::directory::Fresh;
use super::figures::measure;
use super::metrics;
use super::phases::{FileShard, Plain};
use super::{DIR, FILES, SIZE};
use crate::{Case, Only, Param, Takes, value_of};

/// The number of directories over which files are spread.
const BRANCHES: usize = 256;

/// All files in one directory, or spread over several.
pub const CASE: Case = Case {
    area: "file",
    name: "layout",
    operation: "One file taken through all phases of file/small, with all files in one directory \
                or spread over 256 directories in turn.",
    comparable_to: "Proxy caches and mail stores spread their files over directories in this way; \
                which layout is faster differs between file systems. stress-ng's `--dir` and \
                fs_mark's `-D` also spread files over directories.",
    only: Only::Everywhere,
    core_bound: false,
    trials: Some(super::COUNTED),
    params: &[
        Param {
            name: "layout",
            meaning: "whether all files are in one directory (flat) or spread over 256 directories \
                      in turn (fanned)",
            default: &["flat", "fanned"],
            full: &["flat", "fanned"],
            takes: Takes::Words(&[]),
        },
        SIZE,
        FILES,
        DIR,
    ],
    metrics: metrics::ALL,
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    let fresh = Fresh::of(params, round)?;
    let shard = match value_of(params, "layout")? {
        "fanned" => FileShard::fanned(&fresh, BRANCHES)?,
        _ => FileShard::flat(&fresh, 0..fresh.files)?,
    };
    measure(round, &fresh, vec![(shard, Box::new(Plain))]).map(drop)
}

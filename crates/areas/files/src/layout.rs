use super::directory::Fresh;
use super::figures::measure;
use super::metrics;
use super::phases::{FileShard, Plain};
use super::{DIR, FILES, SIZE};
use catalog::{Case, Param, value_of};

/// Number of directories over which files are spread.
const BRANCHES: usize = 256;

/// All files in one directory, or spread over several.
pub const CASE: Case = Case {
    operation: "One file taken through all phases of file/small, with all files in one directory \
                or spread over 256 directories in turn.",
    comparable_to: "Proxy caches and mail stores spread their files over directories in this way; \
                which layout is faster differs between file systems. stress-ng's `--dir` and \
                fs_mark's `-D` also spread files over directories.",
    trials: Some(super::COUNTED),
    params: &[
        Param::new("layout", &["flat", "fanned"]).meaning(
            "whether all files are in one directory (flat) or spread over 256 directories \
             in turn (fanned)",
        ),
        SIZE,
        FILES,
        DIR,
    ],
    metrics: metrics::ALL,
    run: |params, round| {
        let fresh = Fresh::of(params, round)?;
        let shard = match value_of(params, "layout")? {
            "fanned" => FileShard::fanned(&fresh, BRANCHES)?,
            _ => FileShard::flat(&fresh, 0..fresh.files),
        };
        measure(round, &fresh, vec![(shard, Box::new(Plain))]).map(drop)
    },
    ..Case::new("file", "layout")
};

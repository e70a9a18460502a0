use measure::{CaseError, Params, Round};

use super::directory::Fresh;
use super::figures::measure;
use super::metrics;
use super::phases::{FileShard, Plain};
use super::{DIR, FILES, SIZE};
use crate::{Case, Only, Param, Takes, value_of};

/// Into how many directories files are fanned out.
const BRANCHES: usize = 256;

/// All files in one directory, or fanned out.
pub const CASE: Case = Case {
    area: "file",
    name: "layout",
    operation: "One file through all phases of file/small, all in one directory or in turn in 256.",
    comparable_to: "Caches and mail stores fan out so; which of the two is better differs between file systems.",
    only: Only::Everywhere,
    core_bound: false,
    trials: Some(super::COUNTED),
    params: &[
        Param {
            name: "layout",
            meaning: "whether all files are in one directory or in turn in 256",
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

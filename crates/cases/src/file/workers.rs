use measure::{CaseError, Params, Round};

use super::directory::Fresh;
use super::figures::{Member, measure};
use super::metrics;
use super::phases::{FileShard, Plain};
use super::{DIR, FEWER_FILES, SIZE};
use crate::{Case, Only, Param, Takes, count_of, value_of};

/// More threads than this say nothing new of a file system.
const WORKERS_AT_MOST: u64 = 64;

/// Several threads at once, in one directory or each in its own.
pub const CASE: Case = Case {
    area: "file",
    name: "workers",
    operation: "One file through all phases of file/small, by one of so many threads, which share the files \
                and begin each phase together.",
    comparable_to: "will-it-scale's open1 and unlink1 (separate) and open2 and unlink2 (same directory) do single calls.",
    only: Only::Everywhere,
    core_bound: false,
    trials: Some(super::UNCOUNTED),
    params: &[
        Param {
            name: "workers",
            meaning: "how many threads there are",
            default: &["1", "2", "4"],
            full: &["1", "2", "4", "8", "16"],
            takes: Takes::Count(WORKERS_AT_MOST),
        },
        Param {
            name: "where",
            meaning: "whether all work in the same directory, or each in one of its own",
            default: &["same", "separate"],
            full: &["same", "separate"],
            takes: Takes::Words(&[]),
        },
        SIZE,
        FEWER_FILES,
        DIR,
    ],
    metrics: metrics::ALL,
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    let fresh = Fresh::of(params, round)?;
    let workers = count_of(params, "workers")?.min(fresh.files);
    let separate = value_of(params, "where")? == "separate";
    let members = (0..workers).map(|nth| -> Result<Member, CaseError> {
        let share = fresh.files * nth / workers..fresh.files * (nth + 1) / workers;
        let shard = match separate {
            true => FileShard::in_branch(&fresh, nth, share)?,
            false => FileShard::flat(&fresh, share)?,
        };
        Ok((shard, Box::new(Plain)))
    });
    let members = members.collect::<Result<_, _>>()?;
    measure(round, &fresh, members).map(drop)
}

use measure::CaseError;

use super::directory::Fresh;
use super::figures::{Member, measure};
use super::metrics;
use super::phases::{FileShard, Plain};
use super::{DIR, FEWER_FILES, SIZE};
use catalog::{Case, Param, Takes, Trials, count_of, value_of};

/// Maximum number of threads; more add no information about a file system.
const WORKERS_AT_MOST: u64 = 64;

/// Several threads at once, in the same directory or in separate ones.
pub const CASE: Case = Case {
    operation: "One file taken through all phases of file/small by one of `workers` threads, which \
                divide the files among themselves and begin each phase together.",
    comparable_to: "will-it-scale's `open1` and `unlink1` (separate directories) and `open2` and \
                `unlink2` (same directory) measure single calls.",
    trials: Some(Trials { on_host: true, ..super::UNCOUNTED }),
    params: &[
        Param::new("workers", &["1", "2"])
            .meaning("the number of threads")
            .full(&["1", "2", "4", "8", "16"])
            .takes(Takes::Count(WORKERS_AT_MOST)),
        Param::new("where", &["same", "separate"])
            .meaning("whether all threads use the same directory, or each a separate one"),
        SIZE,
        FEWER_FILES,
        DIR,
    ],
    metrics: metrics::ALL,
    run: |params, round| {
        let fresh = Fresh::of(params, round)?;
        let workers = count_of(params, "workers")?.min(fresh.files);
        let separate = value_of(params, "where")? == "separate";
        let members = (0..workers).map(|nth| -> Result<Member, CaseError> {
            let share = fresh.files * nth / workers..fresh.files * (nth + 1) / workers;
            let shard = match separate {
                true => FileShard::in_branch(&fresh, nth, share)?,
                false => FileShard::flat(&fresh, share),
            };
            Ok((shard, Box::new(Plain)))
        });
        let members = members.collect::<Result<_, _>>()?;
        measure(round, &fresh, members).map(drop)
    },
    ..Case::new("file", "workers")
};

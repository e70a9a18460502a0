use std::fs::File;
use std::path::PathBuf;

use measure::trial::Timed;
use measure::{CaseError, Params, Round};
use platform::filesystem::{drop_contents, drop_everything};

use super::directory::Fresh;
use super::figures::{Took, report_cpu, stage_of, times_for};
use super::metrics;
use super::phases::{FileOps, FileShard, Phase, Plain};
use super::{DIR, FILES, SIZE, SIZE_AT_MOST};
use crate::{Case, Only, Param, Takes, value_of};

/// Files that must be fetched from the device.
pub const CASE: Case = Case {
    area: "file",
    name: "cold",
    operation: "One file opened, read and closed whose contents are in no cache of this system.",
    comparable_to: "As the reading of file/small, which is from the cache. It is made sure with mincore that nothing of \
            a file is left there; what the device or a host keeps is beyond that.",
    only: Only::Linux("only Linux drops a file from its cache and says that it is gone"),
    core_bound: false,
    trials: Some(super::UNCOUNTED),
    params: &[
        Param {
            name: "dropped",
            meaning: "whether the files' contents are dropped from the cache, or then, as root, all that the \
                      system caches, names and inodes too",
            default: &["contents"],
            full: &["contents"],
            takes: Takes::Words(&["all"]),
        },
        Param {
            default: &["4k", "64k"],
            full: &["4k", "16k", "64k", "128k"],
            takes: Takes::Size(SIZE_AT_MOST),
            ..SIZE
        },
        Param { default: &["200"], full: &["2000"], ..FILES },
        DIR,
    ],
    metrics: metrics::READING,
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    let fresh = Fresh::of(params, round)?;
    fresh.home().refuse_uncertain_cache()?;
    let context = stage_of(round, 1)?;
    let shard = FileShard::flat(&fresh, 0..fresh.files)?;
    let mut times = times_for(&shard, round, &context);
    Plain.create(&shard, &mut times)?;
    shard.files.iter().try_for_each(|(_, name, _)| put_on_device(name))?;
    shard.files.iter().try_for_each(|(_, name, _)| drop_contents(&File::open(name)?))?;
    if value_of(params, "dropped")? == "all" {
        drop_everything()?;
    }
    let mut times = times_for(&shard, round, &context);
    let trial = round.trial_of(&context, || {
        Plain.read(&shard, &mut times)?;
        let read = Took::of(Phase::Read, vec![times]);
        let took = read.elapsed;
        Ok(Timed { value: read, operations: fresh.files as u64, took })
    })?;
    trial.value.report(round);
    trial.value.report_bandwidth(round, &metrics::READ_BANDWIDTH, shard.size());
    report_cpu(round, trial.usage.cpu.saturating_sub(trial.value.aside), fresh.files);
    Ok(())
}

fn put_on_device(name: &PathBuf) -> Result<(), CaseError> {
    let synced = File::open(name).and_then(|file| file.sync_all());
    synced.map_err(|e| CaseError::from_io("syncing a file", &e))
}

use std::fs::File;
use std::path::PathBuf;

use measure::CaseError;
use measure::trial::Timed;
use platform::file::filesystem::{drop_contents, drop_everything};

use super::directory::Fresh;
use super::figures::{Took, report_cpu, stage_of, times_for};
use super::metrics;
use super::phases::{FileOps, FileShard, Phase, Plain};
use super::{DIR, FILES, SIZE, SIZE_AT_MOST};
use catalog::{Case, Only, Param, Takes, value_of};

/// Reads of files whose contents are not in the cache.
pub const CASE: Case = Case {
    operation: "One open, read and close of a file whose contents are not in the page cache.",
    comparable_to: "The read phase of file/small reads from the page cache. mincore verifies that \
                no page of a file is cached; caches of the device or of a virtual machine's host \
                remain. fio's `invalidate=1` drops the page cache of its files without such a \
                check.",
    only: Only::Linux("only Linux can drop a file from the page cache and verify that it is gone"),
    trials: Some(super::UNCOUNTED),
    params: &[
        Param::new("dropped", &["contents"])
            .meaning(
                "what is dropped before the files are read: their contents (posix_fadvise), or \
                 everything in the system's caches, including dentries and inodes \
                 (/proc/sys/vm/drop_caches, as root)",
            )
            .takes(Takes::Words(&["all"])),
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
    run: |params, round| {
        let fresh = Fresh::of(params, round)?;
        fresh.home().refuse_uncertain_cache()?;
        let context = stage_of(round, 1)?;
        let shard = FileShard::flat(&fresh, 0..fresh.files);
        let mut times = times_for(fresh.files, round, &context);
        Plain.create(&shard, &mut times)?;
        shard.files.iter().try_for_each(|(_, name, _)| put_on_device(name))?;
        shard.files.iter().try_for_each(|(_, name, _)| drop_contents(&File::open(name)?))?;
        if value_of(params, "dropped")? == "all" {
            drop_everything()?;
        }
        let mut times = times_for(fresh.files, round, &context);
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
    },
    ..Case::new("file", "cold")
};

fn put_on_device(name: &PathBuf) -> Result<(), CaseError> {
    let synced = File::open(name).and_then(|file| file.sync_all());
    synced.map_err(|e| CaseError::from_io("syncing a file", &e))
}

use std::fs::File;
use std::sync::{Arc, OnceLock};

use measure::stats::median;
use measure::{CaseError, Doubt, Round};
use platform::file::filesystem;
use platform::process::usage::thread_cpu_time;

use super::directory::Fresh;
use super::figures::{expect_calls, measure};
use super::metrics;
use super::phases::{FileOps, FileShard, Plain, Times, create};
use super::{DIR, FILES, SIZE};
use catalog::{Case, Param, value_of};

/// Additional time of a sync in ns below which no data can have reached a device: the fastest devices take about 10 us per write,
/// and a file needs two consecutive writes, of its contents and of its metadata.
const REACHES_NO_DEVICE_NS: f64 = 20_000.0;
/// Ratio of the times of a synced and an unsynced file up to which no data can have reached a device.
const NO_SLOWER: f64 = 1.1;

/// The cost of making a file durable.
pub const CASE: Case = Case {
    operation: "One file taken through all phases of file/small, where it is synced with fsync \
                (FlushFileBuffers on Windows) after writing, optionally followed by a sync of its \
                directory.",
    comparable_to: "fio's `fsync_on_close` does the same; mail servers and databases sync in this \
                way. `sync-cost` compares with unsynced files that are created alternately with \
                these.",
    trials: Some(super::COUNTED),
    params: &[
        Param::new("sync", &["none", "file", "file+dir"])
            .meaning("whether nothing is synced, each file, or each file and then its directory"),
        SIZE,
        Param { default: &["100"], full: &["1000"], ..FILES },
        DIR,
    ],
    metrics: metrics::WITH_SYNC,
    run: |params, round| {
        let fresh = Fresh::of(params, round)?;
        let shard = FileShard::flat(&fresh, 0..fresh.files);
        let directory = match value_of(params, "sync")? {
            "none" => {
                expect_calls(round, &fresh, 0.0);
                return measure(round, &fresh, vec![(shard, Box::new(Plain))]).map(drop);
            }
            "file" => None,
            _ => Some(filesystem::directory_to_sync(fresh.path())?),
        };
        // The number of system calls is not checked: where fsync does nothing, `sync-cost` shows it.
        let twins_median = Arc::new(OnceLock::new());
        let twins = !round.is_counting();
        let synced = Synced { directory, twins, twins_median: Arc::clone(&twins_median) };
        let phases = measure(round, &fresh, vec![(shard, Box::new(synced))])?;
        if let (Some(&without), Some(created)) = (twins_median.get(), phases.first()) {
            judge(round, created.median_ns(), without, &fresh);
        }
        Ok(())
    },
    ..Case::new("file", "sync")
};

/// Reports the cost of a sync, with a doubt if the cost is too low for a write to a device.
fn judge(round: &mut Round, with: f64, without: f64, fresh: &Fresh) {
    round.metric(&metrics::SYNC_COST, with / without.max(1.0));
    if !is_next_to_nothing(with, without) {
        return;
    }
    let kind = filesystem::of(fresh.path()).ok().and_then(|facts| facts.kind);
    match kind.filter(|kind| filesystem::is_in_memory(kind)) {
        Some(file_system) => round.doubt(Doubt::NothingToSync { file_system }),
        None => round.doubt(Doubt::SyncTooFast),
    }
}

fn is_next_to_nothing(with: f64, without: f64) -> bool {
    with - without < REACHES_NO_DEVICE_NS || with < without * NO_SLOWER
}

/// Operations that sync each file, and then `directory` if there is one.
struct Synced {
    directory: Option<File>,
    /// Whether an unsynced twin is created before each file.
    twins: bool,
    /// The median time of a twin, in ns.
    twins_median: Arc<OnceLock<f64>>,
}

impl FileOps for Synced {
    fn create(&mut self, shard: &FileShard, times: &mut Times) -> Result<(), CaseError> {
        let mut twins = times.clone();
        for (number, name, new_name) in &shard.files {
            let contents = shard.contents(*number);
            if self.twins {
                // The twin has the name to which the file is renamed later.
                let cpu = thread_cpu_time();
                twins.of_one("creating a file", || create(new_name, contents).map(drop))?;
                times.aside_ns += since(cpu);
            }
            times.of_one("creating and syncing a file", || {
                create(name, contents)?.sync_all()?;
                self.directory.as_ref().map_or(Ok(()), File::sync_all)
            })?;
        }
        if self.twins {
            let cpu = thread_cpu_time();
            for (_, _, twin) in &shard.files {
                std::fs::remove_file(twin)
                    .map_err(|e| CaseError::from_io("deleting a file", &e))?;
            }
            times.aside_ns += since(cpu);
            let _ = self.twins_median.set(median(&mut twins.ns));
        }
        Ok(())
    }
}

/// CPU time since `then`, in ns; 0 if the system does not report it.
fn since(then: Option<std::time::Duration>) -> f64 {
    let spent = then.zip(thread_cpu_time()).map(|(then, now)| now.saturating_sub(then));
    spent.unwrap_or_default().as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_that_reaches_no_device_is_recognised_by_its_cost() {
        for (with, without, nothing) in [
            (9_000.0, 8_800.0, true),     // tmpfs, or a library that syncs nothing
            (25_000.0, 8_000.0, true),    // only into the kernel
            (60_000.0, 12_000.0, false),  // a device with a protected cache
            (700_000.0, 12_000.0, false), // a virtual disk
            (9e6, 12_000.0, false),       // a spinning disk
            (1.03e6, 1e6, true),          // slow without sync, hardly slower with it
            (1.5e6, 1e6, false),
        ] {
            assert_eq!(is_next_to_nothing(with, without), nothing, "{with} {without}");
        }
    }
}

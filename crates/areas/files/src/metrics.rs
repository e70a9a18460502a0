//! The metrics of the phases of files, and those of one large file.

use measure::metric::joined;
use measure::{Metric, Role, TIME, metrics};

use super::phases::Phase;

/// The metrics of one phase.
pub struct PhaseMetrics {
    /// Name of the phase, with which the names of its metrics begin.
    pub name: &'static str,
    /// Operations on files per second.
    pub rate: Metric,
    /// Time of one operation: median, 90th and 99th percentile, maximum. Not reported for listing, since one call returns many
    /// names.
    pub times: [Metric; 4],
}

macro_rules! phase {
    ($name:literal, $unit:literal, $rate:literal, $done:literal) => {{
        metrics! {
            P50 = lower(concat!($name, "-p50"), "ns"), concat!("half of the files were ", $done, " within this time");
            P90 = lower(concat!($name, "-p90"), "ns"), concat!("90 % of the files were ", $done, " within this time");
            P99 = lower(concat!($name, "-p99"), "ns"), concat!("99 % of the files were ", $done, " within this time");
            MAX = lower(concat!($name, "-max"), "ns"), "the longest time of any file";
        }
        let rate = Metric::higher(concat!($name, "-rate"), $unit, $rate);
        PhaseMetrics { name: $name, rate, times: [P50, P90, P99, MAX] }
    }};
}

/// The metrics of the phase `create`.
pub const CREATE: PhaseMetrics =
    phase!("create", "files/s", "files created and written per second", "created and written");
/// The metrics of the phase `read`.
pub const READ: PhaseMetrics =
    phase!("read", "files/s", "files read per second, from open to close", "read");
/// The metrics of the phase `stat`.
pub const STAT: PhaseMetrics =
    phase!("stat", "files/s", "stat calls per second", "looked up by stat");
/// The metrics of the phase `rename`.
pub const RENAME: PhaseMetrics = phase!("rename", "files/s", "files renamed per second", "renamed");
/// The metrics of the phase `list`.
pub const LIST: PhaseMetrics =
    phase!("list", "names/s", "directory entries read per second", "listed");
/// The metrics of the phase `delete`.
pub const DELETE: PhaseMetrics = phase!("delete", "files/s", "files deleted per second", "deleted");

/// Metrics of each phase, in the order of the phases.
pub const PHASES: [&PhaseMetrics; 6] = [&CREATE, &READ, &STAT, &RENAME, &LIST, &DELETE];

metrics! {
    WRITE_BANDWIDTH = higher("write-bandwidth", "bytes/s").with(Role::SameAs(CREATE.rate.name)),
        "bytes written per second while files are created";
    READ_BANDWIDTH = higher("read-bandwidth", "bytes/s").with(Role::SameAs(READ.rate.name)),
        "bytes read per second";
    CPU = lower("cpu", "ns"), "CPU time per file in all phases, without verification";
    CREATE_READ = lower("create-read", "ns"),
        "time to create, write, close and read one file: all files are created, then all are read";
    SYNC_COST = lower("sync-cost", "x"),
        "median time to create a file with sync, divided by the median without";
}

/// Metrics of all phases, and the cost of syncing.
pub const WITH_SYNC: &[Metric] = &joined::<31>(&[
    &[CREATE.rate],
    &CREATE.times,
    &[WRITE_BANDWIDTH, READ.rate],
    &READ.times,
    &[READ_BANDWIDTH, STAT.rate],
    &STAT.times,
    &[RENAME.rate],
    &RENAME.times,
    &[LIST.rate, DELETE.rate],
    &DELETE.times,
    &[CPU, CREATE_READ, SYNC_COST],
]);

/// Metrics of all phases.
pub const ALL: &[Metric] = WITH_SYNC.split_at(WITH_SYNC.len() - 1).0;

/// Metrics of files that are only read.
pub const READING: &[Metric] = &joined::<7>(&[&[READ.rate], &READ.times, &[READ_BANDWIDTH, CPU]]);

metrics! {
    BANDWIDTH = higher("bandwidth", "bytes/s").with(Role::SameAs(TIME.name)), "bytes of the file in a second";
    READS = higher("rate", "reads/s").with(Role::SameAs(TIME.name)), "blocks read in a second";
    READ_CPU = lower("cpu", "ns"), "CPU time of this process for one read, with that of the kernel";
}

/// Time of a read: median, 90th and 99th percentile, maximum.
pub const READ_TIMES: [Metric; 4] = [
    Metric::lower("p50", "ns", "half of the reads took no longer, from submission to completion"),
    Metric::lower("p90", "ns", "90 % of the reads took no longer"),
    Metric::lower("p99", "ns", "99 % of the reads took no longer"),
    Metric::lower("max", "ns", "the longest time of any read"),
];

/// Metrics of reads of single blocks.
pub const BLOCKS: &[Metric] = &joined::<6>(&[&[READS], &READ_TIMES, &[READ_CPU]]);

impl PhaseMetrics {
    /// The metrics of `phase`.
    pub fn of(phase: Phase) -> &'static Self {
        match phase {
            Phase::Create => &CREATE,
            Phase::Read => &READ,
            Phase::Stat => &STAT,
            Phase::Rename => &RENAME,
            Phase::List => &LIST,
            Phase::Delete => &DELETE,
        }
    }
}

//! The metrics of the phases of files, and those of one large file.

#![allow(missing_docs, reason = "the text of each metric documents it")]

use measure::{Metric, Role, TIME};

use super::phases::Phase;

/// The metrics of one phase.
pub struct PhaseMetrics {
    /// The name of the phase, with which the names of its metrics begin.
    pub name: &'static str,
    /// Operations per second, of all files.
    pub rate: Metric,
    /// The time of one operation: median, 90th and 99th percentile, maximum. Not reported for listing, since one call
    /// returns many names.
    pub times: [Metric; 4],
}

macro_rules! phase {
    ($name:literal, $unit:literal, $rate:literal, $done:literal) => {
        PhaseMetrics {
            name: $name,
            rate: Metric::higher(concat!($name, "-rate"), $unit, $rate),
            times: [
                Metric::lower(
                    concat!($name, "-p50"),
                    "ns",
                    concat!("half of the files were ", $done, " within this time"),
                ),
                Metric::lower(
                    concat!($name, "-p90"),
                    "ns",
                    concat!("90 % of the files were ", $done, " within this time"),
                ),
                Metric::lower(
                    concat!($name, "-p99"),
                    "ns",
                    concat!("99 % of the files were ", $done, " within this time"),
                ),
                Metric::lower(concat!($name, "-max"), "ns", "the longest time of any file"),
            ],
        }
    };
}

pub const CREATE: PhaseMetrics =
    phase!("create", "files/s", "files created and written per second", "created and written");
pub const READ: PhaseMetrics =
    phase!("read", "files/s", "files read per second, from open to close", "read");
pub const STAT: PhaseMetrics =
    phase!("stat", "files/s", "stat calls per second", "looked up by stat");
pub const RENAME: PhaseMetrics = phase!("rename", "files/s", "files renamed per second", "renamed");
pub const LIST: PhaseMetrics =
    phase!("list", "names/s", "directory entries read per second", "listed");
pub const DELETE: PhaseMetrics = phase!("delete", "files/s", "files deleted per second", "deleted");

/// All phases in their order.
pub const PHASES: [&PhaseMetrics; 6] = [&CREATE, &READ, &STAT, &RENAME, &LIST, &DELETE];

pub const WRITE_BANDWIDTH: Metric = Metric::higher(
    "write-bandwidth",
    "bytes/s",
    "bytes written per second while files are created",
)
.with(Role::SameAs(CREATE.rate.name));
pub const READ_BANDWIDTH: Metric =
    Metric::higher("read-bandwidth", "bytes/s", "bytes read per second")
        .with(Role::SameAs(READ.rate.name));
pub const CPU: Metric =
    Metric::lower("cpu", "ns", "CPU time per file in all phases, without verification");
pub const CREATE_READ: Metric = Metric::lower(
    "create-read",
    "ns",
    "time to create, write, close and read one file: all files are created, then all are read",
);
pub const SYNC_COST: Metric = Metric::lower(
    "sync-cost",
    "x",
    "median time to create a file with sync, divided by the median without",
);

/// The metrics of all phases, and the cost of syncing.
pub const WITH_SYNC: &[Metric] = &[
    CREATE.rate,
    CREATE.times[0],
    CREATE.times[1],
    CREATE.times[2],
    CREATE.times[3],
    WRITE_BANDWIDTH,
    READ.rate,
    READ.times[0],
    READ.times[1],
    READ.times[2],
    READ.times[3],
    READ_BANDWIDTH,
    STAT.rate,
    STAT.times[0],
    STAT.times[1],
    STAT.times[2],
    STAT.times[3],
    RENAME.rate,
    RENAME.times[0],
    RENAME.times[1],
    RENAME.times[2],
    RENAME.times[3],
    LIST.rate,
    DELETE.rate,
    DELETE.times[0],
    DELETE.times[1],
    DELETE.times[2],
    DELETE.times[3],
    CPU,
    CREATE_READ,
    SYNC_COST,
];

/// The metrics of all phases.
pub const ALL: &[Metric] = WITH_SYNC.split_at(WITH_SYNC.len() - 1).0;

/// The metrics of files that are only read.
pub const READING: &[Metric] =
    &[READ.rate, READ.times[0], READ.times[1], READ.times[2], READ.times[3], READ_BANDWIDTH, CPU];

/// Of a file that is read, written or copied as a whole.
pub const BANDWIDTH: Metric =
    Metric::higher("bandwidth", "bytes/s", "bytes of the file in a second")
        .with(Role::SameAs(TIME.name));

/// Of reads of single blocks.
pub const READS: Metric =
    Metric::higher("rate", "reads/s", "blocks read in a second").with(Role::SameAs(TIME.name));
pub const READ_CPU: Metric =
    Metric::lower("cpu", "ns", "CPU time of this process for one read, with that of the kernel");
pub const READ_TIMES: [Metric; 4] = [
    Metric::lower("p50", "ns", "half of the reads took no longer, from submission to completion"),
    Metric::lower("p90", "ns", "90 % of the reads took no longer"),
    Metric::lower("p99", "ns", "99 % of the reads took no longer"),
    Metric::lower("max", "ns", "the longest time of any read"),
];

/// Those of reads of single blocks.
pub const BLOCKS: &[Metric] =
    &[READS, READ_TIMES[0], READ_TIMES[1], READ_TIMES[2], READ_TIMES[3], READ_CPU];

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

//! The metrics of lists of jobs, and what follows from them.

#![allow(missing_docs, reason = "each metric says what it means in its own text")]

use measure::{Metric, Role, TIME};

pub const TURNAROUND: Metric = Metric::lower(
    "turnaround",
    "x",
    "mean over the jobs of the time from arrival to completion, by the job's length",
);
pub const TURNAROUND_P25: Metric =
    Metric::lower("turnaround-p25", "x", "a quarter of the jobs had a turnaround up to this");
pub const TURNAROUND_P50: Metric =
    Metric::lower("turnaround-p50", "x", "half of the jobs had a turnaround up to this");
pub const TURNAROUND_P75: Metric =
    Metric::lower("turnaround-p75", "x", "three quarters of the jobs had a turnaround up to this");
pub const TURNAROUND_WORST: Metric =
    Metric::lower("turnaround-worst", "x", "the longest turnaround of any job");
pub const CPU_USE: Metric = Metric::neutral("cpu-use", "CPUs", "CPU time by elapsed time");
pub const VOLUNTARY_SWITCHES: Metric =
    Metric::lower("voluntary-switches", "switches", "times a thread gave up its CPU, to wait");
pub const INVOLUNTARY_SWITCHES: Metric =
    Metric::lower("involuntary-switches", "switches", "times a thread was preempted");
pub const OVERHEAD: Metric = Metric::lower(
    "overhead",
    "share",
    "elapsed time beyond that of an ideal schedule on these CPUs, as a share of it",
)
.with(Role::SameAs(TIME.name));
pub const WORK_ERROR: Metric = Metric::neutral(
    "work-error",
    "share",
    "CPU time of the jobs beyond what was asked for, as a share of it",
);

/// The metrics of a list of jobs.
pub const LIST: &[Metric] = &[
    TURNAROUND,
    TURNAROUND_P25,
    TURNAROUND_P50,
    TURNAROUND_P75,
    TURNAROUND_WORST,
    CPU_USE,
    VOLUNTARY_SWITCHES,
    INVOLUNTARY_SWITCHES,
    OVERHEAD,
    WORK_ERROR,
];

pub const RATE: Metric =
    Metric::higher("rate", "jobs/s", "jobs per second").with(Role::SameAs(TIME.name));
pub const RATE_ONE: Metric = Metric::higher(
    "rate-one",
    "jobs/s",
    "jobs per second of one at a time, by the Universal Scalability Law",
)
.with(Role::Derived);
pub const AMDAHL_SERIAL: Metric = Metric::lower(
    "amdahl-serial",
    "share",
    "the share of the work that must be done serially, by Amdahl's law",
)
.with(Role::Derived);
pub const USL_CONTENTION: Metric = Metric::lower(
    "usl-contention",
    "share",
    "the share of a job's time spent waiting for others, by the Universal Scalability Law",
)
.with(Role::Derived);
pub const USL_COHERENCE: Metric = Metric::lower(
    "usl-coherence",
    "share",
    "the share lost with each other job under way, by the Universal Scalability Law",
)
.with(Role::Derived);
pub const USL_KNEE: Metric = Metric::neutral(
    "usl-knee",
    "degree",
    "the degree of the highest rate, by the Universal Scalability Law",
)
.with(Role::Derived);

/// The metrics of a degree of concurrency, and what is derived from several.
pub const DEGREE: &[Metric] =
    &[RATE, RATE_ONE, AMDAHL_SERIAL, USL_CONTENTION, USL_COHERENCE, USL_KNEE];

pub const SHORTEST_JOB: Metric = Metric::lower(
    "shortest-job",
    "ns",
    "the shortest job from which on the list is done sooner than serially",
)
.with(Role::Derived);

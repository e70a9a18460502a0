//! The metrics of lists of jobs, and metrics derived from them.

#![allow(missing_docs, reason = "the text of each metric documents it")]

use measure::{Metric, Role, TIME};

pub const TURNAROUND: Metric = Metric::lower(
    "turnaround",
    "x",
    "the time from arrival to completion divided by the length of the job, mean over all jobs",
);
pub const TURNAROUND_P25: Metric =
    Metric::lower("turnaround-p25", "x", "a quarter of the jobs had at most this turnaround");
pub const TURNAROUND_P50: Metric =
    Metric::lower("turnaround-p50", "x", "half of the jobs had at most this turnaround");
pub const TURNAROUND_P75: Metric =
    Metric::lower("turnaround-p75", "x", "three quarters of the jobs had at most this turnaround");
pub const TURNAROUND_WORST: Metric =
    Metric::lower("turnaround-worst", "x", "the longest turnaround of any job");
pub const CPU_USE: Metric = Metric::neutral("cpu-use", "CPUs", "CPU time divided by elapsed time");
pub const VOLUNTARY_SWITCHES: Metric =
    Metric::lower("voluntary-switches", "switches", "context switches of threads that blocked");
pub const INVOLUNTARY_SWITCHES: Metric = Metric::lower(
    "involuntary-switches",
    "switches",
    "context switches of threads that were preempted",
);
pub const OVERHEAD: Metric = Metric::lower(
    "overhead",
    "share",
    "elapsed time in excess of an ideal schedule on these CPUs, as a share of the latter",
)
.with(Role::SameAs(TIME.name));
pub const WORK_ERROR: Metric = Metric::neutral(
    "work-error",
    "share",
    "CPU time of the jobs in excess of the requested one, as a share of the latter",
);

pub const FOREGROUND_DELAY: Metric = Metric::lower(
    "foreground-delay",
    "ns",
    "how much later than planned the foreground task runs, at most, at half of its wake-ups while the jobs run \
     (parameter foreground=yes)",
);
pub const FOREGROUND_DELAY_P90: Metric =
    Metric::lower("foreground-delay-p90", "ns", "the same at 90 % of its wake-ups");
pub const FOREGROUND_DELAY_P99: Metric = Metric::lower(
    "foreground-delay-p99",
    "ns",
    "the same at 99 % of its wake-ups; of fewer than 100 about the worst",
);
pub const FOREGROUND_DELAY_MAX: Metric =
    Metric::lower("foreground-delay-max", "ns", "the same at the worst wake-up of a trial");

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
    FOREGROUND_DELAY,
    FOREGROUND_DELAY_P90,
    FOREGROUND_DELAY_P99,
    FOREGROUND_DELAY_MAX,
];

pub const RATE: Metric =
    Metric::higher("rate", "jobs/s", "jobs per second").with(Role::SameAs(TIME.name));
pub const RATE_ONE: Metric = Metric::higher(
    "rate-one",
    "jobs/s",
    "jobs per second with one job at a time, by the Universal Scalability Law",
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
    "the contention coefficient: the serialised share, by the Universal Scalability Law",
)
.with(Role::Derived);
pub const USL_COHERENCE: Metric = Metric::lower(
    "usl-coherence",
    "share",
    "the coherence coefficient: the share lost per other job in progress, by the Universal Scalability Law",
)
.with(Role::Derived);
pub const USL_KNEE: Metric = Metric::neutral(
    "usl-knee",
    "degree",
    "the degree with the highest rate, by the Universal Scalability Law",
)
.with(Role::Derived);

/// The metrics of a degree of concurrency, and metrics derived from several degrees.
pub const DEGREE: &[Metric] =
    &[RATE, RATE_ONE, AMDAHL_SERIAL, USL_CONTENTION, USL_COHERENCE, USL_KNEE];

pub const SHORTEST_JOB: Metric = Metric::lower(
    "shortest-job",
    "ns",
    "the shortest job length for which the list completes earlier than by serial execution",
)
.with(Role::Derived);

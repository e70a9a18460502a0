//! The metrics of lists of jobs, and metrics derived from them.

use measure::{Role, TIME, metrics};

metrics! {
    /// The metrics of a list of jobs.
    pub const LIST: [
        TURNAROUND = lower("turnaround", "x"),
            "the time from arrival to completion divided by the length of the job, mean over all jobs";
        TURNAROUND_P25 = lower("turnaround-p25", "x"), "a quarter of the jobs had at most this turnaround";
        TURNAROUND_P50 = lower("turnaround-p50", "x"), "half of the jobs had at most this turnaround";
        TURNAROUND_P75 = lower("turnaround-p75", "x"), "three quarters of the jobs had at most this turnaround";
        TURNAROUND_WORST = lower("turnaround-worst", "x"), "the longest turnaround of any job";
        CPU_USE = neutral("cpu-use", "CPUs").with(Role::CpuShare), "CPU time divided by elapsed time";
        VOLUNTARY_SWITCHES = lower("voluntary-switches", "switches"), "context switches of threads that blocked";
        INVOLUNTARY_SWITCHES = lower("involuntary-switches", "switches"),
            "context switches of threads that were preempted";
        OVERHEAD = lower("overhead", "share").with(Role::SameAs(TIME.name)),
            "elapsed time in excess of an ideal schedule on these CPUs, as a share of the latter";
        WORK_ERROR = neutral("work-error", "share"),
            "CPU time of the jobs in excess of the requested one, as a share of the latter";
        FOREGROUND_DELAY = lower("foreground-delay", "ns"),
            "how much later than planned the foreground task runs, at most, at half of its wake-ups while the jobs run \
             (parameter foreground=yes)";
        FOREGROUND_DELAY_P90 = lower("foreground-delay-p90", "ns"), "the same at 90 % of its wake-ups";
        FOREGROUND_DELAY_P99 = lower("foreground-delay-p99", "ns"),
            "the same at 99 % of its wake-ups; of fewer than 100 about the worst";
        FOREGROUND_DELAY_MAX = lower("foreground-delay-max", "ns"), "the same at the worst wake-up of a trial";
    ]
}

metrics! {
    /// The metrics of a degree of concurrency, and metrics derived from several degrees.
    pub const DEGREE: [
        RATE = higher("rate", "jobs/s").with(Role::SameAs(TIME.name)), "jobs per second";
        RATE_ONE = higher("rate-one", "jobs/s").with(Role::Derived),
            "jobs per second with one job at a time, by the Universal Scalability Law";
        AMDAHL_SERIAL = lower("amdahl-serial", "share").with(Role::Derived),
            "the share of the work that must be done serially, by Amdahl's law";
        USL_CONTENTION = lower("usl-contention", "share").with(Role::Derived),
            "the contention coefficient: the serialised share, by the Universal Scalability Law";
        USL_COHERENCE = lower("usl-coherence", "share").with(Role::Derived),
            "the coherence coefficient: the share lost per other job in progress, by the Universal Scalability Law";
        USL_KNEE = neutral("usl-knee", "degree").with(Role::Derived),
            "the degree with the highest rate, by the Universal Scalability Law";
    ]
}

metrics! {
    SHORTEST_JOB = lower("shortest-job", "ns").with(Role::Derived),
        "the shortest job length for which the list completes earlier than by serial execution";
}

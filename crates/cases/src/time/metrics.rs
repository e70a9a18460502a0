//! What the system reports of a command beside its elapsed time.

#![allow(missing_docs, reason = "each metric says what it means in its own text")]

use measure::{Combine, Metric, Role};

pub const USER: Metric = Metric::lower("user", "ns", "CPU time in user mode");
pub const SYSTEM: Metric = Metric::lower("system", "ns", "CPU time in the kernel");
pub const MAX_RESIDENT: Metric = Metric::lower(
    "max-resident",
    "bytes",
    "largest resident memory of any of its processes, or of the process that started it if that is more",
);
pub const VOLUNTARY_SWITCHES: Metric = Metric::lower(
    "voluntary-switches",
    "switches",
    "times one of its threads gave up its CPU, to wait",
);
pub const INVOLUNTARY_SWITCHES: Metric =
    Metric::lower("involuntary-switches", "switches", "times one of its threads was preempted");
pub const PAGE_FAULTS: Metric =
    Metric::lower("page-faults", "faults", "page faults, minor and major");
pub const EXIT_CODE: Metric = Metric::neutral(
    "exit-code",
    "code",
    "its exit code; 128 and the signal's number after a signal",
);
pub const FAILURES: Metric =
    Metric::lower("failures", "runs", "runs that ended with an exit code other than 0")
        .combined(Combine::Sum)
        .with(Role::Failures);

/// The metrics of a command.
pub const COMMAND: &[Metric] = &[
    USER,
    SYSTEM,
    MAX_RESIDENT,
    VOLUNTARY_SWITCHES,
    INVOLUNTARY_SWITCHES,
    PAGE_FAULTS,
    EXIT_CODE,
    FAILURES,
];

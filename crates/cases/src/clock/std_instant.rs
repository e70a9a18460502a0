use std::time::Instant;

use super::{METRICS, measure_clock};
use crate::{Case, Only};

/// The clock that Rust programs time with.
pub const CASE: Case = Case {
    area: "clock",
    name: "std-instant",
    operation: "One Instant::now of Rust's standard library.",
    comparable_to: "On Linux clock_gettime of the monotonic clock, on Windows QueryPerformanceCounter, \
            each with what the library adds.",
    only: Only::Everywhere,
    core_bound: true,
    trials: None,
    params: &[],
    metrics: METRICS,
    run: |_, round| {
        let start = Instant::now();
        let ns = |now: Instant| now.duration_since(start).as_nanos() as u64;
        measure_clock(round, 1.0, Instant::now, ns)
    },
};

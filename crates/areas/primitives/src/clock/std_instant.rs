use std::time::Instant;

use super::{clock, measure_clock};
use crate::Case;

/// The clock by which Rust programs measure intervals.
pub const CASE: Case = Case {
    operation: "One Instant::now() of Rust's standard library.",
    comparable_to: "Calls clock_gettime of the monotonic clock on Linux and \
                QueryPerformanceCounter on Windows: the difference to these cases is the cost of \
                the library. Rust's own benchmark `instant_contention_01_threads` makes the same \
                call.",
    run: |_, round| {
        let start = Instant::now();
        let ns = |now: Instant| now.duration_since(start).as_nanos() as u64;
        measure_clock(round, 1.0, Instant::now, ns)
    },
    ..clock("std-instant")
};

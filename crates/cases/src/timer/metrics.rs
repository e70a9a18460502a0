//! The metrics of sleeps.

use measure::Metric;

/// Half of the sleeps end later by at most this.
pub const OVERSHOOT_P50: Metric = Metric::lower(
    "overshoot-p50",
    "ns",
    "how much later than asked for half of the sleeps of a round end, at most; with one reading of the clock",
);

/// 90 % of the sleeps end later by at most this.
pub const OVERSHOOT_P90: Metric =
    Metric::lower("overshoot-p90", "ns", "the same for 90 % of the sleeps");

/// 99 % of the sleeps end later by at most this.
pub const OVERSHOOT_P99: Metric = Metric::lower(
    "overshoot-p99",
    "ns",
    "the same for 99 % of the sleeps; of fewer than 100 the worst",
);

/// The worst sleep.
pub const OVERSHOOT_MAX: Metric =
    Metric::lower("overshoot-max", "ns", "the same for the worst sleep of a round");

/// By how much the system may delay a sleep.
pub const SLACK: Metric = Metric::neutral(
    "timer-slack",
    "ns",
    "by how much the system may delay a timer to serve several at once: the thread's timer slack, which timerfd, \
     setitimer and io_uring do not have; on Windows the present resolution of the system's timer",
);

/// Sleeps that ended early, on Windows.
pub const EARLY: Metric = Metric::lower(
    "early",
    "share",
    "the share of sleeps that ended before their time, whose overshoot counts as 0",
);

/// The metrics of sleeps that never end early.
pub const EXACT: &[Metric] = &[OVERSHOOT_P50, OVERSHOOT_P90, OVERSHOOT_P99, OVERSHOOT_MAX, SLACK];

/// The metrics of sleeps that end at a tick of the system's timer, which may be early.
pub const BY_TICKS: &[Metric] =
    &[OVERSHOOT_P50, OVERSHOOT_P90, OVERSHOOT_P99, OVERSHOOT_MAX, SLACK, EARLY];

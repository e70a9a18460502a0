//! Metrics of sleeps.

use measure::{Metric, metrics};

metrics! {
    /// The metrics of sleeps that end at a tick of the system's timer, which may be early.
    pub const BY_TICKS: [
        OVERSHOOT_P50 = lower("overshoot-p50", "ns"),
            "how much later than asked for half of the sleeps of a round end, at most; with one reading of the clock";
        OVERSHOOT_P90 = lower("overshoot-p90", "ns"), "the same for 90 % of the sleeps";
        OVERSHOOT_P99 = lower("overshoot-p99", "ns"),
            "the same for 99 % of the sleeps; of fewer than 100 the worst";
        OVERSHOOT_MAX = lower("overshoot-max", "ns"), "the same for the worst sleep of a round";
        SLACK = neutral("timer-slack", "ns"),
            "by how much the system may delay a timer to serve several at once: the thread's timer slack, which timerfd, \
             setitimer and io_uring do not have; on Windows the present resolution of the system's timer";
        EARLY = lower("early", "share"),
            "the share of sleeps that ended before their time, whose overshoot counts as 0";
    ]
}

/// The metrics of sleeps that never end early.
pub const EXACT: &[Metric] = BY_TICKS.split_at(BY_TICKS.len() - 1).0;

use platform::on_unix;

use super::{METRICS, ON_NOTHING};
use crate::{Case, Only};

/// Giving up a CPU that nobody else wants.
pub const CASE: Case = Case {
    area: "scale",
    name: "sched-yield",
    operation: "One sched_yield.",
    comparable_to: "will-it-scale's sched_yield makes the same call.",
    only: Only::Unix("measured on Unix-like systems only"),
    core_bound: true,
    trials: None,
    params: ON_NOTHING,
    metrics: METRICS,
    run: |params, round| {
        on_unix!(params, round, {
            use super::scale;

            round.expect_syscalls(1.0);
            // SAFETY: takes nothing.
            scale(
                params,
                round,
                "sched_yield",
                |_| Ok(()),
                |()| unsafe { libc::sched_yield() } == 0,
            )
        })
    },
};

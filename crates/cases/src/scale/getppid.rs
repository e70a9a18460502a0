use platform::on_unix;

use super::{METRICS, ON_NOTHING};
use crate::{Case, Only};

/// The way into the kernel and back, where nothing is shared.
pub const CASE: Case = Case {
    area: "scale",
    name: "getppid",
    operation: "One getppid, whose answer no C library keeps.",
    comparable_to: "will-it-scale's getppid1 makes the same call.",
    only: Only::Unix("Windows has no such call: see scale/set-event"),
    core_bound: true,
    trials: None,
    params: ON_NOTHING,
    metrics: METRICS,
    run: |params, round| {
        on_unix!(params, round, {
            use super::scale;

            round.expect_syscalls(1.0);
            scale(
                params,
                round,
                "getppid",
                |_| Ok(()),
                // SAFETY: takes nothing and cannot fail; a parent in another container is 0.
                |()| unsafe { libc::getppid() } >= 0,
            )
        })
    },
};

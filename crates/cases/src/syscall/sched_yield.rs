use platform::on_unix;

use crate::{Case, Only};

/// A call of the scheduler that finds no other thread to run.
pub const CASE: Case = Case {
    area: "syscall",
    name: "sched-yield",
    operation: "One sched_yield on a CPU with no other runnable thread.",
    comparable_to: "libMicro's `sched_yield` and will-it-scale's `sched_yield` make the same call.",
    only: Only::Unix("Windows has SwitchToThread; see syscall/switch-to-thread"),
    core_bound: false,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_unix!(round, {
            round.expect_syscalls(1.0);
            super::time(round, "sched_yield", || {
                // SAFETY: takes nothing.
                unsafe { libc::sched_yield() == 0 }
            })
        })
    },
};

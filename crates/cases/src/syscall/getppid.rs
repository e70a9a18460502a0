use platform::on_unix;

use crate::{Case, Only};

/// The cheapest way into the kernel and back.
pub const CASE: Case = Case {
    area: "syscall",
    name: "getppid",
    operation: "One getppid, whose answer no C library keeps.",
    comparable_to: "`perf bench syscall basic` and lmbench's `lat_syscall null` make the same call.",
    only: Only::Unix("Windows has no such call"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_unix!(round, {
            round.expect_syscalls(1.0);
            round.time(|| {
                // SAFETY: takes nothing and cannot fail.
                std::hint::black_box(unsafe { libc::getppid() });
            })
        })
    },
};

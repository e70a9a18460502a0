use platform::on_unix;

use crate::{Case, Only};

/// The shortest ordinary system call.
pub const CASE: Case = Case {
    area: "syscall",
    name: "getppid",
    operation: "One getppid() system call, which the C library does not cache.",
    comparable_to: "`perf bench syscall basic`, lmbench's `lat_syscall null` and will-it-scale's \
                `getppid1` make the same call.",
    only: Only::Unix("Windows has no getppid; see syscall/nt-get-current-processor"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_unix!(round, {
            round.expect_syscalls(1.0);
            round.time(|| {
                // SAFETY: takes no argument and cannot fail.
                std::hint::black_box(unsafe { libc::getppid() });
            })
        })
    },
};

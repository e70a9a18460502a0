use platform::on_unix;

use crate::{Case, Only};

/// What a runtime does around every section that no signal may interrupt.
pub const CASE: Case = Case {
    area: "syscall",
    name: "sigprocmask",
    operation: "One sigprocmask that sets the mask the thread has already and returns the old \
                one.",
    comparable_to: "libMicro's `sigprocmask` alternates between two masks.",
    only: Only::Unix("Windows has no such signals"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_unix!(round, {
            // SAFETY: an all-zero set is valid, and a null new set only asks for the present one.
            let present = unsafe {
                let mut present: libc::sigset_t = std::mem::zeroed();
                libc::sigprocmask(libc::SIG_SETMASK, std::ptr::null(), &mut present);
                present
            };
            let mut old = present;
            round.expect_syscalls(1.0);
            super::time(round, "sigprocmask", || {
                // SAFETY: both sets are valid, and the new one is the present one.
                unsafe { libc::sigprocmask(libc::SIG_SETMASK, &present, &mut old) == 0 }
            })
        })
    },
};

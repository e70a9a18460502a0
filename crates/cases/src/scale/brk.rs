use platform::on_linux;

use super::{BY_PROCESSES, METRICS};
use crate::{Case, Only};

/// The heap that the kernel keeps for a process.
pub const CASE: Case = Case {
    area: "scale",
    name: "brk",
    operation: "One sbrk of 4,096 bytes and one of as many less.",
    comparable_to: "will-it-scale's brk1 does the same.",
    only: Only::Linux("measured on Linux only"),
    core_bound: false,
    trials: None,
    params: BY_PROCESSES,
    metrics: METRICS,
    run: |params, round| {
        on_linux!(params, round, {
            use super::scale;

            round.expect_syscalls(2.0);
            // SAFETY: the memory is given back before anything else in this process can use it: the worker is its only thread.
            scale(
                params,
                round,
                "sbrk",
                |_| Ok(()),
                |()| unsafe {
                    let failed = usize::MAX as *mut libc::c_void;
                    libc::sbrk(4096) != failed && libc::sbrk(-4096) != failed
                },
            )
        })
    },
};

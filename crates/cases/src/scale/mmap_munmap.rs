use platform::pages::Pages;

use super::{METRICS, ON_NOTHING, scale};
use crate::{Case, Only};

/// The address space, which threads share and processes do not.
pub const CASE: Case = Case {
    area: "scale",
    name: "mmap-munmap",
    operation: "One mmap of 128 KiB of new memory, none of which is touched, and one munmap (on Windows VirtualAlloc and \
                VirtualFree).",
    comparable_to: "will-it-scale's mmap1 does the same with 128 MiB.",
    only: Only::Everywhere,
    core_bound: false,
    trials: None,
    params: ON_NOTHING,
    metrics: METRICS,
    run: |params, round| {
        const BYTES: usize = 128 << 10;

        if cfg!(unix) {
            round.expect_syscalls(2.0);
        }
        scale(
            params,
            round,
            "new memory",
            |_| Ok(()),
            |()| Pages::new(BYTES).is_some_and(Pages::free),
        )
    },
};

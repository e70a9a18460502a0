use platform::pages::{Pages, page_size};

use super::{METRICS, ON_NOTHING, PAGES, scale};
use crate::{Case, Only};

/// New memory: the kernel's allocator of pages, and the address space.
pub const CASE: Case = Case {
    area: "scale",
    name: "page-fault",
    operation: "One first write to a page of new memory, with a share of one mmap and one munmap (on Windows VirtualAlloc and \
                VirtualFree) of 64 pages.",
    comparable_to: "will-it-scale's page_fault1 does the same with 128 MiB.",
    only: Only::Everywhere,
    core_bound: false,
    trials: None,
    params: ON_NOTHING,
    metrics: METRICS,
    run: |params, round| {
        let page = page_size();
        round.operations_per_call(PAGES as u64);
        round.expect_faults(1.0);
        scale(
            params,
            round,
            "new memory",
            |_| Ok(()),
            |()| {
                Pages::new(PAGES * page).is_some_and(|pages| {
                    pages.touch(page);
                    pages.free()
                })
            },
        )
    },
};

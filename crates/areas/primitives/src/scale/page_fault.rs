use platform::memory::page_size;
use platform::memory::pages::Pages;

use super::{PAGES, nothing, on_nothing, scale};
use crate::Case;

/// Touching new memory, which uses the kernel's page allocator and the address space.
pub const CASE: Case = Case {
    operation: "One first write to a page of new memory, with a share of one mmap and one munmap (on Windows VirtualAlloc and \
                VirtualFree) of 64 pages.",
    comparable_to: "will-it-scale's page_fault1 does the same with 128 MiB.",
    run: |params, round| {
        let page = page_size();
        round.operations_per_call(PAGES as u64);
        round.expect_faults(1.0);
        scale(params, round, "new memory", nothing, |()| {
            Pages::new(PAGES * page).is_some_and(|pages| {
                pages.touch(page);
                pages.free()
            })
        })
    },
    ..on_nothing("page-fault")
};

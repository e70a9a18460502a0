use std::sync::Mutex;

use measure::CaseError;
use platform::memory::page_size;
use platform::memory::pages::Pages;

use super::{PAGES, on_nothing, scale};
use crate::Case;

/// Making memory read-only: CPUs that run other threads of the process have to invalidate their TLB entries.
pub const CASE: Case = Case {
    operation: "Two mprotects (on Windows VirtualProtects) of 64 touched pages of the worker's own, to read-only and back, and \
                one write to the first page; with one uncontended lock and unlock of a mutex.",
    comparable_to: "will-it-scale's tlb_flush1 to tlb_flush3 unmap pages or protect them from writing in the same way.",
    run: |params, round| {
        round.expect_unix_calls(2.0);
        let make = |_| {
            let pages = Pages::new(PAGES * page_size());
            let pages = pages.ok_or_else(|| CaseError::last_os_error("new memory"))?;
            pages.touch(page_size());
            Ok(Mutex::new(pages))
        };
        scale(params, round, "mprotect", make, |pages| {
            pages.lock().is_ok_and(|mut pages| pages.protect_and_write())
        })
    },
    ..on_nothing("mprotect")
};

use platform::memory::pages::Pages;

use super::{nothing, on_nothing, scale};
use crate::Case;

/// Mapping and unmapping memory: threads share an address space, processes do not.
pub const CASE: Case = Case {
    operation: "One mmap of 128 KiB of new memory, none of which is touched, and one munmap (on Windows VirtualAlloc and \
                VirtualFree).",
    comparable_to: "will-it-scale's mmap1 does the same with 128 MiB.",
    run: |params, round| {
        const BYTES: usize = 128 << 10;

        round.expect_unix_calls(2.0);
        scale(params, round, "new memory", nothing, |()| Pages::new(BYTES).is_some_and(Pages::free))
    },
    ..on_nothing("mmap-munmap")
};

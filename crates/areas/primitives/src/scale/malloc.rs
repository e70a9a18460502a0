use super::{nothing, on_nothing, scale};
use crate::Case;
use crate::memory::malloc::Block;

/// Allocating with the C library: threads share a heap, processes do not.
pub const CASE: Case = Case {
    operation: "One malloc of 1,000 bytes, one write to the first of them, and one free by the same worker (on Windows \
                HeapAlloc and HeapFree).",
    comparable_to: "will-it-scale's malloc2 does the same with 1,000 bytes, its malloc1 with 128 MiB, which become a mapping \
                    of their own: see scale/mmap-munmap.",
    core_bound: true,
    run: |params, round| {
        let block = Block::of(1_000)?;
        round.expect_syscalls(0.0);
        scale(params, round, "malloc", nothing, |()| block.allocate_and_free())
    },
    ..on_nothing("malloc")
};

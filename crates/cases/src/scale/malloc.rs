use std::alloc::{Layout, alloc, dealloc};
use std::hint::black_box;

use super::{METRICS, ON_NOTHING, scale};
use crate::{Case, Only};

/// The allocator of the C library, of which threads share a heap and processes do not.
pub const CASE: Case = Case {
    area: "scale",
    name: "malloc",
    operation: "One malloc of 1,000 bytes, one write to the first of them, and one free by the same worker (on Windows \
                HeapAlloc and HeapFree).",
    comparable_to: "will-it-scale's malloc2 does the same with 1,000 bytes, its malloc1 with 128 MiB, which become a mapping \
                    of their own: see scale/mmap-munmap.",
    only: Only::Everywhere,
    core_bound: true,
    trials: None,
    params: ON_NOTHING,
    metrics: METRICS,
    run: |params, round| {
        const BLOCK: Layout = match Layout::from_size_align(1_000, 8) {
            Ok(layout) => layout,
            Err(_) => panic!("8 is a power of two"),
        };

        round.expect_syscalls(0.0);
        scale(
            params,
            round,
            "malloc",
            |_| Ok(()),
            |()| {
                // SAFETY: the layout is not empty; the block is written to if there is one, and freed with its own layout.
                unsafe {
                    let block = black_box(alloc(BLOCK));
                    if block.is_null() {
                        return false;
                    }
                    block.write_volatile(1);
                    dealloc(block, BLOCK);
                }
                true
            },
        )
    },
};

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU64, fence};

use super::{CacheLine, RATE, TRIALS, WORKERS, share};
use crate::Case;

/// Store and fence on a cache line that one thread uses.
pub const PRIVATE: Case = Case {
    operation: "One store to a cache line that only this CPU uses, and one sequentially consistent fence, which waits \
                until the store is in the cache.",
    comparable_to: "stress-ng's `membarrier` is a system call that makes other CPUs do so. A fence alone, with nothing to \
                    wait for, is cheaper.",
    core_bound: true,
    run: |_, round| {
        let line = CacheLine::default();
        round.expect_syscalls(0.0);
        round.time(|| store(&line.0))
    },
    ..Case::new("atomic", "fence")
};

/// Store and fence on a cache line that several CPUs use.
pub const SHARED: Case = Case {
    name: "fence-shared",
    operation: "One store to a cache line that all threads store to, and one sequentially consistent fence, as one of \
                them sees it.",
    comparable_to: "The difference to atomic/fence is waiting for the cache line.",
    core_bound: false,
    trials: TRIALS,
    params: &[WORKERS],
    metrics: &[RATE],
    run: |params, round| share(params, round, store, |_, value| value == STORED),
    ..PRIVATE
};

/// The value that the store writes.
const STORED: u64 = 0x5a5a;

#[inline(always)]
fn store(value: &AtomicU64) {
    value.store(STORED, Relaxed);
    fence(SeqCst);
}

use std::hint::black_box;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use super::{CacheLine, RATE, TRIALS, WORKERS, share};
use crate::Case;

/// Compare-and-swap on a cache line that one thread uses.
pub const PRIVATE: Case = Case {
    operation: "One load of a 64-bit value that only this CPU uses, and one compare-and-swap, sequentially consistent, \
                that makes it 1 more and succeeds.",
    comparable_to: "Lock-free structures change their state in this way. The difference to atomic/add is the load.",
    core_bound: true,
    run: |_, round| {
        let line = CacheLine::default();
        round.expect_syscalls(0.0);
        round.time(|| increment(&line.0))
    },
    ..Case::new("atomic", "compare-and-swap")
};

/// Compare-and-swap on a cache line that several CPUs use.
pub const SHARED: Case = Case {
    name: "compare-and-swap-shared",
    operation: "One increment of a 64-bit value that all threads increment, as one of them sees it: a load and a \
                compare-and-swap, repeated until it succeeds.",
    comparable_to: "The difference to atomic/add-shared is what failed attempts take.",
    core_bound: false,
    trials: TRIALS,
    params: &[WORKERS],
    metrics: &[RATE],
    run: |params, round| share(params, round, increment, |operations, value| operations == value),
    ..PRIVATE
};

#[inline(always)]
fn increment(value: &AtomicU64) {
    loop {
        let seen = value.load(Relaxed);
        if black_box(value.compare_exchange(seen, seen.wrapping_add(1), SeqCst, Relaxed)).is_ok() {
            return;
        }
    }
}

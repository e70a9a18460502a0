use std::sync::atomic::Ordering::SeqCst;

use super::{CacheLine, RATE, TRIALS, WORKERS, share};
use crate::Case;

/// Addition to a cache line that one thread uses.
pub const PRIVATE: Case = Case {
    operation: "One atomic addition of 1 to a 64-bit value that only this CPU uses, sequentially consistent.",
    comparable_to: "stress-ng's `atomic` mixes such operations; libMicro's `atomic_inc` is not part of it on Linux.",
    core_bound: true,
    run: |_, round| {
        let line = CacheLine::default();
        round.expect_syscalls(0.0);
        round.time(|| {
            line.0.fetch_add(1, SeqCst);
        })
    },
    ..Case::new("atomic", "add")
};

/// Addition to a cache line that several CPUs use.
pub const SHARED: Case = Case {
    name: "add-shared",
    operation: "One atomic addition of 1 to a 64-bit value that all threads add to, as one of them sees it.",
    comparable_to: "The difference to atomic/add is moving the cache line between CPUs. will-it-scale has no such \
                    measurement; its results show the effect in the kernel's own counters.",
    core_bound: false,
    trials: TRIALS,
    params: &[WORKERS],
    metrics: &[RATE],
    run: |params, round| {
        let add = |line: &std::sync::atomic::AtomicU64| {
            line.fetch_add(1, SeqCst);
        };
        share(params, round, add, |operations, value| operations == value)
    },
    ..PRIVATE
};

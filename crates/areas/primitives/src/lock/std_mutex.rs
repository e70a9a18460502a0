use std::sync::Mutex;

use platform::memory::shared::Shared;

use super::{ByGuard, THREADS_AND_WORK, expect_no_calls_alone, lock, measure};
use crate::Case;

/// The mutex of Rust's standard library.
pub const CASE: Case = Case {
    operation: "One lock and unlock of Rust's std::sync::Mutex, by creating and dropping its \
                guard.",
    comparable_to: "On Linux std::sync::Mutex is a futex-based mutex: the differences to \
                lock/futex are its check for poisoning, and that it spins before it sleeps.",
    params: THREADS_AND_WORK,
    run: |params, round| {
        expect_no_calls_alone(params, round)?;
        let mutex = Shared::new(Mutex::new(()))?.get();
        let acquire = move || mutex.lock().expect("no worker panics while it holds the lock");
        measure(params, round, &ByGuard(acquire))
    },
    ..lock("std-mutex")
};

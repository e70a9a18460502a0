use parking_lot::Mutex;
use platform::memory::shared::Shared;

use super::{ByGuard, expect_no_calls_alone, lock, measure};
use crate::Case;

/// The mutex of Rust's parking_lot crate.
pub const CASE: Case = Case {
    operation: "One lock and unlock of parking_lot's Mutex (a port of WebKit's WTF::Lock to Rust), \
                by creating and dropping its guard.",
    comparable_to: "parking_lot's own benchmark `mutex` counts lock and unlock pairs per second. \
                Unlike lock/std-mutex, this mutex queues waiters in a global table of the library \
                and occasionally hands the lock over in queue order.",
    run: |params, round| {
        expect_no_calls_alone(params, round)?;
        let mutex = Shared::new(Mutex::new(()))?.get();
        measure(params, round, &ByGuard(move || mutex.lock()))
    },
    ..lock("parking-lot-mutex")
};

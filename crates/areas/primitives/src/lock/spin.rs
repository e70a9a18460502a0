use std::hint::spin_loop;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};

use platform::memory::shared::Shared;

use super::{THREADS_OR_PROCESSES, expect_no_calls_alone, lock, measure};
use crate::Case;

/// An unfair spin lock.
pub const TEST_AND_TEST_AND_SET: Case = Case {
    operation: "One lock and unlock of a test-and-test-and-set spin lock: an atomic swap, which is \
                repeated after plain reads with a pause have seen the lock free, and a store.",
    comparable_to: "will-it-scale's `ppc-spinlock` tests are such locks for PowerPC. The \
                difference to lock/futex is one atomic swap on unlock with one worker, and the \
                cost of not sleeping with more workers than CPUs.",
    params: THREADS_OR_PROCESSES,
    run: |params, round| {
        let is_held = Shared::new(AtomicBool::new(false))?;
        let acquire = move || {
            while is_held.swap(true, Acquire) {
                while is_held.load(Relaxed) {
                    spin_loop();
                }
            }
        };
        expect_no_calls_alone(params, round)?;
        measure(params, round, &(acquire, move || is_held.store(false, Release)))
    },
    ..lock("spin-ttas")
};

/// A fair spin lock.
pub const TICKET: Case = Case {
    name: "spin-ticket",
    operation: "One lock and unlock of a ticket lock: an atomic addition takes a ticket, reads \
                with a pause wait until the ticket is served, and a store serves the next one.",
    comparable_to: "The difference to lock/spin-ttas is the cost of first-come, first-served \
                order. With more workers than CPUs that cost is very high, since the next worker \
                in line is often not running.",
    run: |params, round| {
        let tickets = Shared::new(Counters::default())?;
        let acquire = move || {
            let number = tickets.drawn.fetch_add(1, Relaxed);
            while tickets.served.load(Acquire) != number {
                spin_loop();
            }
        };
        let release = move || {
            // Only the holder of the lock writes `served`.
            let number = tickets.served.load(Relaxed);
            tickets.served.store(number.wrapping_add(1), Release);
        };
        expect_no_calls_alone(params, round)?;
        measure(params, round, &(acquire, release))
    },
    ..TEST_AND_TEST_AND_SET
};

#[derive(Default)]
struct Counters {
    drawn: AtomicU32,
    served: AtomicU32,
}

use std::hint::spin_loop;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};

use measure::CaseError;
use platform::shared::Shared;

use super::{Lock, METRICS, THREADS_OR_PROCESSES, expect_no_calls_alone, measure};
use crate::{Case, Only};

/// An unfair spin lock.
pub const TEST_AND_TEST_AND_SET: Case = Case {
    area: "lock",
    name: "spin-ttas",
    operation: "One lock and unlock of a test-and-test-and-set spin lock: an atomic swap, which is \
                repeated after plain reads with a pause have seen the lock free, and a store.",
    comparable_to: "will-it-scale's `ppc-spinlock` tests are such locks for PowerPC. The \
                difference to lock/futex is one atomic swap on unlock with one worker, and the \
                cost of not sleeping with more workers than CPUs.",
    only: Only::Everywhere,
    core_bound: true,
    trials: None,
    params: THREADS_OR_PROCESSES,
    metrics: METRICS,
    run: |params, round| {
        expect_no_calls_alone(params, round)?;
        measure(params, round, &TestAndTestAndSet(Shared::new(AtomicBool::new(false))?))
    },
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
        expect_no_calls_alone(params, round)?;
        measure(params, round, &Ticket(Shared::new(Counters::default())?))
    },
    ..TEST_AND_TEST_AND_SET
};

struct TestAndTestAndSet(Shared<AtomicBool>);

impl Lock for TestAndTestAndSet {
    type Hold = ();

    fn join(&self) -> Result<(), CaseError> {
        Ok(())
    }

    #[inline(always)]
    fn acquire(&self, (): &mut ()) {
        while self.0.swap(true, Acquire) {
            while self.0.load(Relaxed) {
                spin_loop();
            }
        }
    }

    #[inline(always)]
    fn release(&self, (): &mut ()) {
        self.0.store(false, Release);
    }
}

#[derive(Default)]
struct Counters {
    drawn: AtomicU32,
    served: AtomicU32,
}

struct Ticket(Shared<Counters>);

impl Lock for Ticket {
    type Hold = ();

    fn join(&self) -> Result<(), CaseError> {
        Ok(())
    }

    #[inline(always)]
    fn acquire(&self, (): &mut ()) {
        let number = self.0.drawn.fetch_add(1, Relaxed);
        while self.0.served.load(Acquire) != number {
            spin_loop();
        }
    }

    #[inline(always)]
    fn release(&self, (): &mut ()) {
        // Only the holder writes here.
        let number = self.0.served.load(Relaxed);
        self.0.served.store(number.wrapping_add(1), Release);
    }
}

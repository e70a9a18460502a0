use std::mem::MaybeUninit;

use measure::CaseError;
use parking_lot::{Mutex, MutexGuard};
use platform::shared::Shared;

use super::{Lock, METRICS, THREADS, expect_no_calls_alone, measure};
use crate::{Case, Only};

/// The mutex of one byte of Rust's parking_lot.
pub const CASE: Case = Case {
    area: "lock",
    name: "parking-lot-mutex",
    operation: "One lock and unlock of the mutex in Rust's parking_lot crate (WebKit's WTF::Lock in \
                Rust), by making and dropping its guard.",
    comparable_to: "Compare lock/std-mutex: this one queues its waiters in a table of its own, and now and then \
            hands over in order.",
    only: Only::Everywhere,
    core_bound: true,
    trials: None,
    params: THREADS,
    metrics: METRICS,
    run: |params, round| {
        expect_no_calls_alone(params, round)?;
        measure(params, round, &ParkingLot(Shared::new(Mutex::new(()))?.get()))
    },
};

struct ParkingLot(&'static Mutex<()>);

impl Lock for ParkingLot {
    /// Not an `Option`: asking whether there is a guard to drop would be a fifth of the time.
    type Hold = MaybeUninit<MutexGuard<'static, ()>>;

    fn join(&self) -> Result<Self::Hold, CaseError> {
        Ok(MaybeUninit::uninit())
    }

    #[inline(always)]
    fn acquire(&self, hold: &mut Self::Hold) {
        hold.write(self.0.lock());
    }

    #[inline(always)]
    fn release(&self, hold: &mut Self::Hold) {
        // SAFETY: this worker acquired it just before, which wrote the guard.
        unsafe { hold.assume_init_drop() };
    }
}

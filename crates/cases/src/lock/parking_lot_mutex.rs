use std::mem::MaybeUninit;

use measure::CaseError;
use parking_lot::{Mutex, MutexGuard};
use platform::shared::Shared;

use super::{Lock, expect_no_calls_alone, lock, measure};
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
        measure(params, round, &ParkingLot(Shared::new(Mutex::new(()))?.get()))
    },
    ..lock("parking-lot-mutex")
};

struct ParkingLot(&'static Mutex<()>);

impl Lock for ParkingLot {
    /// Not an `Option`: its check whether there is a guard to drop would be a fifth of the time.
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
        // SAFETY: this worker holds the lock, and acquiring it wrote the guard.
        unsafe { hold.assume_init_drop() };
    }
}

use std::mem::MaybeUninit;
use std::sync::{Mutex, MutexGuard};

use measure::CaseError;
use platform::shared::Shared;

use super::{Lock, THREADS_AND_WORK, expect_no_calls_alone, lock, measure};
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
        measure(params, round, &StdMutex(Shared::new(Mutex::new(()))?.get()))
    },
    ..lock("std-mutex")
};

struct StdMutex(&'static Mutex<()>);

impl Lock for StdMutex {
    /// Not an `Option`: its check whether there is a guard to drop would be a fifth of the time.
    type Hold = MaybeUninit<MutexGuard<'static, ()>>;

    fn join(&self) -> Result<Self::Hold, CaseError> {
        Ok(MaybeUninit::uninit())
    }

    #[inline(always)]
    fn acquire(&self, hold: &mut Self::Hold) {
        hold.write(self.0.lock().expect("no worker panics while it holds the lock"));
    }

    #[inline(always)]
    fn release(&self, hold: &mut Self::Hold) {
        // SAFETY: this worker holds the lock, and acquiring it wrote the guard.
        unsafe { hold.assume_init_drop() };
    }
}

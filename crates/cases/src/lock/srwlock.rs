use measure::{CaseError, Params, Round};
use platform::on_windows;

use super::{METRICS, THREADS};
use crate::{Case, Only};

/// The lock of one word that newer Windows programs use.
pub const CASE: Case = Case {
    area: "lock",
    name: "srwlock",
    operation: "One AcquireSRWLockExclusive and ReleaseSRWLockExclusive of one lock.",
    comparable_to: "The Windows counterpart of lock/pthread-mutex. lock/critical-section records \
                its owner.",
    only: Only::Windows("exists only on Windows"),
    core_bound: true,
    trials: None,
    params: THREADS,
    metrics: METRICS,
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    on_windows!(params, round, {
        use windows_sys::Win32::System::Threading::{
            AcquireSRWLockExclusive, ReleaseSRWLockExclusive, SRWLOCK,
        };

        use super::{InPlace, Lock, measure};

        struct SlimLock(InPlace<SRWLOCK>);

        impl Lock for SlimLock {
            type Hold = ();

            fn join(&self) -> Result<(), CaseError> {
                Ok(())
            }

            #[inline(always)]
            fn acquire(&self, (): &mut ()) {
                // SAFETY: the memory is initially zero, which is a free lock.
                unsafe { AcquireSRWLockExclusive(self.0.get()) };
            }

            #[inline(always)]
            fn release(&self, (): &mut ()) {
                // SAFETY: this worker holds the lock.
                unsafe { ReleaseSRWLockExclusive(self.0.get()) };
            }
        }

        measure(params, round, &SlimLock(InPlace::new()?))
    })
}

use super::lock;
use crate::{Case, only};

/// The lock of one word that newer Windows programs use.
pub const CASE: Case = Case {
    operation: "One AcquireSRWLockExclusive and ReleaseSRWLockExclusive of one lock.",
    comparable_to: "The Windows counterpart of lock/pthread-mutex. lock/critical-section records \
                its owner.",
    run,
    ..lock("srwlock").on_windows()
};

#[only(windows)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use windows_sys::Win32::System::Threading::{
        AcquireSRWLockExclusive, ReleaseSRWLockExclusive, SRWLOCK,
    };

    use super::{InPlace, measure};

    let lock = InPlace::<SRWLOCK>::new()?;
    // SAFETY: the memory is initially zero, which is a free lock.
    let acquire = move || unsafe { AcquireSRWLockExclusive(lock.get()) };
    // SAFETY: this worker holds the lock.
    let release = move || unsafe { ReleaseSRWLockExclusive(lock.get()) };
    measure(params, round, &(acquire, release))
}

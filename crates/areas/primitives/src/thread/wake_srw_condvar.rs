use super::wake;
use crate::{Case, Only, only};

/// Waking a thread through a condition variable of Windows.
pub const CASE: Case = Case {
    operation: "From just before a flag is set under its SRWLOCK and WakeConditionVariable is \
                called without it, until the thread that slept in SleepConditionVariableSRW has \
                the lock and reads the clock, the median of a trial's wake-ups; the waking thread \
                then waits.",
    comparable_to: "The counterpart of thread/wake-condvar.",
    only: Only::Windows("exists only on Windows; see thread/wake-condvar"),
    run,
    ..wake::wake_up("wake-srw-condvar")
};

#[only(windows)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::sync::atomic::{AtomicBool, Ordering};

    use windows_sys::Win32::System::Threading::{
        AcquireSRWLockExclusive, CONDITION_VARIABLE, INFINITE, ReleaseSRWLockExclusive, SRWLOCK,
        SleepConditionVariableSRW, WakeConditionVariable,
    };

    use crate::lock::InPlace;

    // Zeroed memory is a free lock, and a condition variable without waiters.
    let (lock, condition) = (InPlace::<SRWLOCK>::new()?, InPlace::<CONDITION_VARIABLE>::new()?);
    let is_woken = AtomicBool::new(false);
    let sleep = || {
        // SAFETY: both objects are initialised and do not move; the lock is held where it must be.
        unsafe {
            AcquireSRWLockExclusive(lock.get());
            while !is_woken.swap(false, Ordering::Relaxed) {
                SleepConditionVariableSRW(condition.get(), lock.get(), INFINITE, 0);
            }
            ReleaseSRWLockExclusive(lock.get());
        }
    };
    let wake = || {
        // SAFETY: both objects are initialised and do not move; the lock is held where it must be.
        unsafe {
            AcquireSRWLockExclusive(lock.get());
            is_woken.store(true, Ordering::Relaxed);
            ReleaseSRWLockExclusive(lock.get());
            WakeConditionVariable(condition.get());
        }
    };
    wake::measure(params, round, sleep, wake)
}

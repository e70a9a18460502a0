use measure::{CaseError, Params, Round};
use platform::on_windows;

use super::wake;
use crate::{Case, Only};

/// What programs use on Windows.
pub const CASE: Case = Case {
    area: "thread",
    name: "wake-srw-condvar",
    operation: "From just before a flag is set under its SRWLOCK and WakeConditionVariable is \
                called without it, until the thread that slept in SleepConditionVariableSRW has \
                the lock and reads the clock, the median of a trial's wake-ups; the waking thread \
                then waits.",
    comparable_to: "The counterpart of thread/wake-condvar.",
    only: Only::Windows("exists only on Windows; see thread/wake-condvar"),
    core_bound: false,
    trials: Some(wake::TRIALS),
    params: wake::PARAMS,
    metrics: wake::METRICS,
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    on_windows!(params, round, {
        use std::cell::UnsafeCell;
        use std::sync::atomic::{AtomicBool, Ordering};

        use windows_sys::Win32::System::Threading::{
            AcquireSRWLockExclusive, CONDITION_VARIABLE, CONDITION_VARIABLE_INIT, INFINITE,
            ReleaseSRWLockExclusive, SRWLOCK, SRWLOCK_INIT, SleepConditionVariableSRW,
            WakeConditionVariable,
        };

        struct Condition {
            lock: UnsafeCell<SRWLOCK>,
            condition: UnsafeCell<CONDITION_VARIABLE>,
            is_woken: AtomicBool,
        }

        // SAFETY: both objects are made for several threads, and used by their addresses only.
        unsafe impl Sync for Condition {}

        impl wake::Sleep for Condition {
            fn sleep(&self) {
                // SAFETY: both objects are initialised and do not move; the lock is held where it must be.
                unsafe {
                    AcquireSRWLockExclusive(self.lock.get());
                    while !self.is_woken.swap(false, Ordering::Relaxed) {
                        SleepConditionVariableSRW(
                            self.condition.get(),
                            self.lock.get(),
                            INFINITE,
                            0,
                        );
                    }
                    ReleaseSRWLockExclusive(self.lock.get());
                }
            }

            #[inline(always)]
            fn wake(&self) {
                // SAFETY: as above.
                unsafe {
                    AcquireSRWLockExclusive(self.lock.get());
                    self.is_woken.store(true, Ordering::Relaxed);
                    ReleaseSRWLockExclusive(self.lock.get());
                    WakeConditionVariable(self.condition.get());
                }
            }
        }

        let way = Condition {
            lock: UnsafeCell::new(SRWLOCK_INIT),
            condition: UnsafeCell::new(CONDITION_VARIABLE_INIT),
            is_woken: AtomicBool::new(false),
        };
        wake::measure(params, round, &way)
    })
}

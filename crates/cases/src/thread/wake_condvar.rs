use measure::{CaseError, Params, Round};
use platform::on_unix;

use super::wake;
use crate::{Case, Only};

/// What portable programs use.
pub const CASE: Case = Case {
    area: "thread",
    name: "wake-condvar",
    operation: "From just before a flag is set under its mutex and pthread_cond_signal is called \
                without it, until the thread that slept in pthread_cond_wait has the mutex and \
                reads the clock, the median of a trial's wake-ups; the waking thread then waits.",
    comparable_to: "The difference to thread/wake-futex is what the C library does around that \
            call.",
    only: Only::Unix("Windows has its own: see thread/wake-srw-condvar"),
    core_bound: false,
    trials: Some(wake::TRIALS),
    params: wake::PARAMS,
    metrics: wake::METRICS,
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    on_unix!(params, round, {
        use std::sync::atomic::{AtomicBool, Ordering};

        use crate::lock::InPlace;

        struct Condition {
            mutex: InPlace<libc::pthread_mutex_t>,
            condition: InPlace<libc::pthread_cond_t>,
            is_woken: AtomicBool,
        }

        impl wake::Sleep for Condition {
            fn sleep(&self) {
                // SAFETY: both objects were made before and are never unmade; the mutex is held where it must be.
                unsafe {
                    libc::pthread_mutex_lock(self.mutex.get());
                    while !self.is_woken.swap(false, Ordering::Relaxed) {
                        libc::pthread_cond_wait(self.condition.get(), self.mutex.get());
                    }
                    libc::pthread_mutex_unlock(self.mutex.get());
                }
            }

            #[inline(always)]
            fn wake(&self) {
                // SAFETY: as above.
                unsafe {
                    libc::pthread_mutex_lock(self.mutex.get());
                    self.is_woken.store(true, Ordering::Relaxed);
                    libc::pthread_mutex_unlock(self.mutex.get());
                    libc::pthread_cond_signal(self.condition.get());
                }
            }
        }

        let way = Condition {
            mutex: InPlace::new()?,
            condition: InPlace::new()?,
            is_woken: AtomicBool::new(false),
        };
        // SAFETY: both places are new, aligned, never moved, and initialised once.
        let error = unsafe {
            match libc::pthread_mutex_init(way.mutex.get(), std::ptr::null()) {
                0 => libc::pthread_cond_init(way.condition.get(), std::ptr::null()),
                error => error,
            }
        };
        match error {
            0 => wake::measure(params, round, &way),
            _ => {
                let error = std::io::Error::from_raw_os_error(error);
                Err(CaseError::from_io("pthread_cond_init", &error))
            }
        }
    })
}

use super::wake;
use crate::{Case, Only, only};

/// Waking a thread through a POSIX condition variable, as portable programs do.
pub const CASE: Case = Case {
    operation: "From just before a flag is set under its mutex and pthread_cond_signal is called \
                without it, until the thread that slept in pthread_cond_wait has the mutex and \
                reads the clock, the median of a trial's wake-ups; the waking thread then waits.",
    comparable_to: "The difference to thread/wake-futex is what the C library does around that \
            call.",
    only: Only::Unix("Windows has its own: see thread/wake-srw-condvar"),
    run,
    ..wake::wake_up("wake-condvar")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::sync::atomic::{AtomicBool, Ordering};

    use crate::lock::{InPlace, succeed};

    let mutex = InPlace::<libc::pthread_mutex_t>::new()?;
    let condition = InPlace::<libc::pthread_cond_t>::new()?;
    // SAFETY: both objects are new, aligned, never moved, and initialised once.
    let error = unsafe {
        match libc::pthread_mutex_init(mutex.get(), std::ptr::null()) {
            0 => libc::pthread_cond_init(condition.get(), std::ptr::null()),
            error => error,
        }
    };
    succeed("pthread_cond_init", error)?;
    let is_woken = AtomicBool::new(false);
    let sleep = || {
        // SAFETY: both objects are initialised and never destroyed; the mutex is held where it must be.
        unsafe {
            libc::pthread_mutex_lock(mutex.get());
            while !is_woken.swap(false, Ordering::Relaxed) {
                libc::pthread_cond_wait(condition.get(), mutex.get());
            }
            libc::pthread_mutex_unlock(mutex.get());
        }
    };
    let wake = || {
        // SAFETY: both objects are initialised and never destroyed; the mutex is held where it must be.
        unsafe {
            libc::pthread_mutex_lock(mutex.get());
            is_woken.store(true, Ordering::Relaxed);
            libc::pthread_mutex_unlock(mutex.get());
            libc::pthread_cond_signal(condition.get());
        }
    };
    wake::measure(params, round, sleep, wake)
}

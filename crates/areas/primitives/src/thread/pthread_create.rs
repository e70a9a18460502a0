use super::THREADS;
use crate::{Case, Only, only};

/// Creating and joining a thread with pthread_create.
pub const CASE: Case = Case {
    operation: "One pthread_create without attributes of a thread that returns a number at once, \
                and one pthread_join that gets the number; both threads on one CPU.",
    comparable_to: "osbench's create_threads creates 100 threads before it joins the first, \
            unpinned; libMicro's `pthread_create` leaves out the joins; will-it-scale's \
            threadspawn1 is the same pair.",
    only: Only::Unix("Windows has CreateThread: see thread/create-thread"),
    params: &[THREADS],
    run,
    ..Case::new("thread", "pthread-create")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::ffi::c_void;
    use std::ptr::{null, null_mut, without_provenance_mut};

    extern "C" fn next(number: *mut c_void) -> *mut c_void {
        without_provenance_mut(number.addr() + 1)
    }

    let _others = super::SleepingThreads::beside_this(params)?;
    let mut number = 0;
    round.time_call("pthread_create", || {
        number += 1;
        let mut result = null_mut();
        // SAFETY: an all-zero pthread_t is a valid buffer; the thread gets and returns a number, and is joined.
        let error = unsafe {
            let mut thread: libc::pthread_t = std::mem::zeroed();
            match libc::pthread_create(&mut thread, null(), next, without_provenance_mut(number)) {
                0 => libc::pthread_join(thread, &mut result),
                error => error,
            }
        };
        error == 0 && result.addr() == number + 1
    })
}

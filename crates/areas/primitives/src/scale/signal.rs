use super::on_nothing;
use crate::{Case, Only, only};

/// Running a signal handler; threads share the handlers of their process.
pub const CASE: Case = Case {
    operation: "One raise of SIGUSR2, which the worker itself handles at once by a function that adds to a counter.",
    comparable_to: "will-it-scale's signal1 does the same.",
    only: Only::Unix("Windows has no such signals"),
    run,
    ..on_nothing("signal")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use super::{nothing, scale};
    use std::cell::Cell;

    thread_local! {
        static HANDLED: Cell<u64> = const { Cell::new(0) };
    }

    extern "C" fn count(_signal: libc::c_int) {
        HANDLED.set(HANDLED.get() + 1);
    }

    // SAFETY: the handler only adds to a number of its thread, which needs no destructor.
    let before = unsafe { libc::signal(libc::SIGUSR2, count as *const () as libc::sighandler_t) };
    if before == libc::SIG_ERR {
        return Err(measure::CaseError::last_os_error("signal"));
    }
    let result = scale(params, round, "raise", nothing, |()| {
        let handled = HANDLED.get();
        // SAFETY: the signal is handled.
        unsafe { libc::raise(libc::SIGUSR2) == 0 && HANDLED.get() == handled + 1 }
    });
    // SAFETY: restores the previous handler.
    unsafe { libc::signal(libc::SIGUSR2, before) };
    result
}

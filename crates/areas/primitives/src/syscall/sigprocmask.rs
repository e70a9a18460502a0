use crate::{Case, Only, only};

/// Blocking and restoring signals, as a runtime does around a critical section.
pub const CASE: Case = Case {
    operation: "One sigprocmask that sets the signal mask which the thread already has, and \
                returns it as the old one.",
    comparable_to: "libMicro's `sigprocmask` alternates between two masks.",
    only: Only::Unix("Windows has no such signals"),
    core_bound: true,
    run,
    ..Case::new("syscall", "sigprocmask")
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    // SAFETY: an all-zero set is valid, and with a null new set the call only reads the present one.
    let present = unsafe {
        let mut present: libc::sigset_t = std::mem::zeroed();
        libc::sigprocmask(libc::SIG_SETMASK, std::ptr::null(), &mut present);
        present
    };
    let mut old = present;
    round.expect_syscalls(1.0);
    // SAFETY: both sets are valid, and the new one is the present one.
    round.time_call("sigprocmask", || unsafe {
        libc::sigprocmask(libc::SIG_SETMASK, &present, &mut old) == 0
    })
}

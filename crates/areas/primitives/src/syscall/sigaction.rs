use crate::{Case, Only, only};

/// Reading the disposition of a signal.
pub const CASE: Case = Case {
    operation: "One sigaction that reads the handler of SIGUSR1 and changes nothing.",
    comparable_to: "libMicro's `sigaction` and lmbench's `lat_sig install` install a handler with \
                each call.",
    only: Only::Unix("Windows has no such signals"),
    core_bound: true,
    run,
    ..Case::new("syscall", "sigaction")
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    // SAFETY: an all-zero sigaction is valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    round.expect_syscalls(1.0);
    // SAFETY: a null new action changes nothing; `action` is a valid buffer for the old.
    round.time_call("sigaction", || unsafe {
        libc::sigaction(libc::SIGUSR1, std::ptr::null(), &mut action) == 0
    })
}

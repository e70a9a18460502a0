use crate::{Case, Only, only};

/// Setting a signal handler.
pub const CASE: Case = Case {
    operation: "One sigaction that replaces the handler of SIGUSR1 by another and returns the old one.",
    comparable_to: "lmbench's `lat_sig install` and libMicro's `sigaction` set the same handler each time; \
                    here two take turns, so that each call changes something.",
    only: Only::Unix("Windows has no such signals; signal/add-exception-handler is like it"),
    core_bound: true,
    run,
    ..Case::new("signal", "install")
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use measure::CaseError;
    use platform::process::signal::{Installed, action, count};

    extern "C" fn other(_signal: libc::c_int) {}

    let before = Installed::handler(libc::SIGUSR1, other)
        .map_err(|e| CaseError::from_io("sigaction", &e))?;
    let handlers = [count as *const (), other as *const ()];
    let actions = handlers.map(|handler| action(handler as libc::sighandler_t, libc::SA_RESTART));
    let (mut old, mut next) = (actions[1], 0);
    round.expect_syscalls(1.0);
    let result = round.time_call("sigaction", || {
        // SAFETY: both actions are valid. Both handlers may run at any time.
        let done = unsafe { libc::sigaction(libc::SIGUSR1, &actions[next], &mut old) == 0 };
        next ^= 1;
        done && old.sa_sigaction == actions[next].sa_sigaction
    });
    drop(before);
    result
}

use crate::{Case, Only, only};

/// Raising a signal, which runs a handler.
pub const CASE: Case = Case {
    operation: "One SIGUSR1 that a thread sends to itself (on Linux by tgkill), whose handler counts it and \
                returns, before the call that sent it returns.",
    comparable_to: "lmbench's `lat_sig catch` sends by kill, for which the kernel looks for a thread of the process. \
                    raise of the C library makes two or three more system calls.",
    only: Only::Unix(
        "Windows has no such signals; signal/raise-exception and signal/queue-apc are like it",
    ),
    core_bound: true,
    run,
    ..Case::new("signal", "raise")
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use measure::CaseError;
    use platform::process::signal::{Installed, OwnThread, count, handled};

    let _installed = Installed::handler(libc::SIGUSR1, count)
        .map_err(|e| CaseError::from_io("sigaction", &e))?;
    let thread = OwnThread::new();
    // The calls are sending the signal, and the return from the handler (sigreturn).
    round.expect_syscalls(2.0);
    let handled_so_far = || handled(libc::SIGUSR1);
    super::time_handled(round, "tgkill", 1, handled_so_far, || thread.send(libc::SIGUSR1))
}

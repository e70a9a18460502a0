use crate::{Case, Only, only};

/// Entering and leaving the kernel for a system call number that does not exist.
pub const CASE: Case = Case {
    operation: "One system call with a number that no kernel assigns (65,535), which fails with \
                ENOSYS.",
    comparable_to: "stress-ng's `--enosys` calls random unassigned numbers; lmbench and libMicro \
                have no such test. The difference to syscall/getppid is the cost of a minimal \
                system call function.",
    only: Only::Linux("elsewhere an unknown system call ends the process with SIGSYS"),
    core_bound: true,
    run,
    ..Case::new("syscall", "unimplemented")
};

#[only(linux)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    // SAFETY: the kernel reads only the number.
    let call = || unsafe { libc::syscall(65_535) } == -1;
    call();
    let refused = std::io::Error::last_os_error();
    if refused.raw_os_error() != Some(libc::ENOSYS) {
        let reason =
            format!("an unknown system call fails with another error than ENOSYS: {refused}");
        return Err(measure::CaseError::Unsupported(reason));
    }
    round.expect_syscalls(1.0);
    round.time_call("system call 65535", call)
}

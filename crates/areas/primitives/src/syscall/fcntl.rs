use crate::{Case, only};

/// Reading the flags of an open file.
pub const CASE: Case = Case {
    operation: "One fcntl that asks for the flags of a regular file's descriptor (F_GETFL).",
    comparable_to: "libMicro's `fcntl_ndelay` sets and clears a flag: two calls for each of its operations.",
    core_bound: true,
    run,
    ..Case::new("syscall", "fcntl").on_unix()
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::fd::AsRawFd;

    let file = super::own_program()?;
    let fd = file.as_raw_fd();
    round.expect_syscalls(1.0);
    // SAFETY: the descriptor is open.
    round.time_call("fcntl", || unsafe { libc::fcntl(fd, libc::F_GETFL) >= 0 })
}

use crate::{Case, Only, only};

/// A read without its data transfer.
pub const CASE: Case = Case {
    operation: "One read of 0 bytes from a regular file, which is this program's own.",
    comparable_to: "lmbench's `lat_syscall read` reads 1 byte; see syscall/read-1.",
    only: Only::Unix("Windows has ReadFile; see syscall/read-file-0"),
    core_bound: true,
    run,
    ..Case::new("syscall", "read-0")
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::fd::AsRawFd;

    let file = super::own_program()?;
    let (fd, mut nothing) = (file.as_raw_fd(), [0u8; 1]);
    round.expect_syscalls(1.0);
    // SAFETY: the descriptor is open, and nothing is written for a count of 0.
    round.time_call("read", || unsafe { libc::read(fd, nothing.as_mut_ptr().cast(), 0) == 0 })
}

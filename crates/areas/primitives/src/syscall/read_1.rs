use crate::{Case, Only, only};

/// The shortest read that transfers data.
pub const CASE: Case = Case {
    operation: "One read of 1 byte from /dev/zero.",
    comparable_to: "lmbench's `lat_syscall read` makes the same call.",
    only: Only::Unix("Windows has ReadFile; see syscall/read-file-0 and syscall/read-file-4k"),
    core_bound: true,
    run,
    ..Case::new("syscall", "read-1")
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::fd::AsRawFd;

    let opened = std::fs::File::open("/dev/zero");
    let zero = opened.map_err(|e| measure::CaseError::from_io("/dev/zero", &e))?;
    let (fd, mut byte) = (zero.as_raw_fd(), [0u8; 1]);
    round.expect_syscalls(1.0);
    // SAFETY: the descriptor is open; the pointer and count describe `byte`.
    round.time_call("read", || unsafe { libc::read(fd, byte.as_mut_ptr().cast(), 1) == 1 })
}

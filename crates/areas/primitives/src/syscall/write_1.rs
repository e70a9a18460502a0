use crate::{Case, Only, only};

/// The shortest write that transfers data.
pub const CASE: Case = Case {
    operation: "One write of 1 byte to /dev/null.",
    comparable_to: "lmbench's `lat_syscall write` makes the same call; will-it-scale's `write1` \
                writes 4 KiB to a file.",
    only: Only::Unix("Windows has WriteFile; see syscall/write-file-nul"),
    core_bound: true,
    run,
    ..Case::new("syscall", "write-1")
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::fd::AsRawFd;

    let opened = std::fs::File::options().write(true).open("/dev/null");
    let null = opened.map_err(|e| measure::CaseError::from_io("/dev/null", &e))?;
    let (fd, byte) = (null.as_raw_fd(), [0u8; 1]);
    round.expect_syscalls(1.0);
    // SAFETY: the descriptor is open; the pointer and count describe `byte`.
    round.time_call("write", || unsafe { libc::write(fd, byte.as_ptr().cast(), 1) == 1 })
}

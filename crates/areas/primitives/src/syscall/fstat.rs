use crate::{Case, Only, only};

/// Reading the metadata of an open file.
pub const CASE: Case = Case {
    operation: "One fstat of an open regular file, which is this program's own.",
    comparable_to: "lmbench's `lat_syscall fstat` and will-it-scale's `fstat1` make the same call.",
    only: Only::Unix("Windows has GetFileSizeEx; see syscall/query-file-size"),
    core_bound: true,
    run,
    ..Case::new("syscall", "fstat")
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::fd::AsRawFd;

    let file = super::own_program()?;
    // SAFETY: an all-zero stat is valid.
    let (fd, mut facts) = (file.as_raw_fd(), unsafe { std::mem::zeroed() });
    round.expect_syscalls(1.0);
    // SAFETY: the descriptor is open, and `facts` is a valid buffer for the result.
    round.time_call("fstat", || unsafe { libc::fstat(fd, &mut facts) == 0 })
}

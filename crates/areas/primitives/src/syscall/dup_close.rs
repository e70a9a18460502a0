use crate::{Case, Only, only};

/// Allocating and releasing a descriptor, without a path lookup.
pub const CASE: Case = Case {
    operation: "One dup of the descriptor of a regular file and one close of the copy.",
    comparable_to: "will-it-scale's `dup1` also counts the pair; libMicro's `dup` does not time \
                the close.",
    only: Only::Unix("Windows has DuplicateHandle; see syscall/duplicate-handle-close"),
    core_bound: true,
    run,
    ..Case::new("syscall", "dup-close")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use crate::scaled::alone_or_scaled;
    use std::os::fd::AsRawFd;

    let file = |_| super::unnamed_file::unless_alone(params);
    round.expect_syscalls(2.0);
    // SAFETY: the descriptor is open; a copy that was made is closed.
    alone_or_scaled(params, round, "dup", file, |file| unsafe {
        let copy = libc::dup(file.as_raw_fd());
        copy >= 0 && libc::close(copy) == 0
    })
}

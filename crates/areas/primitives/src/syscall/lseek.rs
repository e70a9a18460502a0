use crate::{Case, only};

/// The shortest call that looks up a descriptor.
pub const CASE: Case = Case {
    operation: "One lseek to the start of a regular file.",
    comparable_to: "will-it-scale's `lseek1` makes the same call.",
    core_bound: true,
    run,
    ..Case::new("syscall", "lseek").on_unix()
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use crate::scaled::alone_or_scaled;
    use std::os::fd::AsRawFd;

    let file = |_| super::unnamed_file::unless_alone(params);
    round.expect_syscalls(1.0);
    // SAFETY: the descriptor is open.
    alone_or_scaled(params, round, "lseek", file, |file| unsafe {
        libc::lseek(file.as_raw_fd(), 0, libc::SEEK_SET) == 0
    })
}

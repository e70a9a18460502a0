use crate::{Case, only};

/// Replacing a descriptor by a copy of another.
pub const CASE: Case = Case {
    operation: "One dup2 of a regular file's descriptor to a number that is in use: it closes what was there.",
    comparable_to: "libMicro's `dup` has no dup2; lmbench and will-it-scale neither. The difference to syscall/dup-close is \
                    one way into the kernel.",
    core_bound: true,
    run,
    ..Case::new("syscall", "dup2").on_unix()
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::fd::AsRawFd;

    let (file, other) = (super::own_program()?, super::own_program()?);
    let (fd, target) = (file.as_raw_fd(), other.as_raw_fd());
    round.expect_syscalls(1.0);
    // SAFETY: both descriptors are open and have no other owner.
    round.time_call("dup2", || unsafe { libc::dup2(fd, target) == target })
}

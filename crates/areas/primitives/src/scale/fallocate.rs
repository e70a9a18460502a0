use super::on_an_object;
use crate::{Case, only};

/// Allocating and freeing the blocks of a file.
pub const CASE: Case = Case {
    operation: "One fallocate of 1 MiB of a temporary file and one ftruncate to nothing.",
    comparable_to: "will-it-scale's fallocate1 has a file for each task, its fallocate2 one for all, with 128 MiB.",
    run,
    ..on_an_object("fallocate").on_linux()
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use super::scale;
    use std::os::fd::AsRawFd;

    use crate::syscall::unnamed_file;

    round.expect_syscalls(2.0);
    let make = |_| unnamed_file::open();
    // SAFETY: the descriptor is open.
    scale(params, round, "fallocate", make, |file| unsafe {
        let fd = file.as_raw_fd();
        libc::fallocate(fd, 0, 0, 1 << 20) == 0 && libc::ftruncate(fd, 0) == 0
    })
}

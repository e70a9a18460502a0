use super::on_an_object;
use crate::{Case, only};

/// Reading at the position of an open file, which has its own lock.
pub const CASE: Case = Case {
    operation: "One lseek to the beginning of a cached temporary file and one read of 4,096 bytes, or of fewer if \
                another worker has moved the position that both share.",
    comparable_to: "will-it-scale's readseek1 has a file for each task, its readseek2 one for all.",
    core_bound: true,
    run,
    ..on_an_object("read-seek").on_unix()
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use super::scale;
    use std::os::fd::AsRawFd;

    use crate::syscall::unnamed_file;

    round.expect_syscalls(2.0);
    let make = |_| unnamed_file::containing(&[1; 4096]);
    scale(params, round, "lseek and read", make, |file| {
        let (fd, mut page) = (file.as_raw_fd(), [0u8; 4096]);
        // SAFETY: the descriptor is open; the pointer and count describe `page`.
        unsafe {
            libc::lseek(fd, 0, libc::SEEK_SET) == 0
                && libc::read(fd, page.as_mut_ptr().cast(), 4096) >= 0
        }
    })
}

use super::on_an_object;
use crate::{Case, only};

/// Reading a page that is in the page cache.
pub const CASE: Case = Case {
    operation: "One pread of the first 4,096 bytes of a temporary file, which is cached.",
    comparable_to: "will-it-scale's pread1 has a file for each task, its pread2 one for all.",
    core_bound: true,
    run,
    ..on_an_object("pread-4k").on_unix()
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use super::scale;
    use std::os::fd::AsRawFd;

    use crate::syscall::unnamed_file;

    round.expect_syscalls(1.0);
    let make = |_| unnamed_file::containing(&[1; 4096]);
    scale(params, round, "pread", make, |file| {
        let mut page = [0u8; 4096];
        // SAFETY: the descriptor is open; the pointer and count describe `page`.
        let read = unsafe { libc::pread(file.as_raw_fd(), page.as_mut_ptr().cast(), 4096, 0) };
        read == 4096 && std::hint::black_box(&page)[4095] == 1
    })
}

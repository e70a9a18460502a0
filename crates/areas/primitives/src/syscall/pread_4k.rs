use crate::{Case, Only, only};

/// Reading 4 KiB from the page cache.
pub const CASE: Case = Case {
    operation: "One pread of the first 4,096 bytes of this program's own file, which is in the \
                page cache.",
    comparable_to: "will-it-scale's `pread1` reads as many bytes from a temporary file.",
    only: Only::Unix("Windows has ReadFile; see syscall/read-file-4k"),
    core_bound: true,
    run,
    ..Case::new("syscall", "pread-4k")
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::fd::AsRawFd;

    let file = super::own_program()?;
    let (fd, mut page) = (file.as_raw_fd(), [0u8; 4096]);
    round.expect_syscalls(1.0);
    // SAFETY: the descriptor is open; the pointer and count describe `page`.
    round.time_call("pread", || unsafe {
        libc::pread(fd, page.as_mut_ptr().cast(), 4096, 0) == 4096
    })
}

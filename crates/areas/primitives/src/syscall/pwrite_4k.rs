use crate::{Case, only};

/// Writing 4 KiB into the page cache.
pub const CASE: Case = Case {
    operation: "One pwrite that overwrites the same 4,096 bytes of an unnamed file in the \
                temporary directory; nothing is synced.",
    comparable_to: "will-it-scale's `pwrite1` makes the same call on a temporary file.",
    core_bound: true,
    run,
    ..Case::new("syscall", "pwrite-4k").on_unix()
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use crate::scaled::alone_or_scaled;
    use std::os::fd::AsRawFd;

    let file = |_| super::unnamed_file::open();
    let page = [7u8; 4096];
    round.expect_syscalls(1.0);
    // SAFETY: the descriptor is open; the pointer and count describe `page`.
    alone_or_scaled(params, round, "pwrite", file, |file| unsafe {
        libc::pwrite(file.as_raw_fd(), page.as_ptr().cast(), 4096, 0) == 4096
    })
}

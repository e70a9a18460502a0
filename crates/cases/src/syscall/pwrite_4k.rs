use platform::on_unix;

use crate::{Case, Only};

/// Writing 4 KiB into the page cache.
pub const CASE: Case = Case {
    area: "syscall",
    name: "pwrite-4k",
    operation: "One pwrite that overwrites the same 4,096 bytes of an unnamed file in the \
                temporary directory; nothing is synced.",
    comparable_to: "will-it-scale's `pwrite1` makes the same call on a temporary file.",
    only: Only::Unix("measured on Unix-like systems only"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_unix!(round, {
            use std::os::fd::AsRawFd;

            let file = super::unnamed_file::open()?;
            let (fd, page) = (file.as_raw_fd(), [7u8; 4096]);
            round.expect_syscalls(1.0);
            super::time(round, "pwrite", || {
                // SAFETY: the descriptor is open; the pointer and count describe `page`.
                unsafe { libc::pwrite(fd, page.as_ptr().cast(), 4096, 0) == 4096 }
            })
        })
    },
};

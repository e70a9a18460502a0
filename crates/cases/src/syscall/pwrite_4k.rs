use platform::on_unix;

use crate::{Case, Only};

/// A page into a file, as far as the cache.
pub const CASE: Case = Case {
    area: "syscall",
    name: "pwrite-4k",
    operation: "One pwrite of 4,096 bytes over the same 4,096 bytes of a file without a name in \
                the temporary directory; nothing is flushed to the disk.",
    comparable_to: "will-it-scale's `pwrite1` makes the same call.",
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

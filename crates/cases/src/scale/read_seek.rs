use platform::on_unix;

use super::{METRICS, ON_AN_OBJECT};
use crate::{Case, Only};

/// Reading at the position of an open file, which has a lock of its own.
pub const CASE: Case = Case {
    area: "scale",
    name: "read-seek",
    operation: "One lseek to the beginning of a cached temporary file and one read of 4,096 bytes, or of fewer if \
                another worker has moved the position that both share.",
    comparable_to: "will-it-scale's readseek1 has a file for each task, its readseek2 one for all.",
    only: Only::Unix("measured on Unix-like systems only"),
    core_bound: true,
    trials: None,
    params: ON_AN_OBJECT,
    metrics: METRICS,
    run: |params, round| {
        on_unix!(params, round, {
            use super::scale;
            use std::os::fd::AsRawFd;
            use std::os::unix::fs::FileExt;

            use measure::CaseError;

            use crate::syscall::unnamed_file;

            round.expect_syscalls(2.0);
            let make = |_| {
                let file = unnamed_file::open()?;
                let written = file.write_all_at(&[1; 4096], 0);
                written.map_err(|e| CaseError::from_io("a temporary file", &e)).map(|()| file)
            };
            scale(params, round, "lseek and read", make, |file| {
                let (fd, mut page) = (file.as_raw_fd(), [0u8; 4096]);
                // SAFETY: the descriptor is open; the pointer and count describe `page`.
                unsafe {
                    libc::lseek(fd, 0, libc::SEEK_SET) == 0
                        && libc::read(fd, page.as_mut_ptr().cast(), 4096) >= 0
                }
            })
        })
    },
};

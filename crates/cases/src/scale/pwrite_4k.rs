use platform::on_unix;

use super::{METRICS, ON_AN_OBJECT};
use crate::{Case, Only};

/// Writing a page, for which a file has a lock.
pub const CASE: Case = Case {
    area: "scale",
    name: "pwrite-4k",
    operation: "One pwrite of the first 4,096 bytes of a temporary file.",
    comparable_to: "will-it-scale's pwrite1 has a file for each task, its pwrite2 one for all.",
    only: Only::Unix("measured on Unix-like systems only"),
    core_bound: false,
    trials: None,
    params: ON_AN_OBJECT,
    metrics: METRICS,
    run: |params, round| {
        on_unix!(params, round, {
            use super::scale;
            use std::os::fd::AsRawFd;

            use crate::syscall::unnamed_file;

            round.expect_syscalls(1.0);
            let page = [1u8; 4096];
            scale(
                params,
                round,
                "pwrite",
                |_| unnamed_file::open(),
                // SAFETY: the descriptor is open; the pointer and count describe `page`.
                |file| unsafe { libc::pwrite(file.as_raw_fd(), page.as_ptr().cast(), 4096, 0) } == 4096,
            )
        })
    },
};

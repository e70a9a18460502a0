use platform::on_unix;

use super::{METRICS, ON_AN_OBJECT};
use crate::{Case, Only};

/// Descriptors: threads share a table of them, processes do not.
pub const CASE: Case = Case {
    area: "scale",
    name: "dup-close",
    operation: "One dup of the descriptor of a temporary file and one close of the copy.",
    comparable_to: "will-it-scale's dup1 does the same with a file for each task.",
    only: Only::Unix("measured on Unix-like systems only"),
    core_bound: true,
    trials: None,
    params: ON_AN_OBJECT,
    metrics: METRICS,
    run: |params, round| {
        on_unix!(params, round, {
            use super::scale;
            use std::os::fd::AsRawFd;

            use crate::syscall::unnamed_file;

            round.expect_syscalls(2.0);
            // SAFETY: the descriptor is open; a copy that was made is closed.
            scale(
                params,
                round,
                "dup",
                |_| unnamed_file::open(),
                |file| unsafe {
                    let copy = libc::dup(file.as_raw_fd());
                    copy >= 0 && libc::close(copy) == 0
                },
            )
        })
    },
};

use platform::on_unix;

use super::{METRICS, ON_AN_OBJECT};
use crate::{Case, Only};

/// The position of an open file, which has a lock of its own.
pub const CASE: Case = Case {
    area: "scale",
    name: "lseek",
    operation: "One lseek to the beginning of an open temporary file.",
    comparable_to: "will-it-scale's lseek1 has a file for each task, its lseek2 one for all.",
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

            round.expect_syscalls(1.0);
            scale(
                params,
                round,
                "lseek",
                |_| unnamed_file::open(),
                // SAFETY: the descriptor is open.
                |file| unsafe { libc::lseek(file.as_raw_fd(), 0, libc::SEEK_SET) } == 0,
            )
        })
    },
};

use platform::on_linux;

use super::{METRICS, ON_AN_OBJECT};
use crate::{Case, Only};

/// The blocks of a file.
pub const CASE: Case = Case {
    area: "scale",
    name: "fallocate",
    operation: "One fallocate of 1 MiB of a temporary file and one ftruncate to nothing.",
    comparable_to: "will-it-scale's fallocate1 has a file for each task, its fallocate2 one for all, with 128 MiB.",
    only: Only::Linux("measured on Linux only"),
    core_bound: false,
    trials: None,
    params: ON_AN_OBJECT,
    metrics: METRICS,
    run: |params, round| {
        on_linux!(params, round, {
            use super::scale;
            use std::os::fd::AsRawFd;

            use crate::syscall::unnamed_file;

            round.expect_syscalls(2.0);
            // SAFETY: the descriptor is open.
            scale(
                params,
                round,
                "fallocate",
                |_| unnamed_file::open(),
                |file| unsafe {
                    let fd = file.as_raw_fd();
                    libc::fallocate(fd, 0, 0, 1 << 20) == 0 && libc::ftruncate(fd, 0) == 0
                },
            )
        })
    },
};

use platform::on_unix;

use crate::{Case, Only};

/// A descriptor more and one less, without a path.
pub const CASE: Case = Case {
    area: "syscall",
    name: "dup-close",
    operation: "One dup of a regular file's descriptor and one close of the copy.",
    comparable_to: "will-it-scale's `dup1` counts the pair too; libMicro's `dup` leaves the close off the \
            clock.",
    only: Only::Unix("Windows has DuplicateHandle: see syscall/duplicate-handle-close"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_unix!(round, {
            use std::os::fd::AsRawFd;

            let file = super::own_program()?;
            let fd = file.as_raw_fd();
            round.expect_syscalls(2.0);
            super::time(round, "dup", || {
                // SAFETY: the descriptor is open; a copy that was made is closed.
                unsafe {
                    let copy = libc::dup(fd);
                    copy >= 0 && libc::close(copy) == 0
                }
            })
        })
    },
};

use platform::on_unix;

use crate::{Case, Only};

/// Allocating and releasing a descriptor, without a path lookup.
pub const CASE: Case = Case {
    area: "syscall",
    name: "dup-close",
    operation: "One dup of the descriptor of a regular file and one close of the copy.",
    comparable_to: "will-it-scale's `dup1` also counts the pair; libMicro's `dup` does not time \
                the close.",
    only: Only::Unix("Windows has DuplicateHandle; see syscall/duplicate-handle-close"),
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

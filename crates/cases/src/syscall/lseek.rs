use platform::on_unix;

use crate::{Case, Only};

/// The shortest call that looks up a descriptor.
pub const CASE: Case = Case {
    area: "syscall",
    name: "lseek",
    operation: "One lseek to the start of a regular file.",
    comparable_to: "will-it-scale's `lseek1` makes the same call.",
    only: Only::Unix("measured on Unix-like systems only"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_unix!(round, {
            use std::os::fd::AsRawFd;

            let file = super::own_program()?;
            let fd = file.as_raw_fd();
            round.expect_syscalls(1.0);
            super::time(round, "lseek", || {
                // SAFETY: the descriptor is open.
                unsafe { libc::lseek(fd, 0, libc::SEEK_SET) == 0 }
            })
        })
    },
};

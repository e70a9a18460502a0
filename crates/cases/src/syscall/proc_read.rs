use platform::on_linux;

use crate::{Case, Only};

/// A file that the kernel writes when it is read.
pub const CASE: Case = Case {
    area: "syscall",
    name: "proc-read",
    operation: "One open of /proc/self/stat, one read of all of it, and one close.",
    comparable_to: "What `ps` and `top` do for each process; the measured peers have no such case.",
    only: Only::Linux("measured on Linux only"),
    core_bound: false,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_linux!(round, {
            round.expect_syscalls(3.0);
            super::read_whole::time(round, c"/proc/self/stat")
        })
    },
};

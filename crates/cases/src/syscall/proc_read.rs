use crate::{Case, on_linux};

/// Reading a file of /proc, which the kernel generates when it is read.
pub const CASE: Case = Case {
    operation: "One open of /proc/self/stat, one read of all of it, and one close.",
    comparable_to: "What `ps` and `top` do for each process; the measured peers have no such case.",
    run: on_linux!(|_, round| {
        round.expect_syscalls(3.0);
        super::read_whole::time(round, c"/proc/self/stat")
    }),
    ..Case::new("syscall", "proc-read").on_linux()
};

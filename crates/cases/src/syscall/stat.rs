use platform::on_unix;

use crate::{Case, Only};

/// The way along a path, and what is known about its end.
pub const CASE: Case = Case {
    area: "syscall",
    name: "stat",
    operation: "One stat of this program's own file by its absolute path; the longer the path, \
                the dearer.",
    comparable_to: "lmbench's `lat_syscall stat` and will-it-scale's `stat1` make the same call, each of \
            another path.",
    only: Only::Unix("Windows has to open the file: see syscall/create-file-close"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_unix!(round, {
            let path = super::path_of_own_program()?;
            // SAFETY: an all-zero stat is valid.
            let mut facts = unsafe { std::mem::zeroed() };
            round.expect_syscalls(1.0);
            super::time(round, "stat", || {
                // SAFETY: the path ends with NUL, and `facts` is a valid place for the answer.
                unsafe { libc::stat(path.as_ptr(), &mut facts) == 0 }
            })
        })
    },
};

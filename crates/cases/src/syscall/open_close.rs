use platform::on_unix;

use crate::{Case, Only};

/// Path lookup, allocation of a descriptor, and its release.
pub const CASE: Case = Case {
    area: "syscall",
    name: "open-close",
    operation: "One open of this program's own file for reading by its absolute path, and one \
                close of the descriptor.",
    comparable_to: "lmbench's `lat_syscall open` also counts the pair; will-it-scale's `open1` \
                opens a temporary file for writing.",
    only: Only::Unix("Windows has CreateFile; see syscall/create-file-close"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_unix!(round, {
            let path = super::path_of_own_program()?;
            round.expect_syscalls(2.0);
            super::time(round, "open", || {
                // SAFETY: the path ends with NUL; a descriptor that was opened is closed.
                unsafe {
                    let fd = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
                    fd >= 0 && libc::close(fd) == 0
                }
            })
        })
    },
};

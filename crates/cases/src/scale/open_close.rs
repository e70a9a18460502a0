use platform::on_unix;

use super::{METRICS, ON_AN_OBJECT};
use crate::{Case, Only};

/// The way along a path, whose directories and file all may use at once.
pub const CASE: Case = Case {
    area: "scale",
    name: "open-close",
    operation: "One open of a temporary file for reading, by its absolute path, and one close.",
    comparable_to: "will-it-scale's open1 opens a file of each task for writing; lmbench's `lat_syscall open` has one \
                    task.",
    only: Only::Unix("measured on Unix-like systems only"),
    core_bound: true,
    trials: None,
    params: ON_AN_OBJECT,
    metrics: METRICS,
    run: |params, round| {
        on_unix!(params, round, {
            use super::scale;
            use crate::syscall::named_files::{NamedFiles, c_path};

            let files = NamedFiles::new()?;
            round.expect_syscalls(2.0);
            let make = |number| files.create(number, b"x").and_then(|path| c_path(&path));
            // SAFETY: the path ends with NUL; a descriptor that was opened is closed.
            scale(params, round, "open", make, |path| unsafe {
                let fd = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
                fd >= 0 && libc::close(fd) == 0
            })
        })
    },
};

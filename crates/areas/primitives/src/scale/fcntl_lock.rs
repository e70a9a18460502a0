use super::on_an_object;
use crate::{Case, only};

/// Locking and unlocking bytes of a file, which has a list of locks.
pub const CASE: Case = Case {
    operation: "One fcntl that locks a byte of a temporary file and one that unlocks it; the byte is the worker's own, so \
                that none waits.",
    comparable_to: "will-it-scale's lock1 does the same with a file for each task, its lock2 with one file.",
    core_bound: true,
    run,
    ..on_an_object("fcntl-lock").on_unix()
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use super::scale_by_number;
    use std::os::fd::AsRawFd;

    use crate::syscall::unnamed_file;

    round.expect_syscalls(2.0);
    let make = |_| unnamed_file::open();
    scale_by_number(params, round, "fcntl", make, |file, worker| {
        // SAFETY: an all-zero structure is valid.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        // The bytes of two workers are not adjacent: the kernel would merge adjacent locks of one process.
        (lock.l_start, lock.l_len) = (2 * worker as libc::off_t, 1);
        let mut set = |kind: libc::c_int| {
            lock.l_type = kind as libc::c_short;
            // SAFETY: the descriptor is open and the structure valid.
            unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &lock) == 0 }
        };
        set(libc::F_WRLCK as libc::c_int) && set(libc::F_UNLCK as libc::c_int)
    })
}

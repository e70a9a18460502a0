use platform::on_linux;

use crate::{Case, Only};

/// The two calls by which a thread wakes an event loop, without blocking and waking.
pub const CASE: Case = Case {
    area: "syscall",
    name: "eventfd",
    operation: "One write of 8 bytes to an eventfd and one read of these 8 bytes by the same \
                thread, which never blocks.",
    comparable_to: "will-it-scale's `eventfd1` also counts the pair.",
    only: Only::Linux("measured on Linux only; Windows has SetEvent; see syscall/set-event"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_linux!(round, {
            use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

            // SAFETY: takes two numbers.
            let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
            if fd < 0 {
                return Err(measure::CaseError::last_os_error("eventfd"));
            }
            // SAFETY: the descriptor was just opened and is ours alone.
            let event = unsafe { OwnedFd::from_raw_fd(fd) };
            let (fd, one, mut sum) = (event.as_raw_fd(), 1u64, 0u64);
            round.expect_syscalls(2.0);
            super::time(round, "eventfd", || {
                // SAFETY: the descriptor is open; both pointers are to 8 bytes.
                unsafe {
                    libc::write(fd, (&raw const one).cast(), 8) == 8
                        && libc::read(fd, (&raw mut sum).cast(), 8) == 8
                }
            })
        })
    },
};

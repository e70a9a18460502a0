use platform::on_linux;

use super::{METRICS, ON_AN_OBJECT};
use crate::{Case, Only};

/// A counter in the kernel.
pub const CASE: Case = Case {
    area: "scale",
    name: "eventfd",
    operation: "One write of 8 bytes to an eventfd that works as a semaphore, and one read of 8 bytes: never waits, \
                because each worker adds before it takes.",
    comparable_to: "will-it-scale's eventfd1 does the same with an eventfd for each task.",
    only: Only::Linux("measured on Linux only"),
    core_bound: true,
    trials: None,
    params: ON_AN_OBJECT,
    metrics: METRICS,
    run: |params, round| {
        on_linux!(params, round, {
            use super::scale;
            use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

            use measure::CaseError;

            round.expect_syscalls(2.0);
            let make = |_| {
                // SAFETY: takes two numbers.
                let fd = unsafe {
                    libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK | libc::EFD_SEMAPHORE)
                };
                // SAFETY: the descriptor was just opened and is ours alone.
                let opened = (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) });
                opened.ok_or_else(|| CaseError::last_os_error("eventfd"))
            };
            scale(params, round, "eventfd", make, |event| {
                let (fd, one, mut taken) = (event.as_raw_fd(), 1u64, 0u64);
                // SAFETY: the descriptor is open; both pointers are to 8 bytes.
                unsafe {
                    libc::write(fd, (&raw const one).cast(), 8) == 8
                        && libc::read(fd, (&raw mut taken).cast(), 8) == 8
                        && taken == 1
                }
            })
        })
    },
};

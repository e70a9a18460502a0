use measure::{CaseError, Params, Round};
use platform::on_linux;

use super::wake;
use crate::{Case, Only};

/// What wakes a thread that waits for descriptors.
pub const CASE: Case = Case {
    area: "thread",
    name: "wake-eventfd",
    operation: "From just before a write of 8 bytes to an eventfd until the thread that slept in a \
                read of it reads the clock, the median of a trial's wake-ups; the waking thread \
                then waits.",
    comparable_to: "syscall/eventfd is the pair of calls without sleeping; `perf bench sched pipe` \
            uses a pipe and measures round trips.",
    only: Only::Linux("measured on Linux only; see thread/wake-event for Windows"),
    core_bound: false,
    trials: Some(wake::TRIALS),
    params: wake::PARAMS,
    metrics: wake::METRICS,
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    on_linux!(params, round, {
        use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

        struct EventFd(OwnedFd);

        impl wake::Sleep for EventFd {
            fn sleep(&self) {
                let mut sum = 0u64;
                // SAFETY: the descriptor is open, the pointer is to 8 bytes.
                let bytes = unsafe { libc::read(self.0.as_raw_fd(), (&raw mut sum).cast(), 8) };
                assert_eq!((bytes, sum), (8, 1), "read of an eventfd");
            }

            #[inline(always)]
            fn wake(&self) {
                let one = 1u64;
                // SAFETY: as above.
                let bytes = unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), 8) };
                assert_eq!(bytes, 8, "write to an eventfd");
            }
        }

        // SAFETY: takes two numbers.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(CaseError::last_os_error("eventfd"));
        }
        // SAFETY: the descriptor was just opened and is this value's alone.
        let way = EventFd(unsafe { OwnedFd::from_raw_fd(fd) });
        wake::measure(params, round, &way)
    })
}

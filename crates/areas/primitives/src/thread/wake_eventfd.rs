use super::wake;
use crate::{Case, Only, only};

/// Waking a thread that waits for a descriptor, with an eventfd.
pub const CASE: Case = Case {
    operation: "From just before a write of 8 bytes to an eventfd until the thread that slept in a \
                read of it reads the clock, the median of a trial's wake-ups; the waking thread \
                then waits.",
    comparable_to: "syscall/eventfd is the pair of calls without sleeping; `perf bench sched pipe` \
            uses a pipe and measures round trips.",
    only: Only::Linux("measured on Linux only; see thread/wake-event for Windows"),
    run,
    ..wake::wake_up("wake-eventfd")
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::fd::AsRawFd;

    let event = platform::owned::eventfd(0, 0)?;
    let sleep = || {
        let mut sum = 0u64;
        // SAFETY: the descriptor is open, the pointer is to 8 bytes.
        let bytes = unsafe { libc::read(event.as_raw_fd(), (&raw mut sum).cast(), 8) };
        assert_eq!((bytes, sum), (8, 1), "read of an eventfd");
    };
    let wake = || {
        let one = 1u64;
        // SAFETY: the descriptor is open, the pointer is to 8 bytes.
        let bytes = unsafe { libc::write(event.as_raw_fd(), (&raw const one).cast(), 8) };
        assert_eq!(bytes, 8, "write to an eventfd");
    };
    wake::measure(params, round, sleep, wake)
}

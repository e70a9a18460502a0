use super::sleep;
use crate::{Case, Only, only};

/// Sleeping with a timerfd, which an event loop can wait for.
pub const CASE: Case = Case {
    operation: "One timerfd_settime that arms a timer once, and one read that waits until it expires. Such timers \
                have no slack.",
    comparable_to: "stress-ng's `timerfd` counts expiries of periodic timers.",
    only: Only::Linux("measured on Linux only; macOS and Windows have no timerfd"),
    run,
    ..sleep("timerfd")
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::fd::AsRawFd;

    use measure::CaseError;

    // SAFETY: no memory is passed; the descriptor is new.
    let timer = unsafe {
        platform::owned::descriptor(
            libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC),
            "timerfd_create",
        )
    }?;
    let fd = timer.as_raw_fd();
    let sleeper = super::Sleeper { name: "timerfd", syscalls: 2.0, may_end_early: false };
    super::measure(params, round, sleeper, |length, _| {
        let once = libc::itimerspec {
            it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: libc::timespec {
                tv_sec: length.as_secs() as libc::time_t,
                tv_nsec: length.subsec_nanos().into(),
            },
        };
        let mut expiries = 0u64;
        // SAFETY: the times are valid; the old ones are not requested; reading a timer returns 8 bytes.
        let bytes = unsafe {
            if libc::timerfd_settime(fd, 0, &once, std::ptr::null_mut()) != 0 {
                return Err(CaseError::last_os_error("timerfd_settime"));
            }
            libc::read(fd, (&raw mut expiries).cast(), size_of::<u64>())
        };
        match (bytes, expiries) {
            (8, 1) => Ok(()),
            (8, more) => Err(CaseError::Failed(format!("a timer expired {more} times"))),
            _ => Err(CaseError::last_os_error("reading a timerfd")),
        }
    })
}

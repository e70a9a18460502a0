use crate::{Case, Only, only};

/// Arming a timerfd, as an event loop does when its next timeout changes.
pub const CASE: Case = Case {
    operation: "One timerfd_settime that arms a timer again, to expire in an hour, and returns what was left of the \
                hour before.",
    comparable_to: "stress-ng's `timerfd` counts expiries.",
    only: Only::Linux("measured on Linux only; macOS and Windows have no timerfd"),
    core_bound: true,
    run,
    ..Case::new("timer", "arm-timerfd")
};

#[only(linux)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::fd::AsRawFd;

    use measure::CaseError;

    // SAFETY: no memory is passed; the descriptor is new.
    let timer = unsafe {
        platform::owned::descriptor(
            libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC),
            "timerfd_create",
        )
    }?;
    // SAFETY: all-zero times are valid.
    let mut time: libc::itimerspec = unsafe { std::mem::zeroed() };
    time.it_value.tv_sec = super::common::AN_HOUR_S;
    let mut left = time;
    let arm = |left: &mut libc::itimerspec| {
        // SAFETY: the descriptor is an open timer, and both pointers are valid.
        unsafe { libc::timerfd_settime(timer.as_raw_fd(), 0, &time, left) == 0 }
    };
    if !arm(&mut left) {
        return Err(CaseError::last_os_error("timerfd_settime"));
    }
    round.expect_syscalls(1.0);
    round.time_call("timerfd_settime", || arm(&mut left) && left.it_value.tv_sec > 0)
}

use crate::{Case, Only, only};

/// Creating and deleting a timer for each timeout.
pub const CASE: Case = Case {
    operation: "One timer_create (CLOCK_MONOTONIC, without notification), one timer_settime that arms it to expire in \
                an hour, and one timer_delete.",
    comparable_to: "stress-ng's `timer` counts the signals of one periodic timer.",
    only: Only::Linux("measured on Linux only; macOS has no POSIX timers"),
    core_bound: true,
    run,
    ..Case::new("timer", "create-timer")
};

#[only(linux)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    // SAFETY: all-zero values of both types are valid.
    let (mut notification, mut time): (libc::sigevent, libc::itimerspec) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    notification.sigev_notify = libc::SIGEV_NONE;
    time.it_value.tv_sec = super::common::AN_HOUR_S;
    round.expect_syscalls(3.0);
    // SAFETY: all pointers are valid, the old time is not requested, and the timer is deleted once.
    round.time_call("timer_create", || unsafe {
        let mut timer: libc::timer_t = std::mem::zeroed();
        libc::timer_create(libc::CLOCK_MONOTONIC, &mut notification, &mut timer) == 0
            && libc::timer_settime(timer, 0, &time, std::ptr::null_mut()) == 0
            && libc::timer_delete(timer) == 0
    })
}

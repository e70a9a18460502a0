use crate::{Case, Only, only};

/// Arming and disarming the interval timer of a process.
pub const CASE: Case = Case {
    operation: "One setitimer that arms ITIMER_REAL again, to expire in an hour, and returns what was left of the hour \
                before.",
    comparable_to: "alarm(2) arms the same timer, in whole seconds.",
    only: Only::Unix("Windows has no such timer; timer/arm-waitable-timer is like it"),
    core_bound: true,
    run,
    ..Case::new("timer", "arm-itimer")
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use measure::CaseError;

    fn set(time: &libc::itimerval, left: &mut libc::itimerval) -> bool {
        // SAFETY: both pointers are valid.
        unsafe { libc::setitimer(libc::ITIMER_REAL, time, left) == 0 }
    }

    // SAFETY: all-zero times are valid, and disarm the timer.
    let disarmed: libc::itimerval = unsafe { std::mem::zeroed() };
    let (mut time, mut left) = (disarmed, disarmed);
    time.it_value.tv_sec = super::common::AN_HOUR_S;
    if !set(&time, &mut left) {
        return Err(CaseError::last_os_error("setitimer"));
    }
    round.expect_syscalls(1.0);
    let result = round.time_call("setitimer", || set(&time, &mut left) && left.it_value.tv_sec > 0);
    set(&disarmed, &mut left);
    result
}

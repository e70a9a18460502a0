use super::{ALL_LENGTHS, sleep};
use crate::{Case, Only, only};

/// Sleeping with nanosleep.
pub const CASE: Case = Case {
    operation: "One nanosleep; it may end later by the thread's timer slack.",
    comparable_to: "lmbench's `lat_usleep` reports the mean time of usleep, nanosleep and others; timer/clock-nanosleep \
                    is what cyclictest measures.",
    only: Only::Unix("Windows has no such call; timer/sleep is like it"),
    trials: Some(ALL_LENGTHS),
    run,
    ..sleep("nanosleep")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use measure::CaseError;

    let sleeper = super::Sleeper { name: "nanosleep", syscalls: 1.0, may_end_early: false };
    super::measure(params, round, sleeper, |length, _| {
        let time = libc::timespec {
            tv_sec: length.as_secs() as libc::time_t,
            tv_nsec: length.subsec_nanos().into(),
        };
        // SAFETY: the time is valid; the remaining time is not requested.
        match unsafe { libc::nanosleep(&time, std::ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(CaseError::last_os_error("nanosleep")),
        }
    })
}

use super::sleep;
use crate::{Case, Only, only};

/// Sleeping until an absolute time, as a periodic task does to avoid drift.
pub const CASE: Case = Case {
    operation: "One clock_nanosleep until an absolute time of CLOCK_MONOTONIC (TIMER_ABSTIME), computed from a \
                reading just before; it may end later by the thread's timer slack.",
    comparable_to: "cyclictest measures the same, usually with a real-time priority, for which there is no slack.",
    only: Only::Linux("measured on Linux only; macOS has no clock_nanosleep"),
    run,
    ..sleep("clock-nanosleep")
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use measure::CaseError;

    const NS_PER_S: u64 = 1_000_000_000;
    let sleeper = super::Sleeper { name: "clock_nanosleep", syscalls: 1.0, may_end_early: false };
    super::measure(params, round, sleeper, |length, began_ns| {
        let end_ns = began_ns + length.as_nanos() as u64;
        let end = libc::timespec {
            tv_sec: (end_ns / NS_PER_S) as libc::time_t,
            tv_nsec: (end_ns % NS_PER_S) as libc::c_long,
        };
        let (clock, absolute) = (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME);
        // SAFETY: the time is valid; an absolute sleep reports no remaining time.
        match unsafe { libc::clock_nanosleep(clock, absolute, &end, std::ptr::null_mut()) } {
            0 => Ok(()),
            error => {
                let error = std::io::Error::from_raw_os_error(error);
                Err(CaseError::from_io("clock_nanosleep", &error))
            }
        }
    })
}

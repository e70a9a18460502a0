use super::sleep;
use crate::{Case, Only, only};

/// Timeout of poll or ppoll, as an event loop uses it.
pub const CASE: Case = Case {
    operation: "One poll without descriptors that times out; ppoll (Linux only) where the length is not a whole \
                number of ms. It may end later by the thread's timer slack.",
    comparable_to: "lmbench's `lat_usleep -u select` waits in select, whose time is handled in the same way on Linux.",
    only: Only::Unix("WSAPoll needs a socket; timer/sleep is like it"),
    run,
    ..sleep("poll")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use measure::CaseError;

    let length = crate::length_of(params, "length")?;
    let ms = super::in_ms(length, "poll").ok().and_then(|ms| libc::c_int::try_from(ms).ok());
    let timed_out = |events: libc::c_int| match events {
        0 => Ok(()),
        _ => Err(CaseError::last_os_error("poll")),
    };
    let sleeper = super::Sleeper { name: "poll", syscalls: 1.0, may_end_early: false };
    super::measure(params, round, sleeper, |length, _| match ms {
        // SAFETY: there are no descriptors.
        Some(ms) => timed_out(unsafe { libc::poll(std::ptr::null_mut(), 0, ms) }),
        None => timed_out(ppoll(length)?),
    })
}

#[only(linux)]
#[inline(always)]
fn ppoll(length: std::time::Duration) -> Result<std::ffi::c_int, measure::CaseError> {
    let time = libc::timespec {
        tv_sec: length.as_secs() as libc::time_t,
        tv_nsec: length.subsec_nanos().into(),
    };
    let (none, no_mask) = (std::ptr::null_mut(), std::ptr::null());
    // SAFETY: there are no descriptors and no mask; the time is valid.
    Ok(unsafe { libc::ppoll(none, 0, &time, no_mask) })
}

use super::sleep;
use crate::{Case, Only, only};

/// Timeout of epoll_pwait2, as an event loop with many connections uses it.
pub const CASE: Case = Case {
    operation: "One epoll_wait on an epoll without descriptors that times out; epoll_pwait2 (Linux 5.11) where the \
                length is not a whole number of ms. It may end later by the thread's timer slack.",
    comparable_to: "No other tool measures it; timer/poll is the same with poll.",
    only: Only::Linux("epoll exists only on Linux"),
    run,
    ..sleep("epoll")
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::fd::AsRawFd;

    use measure::CaseError;

    let epoll = platform::owned::epoll()?;
    let fd = epoll.as_raw_fd();
    let length = crate::length_of(params, "length")?;
    let ms = super::in_ms(length, "epoll").ok().and_then(|ms| libc::c_int::try_from(ms).ok());
    let sleeper = super::Sleeper { name: "epoll_wait", syscalls: 1.0, may_end_early: false };
    super::measure(params, round, sleeper, |length, _| {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        let time = libc::timespec {
            tv_sec: length.as_secs() as libc::time_t,
            tv_nsec: length.subsec_nanos().into(),
        };
        let (no_mask, no_size) = (std::ptr::null::<libc::sigset_t>(), 0usize);
        // SAFETY: the buffer has room for one event; the time is valid, and there is no mask. The call is made by number
        // because not every C library has epoll_pwait2.
        let events = unsafe {
            match ms {
                Some(ms) => libc::epoll_wait(fd, &mut event, 1, ms).into(),
                None => libc::syscall(
                    libc::SYS_epoll_pwait2,
                    fd,
                    &raw mut event,
                    1,
                    &raw const time,
                    no_mask,
                    no_size,
                ),
            }
        };
        match events {
            0 => Ok(()),
            _ => Err(CaseError::last_os_error("epoll_wait")),
        }
    })
}

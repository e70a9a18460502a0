use super::sleep;
use crate::{Case, Only, only};

/// Sleeping until the signal of an interval timer.
pub const CASE: Case = Case {
    operation: "One setitimer that arms ITIMER_REAL once, in whole microseconds, and one sigsuspend, which waits until \
                SIGALRM has been handled. On Linux this timer has no slack.",
    comparable_to: "lmbench's `lat_usleep -u itimer` is like it. stress-ng's `itimer` counts signals of ITIMER_PROF.",
    only: Only::Unix("Windows has no such timer"),
    run,
    ..sleep("setitimer")
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use measure::CaseError;
    use platform::process::signal::{Blocked, Installed, count, handled};

    let _installed = Installed::handler(libc::SIGALRM, count)
        .map_err(|e| CaseError::from_io("sigaction", &e))?;
    // The signal is blocked before any busy thread starts, which could receive it otherwise.
    let blocked = Blocked::new(&[libc::SIGALRM]);
    // The calls are setitimer, sigsuspend, and the return from the handler.
    let sleeper = super::Sleeper { name: "setitimer", syscalls: 3.0, may_end_early: false };
    super::measure(params, round, sleeper, |length, _| {
        let us = length.as_nanos().div_ceil(1_000);
        let once = libc::itimerval {
            it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 },
            it_value: libc::timeval {
                tv_sec: (us / 1_000_000) as libc::time_t,
                tv_usec: (us % 1_000_000) as libc::suseconds_t,
            },
        };
        let before = handled(libc::SIGALRM);
        let (timer, old) = (libc::ITIMER_REAL, std::ptr::null_mut());
        // SAFETY: the times are valid; the old ones are not requested.
        if unsafe { libc::setitimer(timer, &once, old) } != 0 {
            return Err(CaseError::last_os_error("setitimer"));
        }
        blocked.wait();
        match handled(libc::SIGALRM) - before {
            1 => Ok(()),
            n => Err(CaseError::Failed(format!("SIGALRM was handled {n} times"))),
        }
    })
}

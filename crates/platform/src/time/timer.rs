//! Precision of the system's sleeps.

/// Maximum delay of the end of the calling thread's sleeps, by which the system coalesces timers: on Linux the thread's
/// timer slack (PR_GET_TIMERSLACK), which not all timers have; on Windows the current resolution of the system's timer.
/// `None` where it is unknown.
pub use os::slack;

/// Requests the minimum timer slack for the calling thread, where threads have one each (Linux).
pub use os::request_least_slack;

/// Sleeps until the system's monotonic clock, the first of [`crate::time::clock::os_clocks`], reads `clock_ns`. Returns at once
/// if that time has passed.
pub use os::sleep_until;

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::time::Duration;

    /// Sleeps for the remaining time, again until the clock reads `clock_ns`.
    pub fn sleep_until(clock_ns: u64) {
        loop {
            let now_ns = (crate::time::clock::os_clocks()[0].read)();
            if now_ns >= clock_ns {
                return;
            }
            std::thread::sleep(Duration::from_nanos(clock_ns - now_ns));
        }
    }
}

#[cfg(target_os = "linux")]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::time::Duration;

    pub fn slack() -> Option<Duration> {
        // SAFETY: the request takes no further arguments and returns the slack in ns.
        let ns = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
        u64::try_from(ns).ok().map(Duration::from_nanos)
    }

    pub fn request_least_slack() {
        let ns: libc::c_ulong = 1;
        // SAFETY: the request takes one number. It cannot fail; elsewhere than on Linux's own kernels it may be ignored.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns) };
    }

    pub fn sleep_until(clock_ns: u64) {
        const NS_PER_S: u64 = 1_000_000_000;
        let end = libc::timespec {
            tv_sec: (clock_ns / NS_PER_S) as libc::time_t,
            tv_nsec: (clock_ns % NS_PER_S) as libc::c_long,
        };
        let (clock, absolute) = (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME);
        // SAFETY: the time is valid; nothing remains of an absolute time. A signal may interrupt it.
        while unsafe { libc::clock_nanosleep(clock, absolute, &end, std::ptr::null_mut()) }
            == libc::EINTR
        {}
    }
}

#[cfg(windows)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::time::Duration;

    pub fn slack() -> Option<Duration> {
        let (mut coarsest, mut finest, mut present) = (0, 0, 0);
        // SAFETY: all three places are valid.
        let status = unsafe { NtQueryTimerResolution(&mut coarsest, &mut finest, &mut present) };
        (status == 0).then(|| Duration::from_nanos(u64::from(present) * 100))
    }

    /// Does nothing: the timer's resolution is the system's, not a thread's.
    pub fn request_least_slack() {}

    pub use super::elsewhere::sleep_until;

    #[link(name = "ntdll")]
    unsafe extern "system" {
        /// Returns the resolutions of the system's timer, in units of 100 ns.
        fn NtQueryTimerResolution(coarsest: *mut u32, finest: *mut u32, present: *mut u32) -> i32;
    }
}

#[cfg(not(any(target_os = "linux", windows)))]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::time::Duration;

    pub fn slack() -> Option<Duration> {
        None
    }

    /// Does nothing: no call for it is known on this system.
    pub fn request_least_slack() {}

    pub use super::elsewhere::sleep_until;
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_sleep_ends_before_its_time() {
        let clock = crate::time::clock::os_clocks()[0];
        for later_ns in [0, 50_000, 3_000_000] {
            let end_ns = (clock.read)() + later_ns;
            super::sleep_until(end_ns);
            assert!((clock.read)() >= end_ns, "{later_ns}");
        }
        super::sleep_until(0);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_slack_is_that_of_the_thread() {
        let set = |ns: libc::c_ulong| {
            // SAFETY: the request takes one number.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns) };
            super::slack().map(|slack| slack.as_nanos())
        };
        assert_eq!(set(12_345), Some(12_345));
        assert_eq!(set(50_000), Some(50_000));
        super::request_least_slack();
        assert_eq!(super::slack().map(|slack| slack.as_nanos()), Some(1));
        assert_eq!(set(50_000), Some(50_000));
    }
}

//! How exactly the system times sleeps.

use std::time::Duration;

/// By how much the system may delay the end of the calling thread's sleeps, to serve several timers at once: on Linux the
/// thread's timer slack (PR_GET_TIMERSLACK), which not all timers have; on Windows the present resolution of the system's
/// timer. `None` where it is unknown.
pub fn slack() -> Option<Duration> {
    os::slack()
}

#[cfg(target_os = "linux")]
mod os {
    use std::time::Duration;

    pub fn slack() -> Option<Duration> {
        // SAFETY: the request takes no further arguments and returns the slack in ns.
        let ns = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
        u64::try_from(ns).ok().map(Duration::from_nanos)
    }
}

#[cfg(windows)]
mod os {
    use std::time::Duration;

    pub fn slack() -> Option<Duration> {
        let (mut coarsest, mut finest, mut present) = (0, 0, 0);
        // SAFETY: all three places are valid.
        let status = unsafe { NtQueryTimerResolution(&mut coarsest, &mut finest, &mut present) };
        (status == 0).then(|| Duration::from_nanos(u64::from(present) * 100))
    }

    #[link(name = "ntdll")]
    unsafe extern "system" {
        /// The resolutions of the system's timer, in units of 100 ns.
        fn NtQueryTimerResolution(coarsest: *mut u32, finest: *mut u32, present: *mut u32) -> i32;
    }
}

#[cfg(not(any(target_os = "linux", windows)))]
mod os {
    use std::time::Duration;

    pub fn slack() -> Option<Duration> {
        None
    }
}

#[cfg(test)]
mod tests {
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
    }
}

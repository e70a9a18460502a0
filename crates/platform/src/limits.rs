//! What a process may have of a thing, and getting as much of it as is allowed.

/// Descriptors that this process may have open; `None` where the system sets no such limit.
pub fn descriptors() -> Option<u64> {
    os::descriptors().map(|(now, _)| now)
}

/// Lets this process open as many descriptors as it may without asking anybody: raises the soft limit
/// to the hard one. What the limit is now; `None` where there is no such limit (Windows) or it cannot be
/// found out.
pub fn raise_descriptors() -> Option<u64> {
    os::raise_descriptors()
}

#[cfg(unix)]
mod os {
    pub fn raise_descriptors() -> Option<u64> {
        let before = get()?;
        let mut wanted = before.rlim_max;
        // macOS says "unlimited" and takes no more than this.
        if cfg!(target_os = "macos") {
            wanted = wanted.min(10_240);
        }
        if before.rlim_cur < wanted {
            let limit = libc::rlimit { rlim_cur: wanted, ..before };
            // SAFETY: `limit` is a valid place. If it is not granted, the limit stays as it was.
            unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
        }
        #[allow(clippy::unnecessary_cast, reason = "FreeBSD's are signed")]
        let now = get()?.rlim_cur as u64;
        Some(now)
    }

    /// The limit in force, and how far it may be raised.
    #[allow(clippy::unnecessary_cast, reason = "FreeBSD's are signed")]
    pub fn descriptors() -> Option<(u64, u64)> {
        get().map(|limit| (limit.rlim_cur as u64, limit.rlim_max as u64))
    }

    fn get() -> Option<libc::rlimit> {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is a valid place for the call to fill.
        let done = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
        (done == 0).then_some(limit)
    }
}

#[cfg(windows)]
mod os {
    pub fn descriptors() -> Option<(u64, u64)> {
        None
    }

    pub fn raise_descriptors() -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_raised_limit_stays() {
        let limit = super::raise_descriptors();
        assert_eq!(limit.is_some(), cfg!(unix));
        assert!(limit.is_none_or(|limit| limit >= 64));
        assert_eq!(super::raise_descriptors(), limit);
    }
}

//! How much of what this process may have.

/// Descriptors that this process may have open; `None` where the system sets no such limit.
pub fn descriptors() -> Option<u64> {
    os::descriptors().map(|(now, _)| now)
}

/// Raises the number of descriptors that this process may have open as far as it can without anybody's
/// permission, and gives it; `None` where the system sets no such limit.
pub fn raise_descriptors() -> Option<u64> {
    os::raise_descriptors()
}

#[cfg(unix)]
mod os {
    /// The limit in force, and how far it may be raised.
    pub fn descriptors() -> Option<(u64, u64)> {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the limit is a valid place for the answer.
        let asked = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
        (asked == 0).then_some((limit.rlim_cur as u64, limit.rlim_max as u64))
    }

    pub fn raise_descriptors() -> Option<u64> {
        let (now, most) = descriptors()?;
        let raised = libc::rlimit { rlim_cur: most as _, rlim_max: most as _ };
        // SAFETY: the limit is valid and only read.
        let done = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raised) };
        Some(if done == 0 { most } else { now })
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

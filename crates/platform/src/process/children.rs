//! Child processes that are reaped by a signal handler, such as those of a server with a process for each connection.

/// The process in which fork returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fork {
    /// The parent.
    Parent,
    /// The child. It must do little, and end with [`exit`].
    Child,
}

/// Installs a handler for SIGCHLD that reaps children as soon as they end. The signal also interrupts blocking calls.
///
/// # Errors
/// Errors of sigaction(2).
pub use os::reap_by_handler;

/// Forks. The child is killed when this process ends first, where the system supports that.
///
/// Other threads do not exist in the child, but the locks that they held are still locked: the child must not use their
/// data. The memory allocator is usable: the C library resets its locks.
///
/// # Errors
/// Errors of fork(2), such as a shortage of processes or memory.
pub use os::fork;

/// Counts a child that was started by other means.
pub use os::started;

/// Number of children that run, among those started by [`fork`] or counted by [`started`].
pub use os::running;

/// Ends a forked child at once, without the exit handlers of its parent.
pub use os::exit;

/// Makes the system kill this process when its parent, with the pid `parent`, ends, where the system supports that.
pub use os::end_with;

#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::io;
    use std::sync::atomic::{AtomicIsize, Ordering};

    use super::Fork;

    /// Running children; temporarily negative if a child ends before its start is counted.
    static RUNNING: AtomicIsize = AtomicIsize::new(0);

    pub fn reap_by_handler() -> io::Result<()> {
        // SAFETY: the action is initialised; the handler calls only async-signal-safe functions
        // (signal-safety(7)). It has no SA_RESTART, so that blocking calls return.
        let done = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = reap as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_NOCLDSTOP;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(libc::SIGCHLD, &action, std::ptr::null_mut())
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    extern "C" fn reap(_signal: libc::c_int) {
        // SAFETY: waitpid accepts null for the status; errno is the thread's, and restored for the code that was
        // interrupted.
        unsafe {
            let errno = errno();
            let before = *errno;
            while libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) > 0 {
                RUNNING.fetch_sub(1, Ordering::SeqCst);
            }
            *errno = before;
        }
    }

    #[cfg(any(target_os = "netbsd", target_os = "openbsd"))]
    use libc::__errno as errno;
    #[cfg(any(target_os = "linux", target_os = "dragonfly"))]
    use libc::__errno_location as errno;
    #[cfg(any(target_os = "freebsd", target_os = "macos"))]
    use libc::__error as errno;

    pub fn fork() -> io::Result<Fork> {
        let parent = std::process::id();
        // SAFETY: the child does what `fork`'s description allows.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                end_with(parent);
                Ok(Fork::Child)
            }
            _ => {
                started();
                Ok(Fork::Parent)
            }
        }
    }

    pub fn started() {
        RUNNING.fetch_add(1, Ordering::SeqCst);
    }

    pub fn running() -> usize {
        usize::try_from(RUNNING.load(Ordering::SeqCst)).unwrap_or(0)
    }

    pub fn exit() -> ! {
        // SAFETY: ends the process, nothing more.
        unsafe { libc::_exit(0) }
    }

    #[cfg(target_os = "linux")]
    pub fn end_with(parent: u32) {
        // SAFETY: plain calls without memory.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // The parent may have ended before the request was made.
            if libc::getppid() as u32 != parent {
                libc::_exit(1);
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub fn end_with(_parent: u32) {}
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// A separate process runs the test, since the handler applies to the whole process.
    #[test]
    fn children_are_counted_until_they_end_and_none_stays() {
        let mut tester = crate::process::fork(|| {
            reap_by_handler().unwrap();
            for _ in 0..20 {
                if fork().unwrap() == Fork::Child {
                    std::thread::sleep(Duration::from_millis(5));
                    exit();
                }
            }
            let began = Instant::now();
            while running() > 0 && began.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(1));
            }
            // SAFETY: asks only whether there is any child, running or not waited for.
            let any = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
            i32::from(running() != 0 || any != -1)
        })
        .unwrap();
        assert_eq!(tester.wait(), Ok(()));
    }
}

//! Signals: handlers that are removed again, masks, waiting, and sending to one's own thread.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number above those of all signals, on all systems.
const SIGNALS: usize = 128;

/// Number of calls of [`count`] for each signal.
static HANDLED: [AtomicU64; SIGNALS] = [const { AtomicU64::new(0) }; SIGNALS];

/// A handler of signals, as sigaction(2) takes it.
pub type Handler = extern "C" fn(libc::c_int);

/// A handler that only counts, for [`handled`].
pub extern "C" fn count(signal: libc::c_int) {
    if let Some(count) = usize::try_from(signal).ok().and_then(|at| HANDLED.get(at)) {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// The number of times that [`count`] has handled `signal` in this process.
pub fn handled(signal: libc::c_int) -> u64 {
    let count = usize::try_from(signal).ok().and_then(|at| HANDLED.get(at));
    count.map_or(0, |count| count.load(Ordering::Relaxed))
}

/// A signal action that runs the function at `handler`, as `flags` say, and blocks no other signal meanwhile.
pub fn action(handler: libc::sighandler_t, flags: libc::c_int) -> libc::sigaction {
    // SAFETY: an all-zero sigaction is valid, and sigemptyset initialises its mask.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        libc::sigemptyset(&mut action.sa_mask);
        action
    }
}

/// An installed signal action; dropping it restores the previous one. Actions apply to the whole process.
pub struct Installed {
    signal: libc::c_int,
    before: libc::sigaction,
}

impl Installed {
    /// Makes `action` the action of `signal`.
    ///
    /// # Errors
    /// Errors of sigaction(2).
    pub fn new(signal: libc::c_int, action: &libc::sigaction) -> io::Result<Self> {
        // SAFETY: an all-zero sigaction is a valid place for the old one; the new one is valid.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            match libc::sigaction(signal, action, &mut before) {
                0 => Ok(Self { signal, before }),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    /// Makes `handler` the handler of `signal`; interrupted calls are restarted.
    ///
    /// # Errors
    /// Errors of sigaction(2).
    pub fn handler(signal: libc::c_int, handler: Handler) -> io::Result<Self> {
        let handler = handler as *const () as libc::sighandler_t;
        Self::new(signal, &action(handler, libc::SA_RESTART))
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        // SAFETY: the action was the present one before, so it is valid.
        unsafe { libc::sigaction(self.signal, &self.before, std::ptr::null_mut()) };
    }
}

/// The set of these signals.
pub fn set_of(signals: &[libc::c_int]) -> libc::sigset_t {
    // SAFETY: sigemptyset initialises the set; a number that is no signal is refused without effect.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for &signal in signals {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}

/// Signals that the calling thread blocks until this is dropped. Signals pending then are discarded, as one without a
/// handler would end the process.
pub struct Blocked {
    signals: libc::sigset_t,
    before: libc::sigset_t,
    open: libc::sigset_t,
}

impl Blocked {
    /// Blocks `signals` in the calling thread, and in threads that it starts from now on.
    pub fn new(signals: &[libc::c_int]) -> Self {
        let set = set_of(signals);
        // SAFETY: both sets are valid; blocking cannot fail.
        unsafe {
            let mut before = set_of(&[]);
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut before);
            let mut open = before;
            for &signal in signals {
                libc::sigdelset(&mut open, signal);
            }
            Self { signals: set, before, open }
        }
    }

    /// Takes pending signals that were not blocked before.
    fn discard_pending(&self) {
        let is_pending = |signal: libc::c_int| {
            let mut pending = set_of(&[]);
            // SAFETY: both sets are valid.
            unsafe {
                libc::sigismember(&self.signals, signal) == 1
                    && libc::sigismember(&self.before, signal) == 0
                    && libc::sigpending(&mut pending) == 0
                    && libc::sigismember(&pending, signal) == 1
            }
        };
        for signal in 1..SIGNALS as libc::c_int {
            while is_pending(signal) {
                let mut taken = 0;
                // SAFETY: the set and the place are valid. It is pending, so there is no wait.
                unsafe { libc::sigwait(&set_of(&[signal]), &mut taken) };
            }
        }
    }

    /// Waits, with the signals unblocked, until a handler has run.
    #[inline(always)]
    pub fn wait(&self) {
        // SAFETY: the mask is valid. The call always returns with EINTR.
        unsafe { libc::sigsuspend(&self.open) };
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        self.discard_pending();
        // SAFETY: the mask is that which the thread had before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

/// The calling thread as the recipient of a signal.
pub struct OwnThread(os::OwnThread);

impl OwnThread {
    /// The calling thread.
    pub fn new() -> Self {
        Self(os::OwnThread::new())
    }

    /// Sends `signal` to the thread; returns whether that succeeded. On Linux by tgkill(2) alone: raise(3) makes further
    /// calls.
    #[inline(always)]
    pub fn send(&self, signal: libc::c_int) -> bool {
        self.0.send(signal)
    }
}

impl Default for OwnThread {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(target_os = "linux")]
mod os {
    pub struct OwnThread {
        process: libc::pid_t,
        thread: libc::pid_t,
    }

    impl OwnThread {
        pub fn new() -> Self {
            // SAFETY: both calls take nothing and cannot fail.
            unsafe {
                let thread = libc::syscall(libc::SYS_gettid) as libc::pid_t;
                Self { process: libc::getpid(), thread }
            }
        }

        #[inline(always)]
        pub fn send(&self, signal: libc::c_int) -> bool {
            // SAFETY: three integers; the thread is the caller's, so that it exists.
            unsafe { libc::syscall(libc::SYS_tgkill, self.process, self.thread, signal) == 0 }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod os {
    pub struct OwnThread(libc::pthread_t);

    impl OwnThread {
        pub fn new() -> Self {
            // SAFETY: takes nothing and cannot fail.
            Self(unsafe { libc::pthread_self() })
        }

        #[inline(always)]
        pub fn send(&self, signal: libc::c_int) -> bool {
            // SAFETY: the thread is the caller's, so that it exists.
            unsafe { libc::pthread_kill(self.0, signal) == 0 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn ignore(_signal: libc::c_int) {}

    fn present_handler(signal: libc::c_int) -> libc::sighandler_t {
        // SAFETY: a null new action asks only for the present one.
        unsafe {
            let mut present: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut present);
            present.sa_sigaction
        }
    }

    #[test]
    fn a_blocked_signal_is_handled_where_the_thread_waits_for_it() {
        let before = (present_handler(libc::SIGUSR2), handled(libc::SIGUSR2));
        let installed = Installed::handler(libc::SIGUSR2, count).unwrap();
        let thread = OwnThread::new();
        let blocked = Blocked::new(&[libc::SIGUSR2]);
        assert!(thread.send(libc::SIGUSR2));
        assert_eq!(handled(libc::SIGUSR2), before.1);
        blocked.wait();
        assert_eq!(handled(libc::SIGUSR2), before.1 + 1);
        drop(blocked);
        assert!(thread.send(libc::SIGUSR2));
        assert_eq!(handled(libc::SIGUSR2), before.1 + 2);
        let other = Installed::handler(libc::SIGUSR2, ignore).unwrap();
        assert!(thread.send(libc::SIGUSR2));
        assert_eq!(handled(libc::SIGUSR2), before.1 + 2, "the other handler does not count");
        drop(other);
        drop(installed);
        assert_eq!(present_handler(libc::SIGUSR2), before.0);
    }

    #[test]
    fn signals_that_are_still_pending_do_not_end_the_process() {
        let mut child = crate::process::fork(|| {
            let blocked = Blocked::new(&[libc::SIGUSR1, libc::SIGALRM]);
            for signal in [libc::SIGUSR1, libc::SIGALRM, libc::SIGUSR1] {
                // SAFETY: sends a signal, which is blocked, to this process.
                unsafe { libc::kill(libc::getpid(), signal) };
            }
            assert!(OwnThread::new().send(libc::SIGUSR1));
            drop(blocked);
            0
        });
        assert_eq!(child.as_mut().expect("a forked process").wait(), Ok(()));
    }

    #[test]
    fn no_handler_can_be_installed_for_sigkill() {
        assert!(Installed::handler(libc::SIGKILL, count).is_err());
        assert!(!OwnThread::new().send(10_000));
    }
}

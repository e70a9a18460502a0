//! Interrupting blocking calls in other threads, also in those of other processes.

/// A thread of this or another process; 0 is none.
pub type ThreadId = u64;

/// Whether this system can interrupt a thread.
pub const CAN_INTERRUPT: bool = crate::IS_LINUX;

/// Makes [`interrupt`] end the blocking calls of this process with `EINTR`, without any other effect. Returns the calling
/// thread; 0 where the system cannot interrupt it.
pub fn interruptible_thread() -> ThreadId {
    os::interruptible_thread()
}

/// Interrupts a blocking call of the thread, if it is in one. A thread that has ended is not an error. The signal is one that
/// is ignored by default, so that it cannot end another process that has got the thread's number meanwhile.
pub fn interrupt(thread: ThreadId) {
    os::interrupt(thread);
}

#[cfg(target_os = "linux")]
mod os {
    use super::ThreadId;
    use crate::process::signal::action;

    const SIGNAL: libc::c_int = libc::SIGURG;

    extern "C" fn nothing(_signal: libc::c_int) {}

    pub fn interruptible_thread() -> ThreadId {
        // SAFETY: the action is valid, and its handler does nothing. It has no SA_RESTART, so that blocking calls return.
        unsafe {
            let handled = action(nothing as *const () as libc::sighandler_t, 0);
            libc::sigaction(SIGNAL, &handled, std::ptr::null_mut());
        }
        // SAFETY: the call has no arguments.
        let thread = unsafe { libc::gettid() };
        u64::from(std::process::id()) << 32 | u64::from(thread.unsigned_abs())
    }

    pub fn interrupt(thread: ThreadId) {
        let (process, thread) = ((thread >> 32) as libc::pid_t, thread as u32 as libc::pid_t);
        // SAFETY: the call has no pointers.
        unsafe { libc::syscall(libc::SYS_tgkill, process, thread, SIGNAL) };
    }
}

#[cfg(not(target_os = "linux"))]
mod os {
    use super::ThreadId;

    pub fn interruptible_thread() -> ThreadId {
        0
    }

    pub fn interrupt(_thread: ThreadId) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_blocking_call_ends_with_an_error() {
        let (id_tx, id_rx) = mpsc::channel();
        let blocked = std::thread::spawn(move || {
            id_tx.send(interruptible_thread()).unwrap();
            // SAFETY: no descriptors, and no limit of time.
            let result = unsafe { libc::poll(std::ptr::null_mut(), 0, -1) };
            (result, std::io::Error::last_os_error().kind())
        });
        let id = id_rx.recv().unwrap();
        while !blocked.is_finished() {
            interrupt(id);
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(blocked.join().unwrap(), (-1, std::io::ErrorKind::Interrupted));
    }
}

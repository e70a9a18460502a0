//! Waiting until a word in memory changes: futex(2) on Linux, WaitOnAddress on Windows.

/// Which tasks wait for a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Threads of one process.
    Threads,
    /// Processes that share the memory: only Linux supports it.
    Processes,
}

/// Blocks while `word` is `value`. May return earlier, so the caller checks the word again.
///
/// # Errors
/// Errors of the system; `Unsupported` where there is no such call.
pub use os::wait_while;

/// Wakes one task that waits for a change of `word`, if there is one.
///
/// # Errors
/// Errors of the system; `Unsupported` where there is no such call.
pub use os::wake_one;

#[cfg(target_os = "linux")]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::io;
    use std::sync::atomic::AtomicU32;

    use super::Sharing;

    fn of(operation: libc::c_int, sharing: Sharing) -> libc::c_int {
        match sharing {
            Sharing::Threads => operation | libc::FUTEX_PRIVATE_FLAG,
            Sharing::Processes => operation,
        }
    }

    #[inline(always)]
    pub fn wait_while(word: &AtomicU32, value: u32, sharing: Sharing) -> io::Result<()> {
        let operation = of(libc::FUTEX_WAIT, sharing);
        let forever = std::ptr::null::<libc::timespec>();
        // SAFETY: the word is valid for the call, and no time limit is given.
        let done =
            unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, forever) };
        if done == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            // The word had changed already, or a signal was handled.
            Some(libc::EAGAIN | libc::EINTR) => Ok(()),
            _ => Err(error),
        }
    }

    #[inline(always)]
    pub fn wake_one(word: &AtomicU32, sharing: Sharing) -> io::Result<()> {
        let operation = of(libc::FUTEX_WAKE, sharing);
        // SAFETY: the word is valid for the call.
        let woken = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 1) };
        if woken >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(windows)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::io;
    use std::sync::atomic::AtomicU32;

    use windows_sys::Win32::System::Threading::{INFINITE, WaitOnAddress, WakeByAddressSingle};

    use super::Sharing;

    #[inline(always)]
    pub fn wait_while(word: &AtomicU32, value: u32, _: Sharing) -> io::Result<()> {
        // SAFETY: both places have the stated size and outlive the call.
        let done = unsafe {
            WaitOnAddress(
                word.as_ptr().cast(),
                (&raw const value).cast(),
                size_of::<u32>(),
                INFINITE,
            )
        };
        if done != 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    #[inline(always)]
    pub fn wake_one(word: &AtomicU32, _: Sharing) -> io::Result<()> {
        // SAFETY: the address is only looked up among those waited for.
        unsafe { WakeByAddressSingle(word.as_ptr().cast()) };
        Ok(())
    }
}

#[cfg(not(any(target_os = "linux", windows)))]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::io;
    use std::sync::atomic::AtomicU32;

    use super::Sharing;

    pub fn wait_while(_: &AtomicU32, _: u32, _: Sharing) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn wake_one(_: &AtomicU32, _: Sharing) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(all(test, any(target_os = "linux", windows)))]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn a_waiter_returns_after_the_word_has_changed() {
        for sharing in [Sharing::Threads, Sharing::Processes] {
            let word = AtomicU32::new(1);
            wait_while(&word, 2, sharing).unwrap(); // returns at once: the word is 1, not 2
            std::thread::scope(|scope| {
                let waiter = scope.spawn(|| {
                    while word.load(Ordering::Acquire) == 1 {
                        wait_while(&word, 1, sharing).unwrap();
                    }
                });
                word.store(2, Ordering::Release);
                wake_one(&word, sharing).unwrap();
                waiter.join().unwrap();
            });
        }
    }
}

//! What a process inherits from the one that starts it, and requests to stop.

use std::io::ErrorKind;
use std::sync::atomic::AtomicBool;

use crate::{CaseError, IS_WINDOWS};

/// Set when the user asks this process to stop.
static STOP: AtomicBool = AtomicBool::new(false);

/// Makes this process independent of signal settings that it inherited: children are waited for, a file that becomes too large is
/// an error, and no signal is blocked. Processes that it starts have the usual settings. To be called first, while the process
/// has one thread.
pub fn reset_signals() {
    os::reset_signals();
}

/// Makes Ctrl-C and requests to terminate (SIGINT, SIGTERM, SIGHUP) set the flag that is returned. A signal that was ignored when
/// this process started stays ignored, as nohup(1) and shells expect of background jobs.
///
/// # Errors
/// The error of installing a handler.
pub fn stop_flag() -> std::io::Result<&'static AtomicBool> {
    os::handle_requests_to_stop()?;
    Ok(&STOP)
}

/// The error of a thread or process that cannot be created, with its likely cause.
pub fn not_created(what: &str, error: &std::io::Error) -> CaseError {
    let cause = match error.kind() {
        _ if IS_WINDOWS => "",
        ErrorKind::WouldBlock => {
            " (a limit of processes: `ulimit -u`, or pids.max of the control group)"
        }
        ErrorKind::OutOfMemory => {
            " (a limit of memory: `ulimit -v`, or memory.max of the control group)"
        }
        ErrorKind::PermissionDenied => {
            " (a seccomp filter denies clone3, as in containers of Docker before 20.10.10)"
        }
        _ => "",
    };
    CaseError::Failed(format!("{what} cannot be created: {error}{cause}"))
}

#[cfg(unix)]
pub(super) mod os {
    use std::io;
    use std::sync::atomic::Ordering;

    use super::STOP;
    use crate::process::signal::action;

    /// Signals that ask a process to end.
    const REQUESTS: [libc::c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

    extern "C" fn nothing(_signal: libc::c_int) {}

    extern "C" fn request(_signal: libc::c_int) {
        STOP.store(true, Ordering::Relaxed);
    }

    pub fn reset_signals() {
        // SAFETY: the actions are valid, the handler does nothing, and the set is initialised. A handled signal has its default
        // action again in programs that this process executes.
        unsafe {
            let default = action(libc::SIG_DFL, 0);
            libc::sigaction(libc::SIGCHLD, &default, std::ptr::null_mut());
            let handled = action(nothing as *const () as libc::sighandler_t, libc::SA_RESTART);
            libc::sigaction(libc::SIGXFSZ, &handled, std::ptr::null_mut());
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        }
    }

    pub fn handle_requests_to_stop() -> io::Result<()> {
        let handled = action(request as *const () as libc::sighandler_t, libc::SA_RESTART);
        for signal in heeded() {
            // SAFETY: the action is valid; its handler only stores to a static.
            if unsafe { libc::sigaction(signal, &handled, std::ptr::null_mut()) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }

    /// The requests to stop that this process does not ignore.
    pub fn heeded() -> Vec<libc::c_int> {
        let is_ignored = |signal: &libc::c_int| {
            // SAFETY: an all-zero sigaction is a valid place for the present action, which is not changed.
            unsafe {
                let mut present: libc::sigaction = std::mem::zeroed();
                libc::sigaction(*signal, std::ptr::null(), &mut present) == 0
                    && present.sa_sigaction == libc::SIG_IGN
            }
        };
        REQUESTS.into_iter().filter(|signal| !is_ignored(signal)).collect()
    }
}

#[cfg(windows)]
mod os {
    use std::io;
    use std::sync::atomic::Ordering;

    use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;
    use windows_sys::core::BOOL;

    use super::STOP;

    pub fn reset_signals() {}

    pub fn handle_requests_to_stop() -> io::Result<()> {
        // SAFETY: the handler is a function of this type, and only stores to a static.
        match unsafe { SetConsoleCtrlHandler(Some(request), 1) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Handles Ctrl-C, Ctrl-Break, and the end of the console or the session, in a thread of the system.
    unsafe extern "system" fn request(_event: u32) -> BOOL {
        STOP.store(true, Ordering::Relaxed);
        1
    }
}

//! What a process inherits from the one that starts it, and requests to stop.

use std::fs::File;
use std::io::ErrorKind;
use std::sync::atomic::AtomicBool;

pub use crate::case_error::not_created;
use crate::{CaseError, IS_WINDOWS};

/// Set when the user asks this process to stop.
static STOP: AtomicBool = AtomicBool::new(false);

/// Makes this process independent of signal settings that it inherited: children are waited for, a file that becomes too large is
/// an error, and no signal is blocked. Processes that it starts have the usual settings. To be called first, while the process
/// has one thread.
pub use os::reset_signals;

/// Makes all threads share one heap where this process's address space is limited (`ulimit -v`): the C library would reserve 64 MiB
/// for each thread, until an allocation fails, which ends the process. To be called before the first thread is started, and not
/// in a process that measures allocations.
pub use os::share_heap_where_limited;

/// Makes Ctrl-C and requests to terminate (SIGINT, SIGTERM, SIGHUP) set the flag that is returned. A signal that was ignored when
/// this process started stays ignored, as nohup(1) and shells expect of background jobs.
///
/// # Errors
/// The error of installing a handler.
pub fn stop_flag() -> std::io::Result<&'static AtomicBool> {
    os::handle_requests_to_stop()?;
    Ok(&STOP)
}

/// The null device.
pub const NULL_DEVICE: &str = if IS_WINDOWS { "NUL" } else { "/dev/null" };

/// Opens the null device.
///
/// # Errors
/// The error of opening it, with its name and the remedy: a root directory without `/dev` has none.
pub fn null_device() -> std::io::Result<File> {
    let opened = File::options().read(true).write(true).open(NULL_DEVICE);
    opened.map_err(|error| {
        let remedy = match IS_WINDOWS {
            true => "",
            false => ", which programs that are started need (mount /dev, or `mknod -m 666 /dev/null c 1 3`)",
        };
        std::io::Error::new(error.kind(), format!("{NULL_DEVICE}: {error}{remedy}"))
    })
}

/// The error of a program that cannot be started. The system names no file: it may be the null device that is missing, which the
/// program would get as its input or output.
pub fn not_started(what: &str, error: &std::io::Error) -> CaseError {
    let is_about_a_file = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied);
    match null_device() {
        Err(missing) if is_about_a_file => CaseError::Failed(format!("{what}: {missing}")),
        _ => CaseError::from_io(what, error),
    }
}

/// Gives requests to stop their usual action again, which is to end this process: nothing looks at the flag of [`stop_flag`] from
/// now on.
pub use os::end_when_asked;

#[cfg(unix)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
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

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    pub fn share_heap_where_limited() {
        if crate::process::limits::address_space().is_some() {
            // SAFETY: takes numbers only.
            unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
        }
    }

    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    pub fn share_heap_where_limited() {}

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

    pub fn end_when_asked() {
        let default = action(libc::SIG_DFL, 0);
        for signal in heeded() {
            // SAFETY: the action is valid.
            unsafe { libc::sigaction(signal, &default, std::ptr::null_mut()) };
        }
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
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::io;
    use std::sync::atomic::Ordering;

    use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;
    use windows_sys::core::BOOL;

    use super::STOP;

    pub fn reset_signals() {}

    pub fn share_heap_where_limited() {}

    pub fn handle_requests_to_stop() -> io::Result<()> {
        // SAFETY: the handler is a function of this type, and only stores to a static.
        match unsafe { SetConsoleCtrlHandler(Some(request), 1) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    pub fn end_when_asked() {
        // SAFETY: the handler is a function of this type; removing one that was not added changes nothing.
        unsafe { SetConsoleCtrlHandler(Some(request), 0) };
    }

    /// Handles Ctrl-C, Ctrl-Break, and the end of the console or the session, in a thread of the system.
    unsafe extern "system" fn request(_event: u32) -> BOOL {
        STOP.store(true, Ordering::Relaxed);
        1
    }
}

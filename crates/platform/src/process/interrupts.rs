//! Ending waits for connections in other threads, also in those of other processes, without a connection.

use std::net::TcpListener;

/// Whether a thread can be interrupted that waits for the events of many sockets.
pub const CAN_INTERRUPT_EVENT_LOOPS: bool = crate::IS_UNIX;

/// What names a wait to [`interrupt`]: on Unix the thread that waits, on Windows the listener at which it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interruptible {
    /// The process that waits.
    pub process: u32,
    /// A thread or a socket of that process, not 0.
    pub id: u64,
}

impl Interruptible {
    /// The calling thread while it accepts connections from `listener` by a blocking call.
    pub fn accepting(listener: &TcpListener) -> Self {
        Self { process: std::process::id(), id: os::accepting(listener) }
    }

    /// The calling thread while it waits for the events of many sockets; `None` where such a wait cannot be interrupted.
    pub fn event_loop() -> Option<Self> {
        os::event_loop().map(|id| Self { process: std::process::id(), id })
    }
}

/// Interrupts the blocking call of a wait, if there is one, without any other effect. A thread of this process must still
/// exist, and a listener must still be open; a process that has ended is not an error.
///
/// On Unix a signal is sent that is ignored by default, so that it cannot end another process that has got the number
/// meanwhile. Another process must have a single thread. On Windows the pending calls of the listener are cancelled; a listener
/// of another process is left alone.
pub use os::interrupt;

#[cfg(unix)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::net::TcpListener;

    use super::Interruptible;
    use crate::process::signal::action;

    const SIGNAL: libc::c_int = libc::SIGURG;

    extern "C" fn nothing(_signal: libc::c_int) {}

    pub fn accepting(_listener: &TcpListener) -> u64 {
        this_thread()
    }

    pub fn event_loop() -> Option<u64> {
        Some(this_thread())
    }

    fn this_thread() -> u64 {
        // SAFETY: the action is valid, and its handler does nothing. It has no SA_RESTART, so that blocking calls return.
        unsafe {
            let handled = action(nothing as *const () as libc::sighandler_t, 0);
            libc::sigaction(SIGNAL, &handled, std::ptr::null_mut());
        }
        // SAFETY: the call has no arguments. A thread is a number on some systems, a pointer on others.
        unsafe { libc::pthread_self() as usize as u64 }
    }

    pub fn interrupt(wait: Interruptible) {
        if wait.process == std::process::id() {
            // SAFETY: the thread exists, as required of the caller.
            unsafe { libc::pthread_kill(wait.id as usize as libc::pthread_t, SIGNAL) };
        } else if let Ok(process) = libc::pid_t::try_from(wait.process) {
            // SAFETY: the call has no pointers.
            unsafe { libc::kill(process, SIGNAL) };
        }
    }
}

#[cfg(windows)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::net::TcpListener;
    use std::os::windows::io::AsRawSocket;

    use windows_sys::Win32::Foundation::HANDLE;
    use windows_sys::Win32::System::IO::CancelIoEx;

    use super::Interruptible;

    pub fn accepting(listener: &TcpListener) -> u64 {
        listener.as_raw_socket()
    }

    pub fn event_loop() -> Option<u64> {
        None
    }

    pub fn interrupt(wait: Interruptible) {
        if wait.process == std::process::id() {
            // SAFETY: the socket is open, as required of the caller. The call fails if nothing is pending, which is harmless.
            unsafe { CancelIoEx(wait.id as usize as HANDLE, std::ptr::null()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::Ipv4Addr;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::socket::server::accept_or_interrupt;

    fn interrupt_until_finished<T>(wait: Interruptible, thread: &std::thread::JoinHandle<T>) {
        while !thread.is_finished() {
            interrupt(wait);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn accepting_ends_with_an_error_and_the_listener_accepts_again() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (wait_tx, wait_rx) = mpsc::channel();
        let blocked = std::thread::spawn(move || {
            wait_tx.send(Interruptible::accepting(&listener)).unwrap();
            let kind = accept_or_interrupt(&listener).unwrap_err().kind();
            // The thread and its listener exist until the last interrupt.
            (wait_tx, listener, kind)
        });
        let wait = wait_rx.recv().unwrap();
        interrupt_until_finished(wait, &blocked);
        let (_, listener, kind) = blocked.join().unwrap();
        assert_eq!(kind, ErrorKind::Interrupted);
        let _client = std::net::TcpStream::connect(address).unwrap();
        accept_or_interrupt(&listener).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn a_wait_for_events_ends_with_an_error() {
        let (wait_tx, wait_rx) = mpsc::channel();
        let blocked = std::thread::spawn(move || {
            wait_tx.send(Interruptible::event_loop().unwrap()).unwrap();
            // SAFETY: no descriptors, and no limit of time.
            let result = unsafe { libc::poll(std::ptr::null_mut(), 0, -1) };
            (result, std::io::Error::last_os_error().kind())
        });
        interrupt_until_finished(wait_rx.recv().unwrap(), &blocked);
        assert_eq!(blocked.join().unwrap(), (-1, ErrorKind::Interrupted));
    }
}

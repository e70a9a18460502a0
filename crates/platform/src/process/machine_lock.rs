//! A lock that one process of the machine has at a time, whoever its user is. Exists on Linux.
//!
//! The lock is an abstract address of a listening socket (unix(7)): it needs no directory, has no owner or mode, carries no content,
//! and is free again when the last process that has the socket open has ended. The kernel says who called listen(2). Such addresses
//! belong to a network namespace.

use std::io;
use std::process::Stdio;

/// The process that has a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockOwner {
    /// Its pid; 0 if it is in another pid namespace.
    pub pid: u32,
    /// Its effective user id.
    pub uid: u32,
}

impl LockOwner {
    /// Whether its user is this process's.
    pub fn is_this_user(&self) -> bool {
        os::own_uid() == Some(self.uid)
    }
}

/// Who has a lock, as far as the kernel tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockState {
    /// No process.
    Free,
    /// This process, or it has ended and one that it started has the lock.
    Held(LockOwner),
    /// A process that the kernel does not name: it does not listen, or does not accept connections.
    HeldUnknown,
}

/// A lock that this process has. It is free when this is dropped and all processes have ended that were given it.
#[derive(Debug)]
pub struct MachineLock(os::Lock);

impl MachineLock {
    /// Takes the lock of this name; `None` if another process has it.
    ///
    /// # Errors
    /// Errors of socket(2) and bind(2), such as a sandbox that denies sockets; on all systems but Linux.
    pub fn take(name: &str) -> io::Result<Option<Self>> {
        os::take(name).map(|lock| lock.map(Self))
    }

    /// Who has the lock of this name. Never waits.
    ///
    /// # Errors
    /// See [`MachineLock::take`].
    pub fn state(name: &str) -> io::Result<LockState> {
        os::state(name)
    }

    /// The lock as the standard input of a process to be started, which then has it, too.
    ///
    /// # Errors
    /// If dup(2) fails.
    pub fn for_child(&self) -> io::Result<Stdio> {
        os::for_child(&self.0)
    }

    /// Closes the connections of processes that asked for the [state](MachineLock::state), so that there is room for others. To be
    /// called about once a second.
    pub fn dismiss_questions(&self) {
        os::dismiss_questions(&self.0);
    }
}

#[cfg(target_os = "linux")]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::io::{self, ErrorKind};
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};
    use std::process::Stdio;

    use socket2::{Domain, SockAddr, Socket, Type};

    use super::{LockOwner, LockState};

    /// Maximum number of connections that are closed at once: another user may connect all the time.
    const QUESTIONS_AT_MOST: usize = 1_024;

    pub type Lock = UnixListener;

    pub fn own_uid() -> Option<u32> {
        Some(crate::user::own_user())
    }

    pub fn take(name: &str) -> io::Result<Option<Lock>> {
        match UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?) {
            Ok(listener) => listener.set_nonblocking(true).map(|()| Some(listener)),
            Err(error) if error.kind() == ErrorKind::AddrInUse => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn state(name: &str) -> io::Result<LockState> {
        let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking().cloexec(), None)?;
        match socket.connect(&SockAddr::unix(format!("\0{name}"))?) {
            Ok(()) => owner(&socket).map(LockState::Held),
            // Nobody has the address, or its owner does not listen.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                let state = |taken: Option<Lock>| match taken {
                    Some(_) => LockState::Free,
                    None => LockState::HeldUnknown,
                };
                take(name).map(state)
            }
            // Too many processes ask.
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(LockState::HeldUnknown),
            Err(error) => Err(error),
        }
    }

    /// The process that listened.
    fn owner(socket: &Socket) -> io::Result<LockOwner> {
        let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
        let mut length = size_of_val(&found) as libc::socklen_t;
        // SAFETY: the socket is open, and pointer and length describe `found`.
        let done = unsafe {
            let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
            let value = (&raw mut found).cast();
            libc::getsockopt(socket.as_raw_fd(), level, option, value, &mut length)
        };
        match done {
            0 => Ok(LockOwner { pid: u32::try_from(found.pid).unwrap_or(0), uid: found.uid }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub fn for_child(lock: &Lock) -> io::Result<Stdio> {
        Ok(OwnedFd::from(lock.try_clone()?).into())
    }

    pub fn dismiss_questions(lock: &Lock) {
        for _ in 0..QUESTIONS_AT_MOST {
            if lock.accept().is_err() {
                return;
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::io;
    use std::process::Stdio;

    use super::LockState;

    /// There are none.
    #[derive(Debug)]
    pub enum Lock {}

    fn unsupported() -> io::Error {
        io::Error::new(io::ErrorKind::Unsupported, "only Linux has such locks")
    }

    pub fn own_uid() -> Option<u32> {
        None
    }

    pub fn take(_name: &str) -> io::Result<Option<Lock>> {
        Err(unsupported())
    }

    pub fn state(_name: &str) -> io::Result<LockState> {
        Err(unsupported())
    }

    pub fn for_child(lock: &Lock) -> io::Result<Stdio> {
        match *lock {}
    }

    pub fn dismiss_questions(lock: &Lock) {
        match *lock {}
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};

    use super::*;

    fn name(of: &str) -> String {
        format!("oscost-test-{}-{of}", std::process::id())
    }

    #[test]
    fn one_process_has_the_lock_and_others_learn_which() {
        let name = name("one");
        assert_eq!(MachineLock::state(&name).unwrap(), LockState::Free);
        // A child that another test starts may have a copy for a moment.
        let take = || testing::until_some(|| MachineLock::take(&name).unwrap());
        let lock = take();
        assert!(MachineLock::take(&name).unwrap().is_none());
        let LockState::Held(owner) = MachineLock::state(&name).unwrap() else { panic!("held") };
        assert_eq!(owner.pid, std::process::id());
        assert!(owner.is_this_user() && !LockOwner { uid: owner.uid + 1, ..owner }.is_this_user());
        // A child that was given the lock has it after this process has dropped it, and its owner is still who took it.
        let mut command = std::process::Command::new("sleep");
        let mut child = command.arg("600").stdin(lock.for_child().unwrap()).spawn().unwrap();
        drop((lock, command));
        assert!(MachineLock::take(&name).unwrap().is_none());
        assert_eq!(MachineLock::state(&name).unwrap(), LockState::Held(owner));
        child.kill().unwrap();
        child.wait().unwrap();
        take();
    }

    /// Neither many questions nor an owner that does not answer them keep anybody waiting.
    #[test]
    fn a_question_never_waits() {
        let full = name("full");
        let lock = MachineLock::take(&full).unwrap().unwrap();
        testing::until(|| MachineLock::state(&full).unwrap() == LockState::HeldUnknown);
        testing::until(|| {
            lock.dismiss_questions();
            matches!(MachineLock::state(&full).unwrap(), LockState::Held(_))
        });
        // An owner that does not listen.
        let silent = name("silent");
        let address = SocketAddr::from_abstract_name(&silent).unwrap();
        let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None);
        let socket = socket.unwrap();
        socket.bind(&socket2::SockAddr::unix(format!("\0{silent}")).unwrap()).unwrap();
        assert!(UnixListener::bind_addr(&address).is_err(), "the same address");
        assert!(MachineLock::take(&silent).unwrap().is_none());
        assert_eq!(MachineLock::state(&silent).unwrap(), LockState::HeldUnknown);
    }
}

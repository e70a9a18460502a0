//! Listening sockets: options that the standard library does not offer, accepting, and stopping. [`crate::socket::client`]
//! is for the clients.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

use crate::CaseError;

/// Options of a listening socket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Listening {
    /// Whether other sockets of this process may listen on the same port; the system distributes connections among them
    /// (`SO_REUSEPORT`).
    pub shared_port: bool,
    /// Whether clients send first, so that the system may defer accepting a connection until data arrives, for at most a
    /// second (`TCP_DEFER_ACCEPT`, where it exists).
    pub client_sends_first: bool,
    /// Maximum length of the accept queue, which the system may reduce; `None` for the system's own limit.
    pub backlog: Option<u16>,
}

/// Listens at `address`. Connections accepted from it have `TCP_NODELAY` set.
///
/// # Errors
/// If the address is in use, is not local, or needs a privilege.
pub fn listen(address: SocketAddr, options: Listening) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    os::reuse_address(&socket)?;
    if options.shared_port {
        os::share_port(&socket)?;
    }
    socket.set_tcp_nodelay(true)?;
    socket.bind(&address.into())?;
    if options.client_sends_first {
        os::defer_accept(&socket)?;
    }
    socket.listen(options.backlog.map_or(os::BACKLOG, i32::from))?;
    Ok(socket.into())
}

/// The [`CaseError`] for an error of [`listen`], with its remedy: `Failed` for an address at which this process cannot listen;
/// `Unsupported` if the system denies sockets to it, or has none left.
pub fn not_listening(address: SocketAddr, error: &io::Error) -> CaseError {
    let text = format!("cannot listen at {address}: {error}");
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            CaseError::Failed(format!("{text}; end what listens there, or choose another port"))
        }
        io::ErrorKind::AddrNotAvailable => {
            CaseError::Failed(format!("{text}; it must be an address of this machine"))
        }
        // bind(2) fails in this way; what denies sockets altogether usually does with EPERM.
        _ if os::is_for_root(error) && (1..1024).contains(&address.port()) => {
            CaseError::Failed(format!("{text}; ports below 1024 are for root, choose another"))
        }
        _ => crate::socket::not_usable(&format!("cannot listen at {address}"), error),
    }
}

/// Accepts a connection as a non-blocking socket, from a listener that is non-blocking itself.
///
/// # Errors
/// `WouldBlock` if no connection is pending; else those of accept(2).
pub use os::accept;

/// Waits for a connection, and accepts it as a blocking socket. Unlike `TcpListener::accept` it returns when
/// [`interrupt`](crate::process::interrupts::interrupt) ends the wait.
///
/// # Errors
/// `Interrupted` after that, and on Unix after any signal; else those of accept(2).
pub use os::accept_or_interrupt;

/// Makes the system drop connection requests to `listener`, as if they had been lost in the network; established
/// connections can still be accepted. Without it, connections made while a server stops are reset. Returns whether the
/// system supports it.
pub use os::ignore_new;

/// Whether connections to `listener` are deferred because their clients have not sent anything yet; reads the system's
/// table of all connections. Also true if no descriptor is left to read it.
pub use os::has_deferred;

/// Whether a connection can be accepted, or `listener` has an error.
pub fn has_pending(listener: &TcpListener) -> bool {
    crate::socket::readiness::is_readable(listener)
}

/// Shuts `listener` down for all processes that share it: new connections are refused. Where the system refuses them only
/// once all processes have closed the listener, clients wait instead.
pub fn stop_listening(listener: &TcpListener) {
    let _ = socket2::SockRef::from(listener).shutdown(std::net::Shutdown::Both);
}

#[cfg(unix)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::io;
    use std::net::{TcpListener, TcpStream};

    use socket2::Socket;

    #[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
    pub use super::elsewhere::accept;
    #[cfg(not(target_os = "linux"))]
    pub use super::elsewhere::{defer_accept, has_deferred, ignore_new};

    /// The accept queue's length; the system reduces it to its own limit.
    pub const BACKLOG: i32 = 65_535;

    pub fn is_for_root(error: &io::Error) -> bool {
        error.raw_os_error() == Some(libc::EACCES)
    }

    pub fn reuse_address(socket: &Socket) -> io::Result<()> {
        socket.set_reuse_address(true)
    }

    pub fn share_port(socket: &Socket) -> io::Result<()> {
        socket.set_reuse_port(true)
    }

    /// After one second the kernel lets the connection be accepted anyway (tcp(7)).
    #[cfg(target_os = "linux")]
    pub fn defer_accept(socket: &Socket) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        let seconds: libc::c_int = 1;
        // SAFETY: the option's value is a valid int of the stated size.
        let set = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_DEFER_ACCEPT,
                (&raw const seconds).cast(),
                size_of_val(&seconds) as libc::socklen_t,
            )
        };
        if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    #[cfg(any(target_os = "linux", target_os = "freebsd"))]
    pub fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
        accept_with(listener, libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC)
    }

    #[cfg(any(target_os = "linux", target_os = "freebsd"))]
    pub fn accept_or_interrupt(listener: &TcpListener) -> io::Result<TcpStream> {
        accept_with(listener, libc::SOCK_CLOEXEC)
    }

    #[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
    pub fn accept_or_interrupt(listener: &TcpListener) -> io::Result<TcpStream> {
        use rustix::io::{FdFlags, fcntl_setfd};
        let stream = rustix::net::accept(listener)?;
        fcntl_setfd(&stream, FdFlags::CLOEXEC)?;
        Ok(stream.into())
    }

    #[cfg(any(target_os = "linux", target_os = "freebsd"))]
    fn accept_with(listener: &TcpListener, flags: libc::c_int) -> io::Result<TcpStream> {
        use std::os::fd::{AsRawFd, FromRawFd};
        let (no_address, no_length) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: null asks for no address; a returned descriptor is new and owned by nothing else.
        unsafe {
            match libc::accept4(listener.as_raw_fd(), no_address, no_length, flags) {
                -1 => Err(io::Error::last_os_error()),
                fd => Ok(TcpStream::from_raw_fd(fd)),
            }
        }
    }

    /// Attaches a socket filter that drops segments with SYN and without ACK, and passes all others (Linux:
    /// Documentation/networking/filter.rst; a TCP socket's filter sees the TCP header). Some systems refuse it to all but root.
    #[cfg(target_os = "linux")]
    pub fn ignore_new(listener: &TcpListener) -> bool {
        use libc::{BPF_ABS, BPF_ALU, BPF_AND, BPF_B, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET};
        use socket2::SockFilter;
        const FLAGS_AT: u32 = 13;
        const SYN: u32 = 0x02;
        const ACK: u32 = 0x10;
        let filter = [
            SockFilter::new((BPF_LD | BPF_B | BPF_ABS) as u16, 0, 0, FLAGS_AT),
            SockFilter::new((BPF_ALU | BPF_AND | BPF_K) as u16, 0, 0, SYN | ACK),
            SockFilter::new((BPF_JMP | BPF_JEQ | BPF_K) as u16, 0, 1, SYN),
            SockFilter::new((BPF_RET | BPF_K) as u16, 0, 0, 0),
            SockFilter::new((BPF_RET | BPF_K) as u16, 0, 0, u32::MAX),
        ];
        socket2::SockRef::from(listener).attach_filter(&filter).is_ok()
    }

    /// Looks for deferred connections, which are listed in the state SYN_RECV by local and remote address (proc(5),
    /// /proc/net/tcp).
    #[cfg(target_os = "linux")]
    pub fn has_deferred(listener: &TcpListener) -> bool {
        use std::io::{BufRead, BufReader};
        let Ok(address) = listener.local_addr() else { return false };
        let table = if address.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
        let Ok(table) = std::fs::File::open(table) else { return true };
        let port = format!(":{:04X}", address.port());
        let is_deferred = |line: String| {
            let mut fields = line.split_ascii_whitespace().skip(1);
            let to_listener = fields.next().is_some_and(|local| local.ends_with(&port));
            to_listener && fields.nth(1) == Some("03")
        };
        BufReader::new(table).lines().map_while(Result::ok).any(is_deferred)
    }
}

/// Replacements on systems that have no such calls.
#[cfg(not(target_os = "linux"))]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod elsewhere {
    use std::io;
    use std::net::TcpListener;

    use socket2::Socket;

    #[cfg(not(target_os = "freebsd"))]
    pub fn accept(listener: &TcpListener) -> io::Result<std::net::TcpStream> {
        let (stream, _) = listener.accept()?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    }

    pub fn defer_accept(_socket: &Socket) -> io::Result<()> {
        Ok(())
    }

    pub fn ignore_new(_listener: &TcpListener) -> bool {
        false
    }

    pub fn has_deferred(_listener: &TcpListener) -> bool {
        false
    }
}

#[cfg(windows)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::io;
    use std::net::{TcpListener, TcpStream};

    use socket2::Socket;
    use windows_sys::Win32::Networking::WinSock::{WSA_OPERATION_ABORTED, WSAEINTR};

    pub use super::elsewhere::{accept, defer_accept, has_deferred, ignore_new};

    /// A cancelled call has one of two errors, which depends on the version of Windows.
    pub fn accept_or_interrupt(listener: &TcpListener) -> io::Result<TcpStream> {
        let accepted = listener.accept().map(|(stream, _)| stream);
        accepted.map_err(|e| match e.raw_os_error() {
            Some(WSA_OPERATION_ABORTED | WSAEINTR) => io::ErrorKind::Interrupted.into(),
            _ => e,
        })
    }

    /// The accept queue's length. Windows silently reduces a positive number to its own default, but accepts a negative one
    /// (`SOMAXCONN_HINT`) down to this.
    pub const BACKLOG: i32 = -65_535;

    pub fn is_for_root(_error: &io::Error) -> bool {
        false
    }

    /// Does nothing: on Windows `SO_REUSEADDR` would let another program take the port, and ports are free at once anyway.
    pub fn reuse_address(_socket: &Socket) -> io::Result<()> {
        Ok(())
    }

    pub fn share_port(_socket: &Socket) -> io::Result<()> {
        Err(io::Error::other("Windows does not distribute connections among listeners"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Write};
    use std::net::Ipv4Addr;
    use std::net::TcpStream;
    use std::time::Duration;

    use super::*;

    fn any_port() -> SocketAddr {
        (Ipv4Addr::LOCALHOST, 0).into()
    }

    #[test]
    fn established_connections_are_accepted_and_later_ones_ignored() {
        let listener = listen(any_port(), Listening::default()).unwrap();
        listener.set_nonblocking(true).unwrap();
        assert_eq!(accept(&listener).unwrap_err().kind(), ErrorKind::WouldBlock);
        let address = listener.local_addr().unwrap();
        let mut early = TcpStream::connect(address).unwrap();
        let is_ignored = ignore_new(&listener);
        if !cfg!(target_os = "linux") {
            return assert!(!is_ignored, "only Linux supports it");
        }
        if testing::skip_unless(is_ignored, "root: nobody else may filter a socket here") {
            return;
        }
        let late = TcpStream::connect_timeout(&address, Duration::from_millis(50));
        assert_eq!(late.unwrap_err().kind(), ErrorKind::TimedOut);
        early.write_all(b"x").unwrap();
        assert!(accept(&listener).is_ok());
        assert_eq!(accept(&listener).unwrap_err().kind(), ErrorKind::WouldBlock);
        stop_listening(&listener);
        let refused = TcpStream::connect(address);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }

    #[test]
    fn an_address_at_which_nothing_can_listen_is_told_from_denied_sockets() {
        let taken = listen(any_port(), Listening::default()).unwrap();
        let address = taken.local_addr().unwrap();
        let in_use = listen(address, Listening::default()).unwrap_err();
        let text = |case_error| match case_error {
            CaseError::Failed(text) => text,
            other => panic!("{other:?}"),
        };
        let said = text(not_listening(address, &in_use));
        assert!(said.starts_with(&format!("cannot listen at {address}: ")), "{said}");
        assert!(said.ends_with("; end what listens there, or choose another port"), "{said}");
        // An address of RFC 5737, which no machine has.
        let foreign = "192.0.2.1:0".parse().unwrap();
        let said =
            text(not_listening(foreign, &listen(foreign, Listening::default()).unwrap_err()));
        assert!(said.ends_with("; it must be an address of this machine"), "{said}");
        #[cfg(unix)]
        for (port, code, is_for_root) in
            [(25, libc::EACCES, true), (25, libc::EPERM, false), (0, libc::EACCES, false)]
        {
            let address = (Ipv4Addr::LOCALHOST, port).into();
            match not_listening(address, &io::Error::from_raw_os_error(code)) {
                CaseError::Failed(text) => assert!(is_for_root && text.contains("1024"), "{text}"),
                CaseError::Unsupported(text) => {
                    assert!(!is_for_root && text.contains("seccomp"), "{text}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_connection_is_deferred_until_its_client_sends() {
        let options = Listening { client_sends_first: true, ..Listening::default() };
        let listener = listen(any_port(), options).unwrap();
        assert!(!has_deferred(&listener) && !has_pending(&listener));
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        // The system stops deferring the connection after a second, or does not defer at all.
        assert!(has_deferred(&listener) || has_pending(&listener));
        client.write_all(b"x").unwrap();
        let began = std::time::Instant::now();
        while has_deferred(&listener) || !has_pending(&listener) {
            assert!(began.elapsed() < Duration::from_secs(60), "it never becomes pending");
            std::thread::yield_now();
        }
        listener.accept().unwrap();
        assert!(!has_pending(&listener));
    }

    #[test]
    fn a_port_is_shared_only_with_the_option() {
        let shared = Listening { shared_port: true, client_sends_first: true, backlog: None };
        let first = listen(any_port(), shared);
        if cfg!(windows) {
            assert!(first.is_err(), "Windows does not share ports");
            return;
        }
        let first = first.unwrap();
        let address = first.local_addr().unwrap();
        listen(address, shared).unwrap();
        let alone = listen(address, Listening::default()).unwrap_err();
        assert_eq!(alone.kind(), ErrorKind::AddrInUse);
    }
}

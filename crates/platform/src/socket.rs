//! What servers need of TCP sockets that the standard library does not offer. [`crate::net`] has what their
//! clients need.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};

use socket2::{Domain, Protocol, Socket, Type};

/// How to listen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Listening {
    /// Other sockets of this process may listen on the same port, and the system shares connections out
    /// among them (`SO_REUSEPORT`).
    pub shared_port: bool,
    /// Clients speak first: the system may keep a connection to itself until they have, for a second
    /// at most (`TCP_DEFER_ACCEPT`, where it exists).
    pub client_begins: bool,
}

/// Listens at `address`. Connections accepted from it send small replies at once (`TCP_NODELAY`).
///
/// # Errors
/// Those of the system: the address is in use, not ours, or not permitted.
pub fn listen(address: SocketAddr, how: Listening) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    os::reuse_address(&socket)?;
    if how.shared_port {
        os::share_port(&socket)?;
    }
    socket.set_tcp_nodelay(true)?;
    socket.bind(&address.into())?;
    if how.client_begins {
        os::wait_for_client(&socket)?;
    }
    socket.listen(os::BACKLOG)?;
    Ok(socket.into())
}

/// Accepts a connection as a non-blocking socket, from a listener that is non-blocking itself.
///
/// # Errors
/// `WouldBlock` where none waits; else as accept(2).
pub fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    os::accept(listener)
}

/// Takes what has come from a client, at most as much as there is room for; 0 bytes at the end. The system is
/// called directly: the C library's own way costs a server some percent of its time.
///
/// # Errors
/// As recv(2).
pub fn receive(stream: &TcpStream, room: &mut [u8]) -> io::Result<usize> {
    os::receive(stream, room)
}

/// Sends as many of the bytes as the system takes at once; likewise directly.
///
/// # Errors
/// As send(2).
pub fn send(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    os::send(stream, bytes)
}

/// Has the system ignore new connections to `listener`, as if they had been lost on the way; those already
/// made can still be accepted. Without it, connections made while a server stops are reset. Says
/// whether the system can do that.
pub fn ignore_new(listener: &TcpListener) -> bool {
    os::ignore_new(listener)
}

/// Whether the system keeps connections to itself that were made to `listener`, since their clients have not spoken
/// yet; also where it does not tell, for want of descriptors. Costs a look at all connections of the system.
pub fn is_any_coming(listener: &TcpListener) -> bool {
    os::is_any_coming(listener)
}

/// Whether a connection waits to be accepted, or something is wrong with `listener`.
pub fn has_arrived(listener: &TcpListener) -> bool {
    os::has_arrived(listener)
}

/// Has `listener` listen no more, for all processes that share it: who connects is refused. A system that
/// cannot do that before all have closed it lets them wait instead.
pub fn stop_listening(listener: &TcpListener) {
    let _ = socket2::SockRef::from(listener).shutdown(std::net::Shutdown::Both);
}

/// Whether accepting or connecting failed for want of descriptors, buffers or memory: worth trying again once
/// something was given back.
pub fn is_shortage(error: &io::Error) -> bool {
    os::is_shortage(error)
}

#[cfg(unix)]
mod os {
    use std::io;
    use std::net::{TcpListener, TcpStream};

    use socket2::Socket;

    /// Connections that may wait to be accepted; the system cuts it down to its own limit.
    pub const BACKLOG: i32 = 65_535;

    pub fn reuse_address(socket: &Socket) -> io::Result<()> {
        socket.set_reuse_address(true)
    }

    pub fn share_port(socket: &Socket) -> io::Result<()> {
        socket.set_reuse_port(true)
    }

    /// The kernel waits a second, then hands the connection out anyway (tcp(7)).
    #[cfg(target_os = "linux")]
    pub fn wait_for_client(socket: &Socket) -> io::Result<()> {
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

    #[cfg(not(target_os = "linux"))]
    pub fn wait_for_client(_socket: &Socket) -> io::Result<()> {
        Ok(())
    }

    #[cfg(any(target_os = "linux", target_os = "freebsd"))]
    pub fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
        use std::os::fd::{AsRawFd, FromRawFd};
        let (nobody, no_length) = (std::ptr::null_mut(), std::ptr::null_mut());
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no address is asked for; a descriptor that comes is fresh and ours.
        unsafe {
            match libc::accept4(listener.as_raw_fd(), nobody, no_length, flags) {
                -1 => Err(io::Error::last_os_error()),
                fd => Ok(TcpStream::from_raw_fd(fd)),
            }
        }
    }

    #[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
    pub fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
        let (stream, _) = listener.accept()?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    }

    pub fn receive(stream: &TcpStream, room: &mut [u8]) -> io::Result<usize> {
        let (bytes, _) = rustix::net::recv(stream, room, rustix::net::RecvFlags::empty())?;
        Ok(bytes)
    }

    pub fn send(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(not(target_vendor = "apple"))]
        let no_signal = rustix::net::SendFlags::NOSIGNAL;
        #[cfg(target_vendor = "apple")] // there the standard library has set SO_NOSIGPIPE
        let no_signal = rustix::net::SendFlags::empty();
        Ok(rustix::net::send(stream, bytes, no_signal)?)
    }

    /// A socket filter that drops segments with SYN and without ACK, and passes all others
    /// (Linux: Documentation/networking/filter.rst; a TCP socket's filter sees the TCP header).
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

    #[cfg(not(target_os = "linux"))]
    pub fn ignore_new(_listener: &TcpListener) -> bool {
        false
    }

    /// They are listed in the state SYN_RECV, by their local and remote addresses (proc(5), /proc/net/tcp).
    #[cfg(target_os = "linux")]
    pub fn is_any_coming(listener: &TcpListener) -> bool {
        use std::io::{BufRead, BufReader};
        let Ok(address) = listener.local_addr() else { return false };
        let table = if address.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
        let Ok(table) = std::fs::File::open(table) else { return true };
        let port = format!(":{:04X}", address.port());
        let is_one = |line: String| {
            let mut fields = line.split_ascii_whitespace().skip(1);
            let is_ours = fields.next().is_some_and(|local| local.ends_with(&port));
            is_ours && fields.nth(1) == Some("03")
        };
        BufReader::new(table).lines().map_while(Result::ok).any(is_one)
    }

    #[cfg(not(target_os = "linux"))]
    pub fn is_any_coming(_listener: &TcpListener) -> bool {
        false
    }

    pub fn has_arrived(listener: &TcpListener) -> bool {
        use std::os::fd::AsRawFd;
        let mut asked = libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, valid and ours.
        unsafe { libc::poll(&mut asked, 1, 0) > 0 }
    }

    pub fn is_shortage(error: &io::Error) -> bool {
        let short = [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM];
        error.raw_os_error().is_some_and(|code| short.contains(&code))
    }
}

#[cfg(windows)]
mod os {
    use std::io;
    use std::net::{TcpListener, TcpStream};

    use socket2::Socket;
    use windows_sys::Win32::Networking::WinSock::{
        POLLRDNORM, WSA_NOT_ENOUGH_MEMORY, WSAEMFILE, WSAENOBUFS, WSAPOLLFD, WSAPoll,
    };

    /// Connections that may wait to be accepted. Windows silently cuts a positive number down to what it
    /// thinks right; a negative one (`SOMAXCONN_HINT`) it takes at its word, up to this.
    pub const BACKLOG: i32 = -65_535;

    /// On Windows this would let another program take the port; it is free at once anyway.
    pub fn reuse_address(_socket: &Socket) -> io::Result<()> {
        Ok(())
    }

    pub fn share_port(_socket: &Socket) -> io::Result<()> {
        Err(io::Error::other("Windows does not share connections out among listeners"))
    }

    pub fn wait_for_client(_socket: &Socket) -> io::Result<()> {
        Ok(())
    }

    pub fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
        let (stream, _) = listener.accept()?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    }

    pub fn receive(mut stream: &TcpStream, room: &mut [u8]) -> io::Result<usize> {
        io::Read::read(&mut stream, room)
    }

    pub fn send(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut stream, bytes)
    }

    pub fn ignore_new(_listener: &TcpListener) -> bool {
        false
    }

    pub fn is_any_coming(_listener: &TcpListener) -> bool {
        false
    }

    pub fn has_arrived(listener: &TcpListener) -> bool {
        use std::os::windows::io::AsRawSocket;
        let fd = listener.as_raw_socket() as _;
        let mut asked = WSAPOLLFD { fd, events: POLLRDNORM, revents: 0 };
        // SAFETY: one entry, valid and ours.
        unsafe { WSAPoll(&mut asked, 1, 0) > 0 }
    }

    pub fn is_shortage(error: &io::Error) -> bool {
        let short = [WSAEMFILE, WSAENOBUFS, WSA_NOT_ENOUGH_MEMORY];
        error.raw_os_error().is_some_and(|code| short.contains(&code))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Write};
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;

    fn anywhere() -> SocketAddr {
        (Ipv4Addr::LOCALHOST, 0).into()
    }

    #[test]
    fn connections_made_before_are_accepted_and_later_ones_ignored() {
        let listener = listen(anywhere(), Listening::default()).unwrap();
        listener.set_nonblocking(true).unwrap();
        assert_eq!(accept(&listener).unwrap_err().kind(), ErrorKind::WouldBlock);
        let address = listener.local_addr().unwrap();
        let mut early = TcpStream::connect(address).unwrap();
        let is_ignored = ignore_new(&listener);
        assert_eq!(is_ignored, cfg!(target_os = "linux"), "only Linux can");
        if !is_ignored {
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
    fn a_connection_is_coming_until_its_client_speaks() {
        let how = Listening { client_begins: true, ..Listening::default() };
        let listener = listen(anywhere(), how).unwrap();
        assert!(!is_any_coming(&listener) && !has_arrived(&listener));
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        // The system hands it out after a second anyway, or does not keep it at all.
        assert!(is_any_coming(&listener) || has_arrived(&listener));
        client.write_all(b"x").unwrap();
        let began = std::time::Instant::now();
        while is_any_coming(&listener) || !has_arrived(&listener) {
            assert!(began.elapsed() < Duration::from_secs(60), "it never arrives");
            std::thread::yield_now();
        }
        listener.accept().unwrap();
        assert!(!has_arrived(&listener));
    }

    #[test]
    fn a_port_is_shared_only_if_asked_for() {
        let shared = Listening { shared_port: true, client_begins: true };
        let first = listen(anywhere(), shared);
        if cfg!(windows) {
            assert!(first.is_err(), "Windows has no such sharing");
            return;
        }
        let first = first.unwrap();
        let address = first.local_addr().unwrap();
        listen(address, shared).unwrap();
        let alone = listen(address, Listening::default()).unwrap_err();
        assert_eq!(alone.kind(), ErrorKind::AddrInUse);
    }

    #[test]
    fn a_shortage_is_told_from_other_errors() {
        assert!(!is_shortage(&io::Error::from(ErrorKind::ConnectionRefused)));
        #[cfg(unix)]
        assert!(is_shortage(&io::Error::from_raw_os_error(libc::EMFILE)));
    }
}

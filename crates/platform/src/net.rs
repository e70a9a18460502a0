//! What clients that make many connections need of TCP sockets, and how they wait for them, beyond what is the same
//! everywhere. [`crate::socket`] has what servers need; they have only the meaning of a shortage in common.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

/// Whether a read that fills less than its buffer has taken all there was, and an edge-triggered wait
/// tells of more. Elsewhere (Windows) only a read that would block rearms the wait.
pub const SHORT_READ_IS_ALL: bool = cfg!(unix);

/// Whether all of 127.0.0.0/8 is this machine, without any preparation.
pub const WHOLE_LOOPBACK: bool = cfg!(any(target_os = "linux", windows));

/// A TCP socket that never blocks, for IPv6 or IPv4.
///
/// # Errors
/// The system's, such as no descriptor left: see [`crate::socket::is_shortage`].
pub fn stream_socket(ipv6: bool) -> io::Result<Socket> {
    let domain = if ipv6 { Domain::IPV6 } else { Domain::IPV4 };
    #[cfg(any(target_os = "linux", target_os = "freebsd"))]
    let socket = Socket::new(domain, Type::STREAM.nonblocking(), None)?;
    #[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
    let socket = {
        let socket = Socket::new(domain, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket
    };
    Ok(socket)
}

/// Gives a socket its source address and leaves the port for when it connects, so that one port can
/// serve towards several destinations (`IP_BIND_ADDRESS_NO_PORT`, ip(7); other systems choose now).
///
/// # Errors
/// The system's, such as an address that is not this machine's.
pub fn bind_address(socket: &Socket, from: IpAddr) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        let (yes, size) = (1 as libc::c_int, size_of::<libc::c_int>() as libc::socklen_t);
        // SAFETY: the socket is open, and pointer and size describe `yes`. A kernel that does not know
        // the option chooses the port now, which is no harm.
        unsafe {
            let option = libc::IP_BIND_ADDRESS_NO_PORT;
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_IP,
                option,
                (&raw const yes).cast(),
                size,
            );
        }
    }
    socket.bind(&std::net::SocketAddr::new(from, 0).into())
}

/// Whether a connection that must not block is under way.
pub fn is_in_progress(error: &io::Error) -> bool {
    #[cfg(unix)]
    let under_way = error.raw_os_error() == Some(libc::EINPROGRESS);
    #[cfg(windows)]
    let under_way = error.kind() == io::ErrorKind::WouldBlock;
    under_way
}

/// Whether all local ports towards an address are in use.
pub fn is_port_shortage(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::AddrInUse)
}

/// What an operating system lets many sockets be waited for with.
#[cfg(unix)]
pub trait Waitable: std::os::fd::AsRawFd {}
#[cfg(unix)]
impl<T: std::os::fd::AsRawFd> Waitable for T {}

/// What an operating system lets many sockets be waited for with.
#[cfg(windows)]
pub trait Waitable {}
#[cfg(windows)]
impl<T> Waitable for T {}

/// Waits until `poll` has events or `time` has passed, to some microseconds where the system can do
/// that (Linux, FreeBSD); elsewhere only lets other threads run. It may return early for any reason.
pub fn wait_finely(poll: &impl Waitable, time: Duration) {
    #[cfg(any(target_os = "linux", target_os = "freebsd"))]
    {
        let mut asked = libc::pollfd { fd: poll.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let time = libc::timespec {
            tv_sec: time.as_secs() as libc::time_t,
            tv_nsec: time.subsec_nanos() as libc::c_long,
        };
        // SAFETY: one valid pollfd and a valid time; no mask.
        unsafe { libc::ppoll(&mut asked, 1, &time, std::ptr::null()) };
    }
    #[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
    {
        let _ = (poll, time);
        std::thread::yield_now();
    }
}

/// Has the calling thread's waits end as exactly as the timer does, not up to 50 us later, where the
/// system puts them off (Linux).
pub fn wake_exactly() {
    #[cfg(target_os = "linux")]
    // SAFETY: a plain call; 1 ns is the least slack.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_with_an_address_of_its_own() {
        let socket = stream_socket(false).unwrap();
        bind_address(&socket, "127.0.0.1".parse().unwrap()).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let connected = socket.connect(&listener.local_addr().unwrap().into());
        assert!(connected.is_ok() || is_in_progress(&connected.unwrap_err()));
        let address = socket.local_addr().unwrap().as_socket().unwrap();
        assert!(address.ip().is_loopback() && address.port() != 0);
        let foreign = bind_address(&stream_socket(false).unwrap(), "192.0.2.1".parse().unwrap());
        assert!(is_port_shortage(&foreign.unwrap_err()));
    }
}

//! TCP sockets of clients that make many connections, and precise waiting for them. [`crate::socket::server`] is for
//! servers.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use socket2::{Domain, Socket, TcpKeepalive};

/// Whether a read that returns less than its buffer holds has read everything, so that an edge-triggered wait reports what
/// arrives later. On Windows only a read that would block rearms the wait.
pub const SHORT_READ_IS_ALL: bool = crate::IS_UNIX;

/// Time of silence on a connection before [`keep_alive`] has the system probe it, and between two probes.
const PROBE_AFTER: Duration = Duration::from_secs(15);
const PROBE_INTERVAL: Duration = Duration::from_secs(5);

/// Whether all addresses of 127.0.0.0/8 are local without configuration.
pub const WHOLE_LOOPBACK: bool = crate::IS_LINUX || crate::IS_WINDOWS;

/// A non-blocking TCP socket, for IPv6 or IPv4.
///
/// # Errors
/// Errors of socket(2), such as a shortage of descriptors: see [`crate::socket::transfer::is_shortage`].
pub fn stream_socket(ipv6: bool) -> io::Result<Socket> {
    let domain = if ipv6 { Domain::IPV6 } else { Domain::IPV4 };
    os::stream_socket(domain)
}

/// Binds a socket to a source address. On Linux connect(2) chooses the port, so that one port serves several destinations
/// (`IP_BIND_ADDRESS_NO_PORT`, ip(7)); other systems choose it in bind(2).
///
/// # Errors
/// Errors of bind(2), such as an address that is not local.
pub fn bind_address(socket: &Socket, from: IpAddr) -> io::Result<()> {
    os::choose_port_late(socket);
    socket.bind(&std::net::SocketAddr::new(from, 0).into())
}

/// Checks whether connections can come from a source address.
///
/// # Errors
/// This fails as [`bind_address`] and [`stream_socket`] do.
pub fn check_source(from: IpAddr) -> io::Result<()> {
    bind_address(&stream_socket(from.is_ipv6())?, from)
}

/// Has the system probe the peer of a silent connection (`SO_KEEPALIVE`). A server that is killed or restarted while the
/// connection is being established may never tell the client, which would wait until its own timeout. The host answers the
/// first probe with a reset. Systems without support leave the client its timeout.
pub fn keep_alive(socket: &Socket) {
    let probes = TcpKeepalive::new().with_time(PROBE_AFTER).with_interval(PROBE_INTERVAL);
    let _ = socket.set_tcp_keepalive(&probes);
}

/// Whether a non-blocking connect(2) is in progress.
pub use os::is_in_progress;

/// Whether all local ports towards a destination are in use.
pub fn is_port_shortage(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::AddrInUse)
}

/// An object that [`wait_finely`] can wait for.
#[cfg(unix)]
pub trait Waitable: std::os::fd::AsRawFd {}
#[cfg(unix)]
impl<T: std::os::fd::AsRawFd> Waitable for T {}

/// An object that [`wait_finely`] can wait for.
#[cfg(windows)]
pub trait Waitable {}
#[cfg(windows)]
impl<T> Waitable for T {}

/// Waits until `poll` has events or `time` has passed, with a resolution of microseconds on Linux and FreeBSD; other
/// systems only yield the CPU. May return early.
pub use os::wait_finely;

/// Sets the calling thread's timer slack to the minimum, where the system has one (Linux, 50 us by default).
pub use os::minimize_timer_slack;

#[cfg(target_os = "linux")]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::os::fd::AsRawFd;

    use socket2::Socket;

    pub use super::unix::{is_in_progress, stream_socket, wait_finely};

    pub fn choose_port_late(socket: &Socket) {
        let (yes, size) = (1 as libc::c_int, size_of::<libc::c_int>() as libc::socklen_t);
        // SAFETY: the socket is open, and pointer and size describe `yes`. A kernel without the option chooses the port now,
        // which is harmless.
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

    pub fn minimize_timer_slack() {
        // SAFETY: the call has no pointers; 1 ns is the smallest slack.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
    }
}

#[cfg(any(target_os = "linux", target_os = "freebsd"))]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod unix {
    use std::io;
    use std::time::Duration;

    use socket2::{Domain, Socket, Type};

    use super::Waitable;

    pub fn stream_socket(domain: Domain) -> io::Result<Socket> {
        Socket::new(domain, Type::STREAM.nonblocking(), None)
    }

    pub fn is_in_progress(error: &io::Error) -> bool {
        error.raw_os_error() == Some(libc::EINPROGRESS)
    }

    pub fn wait_finely(poll: &impl Waitable, time: Duration) {
        let mut entry = libc::pollfd { fd: poll.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let time = libc::timespec {
            tv_sec: time.as_secs() as libc::time_t,
            tv_nsec: time.subsec_nanos() as libc::c_long,
        };
        // SAFETY: one valid pollfd and a valid time; no mask.
        unsafe { libc::ppoll(&mut entry, 1, &time, std::ptr::null()) };
    }
}

#[cfg(target_os = "freebsd")]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use socket2::Socket;

    pub use super::unix::{is_in_progress, stream_socket, wait_finely};

    pub fn choose_port_late(_socket: &Socket) {}

    pub fn minimize_timer_slack() {}
}

#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::io;
    use std::time::Duration;

    use socket2::{Domain, Socket, Type};

    use super::Waitable;

    pub fn stream_socket(domain: Domain) -> io::Result<Socket> {
        let socket = Socket::new(domain, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    }

    #[cfg(unix)]
    pub fn is_in_progress(error: &io::Error) -> bool {
        error.raw_os_error() == Some(libc::EINPROGRESS)
    }

    #[cfg(windows)]
    pub fn is_in_progress(error: &io::Error) -> bool {
        error.kind() == io::ErrorKind::WouldBlock
    }

    pub fn wait_finely(_poll: &impl Waitable, _time: Duration) {
        std::thread::yield_now();
    }

    pub fn choose_port_late(_socket: &Socket) {}

    pub fn minimize_timer_slack() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_bound_to_an_address() {
        let socket = stream_socket(false).unwrap();
        bind_address(&socket, "127.0.0.1".parse().unwrap()).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let connected = socket.connect(&listener.local_addr().unwrap().into());
        assert!(connected.is_ok() || is_in_progress(&connected.unwrap_err()));
        let address = socket.local_addr().unwrap().as_socket().unwrap();
        assert!(address.ip().is_loopback() && address.port() != 0);
        let foreign = check_source("192.0.2.1".parse().unwrap());
        assert!(is_port_shortage(&foreign.unwrap_err()));
        check_source("127.0.0.1".parse().unwrap()).unwrap();
    }
}

//! One connection, from the client's side.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use mio::net::TcpStream;
use platform::client_socket;
use socket2::SockRef;

use crate::verdict::Progress;

/// Maximum number of connections from one source address: less than half of the 28,232 ephemeral ports of Linux
/// (ip_local_port_range, ip(7)). Linux tries every second port first, which takes long once most of them are in use.
const PORTS_OF_AN_ADDRESS: usize = 12_000;
/// Requests up to this size, in bytes, fit in one segment. Larger ones need `TCP_NODELAY`, so that their last segment is
/// not delayed (RFC 896).
pub(crate) const ONE_SEGMENT: usize = 1_000;

/// The state of a slot and its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ConnectionState {
    /// There is no connection.
    #[default]
    Vacant,
    /// There is no connection until a pause is over.
    Resting,
    /// It is being established.
    Connecting,
    /// The request is being sent.
    Sending,
    /// Waiting for the reply.
    Receiving,
    /// The reply was received; waiting for the server to close.
    Closing,
    /// Open, without an exchange.
    Idle,
}

/// A slot for a connection.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    pub stream: Option<TcpStream>,
    pub state: ConnectionState,
    /// It was newly opened and has not received a reply yet.
    pub fresh: bool,
    /// `begun` is a scheduled time, and does not change.
    pub scheduled: bool,
    /// Bytes of the request that were sent.
    pub sent: u32,
    /// Replies received.
    pub exchanges: u32,
    /// When the current state began, for timeouts, in ns of the generator's clock.
    pub since: u64,
    /// From when on the latencies of the reply and of the close are counted, in ns of the generator's clock.
    pub begun: u64,
    pub progress: Progress,
}

impl Connection {
    /// Whether an exchange is in progress.
    pub fn is_in_progress(&self) -> bool {
        matches!(
            self.state,
            ConnectionState::Connecting
                | ConnectionState::Sending
                | ConnectionState::Receiving
                | ConnectionState::Closing
        )
    }

    /// Closes the connection. With `reset`, for a server that has closed already or has failed, it sends RST: no
    /// TIME_WAIT remains on either side (RFC 9293, 3.5.2).
    pub fn close(&mut self, reset: bool) {
        if let Some(stream) = self.stream.take()
            && reset
        {
            // If this fails, a TIME_WAIT remains on one side, which is harmless.
            let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
        }
        self.progress.partial = Vec::new();
    }
}

/// Starts to connect, from the source address `from` if given.
pub(crate) fn open(to: SocketAddr, from: Option<IpAddr>, request: usize) -> io::Result<TcpStream> {
    let socket = client_socket::stream_socket(to.is_ipv6())?;
    if let Some(from) = from {
        client_socket::bind_address(&socket, from)?;
    }
    if request > ONE_SEGMENT {
        socket.set_tcp_nodelay(true)?;
    }
    match socket.connect(&to.into()) {
        Err(error) if !client_socket::is_in_progress(&error) => Err(error),
        _ => Ok(TcpStream::from_std(socket.into())),
    }
}

/// The source address of the connection in slot `nth`; `None`: the system chooses.
pub(crate) fn source_of(nth: usize, to: SocketAddr, sources: &[IpAddr]) -> Option<IpAddr> {
    if !sources.is_empty() {
        return Some(sources[nth % sources.len()]);
    }
    let whole = client_socket::WHOLE_LOOPBACK && to.is_ipv4() && to.ip().is_loopback();
    match nth / PORTS_OF_AN_ADDRESS {
        0 => None,
        _ if !whole => None,
        more => {
            let first = u32::from(Ipv4Addr::LOCALHOST);
            Some(Ipv4Addr::from(first + (more as u32).min(0xff_0000)).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_connections_than_ports_come_from_more_addresses() {
        let to: SocketAddr = "127.0.0.1:25".parse().unwrap();
        assert_eq!(source_of(11_999, to, &[]), None);
        let more = client_socket::WHOLE_LOOPBACK.then(|| "127.0.0.3".parse().unwrap());
        assert_eq!(source_of(24_000, to, &[]), more);
        assert_eq!(source_of(40_000, "192.0.2.1:25".parse().unwrap(), &[]), None);
        let asked = ["127.0.0.7".parse().unwrap(), "127.0.0.8".parse().unwrap()];
        assert_eq!(source_of(3, to, &asked), Some(asked[1]));
    }

    #[test]
    fn a_slot_is_small() {
        assert!(size_of::<Connection>() <= 96, "{}", size_of::<Connection>());
    }
}

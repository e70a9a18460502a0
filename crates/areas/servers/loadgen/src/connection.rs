//! The client's side of a connection.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use mio::net::TcpStream;
use platform::socket::client;
use socket2::SockRef;

use crate::verdict::Progress;

/// Maximum number of connections from one source address: less than half of Linux's 28,232 ephemeral ports
/// (ip_local_port_range, ip(7)). Linux tries every second port first, which takes long when most of them are in use.
const PORTS_OF_AN_ADDRESS: usize = 12_000;
/// Maximum size of a request in bytes that fits in one segment. Larger ones need `TCP_NODELAY`, so that their last segment
/// is not delayed (RFC 896).
pub(crate) const ONE_SEGMENT: usize = 1_000;

/// The state of a slot and its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ConnectionState {
    /// The slot has no connection.
    #[default]
    Vacant,
    /// The slot has no connection until a pause is over.
    Resting,
    /// The connection is being established.
    Connecting,
    /// The request is being sent.
    Sending,
    /// Waiting for the reply.
    Receiving,
    /// The reply was received, and the server is to close.
    Closing,
    /// The connection is open, without an exchange.
    Idle,
}

/// A slot for a connection.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    pub stream: Option<TcpStream>,
    pub state: ConnectionState,
    /// Whether the connection is new and has not received a reply yet.
    pub fresh: bool,
    /// Whether `begun` is a scheduled time, which does not change.
    pub scheduled: bool,
    /// Number of bytes of the request that were sent.
    pub sent: u32,
    /// Number of replies received.
    pub exchanges: u32,
    /// Beginning of the current state, for timeouts, in ns of the generator's clock.
    pub since: u64,
    /// The time from which the latencies of the reply and of the close are counted, in ns of the generator's clock.
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

    /// Closes the connection. With `reset`, for a server that has closed already or has failed, sends RST, so that no
    /// TIME_WAIT remains on either side (RFC 9293, 3.5.2).
    pub fn close(&mut self, reset: bool) {
        if let Some(stream) = self.stream.take()
            && reset
        {
            // Without the option a TIME_WAIT remains on one side, which is harmless.
            let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
        }
        self.progress.partial.take();
    }
}

/// Starts to connect, from the source address `from` if given.
pub(crate) fn open(to: SocketAddr, from: Option<IpAddr>, request: usize) -> io::Result<TcpStream> {
    let socket = client::stream_socket(to.is_ipv6())?;
    if let Some(from) = from {
        client::bind_address(&socket, from)?;
    }
    if request > ONE_SEGMENT {
        socket.set_tcp_nodelay(true)?;
    }
    match socket.connect(&to.into()) {
        Err(error) if !client::is_in_progress(&error) => Err(error),
        _ => Ok(TcpStream::from_std(socket.into())),
    }
}

/// The source address of the connection in slot `nth`; `None` if the system chooses.
pub(crate) fn source_of(nth: usize, to: SocketAddr, sources: &[IpAddr]) -> Option<IpAddr> {
    if !sources.is_empty() {
        return Some(sources[nth % sources.len()]);
    }
    let whole = client::WHOLE_LOOPBACK && to.is_ipv4() && to.ip().is_loopback();
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
        let more = client::WHOLE_LOOPBACK.then(|| "127.0.0.3".parse().unwrap());
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

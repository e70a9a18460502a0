//! One connection, from the client's side.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use mio::net::TcpStream;
use platform::client_socket;
use socket2::SockRef;

use super::reply::Progress;

/// So many connections at a time are made from one source address: fewer than half of the 28,232 ports that
/// Linux gives away by default (ip_local_port_range, ip(7)). It looks through every second port first, which
/// takes long once most of those are in use.
const PORTS_OF_AN_ADDRESS: usize = 12_000;
/// Requests larger than this may be sent in several segments, of which the last must not wait (RFC 896).
pub(super) const SURELY_ONE_SEGMENT: usize = 1_000;

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Phase {
    /// There is none.
    #[default]
    Vacant,
    /// There is none until a while has passed.
    Resting,
    /// It is being established.
    Connecting,
    /// The request is being sent.
    Sending,
    /// The reply is awaited.
    Receiving,
    /// The reply came; the server is to close.
    Closing,
    /// Nothing is to be said just now.
    Idle,
}

/// A place for a connection.
#[derive(Debug, Default)]
pub(super) struct Connection {
    pub stream: Option<TcpStream>,
    pub phase: Phase,
    /// It was not there before and has not had a reply yet.
    pub fresh: bool,
    /// `begun` is the planned moment, and stays.
    pub planned: bool,
    /// Bytes of the request that are sent.
    pub sent: u32,
    /// Replies it has had.
    pub exchanges: u32,
    /// When what is awaited was asked for, in ns of the generator's clock.
    pub since: u64,
    /// From when on times to the reply and the end are counted, in ns of the generator's clock.
    pub begun: u64,
    pub progress: Progress,
}

impl Connection {
    /// Whether something of an exchange is under way.
    pub fn is_under_way(&self) -> bool {
        matches!(self.phase, Phase::Connecting | Phase::Sending | Phase::Receiving | Phase::Closing)
    }

    /// Gives it up. With `reset` the other side, which has closed already or is at fault, is told so at
    /// once: no TIME_WAIT remains on either side (RFC 9293, 3.5.2).
    pub fn shut(&mut self, reset: bool) {
        if let Some(stream) = self.stream.take()
            && reset
        {
            // Without it there is a TIME_WAIT on one side, which is no harm.
            let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
        }
        self.progress.partial = Vec::new();
    }
}

/// Asks for a connection, from `from` where that is given.
pub(super) fn open(to: SocketAddr, from: Option<IpAddr>, request: usize) -> io::Result<TcpStream> {
    let socket = client_socket::stream_socket(to.is_ipv6())?;
    if let Some(from) = from {
        client_socket::bind_address(&socket, from)?;
    }
    if request > SURELY_ONE_SEGMENT {
        socket.set_tcp_nodelay(true)?;
    }
    match socket.connect(&to.into()) {
        Err(error) if !client_socket::is_in_progress(&error) => Err(error),
        _ => Ok(TcpStream::from_std(socket.into())),
    }
}

/// The source address of the connection in place `nth`; `None`: the system's choice.
pub(super) fn source_of(nth: usize, to: SocketAddr, sources: &[IpAddr]) -> Option<IpAddr> {
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
    fn a_place_is_small() {
        assert!(size_of::<Connection>() <= 96, "{}", size_of::<Connection>());
    }
}

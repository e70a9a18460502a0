//! The settings of a delivery.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use platform::socket::readiness::PollBackend;
use smtp::address::Address;
use smtp::session::SessionOptions;

use crate::list::List;
use crate::message::{Signer, Template};
use crate::queue::{Limits, Retry};
use crate::route::Router;
use crate::tls::ClientTls;

/// The way in which connections are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// A number of event loops, each in its own thread, with a polling interface.
    Loops(usize, PollBackend),
    /// A thread for each connection, with blocking calls.
    Threads,
    /// A process for each connection, with blocking calls.
    Processes,
}

/// The settings of a delivery.
#[derive(Debug)]
pub struct DeliveryOptions {
    /// The recipients.
    pub list: List,
    /// The message.
    pub template: Template,
    /// The delivery's unique identifier, used in Message-IDs; a resumed delivery keeps it.
    pub run: String,
    /// The value of `Date` for messages without one.
    pub date: String,
    /// The DKIM signer.
    pub signer: Option<Signer>,
    /// The return path; `None` for a message that must not be returned.
    pub from: Option<Address>,
    /// Whether each recipient gets a separate return path that names the recipient (VERP).
    pub verp: bool,
    /// Finds the servers of a domain.
    pub router: Router,
    /// Whether all recipients go to the same servers, a relay, whatever their domain.
    pub is_relayed: bool,
    /// The settings of SMTP sessions.
    pub session: SessionOptions,
    /// The settings of TLS.
    pub tls: ClientTls,
    /// Limits on concurrency.
    pub limits: Limits,
    /// Maximum number of transactions over one connection.
    pub per_connection: u32,
    /// The times at which deferred recipients are retried.
    pub retry: Retry,
    /// Maximum wait for a server's reply, where RFC 5321 allows more.
    pub timeout: Duration,
    /// Local addresses to connect from, in turn; the system chooses if there are none.
    pub sources: Vec<IpAddr>,
    /// The transport.
    pub transport: Transport,
    /// The time after which the delivery stops, complete or not; for measurements.
    pub time: Option<Duration>,
}

impl DeliveryOptions {
    /// The local address for the connection with the number `made` to `to`.
    pub(crate) fn source(&self, made: usize, to: SocketAddr) -> Option<IpAddr> {
        source(&self.sources, made, to)
    }
}

/// Chooses in turn among the addresses of the family of `to`. Without such an address, chooses one of the other family, so
/// that the connection fails rather than being made from an unlisted address.
fn source(sources: &[IpAddr], made: usize, to: SocketAddr) -> Option<IpAddr> {
    let fit = || sources.iter().filter(|source| source.is_ipv6() == to.is_ipv6());
    let nth = made.checked_rem(fit().count());
    nth.and_then(|nth| fit().nth(nth)).or(sources.first()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_take_turns_within_their_family() {
        let ips = |all: &[&str]| all.iter().map(|ip| ip.parse().unwrap()).collect::<Vec<IpAddr>>();
        let from = |all: &[&str], made, to: &str| source(&ips(all), made, to.parse().unwrap());
        let all = ["127.0.0.2", "::1", "127.0.0.3"];
        let in_turn: Vec<_> = (0..3).filter_map(|made| from(&all, made, "127.0.0.1:25")).collect();
        assert_eq!(in_turn, ips(&["127.0.0.2", "127.0.0.3", "127.0.0.2"]));
        assert_eq!(from(&all, 5, "[::1]:25"), Some("::1".parse().unwrap()));
        assert_eq!(from(&["::1"], 0, "127.0.0.1:25"), Some("::1".parse().unwrap()));
        assert_eq!(from(&[], 0, "127.0.0.1:25"), None);
    }
}

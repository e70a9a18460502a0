//! Settings of MX look-ups.

use std::net::SocketAddr;
use std::time::Duration;

use super::target::PORT;

/// Default number of concurrent look-ups. A name server's socket holds about 250 queries in Linux's default buffer and
/// drops more that arrive at once, and each dropped query costs half the time-out.
const IN_FLIGHT: usize = 200;
/// Default number of domains whose routes are kept or being looked up: about 100 MB.
const DOMAINS_AT_MOST: usize = 100_000;
/// Default time-out of a query, including its repetition (RFC 1123, section 6.1.3.3).
const TIMEOUT: Duration = Duration::from_secs(10);

/// Address families of mail servers that are used, and their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Families {
    /// Both families, IPv6 first.
    Ipv6First,
    /// Both families, IPv4 first.
    #[default]
    Ipv4First,
    /// IPv4 only.
    Ipv4,
    /// IPv6 only.
    Ipv6,
}

/// Limits on the time for which routes are cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Minimum time, whatever the TTL; also the time after a failed look-up before it is repeated.
    pub shortest: Duration,
    /// Maximum time, whatever the TTL.
    pub longest: Duration,
    /// Time for a negative answer without a TTL (RFC 2308, section 5).
    pub nothing: Duration,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            shortest: Duration::from_secs(60),
            longest: Duration::from_secs(24 * 60 * 60),
            nothing: Duration::from_secs(5 * 60),
        }
    }
}

/// Settings of MX look-ups.
#[derive(Debug, Clone)]
pub struct MxOptions {
    /// The name server, by UDP, and by TCP for long answers; `None` for the system's.
    pub nameserver: Option<SocketAddr>,
    /// The port of all mail servers, which MX records do not contain.
    pub port: u16,
    /// Address families that are used.
    pub families: Families,
    /// Time-out of a query, including its repetition. All queries for one domain may take four times as long.
    pub timeout: Duration,
    /// Maximum number of concurrent look-ups.
    pub in_flight: usize,
    /// Maximum number of domains cached or waiting.
    pub domains_at_most: usize,
    /// Limits on the time for which routes are cached.
    pub kept: Kept,
}

impl Default for MxOptions {
    fn default() -> Self {
        Self {
            nameserver: None,
            port: PORT,
            families: Families::default(),
            timeout: TIMEOUT,
            in_flight: IN_FLIGHT,
            domains_at_most: DOMAINS_AT_MOST,
            kept: Kept::default(),
        }
    }
}

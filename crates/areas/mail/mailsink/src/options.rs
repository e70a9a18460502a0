//! Settings of a sink.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;

use crate::extension::Extension;
use crate::fault::Fault;
use crate::latency::Latency;

/// Settings of a sink.
#[derive(Debug, Clone)]
pub struct SinkOptions {
    /// The addresses to listen at; at least one.
    pub listen: Vec<SocketAddr>,
    /// Time for a client's whole command, for each block of a message, and to receive a reply.
    pub timeout: Duration,
    /// Time limit for messages in progress after a stop.
    pub drain: Duration,
    /// Maximum size of a message, in bytes.
    pub size: u64,
    /// Extensions that are not offered.
    pub without: Vec<Extension>,
    /// Whether EHLO is rejected, as by old servers.
    pub helo_only: bool,
    /// The TLS configuration; `None` for no TLS.
    pub tls: Option<Arc<ServerConfig>>,
    /// The user and password accepted by AUTH; `None` for any.
    pub login: Option<(String, String)>,
    /// Faults to inject.
    pub faults: Vec<Fault>,
    /// Delays of replies.
    pub latencies: Vec<Latency>,
    /// Seed of the random numbers: the same seed has the same effect on the n-th connection.
    pub seed: u64,
    /// Time for which a new recipient is deferred (greylisting).
    pub greylist: Option<Duration>,
    /// Delay before each byte of a reply.
    pub tarpit: Option<Duration>,
    /// Size of the socket receive buffer in bytes, which the system may round; `None` for the system's default.
    pub window: Option<usize>,
    /// Maximum number of bytes read from each connection per second; `None` for no limit.
    pub read_rate: Option<u64>,
    /// File to which a line of JSON is appended for each message.
    pub log: Option<PathBuf>,
    /// Directory into which each message is written.
    pub capture: Option<PathBuf>,
    /// Function that is called once if messages cannot be written.
    pub warn: fn(&str),
}

impl Default for SinkOptions {
    /// Settings of a sink that accepts everything, without addresses.
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            timeout: Duration::from_secs(300),
            drain: Duration::from_millis(500),
            size: 50 * 1024 * 1024,
            without: Vec::new(),
            helo_only: false,
            tls: None,
            login: None,
            faults: Vec::new(),
            latencies: Vec::new(),
            seed: 1,
            greylist: None,
            tarpit: None,
            window: None,
            read_rate: None,
            log: None,
            capture: None,
            warn: |_| {},
        }
    }
}

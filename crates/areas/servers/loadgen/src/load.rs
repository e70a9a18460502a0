//! The description of a load.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serving::Protocol;

/// A load on a server.
#[derive(Debug, Clone)]
pub struct Load {
    /// The server's address.
    pub to: SocketAddr,
    /// The server's protocol.
    pub protocol: Protocol,
    /// The required status of an external HTTP server, whose replies must all have the same body. `None`: replies must be
    /// those of [`Protocol`].
    pub status: Option<u16>,
    /// Time limit for establishing a connection, for a reply, and for the close; in an open loop from the scheduled time
    /// until the reply. Default: 5 s.
    pub timeout: Duration,
    /// Source addresses, used in turn. If there are none, the system chooses; for a server on loopback, each 12,000 further
    /// connections use another address of 127.0.0.0/8.
    pub sources: Vec<IpAddr>,
    /// The CPU that the calling thread is pinned to, if any.
    pub cpu: Option<usize>,
    /// The server's process; each step then reports the CPU time of this process and its children.
    pub server: Option<u32>,
    /// Whether the calling thread's CPU is the server's only one.
    pub shares_cpu: bool,
    /// Number of CPUs that the server can use at the same time, at least one: one for a single event loop.
    pub server_cpus: usize,
    /// A flag that ends a running step with [`platform::CaseError::Interrupted`].
    pub stop: Option<&'static AtomicBool>,
}

impl Load {
    /// A load on a server, with the defaults.
    pub fn new(to: SocketAddr, protocol: Protocol) -> Self {
        Self {
            to,
            protocol,
            status: None,
            timeout: Duration::from_secs(5),
            sources: Vec::new(),
            cpu: None,
            server: None,
            shares_cpu: false,
            server_cpus: 1,
            stop: None,
        }
    }
}

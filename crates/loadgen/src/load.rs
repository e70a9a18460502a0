//! Description of a load.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serving::Protocol;

/// A load on a server.
#[derive(Debug, Clone)]
pub struct Load {
    /// The server's address.
    pub to: SocketAddr,
    /// The protocol it serves.
    pub protocol: Protocol,
    /// For HTTP: accept the replies of any server, if they have this status and all have the same body. Otherwise
    /// replies must be those of [`Protocol`].
    pub status: Option<u16>,
    /// Time limit for establishing a connection, for a reply, and for the close; in an open loop, from the scheduled time
    /// until the reply. Default: 5 s.
    pub timeout: Duration,
    /// Source addresses, used in turn. If there are none the system chooses, and for a server on loopback each 12,000
    /// further connections use another address of 127.0.0.0/8.
    pub sources: Vec<IpAddr>,
    /// Pin the calling thread to this CPU.
    pub cpu: Option<usize>,
    /// The server's process; each step then reports the CPU time of it and of its children.
    pub server: Option<u32>,
    /// Whether the server has no other CPU than the calling thread's.
    pub shares_cpu: bool,
    /// The number of CPUs that the server can use at the same time: at least one, and one for a single event loop.
    pub server_cpus: usize,
    /// When this is set, a running step ends with [`platform::CaseError::Interrupted`].
    pub stop: Option<Arc<AtomicBool>>,
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

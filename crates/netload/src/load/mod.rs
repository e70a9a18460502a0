//! The load generator: so many connections in flight, or so many requests a second, each reply checked
//! byte for byte.
//!
//! It is one thread, the caller's, that waits for all connections at once. Connections stay from step
//! to step:
//!
//! ```no_run
//! use std::time::Duration;
//! use netload::{Protocol, load::{Generator, Load}};
//!
//! # fn main() -> Result<(), platform::CaseError> {
//! let to = "127.0.0.1:2525".parse().expect("an address");
//! let mut generator = Generator::new(Load::new(to, Protocol::TOO_BUSY))?;
//! for concurrency in [1, 10, 100, 1_000] {
//!     let step = generator.step(concurrency, Duration::from_secs(5))?;
//!     println!("{concurrency}: {:.0} replies/s", step.replies_per_s());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! **Closed loop** ([`Generator::step`]): each connection begins its next exchange when the one before is
//! done. The percentiles tell how long such clients wait, of whom there are so many and who do not come
//! while they wait: a stall delays each of them once, however many would have come meanwhile.
//!
//! **Open loop** ([`Generator::rate`]): exchanges begin at planned moments, at the same distance, whether
//! or not those before are done. Times count from the planned moment, so that a stall delays all who
//! would have come during it.
//!
//! **No TIME_WAIT** remains where the server closes first, on either side: having read the end, the client
//! resets what is left of the connection, and its port is free at once. A connection that the client ends
//! leaves one.

mod connection;
mod foreign;
mod generator;
mod plan;
mod reply;
mod step;
mod window;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use generator::{Generator, Held};
pub use step::{ErrorKind, Errors, Step, Unfinished};
pub use window::Window;

use crate::Protocol;

/// What is to be loaded, and how.
#[derive(Debug, Clone)]
pub struct Load {
    /// The server.
    pub to: SocketAddr,
    /// What is said.
    pub protocol: Protocol,
    /// With HTTP: the server is any, its replies have this status and all the same body. Else they must be
    /// those of [`Protocol`].
    pub status: Option<u16>,
    /// A connection, a reply or an end that takes longer is given up. Default: 5 s.
    pub timeout: Duration,
    /// Source addresses, which connections take in turn. Where none are given the system chooses, and to
    /// a server on loopback each further 12,000 connections have another of 127.0.0.0/8.
    pub sources: Vec<IpAddr>,
    /// Keep the calling thread on this CPU.
    pub cpu: Option<usize>,
    /// The server's process, whose CPU time and that of its children each step then tells.
    pub server: Option<u32>,
    /// Whether the server has no other CPU than the calling thread's.
    pub shares_cpu: bool,
    /// Once this is set, what is under way ends as [`platform::CaseError::Interrupted`].
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
            stop: None,
        }
    }
}

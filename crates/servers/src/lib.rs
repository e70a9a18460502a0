//! TCP servers of every architecture that serve the same small protocols.
//!
//! [`architecture`] lists them and has one file for each. They share the rest: `exchange` is the protocol without I/O,
//! `conversation` does a whole exchange by blocking calls, `connections` are those of an event loop,
//! [`work`] is what they do for each request. Accepting, stopping
//! and timeouts are those of the crate `serving`.

pub mod architecture;
mod connection;
mod connections;
mod conversation;
mod exchange;
pub mod hosted;
mod name_server;
pub mod remote;
mod server;
pub mod work;

pub use architecture::{ARCHITECTURES, Architecture};
pub use name_server::NameServer;
pub use server::{Counters, Server, ServerOptions};
pub use serving::{ExchangeKind, NoSuchProtocol, Protocol, Stop};
pub use work::{Task, Work};

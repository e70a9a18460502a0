//! TCP servers of every architecture that serve the same small protocols.
//!
//! [`architecture`] lists the architectures and has a file for each. They share the other modules: `exchange` is the
//! protocol without I/O, `conversation` a whole exchange by blocking calls, `connections` the table of an event loop, and
//! [`work`] the work for each request. Accepting, stopping and timeouts are in the crate `serving`.

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
pub use measure::server_work::Work;
pub use name_server::NameServer;
pub use server::{Counters, Server, ServerOptions};
pub use serving::{ExchangeKind, NoSuchProtocol, Protocol, Stop};
pub use work::Task;

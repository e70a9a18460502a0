//! What servers have in common, whatever they serve: until when each client has time, and how a server in a process
//! of its own tells who started it what it has spent.

pub mod deadlines;
pub mod hosted;
pub mod protocol;

pub use protocol::{Kind, NoSuchProtocol, Protocol};

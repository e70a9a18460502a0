//! TCP sockets of servers and clients, and waiting for many of them.

pub mod client;
pub mod loopback;
pub mod readiness;
pub mod server;
pub mod transfer;

//! Errors of starting a sink.

use std::io;
use std::net::SocketAddr;

/// The reason why a sink cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// No address was given.
    #[error("no address to listen at")]
    Nowhere,
    /// The sink cannot listen at an address.
    #[error("cannot listen at {address}: {cause}{}", remedy(cause))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The reason.
        cause: io::Error,
    },
    /// The log or the directory for messages cannot be opened.
    #[error("messages cannot be kept: {0}")]
    Records(io::Error),
    /// The system refused the resources of an event loop.
    #[error("no event loop: {0}")]
    Loop(io::Error),
}

fn remedy(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::AddrInUse => "; end what listens there, or choose another port",
        io::ErrorKind::AddrNotAvailable => "; it must be an address of this machine",
        io::ErrorKind::PermissionDenied => "; ports below 1024 are for root, choose another",
        _ => "",
    }
}

//! Errors of starting a sink.

use std::io;
use std::net::SocketAddr;

use platform::CaseError;
use platform::socket::server::not_listening;

/// The reason why a sink cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// No address was given.
    #[error("no address to listen at")]
    Nowhere,
    /// The sink cannot listen at an address.
    #[error("{}", not_listening(*address, cause))]
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

impl From<BindError> for CaseError {
    /// `Unsupported` if the system denies sockets, or what a loop needs.
    fn from(error: BindError) -> Self {
        match &error {
            BindError::Listen { address, cause } => not_listening(*address, cause),
            BindError::Loop(cause) => Self::from_io("an event loop", cause),
            BindError::Nowhere | BindError::Records(_) => Self::Failed(error.to_string()),
        }
    }
}

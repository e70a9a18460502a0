//! Errors of starting a sink.

use std::io;
use std::net::SocketAddr;

use platform::CaseError;

/// The reason why a sink cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// No address was given.
    #[error("no address to listen at")]
    Nowhere,
    /// The sink cannot listen at an address.
    #[error("cannot listen at {address}: {cause}{}", remedy(address, cause))]
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

fn remedy(address: &SocketAddr, cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::AddrInUse => "; end what listens there, or choose another port",
        io::ErrorKind::AddrNotAvailable => "; it must be an address of this machine",
        io::ErrorKind::PermissionDenied if address.port() < 1024 => {
            "; ports below 1024 are for root, choose another"
        }
        _ => "",
    }
}

impl From<BindError> for CaseError {
    /// `Unsupported` if the system denies sockets, or what a loop needs.
    fn from(error: BindError) -> Self {
        match &error {
            BindError::Listen { address, cause } => {
                Self::from_io(&format!("listen at {address}"), cause)
            }
            BindError::Loop(cause) => Self::from_io("an event loop", cause),
            BindError::Nowhere | BindError::Records(_) => Self::Failed(error.to_string()),
        }
    }
}

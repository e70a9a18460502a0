//! Errors that end a delivery.

use std::io;

use thiserror::Error;

use crate::journal::JournalError;

/// The reason why a delivery could not continue. Recipients delivered before remain delivered.
#[derive(Debug, Error)]
pub enum SendError {
    /// The journal cannot be read or written, so that deliveries could not be recorded.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The list can no longer be read.
    #[error("the list can no longer be read: {0}")]
    List(io::Error),
    /// The message cannot be built.
    #[error("the message cannot be signed: {0}")]
    Message(String),
    /// The relay rejected the password; further attempts could lock the user out.
    #[error("{server} rejected the login: {why}")]
    Login {
        /// The server.
        server: String,
        /// The server's reply.
        why: String,
    },
    /// The operating system refused a resource.
    #[error("{0}: {1}")]
    System(&'static str, io::Error),
    /// The transport does not exist on this system.
    #[error("unsupported on this system: {0}")]
    Unsupported(&'static str),
}

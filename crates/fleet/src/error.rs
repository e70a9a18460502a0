//! Errors of a job as a whole.

use std::io;

/// Why a job cannot be begun, found or continued.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// What was asked for is wrong; the message says what would be right.
    #[error("{0}")]
    Usage(String),
    /// This system, or a program on it, cannot do it.
    #[error("{0}")]
    Unsupported(String),
    /// A file of the coordinator cannot be used.
    #[error("{what}: {error}")]
    File {
        /// The file, and what was done with it.
        what: String,
        /// The error.
        error: io::Error,
    },
}

impl FleetError {
    /// Makes the error of a file.
    pub(crate) fn file(what: impl std::fmt::Display) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::File { what: what.to_string(), error }
    }
}

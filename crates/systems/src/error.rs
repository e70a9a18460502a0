//! Errors of naming or starting a system.

use std::io;
use std::path::PathBuf;

/// The reason why a system cannot be named or started.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    /// The text does not name a system; the message says what would.
    #[error("{0}")]
    Usage(String),
    /// A file of systems has an error at this place.
    #[error("{}:{line}:{column}: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong, and what is allowed.
        message: String,
    },
    /// A program that the launcher needs is not installed.
    #[error("{launcher} needs the program {program}: {remedy}")]
    Missing {
        /// The launcher.
        launcher: &'static str,
        /// The program.
        program: String,
        /// The remedy, such as a package to install.
        remedy: String,
    },
    /// This machine cannot run the system; the message says why.
    #[error("{0}")]
    Unsupported(String),
    /// The start failed.
    #[error("{0}")]
    Failed(String),
}

impl SystemError {
    /// The error for `error` of the operating system while doing `what`.
    pub(crate) fn from_io(what: impl Into<String>, error: &io::Error) -> Self {
        Self::Failed(format!("{}: {error}", what.into()))
    }
}

//! Errors of routing.

use std::path::PathBuf;

use thiserror::Error;

/// The reason why mail cannot be routed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RouteError {
    /// The relay is not a valid host.
    #[error(
        "\"{given}\" is no mail server: {cause}; give HOST or HOST:PORT, such as 127.0.0.1:2525 or [::1]:25"
    )]
    Host {
        /// The text that was given.
        given: String,
        /// What is wrong with the text.
        cause: &'static str,
    },
    /// A host name cannot be resolved.
    #[error(
        "no address found for mail server {host}: {cause}; check the name, or give its address"
    )]
    Unresolvable {
        /// The host.
        host: String,
        /// The system's error.
        cause: String,
    },
    /// The file of routes cannot be read.
    #[error("cannot read routes from {}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: std::io::Error,
    },
    /// A line of the file of routes is wrong.
    #[error("{}:{line}: {cause}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// What is wrong with the line.
        cause: String,
    },
    /// The system's name servers are unknown.
    #[error("cannot determine this system's name servers: {0}; name one with --nameserver")]
    NameServers(String),
    /// The thread for MX look-ups cannot be started.
    #[error("cannot start the thread that looks up MX records: {0}")]
    Thread(std::io::Error),
}

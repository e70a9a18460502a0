//! TCP sockets of servers and clients, and waiting for many of them.

pub mod client;
pub mod loopback;
pub mod readiness;
pub mod server;
pub mod transfer;

use std::io::{self, ErrorKind};

use crate::CaseError;

/// Checks whether this process may have a TCP socket, for IPv6 or IPv4.
///
/// # Errors
/// `Unsupported` if the system denies it, lacks the protocol or has no descriptor left, with the remedy.
pub fn check(ipv6: bool) -> Result<(), CaseError> {
    match client::stream_socket(ipv6).map_err(|e| not_usable("socket", &e)) {
        Err(case_error @ CaseError::Unsupported(_)) => Err(case_error),
        _ => Ok(()),
    }
}

/// The [`CaseError`] for an error of a call for a socket; `what` names the call. If the system denies it, the likely cause is
/// added.
pub fn not_usable(what: &str, error: &io::Error) -> CaseError {
    const DENIED: &str = "a sandbox denies sockets to this process, by a seccomp filter or a security module: permit them there, or \
         run it elsewhere";
    match CaseError::from_io(what, error) {
        CaseError::Unsupported(reason) if error.kind() == ErrorKind::PermissionDenied => {
            CaseError::Unsupported(format!("{reason}; {DENIED}"))
        }
        case_error => case_error,
    }
}

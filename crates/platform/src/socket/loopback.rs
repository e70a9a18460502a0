//! Whether this machine can connect to itself.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use socket2::SockRef;

use crate::CaseError;

/// Time limit for a connection, which takes some 50 us: where it passes, a firewall drops packets.
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);

/// Connects over 127.0.0.1 once.
///
/// # Errors
/// `Unsupported` if the system has no loopback, lets no packets through, or denies sockets.
pub fn check() -> Result<(), CaseError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let listener = listener.map_err(|e| error_of("listen at 127.0.0.1", &e))?;
    let address = listener.local_addr().map_err(|e| error_of("getsockname", &e))?;
    check_address(address)
}

/// Connects to a listener on loopback once.
fn check_address(address: SocketAddr) -> Result<(), CaseError> {
    match TcpStream::connect_timeout(&address, ANSWERS_WITHIN) {
        Ok(stream) => {
            // The connection is reset, so that no port stays in TIME_WAIT.
            let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
            Ok(())
        }
        Err(e) => Err(error_of("connect to 127.0.0.1", &e)),
    }
}

/// The [`CaseError`] for an error of a socket on loopback: `Unsupported` also if loopback does not work.
pub fn error_of(what: &str, error: &io::Error) -> CaseError {
    const UP: &str = if crate::IS_LINUX { " (ip link set lo up)" } else { "" };
    match error.kind() {
        ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown | ErrorKind::HostUnreachable => {
            CaseError::Unsupported(format!("loopback is down{UP}: {what}: {error}"))
        }
        ErrorKind::TimedOut => CaseError::Unsupported(format!(
            "loopback does not answer (does a firewall drop its packets?): {what}: {error}"
        )),
        _ => CaseError::from_io(what, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_works_and_its_errors_are_explained() {
        assert_eq!(check(), Ok(()));
        let text = |kind| match error_of("connect", &io::Error::from(kind)) {
            CaseError::Unsupported(text) => text,
            other => panic!("{other:?}"),
        };
        assert!(text(ErrorKind::NetworkUnreachable).starts_with("loopback is down"));
        assert!(text(ErrorKind::TimedOut).contains("firewall"));
        assert!(text(ErrorKind::PermissionDenied).starts_with("connect: "));
        let other = error_of("connect", &io::Error::from(ErrorKind::ConnectionRefused));
        assert!(matches!(other, CaseError::Failed(_)), "{other:?}");
    }
}

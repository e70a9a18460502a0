//! Transfers over TCP connections, for clients and servers, and the errors that mean a shortage of resources.

/// Receives up to `buffer.len()` bytes; 0 bytes mean the end of the stream. On Unix it makes the system call directly: the
/// wrapper of the C library costs a server some percent of its CPU time.
///
/// # Errors
/// Errors of recv(2).
pub use os::receive;

/// Sends as many of the bytes as the send buffer has room for, on Unix by the system call itself. Returns their number.
///
/// # Errors
/// Errors of send(2).
pub use os::send;

/// Whether accepting or connecting failed for lack of descriptors, buffers or memory. The caller can retry after
/// some were released.
pub use os::is_shortage;

/// Whether a message was not sent because it is longer than the socket or the queue permits.
pub use os::is_message_too_long;

#[cfg(unix)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::io;
    use std::net::TcpStream;

    #[cfg(not(target_vendor = "apple"))]
    const NO_SIGNAL: rustix::net::SendFlags = rustix::net::SendFlags::NOSIGNAL;
    /// The standard library has set SO_NOSIGPIPE on Apple's systems.
    #[cfg(target_vendor = "apple")]
    const NO_SIGNAL: rustix::net::SendFlags = rustix::net::SendFlags::empty();

    pub fn receive(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
        let (bytes, _) = rustix::net::recv(stream, buffer, rustix::net::RecvFlags::empty())?;
        Ok(bytes)
    }

    pub fn send(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(stream, bytes, NO_SIGNAL)?)
    }

    pub fn is_message_too_long(error: &io::Error) -> bool {
        error.raw_os_error() == Some(libc::EMSGSIZE)
    }

    pub fn is_shortage(error: &io::Error) -> bool {
        let shortages = [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM];
        error.raw_os_error().is_some_and(|code| shortages.contains(&code))
    }
}

#[cfg(windows)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::io;
    use std::net::TcpStream;

    use windows_sys::Win32::Networking::WinSock::{
        WSA_NOT_ENOUGH_MEMORY, WSAEMFILE, WSAEMSGSIZE, WSAENOBUFS,
    };

    pub fn receive(mut stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
        io::Read::read(&mut stream, buffer)
    }

    pub fn send(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut stream, bytes)
    }

    pub fn is_message_too_long(error: &io::Error) -> bool {
        error.raw_os_error() == Some(WSAEMSGSIZE)
    }

    pub fn is_shortage(error: &io::Error) -> bool {
        let shortages = [WSAEMFILE, WSAENOBUFS, WSA_NOT_ENOUGH_MEMORY];
        error.raw_os_error().is_some_and(|code| shortages.contains(&code))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_shortage_is_distinguished_from_other_errors() {
        assert!(!is_shortage(&io::Error::from(io::ErrorKind::ConnectionRefused)));
        #[cfg(unix)]
        assert!(is_shortage(&io::Error::from_raw_os_error(libc::EMFILE)));
    }
}

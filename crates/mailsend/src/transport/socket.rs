//! The options of a connection's socket.

use std::io;
use std::net::IpAddr;

use platform::client_socket::{bind_address, keep_alive};
use socket2::Socket;

/// Prepares a socket of any transport, before it connects.
///
/// # Errors
/// If its local address is not one of this machine.
pub fn prepare(socket: &Socket, source: Option<IpAddr>) -> io::Result<()> {
    if let Some(source) = source {
        bind_address(socket, source)?;
    }
    keep_alive(socket);
    // A group of commands is sent whole: delaying it gains nothing.
    socket.set_tcp_nodelay(true)
}

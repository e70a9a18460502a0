//! Options of a connection's socket.

use std::io;
use std::net::IpAddr;

use platform::socket::client::{bind_address, keep_alive};
use socket2::Socket;

/// Prepares a socket of any transport, before it connects.
///
/// # Errors
/// If the local address is not one of this machine.
pub fn prepare(socket: &Socket, source: Option<IpAddr>) -> io::Result<()> {
    if let Some(source) = source {
        bind_address(socket, source)?;
    }
    keep_alive(socket);
    // Nagle's algorithm would only delay a group of commands, which is sent whole.
    socket.set_tcp_nodelay(true)
}

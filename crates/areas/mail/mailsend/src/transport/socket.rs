//! Options of a connection's socket.

use std::io;
use std::net::IpAddr;

use platform::socket::client::{bind_address, keep_alive};
use socket2::Socket;

use crate::tls::tls_error_in_words;

/// An error of the system without its number, and an error of TLS in words.
pub fn in_words(error: &io::Error) -> String {
    if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return tls_error_in_words(error);
    }
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.as_str(), |(words, _)| words).to_owned()
}

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

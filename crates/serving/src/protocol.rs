//! The protocols that the servers serve and the load generator requests.

use std::fmt;
use std::str::FromStr;

/// The reply of the 450 protocol, sent when a client connects; then the server closes the connection.
pub const TOO_BUSY: &[u8] = b"450 too busy\r\n";
/// The reply to an HTTP request on a persistent connection.
pub const UNAVAILABLE: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\n\r\ntoo busy\n";
/// The reply to an HTTP request after which the server closes the connection.
pub const UNAVAILABLE_CLOSE: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo busy\n";
/// The reply to an HTTP/1.0 request on a connection that the client asks to keep.
pub const UNAVAILABLE_KEEP_ALIVE: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\nConnection: keep-alive\r\n\r\ntoo busy\n";
/// The content at the end of the three replies above, which the reply to a HEAD request lacks.
pub const UNAVAILABLE_CONTENT: &[u8] = b"too busy\n";
/// The interim reply to a client that waits for it before it sends the content of its request.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
/// Maximum size of an echo request, in bytes.
pub const SIZE_AT_MOST: usize = 64 * 1024;

/// An exchange between a client and a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protocol {
    /// The kind of the exchange.
    pub kind: ExchangeKind,
    /// The number of replies after which the server closes the connection; `None` if the client closes it.
    pub requests: Option<u32>,
}

/// The kind of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeKind {
    /// The server sends [`TOO_BUSY`] and closes.
    TooBusy,
    /// The server sends back each request of this size.
    Echo {
        /// Bytes of a request, and of its reply.
        size: usize,
    },
    /// The server answers each request with [`UNAVAILABLE`].
    Http,
}

impl Protocol {
    /// The server sends [`TOO_BUSY`] and closes.
    pub const TOO_BUSY: Self = Self { kind: ExchangeKind::TooBusy, requests: Some(1) };
    /// HTTP with one connection for all requests of a client.
    pub const HTTP: Self = Self { kind: ExchangeKind::Http, requests: None };
    /// HTTP with a connection for each request.
    pub const HTTP_CLOSE: Self = Self { kind: ExchangeKind::Http, requests: Some(1) };

    /// An echo of requests of `size` bytes, up to [`SIZE_AT_MOST`].
    pub const fn echo(size: usize, requests: Option<u32>) -> Self {
        Self { kind: ExchangeKind::Echo { size }, requests }
    }

    /// Whether the client sends first, so that a server can have the kernel defer the connection.
    pub fn client_sends_first(self) -> bool {
        self.kind != ExchangeKind::TooBusy
    }
}

/// Default size of an echo request, in bytes.
const SIZE: usize = 64;

/// An unknown protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no protocol {0:?}: there are 450, echo, echo:SIZE, http and http-close; \
     `/N` after echo or http has the server close after N requests"
)]
pub struct NoSuchProtocol(String);

impl FromStr for Protocol {
    type Err = NoSuchProtocol;

    fn from_str(text: &str) -> Result<Self, NoSuchProtocol> {
        let wrong = || NoSuchProtocol(text.to_owned());
        let (kind, requests) = match text.split_once('/') {
            Some((kind, n)) => (kind, Some(n.parse().ok().filter(|&n| n > 0).ok_or_else(wrong)?)),
            None => (text, None),
        };
        let kind = match (kind, requests) {
            ("450", None) => return Ok(Self::TOO_BUSY),
            ("http-close", None) => return Ok(Self::HTTP_CLOSE),
            ("http", _) => ExchangeKind::Http,
            ("echo", _) => ExchangeKind::Echo { size: SIZE },
            _ => {
                let size = kind.strip_prefix("echo:").and_then(|size| size.parse().ok());
                let fits = |size: &usize| (1..=SIZE_AT_MOST).contains(size);
                ExchangeKind::Echo { size: size.filter(fits).ok_or_else(wrong)? }
            }
        };
        Ok(Self { kind, requests })
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.kind {
            ExchangeKind::TooBusy => return f.write_str("450"),
            ExchangeKind::Http if self.requests == Some(1) => return f.write_str("http-close"),
            ExchangeKind::Http => f.write_str("http")?,
            ExchangeKind::Echo { size: SIZE } => f.write_str("echo")?,
            ExchangeKind::Echo { size } => write!(f, "echo:{size}")?,
        }
        self.requests.map_or(Ok(()), |n| write!(f, "/{n}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_is_printed_as_it_is_read() {
        for text in ["450", "echo", "echo:1", "echo:65536/7", "http", "http-close", "http/100"] {
            assert_eq!(text.parse::<Protocol>().unwrap().to_string(), text);
        }
        assert_eq!("http/1".parse(), Ok(Protocol::HTTP_CLOSE));
        assert_eq!("echo:64".parse(), Ok(Protocol::echo(64, None)));
        for text in
            ["", "smtp", "450/2", "http/0", "http/x", "http-close/2", "echo:0", "echo:65537"]
        {
            assert!(text.parse::<Protocol>().is_err(), "{text}");
        }
    }
}

//! Judgements of received bytes.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of bytes of a wrong reply that an error shows.
const SHOWN: usize = 60;

/// The current exchange of a connection, and the received part of its reply.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Number of the exchange, on which its contents depend.
    pub serial: u32,
    /// Whether the server closes the connection after the exchange.
    pub last: bool,
    /// Number of received and correct bytes of the reply.
    pub got: u32,
    /// The part of an external server's reply that was received.
    pub partial: Partial,
}

/// Maximum size of all incomplete replies together, of all generators of this process, in bytes.
const PARTIAL_AT_MOST: usize = 64 << 20;
/// Size of all incomplete replies.
static PARTIAL: AtomicUsize = AtomicUsize::new(0);

/// The received part of a reply.
#[derive(Debug, Default)]
pub(crate) struct Partial(Vec<u8>);

impl Partial {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the bytes out.
    pub fn take(&mut self) -> Vec<u8> {
        let bytes = std::mem::take(&mut self.0);
        if bytes.capacity() > 0 {
            PARTIAL.fetch_sub(bytes.capacity(), Ordering::Relaxed);
        }
        bytes
    }

    /// Keeps the bytes. Returns whether they have room beside the other incomplete replies; otherwise the connection must be
    /// closed.
    pub fn keep(&mut self, bytes: Vec<u8>) -> bool {
        self.take();
        let others = PARTIAL.fetch_add(bytes.capacity(), Ordering::Relaxed);
        self.0 = bytes;
        others + self.0.capacity() <= PARTIAL_AT_MOST
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        self.take();
    }
}

/// A judgement of received bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The reply is correct so far.
    More,
    /// The reply is complete and correct. `closes`: the server closes the connection now.
    Whole { closes: bool },
    /// The reply is wrong, for this reason.
    Wrong(String),
}

/// Describes bytes after a complete reply.
pub(crate) fn surplus(bytes: &[u8]) -> String {
    format!("more came after the whole reply: {}", shown(bytes))
}

/// The beginning of some bytes, escaped.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let more = if bytes.len() > SHOWN { ".." } else { "" };
    format!("\"{}\"{more}", bytes[..bytes.len().min(SHOWN)].escape_ascii())
}

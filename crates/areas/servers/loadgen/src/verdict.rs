//! Judgements of received bytes.

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
    pub partial: Vec<u8>,
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

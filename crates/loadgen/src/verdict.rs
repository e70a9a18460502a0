//! The judgement of received bytes.

/// Bytes of a wrong reply that are shown in an error.
const SHOWN: usize = 60;

/// The current exchange of a connection, and how much of its reply was received.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Number of the exchange: its contents depend on it.
    pub serial: u32,
    /// Whether the server closes the connection after it.
    pub last: bool,
    /// Bytes of the reply that were received and correct.
    pub got: u32,
    /// The part of an external server's reply that was received.
    pub partial: Vec<u8>,
}

/// The judgement of received bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Correct so far.
    More,
    /// The reply is complete and correct; `closes`: the server closes the connection now.
    Whole { closes: bool },
    /// The reply is wrong, and how.
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

//! Results of a session's steps, for the transport.

use std::time::Duration;

/// The transport's actions after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// The pace of the last reply, if it is not sent at once.
    pub pace: Option<Pace>,
    /// The action after the reply.
    pub next: Next,
}

/// The pace of a reply that is not sent at once. Nothing is read meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Offset in the output at which the reply begins.
    pub from: usize,
    /// Delay before the reply.
    pub after: Duration,
    /// Delay before each byte.
    pub every: Option<Duration>,
    /// Whether the reply is repeated without end.
    pub endless: bool,
}

/// The action after a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// More commands are read.
    More,
    /// The connection is closed at once.
    Close,
    /// The connection is closed when the client has stopped sending, so that the client receives the reply.
    Linger,
    /// The connection is reset.
    Reset,
    /// The connection stays open, and nothing more is sent.
    Stall,
    /// TLS starts. Bytes that the client sent before are discarded.
    StartTls,
}

pub(super) const MORE: Outcome = Outcome { pace: None, next: Next::More };

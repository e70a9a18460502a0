//! The result of each step of a session, for its transport.

use std::time::Duration;

/// What the transport has to do with the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// How the last reply is sent, if not at once.
    pub pace: Option<Pace>,
    /// What follows it.
    pub next: Next,
}

/// How a reply is sent that is not sent at once. Meanwhile nothing is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Where in the output the reply begins.
    pub from: usize,
    /// Delay before it.
    pub after: Duration,
    /// Delay before each byte.
    pub every: Option<Duration>,
    /// It is repeated without end.
    pub endless: bool,
}

/// What follows a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// More commands.
    More,
    /// The connection is closed at once.
    Close,
    /// The connection is closed once the client has stopped sending, so that it receives the reply.
    Linger,
    /// The connection is reset.
    Reset,
    /// The connection stays open, and nothing more is sent.
    Stall,
    /// TLS starts. What the client sent before is discarded.
    StartTls,
}

pub(super) const MORE: Outcome = Outcome { pace: None, next: Next::More };

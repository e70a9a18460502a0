//! Events that a session reports to its transport.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::phase::SmtpPhase;
use crate::reply::Reply;

/// The result for a recipient of one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeliveryStatus {
    /// The server accepted responsibility for the message; in test mode, it accepted the recipient.
    Delivered,
    /// A temporary failure: the recipient may be retried later.
    Deferred,
    /// The connection broke after the whole message was sent: the server may have accepted it.
    Uncertain,
    /// A permanent failure.
    Failed,
    /// The recipient was not tried: it must be tried in another transaction, at once.
    Requeued,
}

impl DeliveryStatus {
    /// The status for the class of a reply.
    pub(super) fn of(reply: &Reply) -> Self {
        if reply.is_positive() {
            Self::Delivered
        } else if reply.is_permanent() {
            Self::Failed
        } else {
            Self::Deferred
        }
    }
}

/// The result for one recipient, with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The recipient's index.
    pub recipient: u32,
    /// The result.
    pub status: DeliveryStatus,
    /// The server's reply, or the client's own reason without a reply.
    pub why: Arc<str>,
}

/// A request of a session to its transport, or a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Start the TLS handshake, then call [`super::Session::is_secured`].
    Secure,
    /// The message is about to be sent to the recipients with these indexes: record it, then call
    /// [`super::Session::deliver`].
    Delivering(Vec<u32>),
    /// The session can start another transaction: call [`super::Session::begin`] or [`super::Session::quit`].
    Ready,
    /// Results for recipients.
    Settled(Vec<Outcome>),
    /// The server has answered a group of commands, the last one in this phase.
    Answered(SmtpPhase),
    /// The session has failed. [`Event::Finished`] follows, maybe after QUIT.
    Failed(SessionFailure),
    /// The session has ended: close the connection.
    Finished,
}

/// The reason why a session failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFailure {
    /// The phase of the failure.
    pub phase: SmtpPhase,
    /// The server's reply, or the error.
    pub why: Arc<str>,
    /// Whether the server rejected the credentials: another attempt could lock the user out.
    pub is_login: bool,
    /// Whether the server refuses all sessions permanently: a 5yz reply to the connection or to HELO (RFC 5321, sections
    /// 3.1 and 4.2.1).
    pub is_permanent: bool,
}

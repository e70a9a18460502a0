//! Requests, responses and assignments that transports and the dispatcher exchange.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use smtp::session::{Outcome, SessionFailure, SessionOptions};

/// A connection to be made, with its state in the dispatcher.
#[derive(Debug, Clone)]
pub struct Assignment {
    pub(super) destination: u32,
    /// The server's name, for the check of its certificate and for reports.
    pub name: Arc<str>,
    /// The server's address.
    pub address: SocketAddr,
    /// The settings of the session.
    pub session: Arc<SessionOptions>,
    /// Time at which the connection was begun, in ms.
    pub(super) begun: u32,
    pub(super) transactions_left: u32,
    /// Whether the connection has taken recipients.
    pub(super) has_taken: bool,
    /// Whether the server has accepted or permanently rejected a recipient over this connection.
    pub(super) has_settled: bool,
    /// Whether the session has failed.
    pub(super) has_failed: bool,
    /// Whether the connection is encrypted.
    pub(super) is_secure: bool,
}

/// A request of a connection to the dispatcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// The message is about to be sent to the recipients with these indexes.
    Delivering(Vec<u32>),
    /// Results for recipients.
    Settled(Vec<Outcome>),
    /// The connection can start another transaction.
    Next {
        /// Whether it is encrypted.
        is_secure: bool,
    },
    /// The session has failed; [`Request::Closed`] follows, maybe after QUIT.
    Failed(SessionFailure),
    /// The connection is closed.
    Closed,
}

impl Request {
    /// Whether the dispatcher responds to the request. Only processes, which send requests over a socket, use this.
    #[cfg(unix)]
    pub fn has_response(&self) -> bool {
        matches!(self, Self::Delivering(_) | Self::Next { .. })
    }
}

/// The dispatcher's response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Response {
    /// The journal has recorded the request: send the message.
    Proceed,
    /// Start a transaction for the recipients with these indexes.
    Begin(Vec<u32>),
    /// No recipients are left: end the session.
    Quit,
}

/// The next work of a transport.
#[derive(Debug)]
pub enum Work {
    /// Make this connection.
    Connect(Assignment),
    /// Wait for this time.
    Wait(Duration),
    /// End when the open connections are closed.
    Done,
}

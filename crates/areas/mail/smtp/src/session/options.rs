//! Settings that all sessions of a delivery share.

use crate::auth::Credentials;
use crate::security::Security;

/// Settings of a session.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// The client's name in EHLO and HELO; if empty, its address on the connection.
    pub hello: String,
    /// When TLS is used.
    pub security: Security,
    /// User and password, for a server that requires authentication; sent over TLS only.
    pub credentials: Option<Credentials>,
    /// Whether the session is a test, in which RSET is sent in place of the message.
    pub dry: bool,
    /// Whether commands are sent in groups where the server offers PIPELINING (RFC 2920).
    pub pipelining: bool,
    /// Whether the message is sent by BDAT where the server offers CHUNKING (RFC 3030).
    pub chunking: bool,
}

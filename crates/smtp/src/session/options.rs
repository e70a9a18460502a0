//! Settings that all sessions of a delivery share.

use crate::auth::Credentials;
use crate::security::Security;

/// Settings of a session.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// The client's name in EHLO and HELO.
    pub hello: String,
    /// When TLS is used.
    pub security: Security,
    /// User and password, for a server that requires authentication; sent over TLS only.
    pub credentials: Option<Credentials>,
    /// Whether this is a test, in which no message is sent: RSET is sent in its place.
    pub dry: bool,
    /// Whether commands are sent in groups where the server offers PIPELINING (RFC 2920).
    pub pipelining: bool,
    /// Whether the message is sent by BDAT where the server offers CHUNKING (RFC 3030).
    pub chunking: bool,
}

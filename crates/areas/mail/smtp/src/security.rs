//! The policy for TLS in a session (RFC 3207).

/// When connections are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Security {
    /// Connections are never encrypted, even if STARTTLS is offered.
    Off,
    /// Connections are encrypted if the server offers STARTTLS, with any certificate. Most mail servers have a certificate
    /// that cannot be verified (self-signed, expired, for another name), and opportunistic TLS protects against passive
    /// eavesdropping (RFC 7435), though not against active attacks.
    #[default]
    Offered,
    /// Connections are always encrypted: the server must offer STARTTLS, and its certificate must be valid for its name.
    Required,
}

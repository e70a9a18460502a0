//! Whether a session uses TLS (RFC 3207).

/// Whether connections are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Security {
    /// Never, even if it is offered.
    Off,
    /// If the server offers STARTTLS, with any certificate. Most mail servers have a certificate that cannot be verified
    /// (self-signed, expired, for another name). Clear text would be worse: opportunistic TLS protects against passive
    /// eavesdropping (RFC 7435), though not against active attacks.
    #[default]
    Offered,
    /// Always: the server must offer STARTTLS, and its certificate must be valid for its name.
    Required,
}

//! Whether a session uses TLS (RFC 3207).

/// Whether connections are encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Security {
    /// Never, also where it is offered.
    Off,
    /// Where the server offers STARTTLS, with any certificate. Most mail servers have one that nobody could check
    /// (self-made, expired, of another name), and mail to them would else go in clear text, which is worse: whoever
    /// only listens learns nothing (RFC 7435). Whoever can change what is sent can still read it.
    #[default]
    Offered,
    /// Always: the server must offer STARTTLS, and its certificate be valid for its name.
    Required,
}

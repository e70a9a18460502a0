//! The SMTP extensions of the sink.

use std::str::FromStr;

use crate::parse::ParseOptionError;

/// An SMTP extension that the sink offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// Commands may be sent before earlier ones are answered (RFC 2920).
    Pipelining,
    /// The size of messages is declared (RFC 1870). The limit applies without it too.
    Size,
    /// Messages may contain 8-bit text (RFC 6152).
    EightBitMime,
    /// Addresses and headers may contain UTF-8 (RFC 6531).
    SmtpUtf8,
    /// Replies have enhanced status codes (RFC 2034).
    EnhancedStatusCodes,
    /// Messages may be sent in chunks of a stated size (RFC 3030).
    Chunking,
    /// TLS (RFC 3207), if there is a certificate.
    StartTls,
    /// Authentication (RFC 4954), over TLS only.
    Auth,
}

impl Extension {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Pipelining,
        Self::Size,
        Self::EightBitMime,
        Self::SmtpUtf8,
        Self::EnhancedStatusCodes,
        Self::Chunking,
        Self::StartTls,
        Self::Auth,
    ];

    /// Its name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pipelining => "pipelining",
            Self::Size => "size",
            Self::EightBitMime => "8bitmime",
            Self::SmtpUtf8 => "smtputf8",
            Self::EnhancedStatusCodes => "enhancedstatuscodes",
            Self::Chunking => "chunking",
            Self::StartTls => "starttls",
            Self::Auth => "auth",
        }
    }
}

impl FromStr for Extension {
    type Err = ParseOptionError;

    fn from_str(text: &str) -> Result<Self, ParseOptionError> {
        let known = Self::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(text));
        known.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            ParseOptionError(format!("no extension {text}: one of {names}"))
        })
    }
}

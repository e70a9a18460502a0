//! The SMTP extensions of the sink.

use strum::{EnumString, IntoStaticStr, VariantArray, VariantNames};

use crate::parse::ParseOptionError;

/// An SMTP extension that the sink offers.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray, VariantNames,
)]
#[strum(serialize_all = "lowercase", ascii_case_insensitive)]
#[strum(parse_err_ty = ParseOptionError, parse_err_fn = unknown)]
pub enum Extension {
    /// Commands may be sent before earlier commands are answered (RFC 2920).
    Pipelining,
    /// The client may declare the size of messages (RFC 1870). The limit applies without this extension too.
    Size,
    /// Messages may contain 8-bit text (RFC 6152).
    #[strum(serialize = "8bitmime")]
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
    /// Name, in lower case.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

fn unknown(text: &str) -> ParseOptionError {
    let names = <Extension as VariantNames>::VARIANTS.join(", ");
    ParseOptionError(format!("no extension {text}: one of {names}"))
}

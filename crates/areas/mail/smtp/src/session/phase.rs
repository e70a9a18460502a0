//! The steps of a session, and their timeouts.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// A step of an SMTP session: the reply that the client waits for, or the command that the server answered.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr,
)]
#[strum(serialize_all = "lowercase")]
pub enum SmtpPhase {
    /// The TCP connection is being established.
    Connect,
    /// The server's greeting (220).
    Greeting,
    /// EHLO, or HELO.
    #[strum(serialize = "ehlo")]
    Hello,
    /// STARTTLS and the handshake.
    #[strum(serialize = "starttls")]
    Tls,
    /// AUTH.
    #[strum(serialize = "auth")]
    Login,
    /// MAIL.
    Mail,
    /// RCPT.
    Rcpt,
    /// DATA, before the message.
    Data,
    /// The message, and the reply to it.
    Message,
    /// RSET.
    #[strum(serialize = "rset")]
    Reset,
    /// QUIT.
    Quit,
    /// No reply is outstanding.
    Idle,
}

impl SmtpPhase {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What is missing if the server does not reply in this phase; begins a reason.
    pub(super) fn missing(self) -> &'static str {
        match self {
            Self::Connect => "no connection",
            Self::Greeting => "no greeting",
            Self::Hello => "no reply to EHLO",
            Self::Tls => "TLS handshake",
            Self::Login => "no reply to AUTH",
            Self::Mail => "no reply to MAIL",
            Self::Rcpt => "no reply to RCPT",
            Self::Data => "no reply to DATA",
            Self::Message => "no reply to the message",
            Self::Reset => "no reply to RSET",
            Self::Quit => "no reply to QUIT",
            Self::Idle => "between messages",
        }
    }

    /// The client's timeout in this phase, at least that of RFC 5321, section 4.5.3.2. For the connection itself it is 30
    /// s, as usual.
    pub fn timeout(self) -> Duration {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        match self {
            Self::Connect | Self::Quit => Duration::from_secs(30),
            Self::Data => minutes(2),
            Self::Message => minutes(10),
            _ => minutes(5),
        }
    }
}

/// A reply that the client expects, and the command that it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Greeting,
    Ehlo,
    Helo,
    StartTls,
    /// The reply to a step of AUTH.
    Login,
    Mail,
    /// The reply to RCPT for the recipient with this number in the transaction.
    Rcpt(usize),
    Data,
    /// The reply to the whole message, sent by DATA or BDAT.
    Message,
    Reset,
    Quit,
}

impl Expected {
    pub(super) fn phase(self) -> SmtpPhase {
        match self {
            Self::Greeting => SmtpPhase::Greeting,
            Self::Ehlo | Self::Helo => SmtpPhase::Hello,
            Self::StartTls => SmtpPhase::Tls,
            Self::Login => SmtpPhase::Login,
            Self::Mail => SmtpPhase::Mail,
            Self::Rcpt(_) => SmtpPhase::Rcpt,
            Self::Data => SmtpPhase::Data,
            Self::Message => SmtpPhase::Message,
            Self::Reset => SmtpPhase::Reset,
            Self::Quit => SmtpPhase::Quit,
        }
    }
}

//! Handles replies: the command that each answers, and the next step.

use std::sync::Arc;

use super::Session;
use super::active::Progress;
use super::event::{DeliveryStatus, Event, SessionFailure};
use super::phase::{Expected, SmtpPhase};
use crate::auth::Mechanism;
use crate::extensions::Extensions;
use crate::reply::Reply;
use crate::security::Security;

impl Session {
    /// Handles a reply.
    pub(super) fn answered(&mut self, reply: &Reply) {
        let Some(expected) = self.expected.pop_front() else {
            if self.has_failed {
                return; // the reply to a command of an abandoned transaction
            }
            // A server sends 421 on its own when a client was idle for too long.
            return self.fail(SmtpPhase::Idle, &reply.to_string(), false);
        };
        if self.expected.is_empty() {
            self.events.push_back(Event::Answered(expected.phase()));
        }
        if reply.code == 421 && expected != Expected::Quit {
            return self.closing(expected, reply);
        }
        match expected {
            Expected::Greeting if reply.is_positive() => self.queued.push_back(Expected::Ehlo),
            Expected::Greeting => self.dismiss(refusal(SmtpPhase::Greeting, reply)),
            Expected::Ehlo if reply.is_positive() => {
                self.extensions = Extensions::of(reply);
                self.greeted();
            }
            // The server has no extensions (RFC 5321, section 3.2).
            Expected::Ehlo if reply.is_permanent() => self.queued.push_back(Expected::Helo),
            Expected::Helo if reply.is_positive() => self.greeted(),
            Expected::Ehlo | Expected::Helo => self.dismiss(refusal(SmtpPhase::Hello, reply)),
            Expected::StartTls if reply.code == 220 => {
                self.is_securing = true;
                self.events.push_back(Event::Secure);
            }
            // Whether to go on in clear text is decided for the server, not for this connection (RFC 3207, section 4).
            Expected::StartTls => {
                let what = match self.options.security {
                    Security::Required => "TLS is required",
                    Security::Off | Security::Offered => "STARTTLS is offered and refused",
                };
                self.dismiss(own(SmtpPhase::Tls, &format!("{what}: {reply}")));
            }
            Expected::Login => self.login_answered(reply),
            Expected::Quit => {
                self.end();
            }
            Expected::Mail
            | Expected::Rcpt(_)
            | Expected::Data
            | Expected::Message
            | Expected::Reset => self.transaction_answered(expected, reply),
        }
    }

    /// Continues after the reply to EHLO or HELO, with STARTTLS if it is offered and wanted.
    fn greeted(&mut self) {
        let offered = self.extensions.starttls;
        match self.options.security {
            _ if self.is_secure => self.authenticate(),
            Security::Off => self.authenticate(),
            Security::Offered if !offered => self.authenticate(),
            Security::Required if !offered => {
                self.dismiss(own(SmtpPhase::Tls, "TLS is required, and the server offers none"));
            }
            Security::Offered | Security::Required => self.queued.push_back(Expected::StartTls),
        }
    }

    /// Authenticates if there are credentials; else the session is ready.
    fn authenticate(&mut self) {
        let Some(credentials) = self.options.credentials.as_ref() else {
            return self.become_ready();
        };
        if !self.is_secure {
            let why = "there is a password, and without TLS it is not said";
            return self.dismiss(SessionFailure { is_login: true, ..own(SmtpPhase::Login, why) });
        }
        match Mechanism::best(self.extensions.logins.iter().map(String::as_str)) {
            Some(Mechanism::Plain) => {
                self.login.push_back(format!("AUTH PLAIN {}", credentials.plain()));
            }
            Some(Mechanism::Login) => {
                let (user, password) = (credentials.login_user(), credentials.login_password());
                self.login.extend(["AUTH LOGIN".to_owned(), user, password]);
            }
            None => {
                let why = "the server takes no password by PLAIN or LOGIN";
                return self
                    .dismiss(SessionFailure { is_login: true, ..own(SmtpPhase::Login, why) });
            }
        }
        self.queued.push_back(Expected::Login);
    }

    fn login_answered(&mut self, reply: &Reply) {
        match reply.code {
            334 => self.queued.push_back(Expected::Login),
            235 => self.become_ready(),
            _ => {
                self.login.clear();
                let failure = own(SmtpPhase::Login, &reply.to_string());
                self.dismiss(SessionFailure { is_login: reply.is_permanent(), ..failure });
            }
        }
    }

    fn transaction_answered(&mut self, expected: Expected, reply: &Reply) {
        let Some(active) = self.active.front_mut() else {
            return self.fail(expected.phase(), "a reply to nothing", false);
        };
        match expected {
            Expected::Mail if reply.is_positive() => active.is_mail_answered = true,
            Expected::Mail if reply.is_permanent() => {
                (active.is_mail_answered, active.is_rejected) = (true, true);
                active.settle_rest(DeliveryStatus::Failed, &reply.to_string().into());
                self.abandon();
            }
            // The server takes no mail now. That says nothing about the recipients, whom another server may take at once
            // (RFC 5321, section 5.1).
            Expected::Mail => {
                (active.is_mail_answered, active.is_rejected) = (true, true);
                active.settle_rest(DeliveryStatus::Requeued, &reply.to_string().into());
                self.refuse(own(SmtpPhase::Mail, &reply.to_string()));
                self.abandon();
            }
            Expected::Rcpt(number) => {
                active.rcpt_answered(number, reply);
                self.recipients_answered();
            }
            Expected::Data if reply.is_intermediate() => self.data_awaited(),
            Expected::Data => {
                // A 2xx reply would violate the protocol: the server has no message yet.
                let status = match reply.is_permanent() {
                    true => DeliveryStatus::Failed,
                    false => DeliveryStatus::Deferred,
                };
                active.settle_rest(status, &reply.to_string().into());
                self.reset_first();
            }
            Expected::Message => {
                active.settle_rest(DeliveryStatus::of(reply), &reply.to_string().into());
                // A rejected chunk leaves the transaction open; a rejected DATA message ends it (RFC 3030, section 2;
                // RFC 5321, section 4.1.1.4).
                match self.is_chunking() && !reply.is_positive() {
                    true => self.reset_first(),
                    false => self.finish(),
                }
            }
            _ => {
                active.settle_rest(DeliveryStatus::Delivered, &"accepted".into());
                match reply.is_positive() {
                    true => self.finish(),
                    // The transaction is still open, and the next recipients would be added to it.
                    false => self.dismiss(own(SmtpPhase::Reset, &reply.to_string())),
                }
            }
        }
    }

    /// When all RCPT commands are answered, reports [`Event::Delivering`] for a BDAT message that was not sent along, or
    /// abandons a transaction without recipients.
    fn recipients_answered(&mut self) {
        let is_answered = !self.expected.iter().any(|next| matches!(next, Expected::Rcpt(_)))
            && !self.queued.iter().any(|next| matches!(next, Expected::Rcpt(_)));
        let Some(active) = self.active.front() else { return };
        if !is_answered {
            return;
        }
        if active.accepted == 0 {
            return self.abandon();
        }
        let waits = active.progress != Progress::Complete && !self.may_deliver;
        if !self.options.dry && self.is_chunking() && waits {
            self.may_deliver = true;
            self.events.push_back(Event::Delivering(active.open_indexes()));
        }
    }

    /// Abandons a transaction without accepted recipients: drops its queued commands and sends RSET, unless a command
    /// already sent ends the transaction.
    fn abandon(&mut self) {
        let is_of_transaction = |what: &Expected| {
            matches!(what, Expected::Data | Expected::Message | Expected::Reset | Expected::Rcpt(_))
        };
        if self.expected.iter().any(is_of_transaction) {
            return; // the replies to these commands come first
        }
        self.may_deliver = false;
        self.events.retain(|event| !matches!(event, Event::Delivering(_)));
        if self.has_failed {
            self.queued.clear();
            return self.finish(); // QUIT is next
        }
        self.queued.retain(|what| !is_of_transaction(what) || *what == Expected::Reset);
        if !self.queued.contains(&Expected::Reset) {
            self.queued.push_front(Expected::Reset);
        }
    }

    /// Sends RSET before any other command, after the message was rejected: otherwise the next recipients would join this
    /// transaction, and could get this message.
    fn reset_first(&mut self) {
        self.queued.push_front(Expected::Reset);
    }

    /// Handles 354: the server waits for the message.
    fn data_awaited(&mut self) {
        let Some(active) = self.active.front_mut() else { return };
        if active.accepted > 0 && !active.is_rejected {
            let indexes = active.open_indexes();
            self.may_deliver = true;
            self.events.push_back(Event::Delivering(indexes));
        } else if active.is_rejected {
            // The server rejected MAIL, so the transaction to which it would add a message is unknown.
            let why = "it wants a message from a sender that it has refused";
            self.fail(SmtpPhase::Data, why, false);
        } else {
            // The server accepts DATA without recipients (RFC 2920, section 3.1), and gets an empty message.
            active.progress = Progress::Complete;
            self.output.commands().extend_from_slice(b".\r\n");
            self.expected.push_front(Expected::Message);
        }
    }

    /// Ends the transaction at the front.
    fn finish(&mut self) {
        if let Some(active) = self.active.pop_front() {
            self.settle(active);
        }
        if self.active.is_empty() && self.is_idle() {
            self.become_ready();
        }
    }

    /// Handles 421: the server closes the connection (RFC 5321, section 3.8), and rejects the message in progress.
    fn closing(&mut self, expected: Expected, reply: &Reply) {
        let why: Arc<str> = reply.to_string().into();
        if let Some(active) = self.active.front_mut() {
            // A reply to MAIL says nothing about the recipients, which are tried again.
            let status = match expected {
                Expected::Mail => DeliveryStatus::Requeued,
                _ => DeliveryStatus::Deferred,
            };
            active.settle_rest(status, &why);
        }
        self.dismiss(own(expected.phase(), &why));
    }
}

/// A failure that says nothing of later sessions.
fn own(phase: SmtpPhase, why: &str) -> SessionFailure {
    SessionFailure { phase, why: why.into(), is_login: false, is_permanent: false }
}

/// The server refuses the session.
fn refusal(phase: SmtpPhase, reply: &Reply) -> SessionFailure {
    SessionFailure { is_permanent: reply.is_permanent(), ..own(phase, &reply.to_string()) }
}

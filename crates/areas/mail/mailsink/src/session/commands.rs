//! Handles commands, except those of messages and authentication.

use smtp::command::{BadCommand, Body, Command, Mail};

use super::client::{ClientState, Transaction};
use super::outcome::{MORE, Next, Outcome};
use super::replies::{ORDER, refuse, reject, write_reply};
use crate::extension::Extension;
use crate::fault::SinkPhase;
use crate::state::SinkState;

/// Maximum number of recipients of a message; at least 100 by RFC 5321, section 4.5.3.1.8.
pub const RECIPIENTS_AT_MOST: u32 = 1_000;

impl ClientState {
    pub(super) fn obey(
        &mut self,
        command: Result<Command, BadCommand>,
        sink: &mut SinkState,
        out: &mut Vec<u8>,
    ) -> Outcome {
        sink.counters.commands.add(1);
        let command = match command {
            Ok(command) => command,
            Err(bad) => return reject(bad, sink, out),
        };
        let phase = match command {
            Command::Helo(_) | Command::Ehlo(_) => SinkPhase::Ehlo,
            Command::Mail(_) => SinkPhase::Mail,
            Command::Rcpt(_) => SinkPhase::Rcpt,
            Command::Data => SinkPhase::Data,
            Command::Rset => SinkPhase::Rset,
            Command::Quit => SinkPhase::Quit,
            Command::StartTls => SinkPhase::StartTls,
            Command::Auth { .. } => SinkPhase::Auth,
            Command::Bdat { size, last } => return self.begin_chunk(size, last, sink, out),
            Command::Noop => {
                write_reply(out, sink, "250", "2.0.0", "ok");
                return MORE;
            }
            Command::Vrfy => {
                write_reply(out, sink, "252", "2.5.2", "cannot verify, but will accept mail");
                return MORE;
            }
            Command::Http => {
                sink.counters.bad_commands.add(1);
                write_reply(out, sink, "521", "5.5.1", "this is no HTTP server");
                return Outcome { pace: None, next: Next::Linger };
            }
            Command::Unknown => {
                sink.counters.bad_commands.add(1);
                write_reply(out, sink, "500", "5.5.1", "unknown command");
                return MORE;
            }
        };
        self.answer(phase, sink, out, |client, sink, out| match command {
            Command::Ehlo(_) => client.introduce(true, sink, out),
            Command::Helo(_) => client.introduce(false, sink, out),
            Command::Mail(mail) => client.mail(&mail, sink, out),
            Command::Rcpt(to) => client.recipient(to, sink, out),
            Command::Data => client.data(sink, out),
            Command::Rset => {
                client.transaction = None;
                write_reply(out, sink, "250", "2.0.0", "reset");
                Next::More
            }
            Command::Quit => {
                write_reply(out, sink, "221", "2.0.0", "bye");
                Next::Close
            }
            Command::StartTls => client.start_tls(sink, out),
            Command::Auth { mechanism, initial } => client.auth(mechanism, initial, sink, out),
            _ => unreachable!("answered above"),
        })
    }

    pub(super) fn introduce(
        &mut self,
        extended: bool,
        sink: &mut SinkState,
        out: &mut Vec<u8>,
    ) -> Next {
        if extended && !sink.offer.knows_ehlo() {
            return refuse(out, sink, SinkPhase::Ehlo, ("502", "5.5.1", "not implemented"));
        }
        (self.introduced, self.transaction) = (true, None);
        match extended {
            true => out.extend_from_slice(sink.offer.ehlo(self.secured)),
            false => out.extend_from_slice(b"250 sink\r\n"),
        }
        Next::More
    }

    pub(super) fn mail(&mut self, mail: &Mail, sink: &mut SinkState, out: &mut Vec<u8>) -> Next {
        if !self.introduced || self.transaction.is_some() {
            return refuse(out, sink, SinkPhase::Mail, ORDER);
        }
        let offer = &sink.offer;
        let unknown = (mail.size.is_some() && !offer.has(Extension::Size, self.secured))
            || (mail.body.is_some() && !offer.has(Extension::EightBitMime, self.secured))
            || mail.body == Some(Body::Binary)
            || (mail.auth.is_some() && !offer.has(Extension::Auth, self.secured))
            || (mail.utf8 && !offer.has(Extension::SmtpUtf8, self.secured));
        let refusal = if unknown {
            ("555", "5.5.4", "parameter not offered")
        } else if mail.size.is_some_and(|size| size > offer.size) {
            ("552", "5.3.4", "message too large")
        } else if !mail.utf8 && !mail.from.is_ascii() {
            ("553", "5.6.7", "address needs SMTPUTF8")
        } else {
            let kept = (!sink.recorder.is_none()).then(|| sink.recorder.begin(mail.from));
            self.transaction = Some(Transaction { utf8: mail.utf8, kept, ..Default::default() });
            sink.counters.transactions.add(1);
            write_reply(out, sink, "250", "2.1.0", "sender accepted");
            return Next::More;
        };
        refuse(out, sink, SinkPhase::Mail, refusal)
    }

    pub(super) fn recipient(&mut self, to: &str, sink: &mut SinkState, out: &mut Vec<u8>) -> Next {
        let Some(transaction) = self.transaction.as_mut().filter(|one| !one.chunks) else {
            return refuse(out, sink, SinkPhase::Rcpt, ORDER);
        };
        let refusal = if transaction.recipients >= RECIPIENTS_AT_MOST {
            ("452", "4.5.3", "too many recipients")
        } else if !transaction.utf8 && !to.is_ascii() {
            ("553", "5.6.7", "address needs SMTPUTF8")
        } else if sink.defers(to) {
            ("450", "4.7.1", "greylisted, come back later")
        } else if transaction.kept.as_mut().is_some_and(|kept| !kept.add_recipient(to)) {
            ("452", "4.3.1", "too many recipients in progress")
        } else {
            transaction.recipients += 1;
            sink.counters.rcpts.add(1);
            write_reply(out, sink, "250", "2.1.5", "recipient accepted");
            return Next::More;
        };
        refuse(out, sink, SinkPhase::Rcpt, refusal)
    }

    pub(super) fn start_tls(&mut self, sink: &mut SinkState, out: &mut Vec<u8>) -> Next {
        if !sink.offer.has(Extension::StartTls, self.secured) {
            return refuse(out, sink, SinkPhase::StartTls, ("502", "5.5.1", "not offered"));
        }
        if self.transaction.is_some() {
            return refuse(out, sink, SinkPhase::StartTls, ORDER);
        }
        write_reply(out, sink, "220", "2.0.0", "begin TLS");
        Next::StartTls
    }
}

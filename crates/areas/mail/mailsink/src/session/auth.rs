//! The AUTH command (RFC 4954).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use smtp::auth::Mechanism;
use smtp::command::BadCommand;

use super::client::{ClientState, Expects};
use super::outcome::{Next, Outcome};
use super::replies::{ORDER, refuse, reject, write_reply};
use crate::extension::Extension;
use crate::fault::SinkPhase;
use crate::state::SinkState;

impl ClientState {
    pub(super) fn auth(
        &mut self,
        mechanism: Option<Mechanism>,
        initial: Option<&str>,
        sink: &mut SinkState,
        out: &mut Vec<u8>,
    ) -> Next {
        if !sink.offer.has(Extension::Auth, self.secured) {
            let refusal = match sink.offer.has(Extension::StartTls, self.secured) {
                true => ("538", "5.7.11", "only over TLS"),
                false => ("502", "5.5.1", "not offered"),
            };
            return refuse(out, sink, SinkPhase::Auth, refusal);
        }
        if self.authenticated || !self.introduced || self.transaction.is_some() {
            return refuse(out, sink, SinkPhase::Auth, ORDER);
        }
        self.expects = match mechanism {
            Some(Mechanism::Plain) => Expects::Plain,
            Some(Mechanism::Login) => Expects::Name,
            None => {
                return refuse(
                    out,
                    sink,
                    SinkPhase::Auth,
                    ("504", "5.5.4", "mechanism not offered"),
                );
            }
        };
        match initial {
            Some("=") => self.credential(b"", sink, out),
            Some(initial) => self.credential(initial.as_bytes(), sink, out),
            None => {
                // The prompt is empty for PLAIN, and "Username:" for LOGIN.
                let prompt: &[u8] = match mechanism {
                    Some(Mechanism::Plain) => b"334 \r\n",
                    _ => b"334 VXNlcm5hbWU6\r\n",
                };
                out.extend_from_slice(prompt);
                Next::More
            }
        }
    }

    /// Handles a line after AUTH.
    pub(super) fn credentials(
        &mut self,
        line: Result<&[u8], BadCommand>,
        sink: &mut SinkState,
        out: &mut Vec<u8>,
    ) -> Outcome {
        match line {
            Err(bad) => {
                self.expects = Expects::Commands;
                reject(bad, sink, out)
            }
            Ok(line) => self.answer(SinkPhase::Auth, sink, out, |client, sink, out| {
                client.credential(line, sink, out)
            }),
        }
    }

    pub(super) fn credential(
        &mut self,
        line: &[u8],
        sink: &mut SinkState,
        out: &mut Vec<u8>,
    ) -> Next {
        let expected = std::mem::replace(&mut self.expects, Expects::Commands);
        let Ok(text) = STANDARD.decode(line) else {
            return refuse(out, sink, SinkPhase::Auth, ("501", "5.5.2", "no base64, or given up"));
        };
        let is = |given: &[u8], right: &str| given == right.as_bytes();
        let login = sink.offer.login.as_ref();
        let right = match expected {
            Expects::Name => {
                let right = login.is_none_or(|(name, _)| is(&text, name));
                self.expects = Expects::Password(right);
                out.extend_from_slice(b"334 UGFzc3dvcmQ6\r\n"); // the prompt "Password:"
                return Next::More;
            }
            Expects::Password(name) => {
                name && login.is_none_or(|(_, password)| is(&text, password))
            }
            _ => {
                let mut parts = text.splitn(3, |&byte| byte == 0).skip(1);
                let (name, password) = (parts.next(), parts.next());
                name.zip(password).is_some_and(|(name, password)| {
                    login.is_none_or(|right| is(name, &right.0) && is(password, &right.1))
                })
            }
        };
        if !right {
            return refuse(out, sink, SinkPhase::Auth, ("535", "5.7.8", "name or password wrong"));
        }
        self.authenticated = true;
        write_reply(out, sink, "235", "2.7.0", "welcome");
        Next::More
    }
}

//! Writes commands, as many at a time as the server's extensions permit.

use std::io::{self, Write};
use std::net::IpAddr;

use super::Session;
use super::active::Progress;
use super::event::Event;
use super::phase::Expected;

impl Session {
    /// Writes the commands that can be sent now: a whole group, or one command if the server requires a reply to each.
    pub(super) fn send_queued(&mut self) {
        if self.is_over {
            return;
        }
        let mut is_group = self.output.has_no_commands();
        while let Some(&next) = self.queued.front() {
            let waits = !self.expected.is_empty();
            if self.output.has_long_message() || (waits && !self.is_pipelining()) {
                break;
            }
            self.queued.pop_front();
            self.write(next);
            self.expected.push_back(next);
            self.groups += u64::from(std::mem::take(&mut is_group));
        }
        let follows = self.active.len() == 1 && self.queued.is_empty() && self.may_follow();
        if follows && !self.is_ready && !self.is_quitting {
            self.is_ready = true;
            self.events.push_back(Event::Ready);
        }
    }

    fn write(&mut self, what: Expected) {
        let out = self.output.commands();
        // Writing to memory cannot fail.
        let _ = match what {
            Expected::Greeting => Ok(()),
            Expected::Ehlo => write_hello(out, "EHLO", &self.options.hello, self.local),
            Expected::Helo => write_hello(out, "HELO", &self.options.hello, self.local),
            Expected::StartTls => out.write_all(b"STARTTLS\r\n"),
            Expected::Login => match self.login.pop_front() {
                Some(line) => write!(out, "{line}\r\n"),
                None => out.write_all(b"*\r\n"), // cancels a longer exchange (RFC 4954, section 4)
            },
            Expected::Data => out.write_all(b"DATA\r\n"),
            Expected::Reset => out.write_all(b"RSET\r\n"),
            Expected::Quit => out.write_all(b"QUIT\r\n"),
            Expected::Mail | Expected::Rcpt(_) | Expected::Message => self.write_of_newest(what),
        };
        if let (Expected::Reset, Some(active)) = (what, self.active.back_mut()) {
            active.progress = Progress::Complete;
        }
    }

    /// Writes a command of the newest transaction.
    fn write_of_newest(&mut self, what: Expected) -> io::Result<()> {
        let chunking = self.is_chunking();
        let Some(active) = self.active.back_mut() else { return Ok(()) };
        let out = self.output.commands();
        match what {
            Expected::Mail => {
                active.progress = Progress::Envelope;
                match &active.transaction.from {
                    Some(from) => write!(out, "MAIL FROM:<{from}>")?,
                    None => write!(out, "MAIL FROM:<>")?,
                }
                self.extensions.parameters(&active.transaction, out)?;
                out.write_all(b"\r\n")
            }
            Expected::Rcpt(number) => {
                write!(out, "RCPT TO:<{}>\r\n", active.transaction.to[number].address)
            }
            _ => {
                active.progress = Progress::Complete;
                let message = &active.transaction.message;
                if chunking {
                    write!(out, "BDAT {} LAST\r\n", message.size())?;
                }
                self.output.append_message(message, !chunking);
                Ok(())
            }
        }
    }
}

/// Writes EHLO or HELO with the client's name, or else its address as a literal (RFC 5321, section 4.1.3).
fn write_hello(
    out: &mut impl Write,
    verb: &str,
    name: &str,
    local: Option<IpAddr>,
) -> io::Result<()> {
    match (name, local) {
        ("", Some(IpAddr::V6(ip))) => write!(out, "{verb} [IPv6:{ip}]\r\n"),
        ("", Some(IpAddr::V4(ip))) => write!(out, "{verb} [{ip}]\r\n"),
        ("", None) => write!(out, "{verb} [127.0.0.1]\r\n"),
        (name, _) => write!(out, "{verb} {name}\r\n"),
    }
}

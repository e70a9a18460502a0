//! The server's side of an SMTP session, without input or output: received bytes go in; replies and the transport's next
//! action come out.

mod auth;
mod body;
mod client;
mod commands;
mod outcome;
mod replies;

use smtp::command::CommandReader;

use crate::fault::SinkPhase;
use crate::state::SinkState;
use client::{ClientState, Expects};
pub use commands::RECIPIENTS_AT_MOST;
use outcome::MORE;
pub use outcome::{Next, Outcome};

/// Size of the output in bytes at which it is sent before more is read: a client may cause more output than it sends.
pub const OUTPUT_AT_ONCE: usize = 32 * 1024;

/// A point in the input of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// After a whole command.
    Whole,
    /// Within a command.
    PartOfLine,
    /// Within a message.
    Message,
}

/// A session with one client.
#[derive(Debug)]
pub struct ServerSession {
    reader: CommandReader,
    client: ClientState,
}

impl ServerSession {
    /// A session on connection number `number` that has not begun.
    pub fn new(number: u64, sink: &SinkState) -> Self {
        Self { reader: CommandReader::default(), client: ClientState::new(number, sink) }
    }

    /// Writes the greeting.
    pub fn greet(&mut self, sink: &mut SinkState, out: &mut Vec<u8>) -> Outcome {
        self.client.answer(SinkPhase::Connect, sink, out, |_, _, out| {
            out.extend_from_slice(b"220 sink ESMTP, mail is thrown away\r\n");
            Next::More
        })
    }

    /// Handles bytes from the client, and writes the replies. Returns the number of bytes used; if the replies must be sent
    /// first, the rest must be passed again after that.
    pub fn received(
        &mut self,
        bytes: &[u8],
        sink: &mut SinkState,
        out: &mut Vec<u8>,
    ) -> (usize, Outcome) {
        let mut used = 0;
        while used < bytes.len() && out.len() < OUTPUT_AT_ONCE {
            let (more, outcome) = self.step(&bytes[used..], sink, out);
            used += more;
            if outcome != MORE {
                return (used, outcome);
            }
        }
        (used, MORE)
    }

    /// Continues after the TLS handshake: the client must send EHLO again (RFC 3207, section 4.2).
    pub fn is_secured(&mut self) {
        let client = &mut self.client;
        (client.secured, client.introduced, client.transaction) = (true, false, None);
        self.reader.reset();
    }

    /// Whether no command, transaction or message is in progress.
    pub fn is_idle(&self) -> bool {
        let ClientState { expects, transaction, .. } = &self.client;
        *expects == Expects::Commands && transaction.is_none() && !self.reader.is_within_line()
    }

    /// The point in the client's input.
    pub fn input(&self) -> Input {
        match self.client.expects {
            Expects::Text(_) | Expects::Chunk { .. } => Input::Message,
            _ if self.reader.is_within_line() => Input::PartOfLine,
            _ => Input::Whole,
        }
    }

    /// Handles one command, or bytes of a message.
    fn step(&mut self, bytes: &[u8], sink: &mut SinkState, out: &mut Vec<u8>) -> (usize, Outcome) {
        let Self { reader, client } = self;
        match client.expects {
            Expects::Commands => {
                let (used, command) = reader.read(bytes);
                let outcome = command.map_or(MORE, |command| client.obey(command, sink, out));
                (used, outcome)
            }
            Expects::Text(unstuffing) => client.text(unstuffing, bytes, sink, out),
            Expects::Chunk { left, last, astray } => {
                client.chunk(left, last, astray, bytes, sink, out)
            }
            Expects::Plain | Expects::Name | Expects::Password(_) => {
                let (used, line) = reader.read_line(bytes);
                let outcome = line.map_or(MORE, |line| client.credentials(line, sink, out));
                (used, outcome)
            }
        }
    }
}

#[cfg(test)]
mod tests;

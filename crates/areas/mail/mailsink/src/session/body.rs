//! Messages by DATA and BDAT.

use std::time::Duration;

use smtp::unstuffing::Unstuffing;

use super::client::{ClientState, Expects, Transaction};
use super::outcome::{MORE, Next, Outcome, Pace};
use super::replies::{ORDER, misbehave, refuse, write_reply};
use crate::extension::Extension;
use crate::fault::{FaultKind, SinkPhase};
use crate::state::SinkState;

impl ClientState {
    pub(super) fn data(&mut self, sink: &mut SinkState, out: &mut Vec<u8>) -> Next {
        match &self.transaction {
            Some(Transaction { chunks: false, recipients: 0, .. }) => {
                refuse(out, sink, SinkPhase::Data, ("554", "5.5.1", "no recipients"))
            }
            Some(Transaction { chunks: false, .. }) => {
                self.expects = Expects::Text(Unstuffing::default());
                out.extend_from_slice(b"354 end with CR LF . CR LF\r\n");
                Next::More
            }
            _ => refuse(out, sink, SinkPhase::Data, ORDER),
        }
    }

    /// Handles bytes of a message after DATA.
    pub(super) fn text(
        &mut self,
        mut unstuffing: Unstuffing,
        bytes: &[u8],
        sink: &mut SinkState,
        out: &mut Vec<u8>,
    ) -> (usize, Outcome) {
        if let Some(outcome) = self.begin_body(sink, out) {
            return (bytes.len(), outcome);
        }
        let Some(transaction) = &mut self.transaction else {
            self.expects = Expects::Commands; // never happens, since DATA requires a transaction
            return (0, MORE);
        };
        let limit = sink.offer.size;
        match unstuffing.feed(bytes, |some| transaction.take(some, limit)) {
            None => {
                self.expects = Expects::Text(unstuffing);
                (bytes.len(), MORE)
            }
            Some(used) => {
                self.expects = Expects::Commands;
                (used, self.answer(SinkPhase::End, sink, out, Self::accept))
            }
        }
    }

    /// Begins a message with its first byte: draws a fault.
    pub(super) fn begin_body(
        &mut self,
        sink: &mut SinkState,
        out: &mut Vec<u8>,
    ) -> Option<Outcome> {
        let transaction = self.transaction.as_mut()?;
        if std::mem::replace(&mut transaction.begun, true) {
            return None;
        }
        let kind = sink.fault(SinkPhase::Body, &mut self.random)?;
        let from = out.len();
        self.give_up(SinkPhase::Body);
        let next = match misbehave(SinkPhase::Body, kind, sink, out) {
            Next::More => Next::Linger,
            next => next,
        };
        let endless = kind == FaultKind::Endless;
        let pace = Pace { from, after: Duration::ZERO, every: None, endless };
        Some(Outcome { pace: endless.then_some(pace), next })
    }

    /// Accepts a message that was received to its end.
    pub(super) fn accept(&mut self, sink: &mut SinkState, out: &mut Vec<u8>) -> Next {
        let Some(transaction) = self.transaction.take() else { return Next::More };
        let Transaction { recipients, bytes, kept, .. } = transaction;
        if bytes > sink.offer.size {
            return refuse(out, sink, SinkPhase::End, ("552", "5.3.4", "message too large"));
        }
        if let Some(kept) = kept
            && let Err(e) = sink.recorder.write(*kept, bytes, self.number, self.secured)
        {
            sink.write_failed(&e);
            return refuse(out, sink, SinkPhase::End, ("452", "4.3.1", "no room for it"));
        }
        let counters = &sink.counters;
        counters.messages.add(1);
        counters.recipients.add(recipients.into());
        counters.bytes.add(bytes);
        write_reply(out, sink, "250", "2.0.0", "accepted and discarded");
        Next::More
    }

    /// Handles BDAT. Its octets follow even if the command is rejected (RFC 3030, section 2).
    pub(super) fn begin_chunk(
        &mut self,
        size: u64,
        last: bool,
        sink: &mut SinkState,
        out: &mut Vec<u8>,
    ) -> Outcome {
        if !sink.offer.has(Extension::Chunking, self.secured) {
            sink.counters.bad_commands.add(1);
            write_reply(out, sink, "502", "5.5.1", "not implemented");
            return MORE;
        }
        let transaction = self.transaction.as_mut().filter(|one| one.recipients > 0);
        let astray = transaction.is_none();
        if let Some(transaction) = transaction {
            transaction.chunks = true;
        }
        self.expects = Expects::Chunk { left: size, last, astray };
        if size > 0 { MORE } else { self.end_chunk(last, astray, sink, out) }
    }

    pub(super) fn chunk(
        &mut self,
        left: u64,
        last: bool,
        astray: bool,
        bytes: &[u8],
        sink: &mut SinkState,
        out: &mut Vec<u8>,
    ) -> (usize, Outcome) {
        if !astray && let Some(outcome) = self.begin_body(sink, out) {
            return (bytes.len(), outcome);
        }
        let used = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        if let Some(transaction) = self.transaction.as_mut().filter(|_| !astray) {
            transaction.take(&bytes[..used], sink.offer.size);
        }
        let left = left - used as u64;
        self.expects = Expects::Chunk { left, last, astray };
        let outcome = if left > 0 { MORE } else { self.end_chunk(last, astray, sink, out) };
        (used, outcome)
    }

    pub(super) fn end_chunk(
        &mut self,
        last: bool,
        astray: bool,
        sink: &mut SinkState,
        out: &mut Vec<u8>,
    ) -> Outcome {
        self.expects = Expects::Commands;
        if astray {
            refuse(out, sink, SinkPhase::Data, ORDER);
            return MORE;
        }
        if last {
            return self.answer(SinkPhase::End, sink, out, Self::accept);
        }
        self.answer(SinkPhase::Data, sink, out, |client, sink, out| {
            let bytes = client.transaction.as_ref().map_or(0, |transaction| transaction.bytes);
            if bytes > sink.offer.size {
                client.transaction = None;
                return refuse(out, sink, SinkPhase::Data, ("552", "5.3.4", "message too large"));
            }
            write_reply(out, sink, "250", "2.0.0", "continue");
            Next::More
        })
    }
}

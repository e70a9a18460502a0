//! The state of a session, and replies that are subject to faults and latencies.

use std::time::Duration;

use smtp::unstuffing::Unstuffing;

use super::outcome::{Next, Outcome, Pace};
use super::replies::misbehave;
use crate::fault::{FaultKind, SinkPhase};
use crate::record::PendingRecord;
use crate::state::SinkState;
use serving::SplitMix64;

/// Delay before each byte of a reply with the fault `slowly`.
const SLOWLY: Duration = Duration::from_millis(20);

/// The state of the session with one client.
#[derive(Debug)]
pub(super) struct ClientState {
    /// Number of the connection.
    pub number: u64,
    pub random: SplitMix64,
    pub expects: Expects,
    /// Whether EHLO or HELO was accepted.
    pub introduced: bool,
    pub secured: bool,
    pub authenticated: bool,
    pub transaction: Option<Transaction>,
}

/// The next input that the session expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expects {
    Commands,
    /// A message, after DATA.
    Text(Unstuffing),
    /// A chunk, after BDAT.
    Chunk {
        /// Number of octets still to come.
        left: u64,
        /// Whether the chunk is the last one of the message.
        last: bool,
        /// Whether the chunk belongs to no transaction, and is discarded.
        astray: bool,
    },
    /// The response of AUTH PLAIN.
    Plain,
    /// The user name of AUTH LOGIN.
    Name,
    /// The password of AUTH LOGIN, with whether the user name was right.
    Password(bool),
}

/// A message and its envelope.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    pub recipients: u32,
    pub utf8: bool,
    /// Size of the message so far, in bytes.
    pub bytes: u64,
    /// Whether some of the message was received.
    pub begun: bool,
    /// Whether the message is sent by BDAT.
    pub chunks: bool,
    pub kept: Option<Box<PendingRecord>>,
}

impl Transaction {
    pub fn take(&mut self, bytes: &[u8], limit: u64) {
        self.bytes += bytes.len() as u64;
        if let Some(kept) = self.kept.as_mut().filter(|_| self.bytes <= limit) {
            kept.take(bytes);
        }
    }
}

impl ClientState {
    /// The state at the beginning of a connection.
    pub fn new(number: u64, sink: &SinkState) -> Self {
        Self {
            number,
            random: sink.random(number),
            expects: Expects::Commands,
            introduced: false,
            secured: false,
            authenticated: false,
            transaction: None,
        }
    }

    /// Replies by `properly`, or with the fault drawn for this phase.
    pub(super) fn answer(
        &mut self,
        phase: SinkPhase,
        sink: &mut SinkState,
        out: &mut Vec<u8>,
        properly: impl FnOnce(&mut Self, &mut SinkState, &mut Vec<u8>) -> Next,
    ) -> Outcome {
        let from = out.len();
        let fault = sink.fault(phase, &mut self.random);
        let (mut every, mut endless) = (None, false);
        let next = match fault {
            None => properly(self, sink, out),
            Some(FaultKind::Slowly) => {
                every = Some(SLOWLY);
                properly(self, sink, out)
            }
            Some(FaultKind::Late) => {
                properly(self, sink, out);
                out.truncate(from);
                Next::Close
            }
            Some(kind) => {
                endless = kind == FaultKind::Endless;
                self.give_up(phase);
                misbehave(phase, kind, sink, out)
            }
        };
        let delay = sink.delay(phase, &mut self.random);
        let (after, tarpit) = delay.unwrap_or_default();
        let every = tarpit.max(every);
        let held = endless || every.is_some() || !after.is_zero();
        let pace = held.then_some(Pace { from, after, every, endless });
        Outcome { pace, next }
    }

    /// Drops the transaction if a fault has rejected its message.
    pub(super) fn give_up(&mut self, phase: SinkPhase) {
        if matches!(phase, SinkPhase::Body | SinkPhase::End) {
            self.transaction = None;
            self.expects = Expects::Commands;
        }
    }
}

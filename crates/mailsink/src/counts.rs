//! What the sink has counted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::fault::{Kind, Phase};

/// A number that one thread counts up and others read: cheaper than adding in one step.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, more: u64) {
        self.0.store(self.get() + more, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// As the event loop counts.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub connections: Counter,
    pub open: AtomicU64,
    pub tls: Counter,
    pub tls_failed: Counter,
    pub transactions: Counter,
    pub rcpts: Counter,
    pub messages: Counter,
    pub recipients: Counter,
    pub bytes: Counter,
    pub commands: Counter,
    pub cut_off: Counter,
    pub timed_out: Counter,
    pub no_descriptor: Counter,
    pub no_memory: Counter,
    pub unwritten: Counter,
    pub refusals: [Counter; Phase::ALL.len()],
    pub bad_commands: Counter,
    pub faults: [[Counter; Kind::ALL.len()]; Phase::ALL.len()],
}

impl Counters {
    pub fn note_fault(&self, phase: Phase, kind: Kind) {
        self.faults[phase as usize][kind as usize].add(1);
    }

    pub fn note_refusal(&self, phase: Phase) {
        self.refusals[phase as usize].add(1);
    }

    /// What they say now.
    pub fn read(&self) -> Counts {
        let named = |(phase, counter): (Phase, &Counter)| (phase.name().to_owned(), counter.get());
        let refusals = Phase::ALL.into_iter().zip(&self.refusals).map(named);
        let mut faults = BTreeMap::new();
        for (phase, of_phase) in Phase::ALL.into_iter().zip(&self.faults) {
            for (kind, counter) in Kind::ALL.into_iter().zip(of_phase) {
                faults.insert(format!("{}:{}", phase.name(), kind.name()), counter.get());
            }
        }
        faults.retain(|_, times| *times > 0);
        Counts {
            connections: self.connections.get(),
            open: self.open.load(Ordering::Relaxed),
            tls: self.tls.get(),
            tls_failed: self.tls_failed.get(),
            transactions: self.transactions.get(),
            rcpts: self.rcpts.get(),
            messages: self.messages.get(),
            recipients: self.recipients.get(),
            bytes: self.bytes.get(),
            commands: self.commands.get(),
            cut_off: self.cut_off.get(),
            timed_out: self.timed_out.get(),
            no_descriptor: self.no_descriptor.get(),
            no_memory: self.no_memory.get(),
            unwritten: self.unwritten.get(),
            bad_commands: self.bad_commands.get(),
            refusals: refusals.filter(|&(_, times)| times > 0).collect(),
            faults,
        }
    }
}

/// What the sink has counted so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Connections accepted.
    pub connections: u64,
    /// Connections that are open now.
    pub open: u64,
    /// Connections on which TLS began.
    pub tls: u64,
    /// Connections that ended since TLS could not be agreed upon, or was broken.
    pub tls_failed: u64,
    /// MAIL commands accepted.
    pub transactions: u64,
    /// RCPT commands accepted, whether a message followed or not.
    pub rcpts: u64,
    /// Messages accepted.
    pub messages: u64,
    /// Recipients of messages accepted.
    pub recipients: u64,
    /// Bytes of messages accepted, as they are without the dots of their transport.
    pub bytes: u64,
    /// Commands, right or wrong.
    pub commands: u64,
    /// Connections that the client ended without QUIT.
    pub cut_off: u64,
    /// Connections whose client kept the sink waiting too long.
    pub timed_out: u64,
    /// Times there was no descriptor for a connection.
    pub no_descriptor: u64,
    /// Times there was no memory for a connection.
    pub no_memory: u64,
    /// Messages refused since they could not be written to the log or the folder.
    pub unwritten: u64,
    /// Commands that are none, or not written as they must be.
    pub bad_commands: u64,
    /// Refusals by phase, without those injected.
    pub refusals: BTreeMap<String, u64>,
    /// Injected faults by phase and kind, as in `rcpt:4xx`.
    pub faults: BTreeMap<String, u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_named_and_empty_ones_left_out() {
        let counters = Counters::default();
        counters.note_fault(Phase::Rcpt, Kind::Temporary);
        counters.note_fault(Phase::Rcpt, Kind::Temporary);
        counters.note_fault(Phase::Quit, Kind::Late);
        counters.note_refusal(Phase::Quit);
        counters.bytes.add(7);
        let counts = counters.read();
        assert_eq!(counts.bytes, 7);
        let faults: Vec<_> = counts.faults.iter().map(|(name, &n)| (&name[..], n)).collect();
        assert_eq!(faults, [("quit:late", 1), ("rcpt:4xx", 2)]);
        assert_eq!(counts.refusals.into_iter().collect::<Vec<_>>(), [("quit".to_owned(), 1)]);
    }
}

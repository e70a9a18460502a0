//! Counters of the sink.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use serving::Shortages;
use strum::VariantArray;

use crate::fault::{FaultKind, SinkPhase};

/// A counter with one writer, for which a load and a store are cheaper than an atomic addition.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, more: u64) {
        self.0.store(self.get() + more, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of the event loop.
#[derive(Debug, Default)]
pub(crate) struct Counters {
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
    pub shortages: Shortages,
    pub unwritten: Counter,
    pub refusals: [Counter; SinkPhase::VARIANTS.len()],
    pub bad_commands: Counter,
    pub faults: [[Counter; FaultKind::VARIANTS.len()]; SinkPhase::VARIANTS.len()],
}

impl Counters {
    pub fn note_fault(&self, phase: SinkPhase, kind: FaultKind) {
        self.faults[phase as usize][kind as usize].add(1);
    }

    pub fn note_refusal(&self, phase: SinkPhase) {
        self.refusals[phase as usize].add(1);
    }

    /// The current values.
    pub fn read(&self) -> Counts {
        let named =
            |(phase, counter): (&SinkPhase, &Counter)| (phase.name().to_owned(), counter.get());
        let refusals = SinkPhase::VARIANTS.iter().zip(&self.refusals).map(named);
        let mut faults = BTreeMap::new();
        for (phase, of_phase) in SinkPhase::VARIANTS.iter().zip(&self.faults) {
            for (kind, counter) in FaultKind::VARIANTS.iter().zip(of_phase) {
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
            no_descriptor: self.shortages.no_descriptor.load(Ordering::Relaxed),
            no_memory: self.shortages.no_memory.load(Ordering::Relaxed),
            unwritten: self.unwritten.get(),
            bad_commands: self.bad_commands.get(),
            refusals: refusals.filter(|&(_, times)| times > 0).collect(),
            faults,
        }
    }
}

/// The values of the sink's counters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Number of accepted connections.
    pub connections: u64,
    /// Number of open connections.
    pub open: u64,
    /// Number of connections on which TLS was started.
    pub tls: u64,
    /// Number of connections that ended because the TLS handshake failed.
    pub tls_failed: u64,
    /// Number of accepted MAIL commands.
    pub transactions: u64,
    /// Number of accepted RCPT commands, with or without a message after them.
    pub rcpts: u64,
    /// Number of accepted messages.
    pub messages: u64,
    /// Number of recipients of accepted messages.
    pub recipients: u64,
    /// Number of bytes of accepted messages, without dot-stuffing.
    pub bytes: u64,
    /// Number of received commands, valid or not.
    pub commands: u64,
    /// Number of connections that the client closed without QUIT.
    pub cut_off: u64,
    /// Number of connections closed because the client timed out.
    pub timed_out: u64,
    /// Number of connections that could not be accepted for lack of descriptors.
    pub no_descriptor: u64,
    /// Number of connections that could not be accepted for lack of memory.
    pub no_memory: u64,
    /// Number of messages rejected because they could not be written to the log or the directory.
    pub unwritten: u64,
    /// Number of unknown or malformed commands.
    pub bad_commands: u64,
    /// Number of rejections by phase, without injected ones.
    pub refusals: BTreeMap<String, u64>,
    /// Number of injected faults by phase and kind, such as `rcpt:4xx`.
    pub faults: BTreeMap<String, u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_named_and_empty_ones_left_out() {
        let counters = Counters::default();
        counters.note_fault(SinkPhase::Rcpt, FaultKind::Temporary);
        counters.note_fault(SinkPhase::Rcpt, FaultKind::Temporary);
        counters.note_fault(SinkPhase::Quit, FaultKind::Late);
        counters.note_refusal(SinkPhase::Quit);
        counters.bytes.add(7);
        let counts = counters.read();
        assert_eq!(counts.bytes, 7);
        let faults: Vec<_> = counts.faults.iter().map(|(name, &n)| (&name[..], n)).collect();
        assert_eq!(faults, [("quit:late", 1), ("rcpt:4xx", 2)]);
        assert_eq!(counts.refusals.into_iter().collect::<Vec<_>>(), [("quit".to_owned(), 1)]);
    }
}

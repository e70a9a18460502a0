//! Statistics of transports: connections, transactions, bytes, latencies.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use smtp::session::SmtpPhase;

/// Number of significant digits of latencies.
const DIGITS: u8 = 2;
/// Maximum recorded latency: an hour.
const LONGEST_US: u64 = 3_600_000_000;

/// Statistics of a transport. A child process sends them to its parent.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct TransportStats {
    /// Number of connections made.
    pub connections: u64,
    /// Number of connections that could not be made, or failed.
    pub failed: u64,
    /// Number of transactions begun.
    pub transactions: u64,
    /// Number of groups of commands sent, each answered before the next one: round trips.
    pub groups: u64,
    /// Number of bytes sent, before TLS.
    pub sent: u64,
    /// Number of times a connection could not be made for lack of ports, descriptors, threads or processes.
    pub shortages: u64,
    /// Times from sending a group of commands to its last reply, in us, by the command of that reply.
    #[serde(with = "as_counts")]
    pub latencies: BTreeMap<SmtpPhase, Histogram<u64>>,
}

/// Serializes latencies: by phase, value in us and number of times.
mod as_counts {
    use super::{BTreeMap, Deserialize, Histogram, Serialize, SmtpPhase, TransportStats};

    type Latencies = BTreeMap<SmtpPhase, Histogram<u64>>;
    type Sent = Vec<(SmtpPhase, Vec<(u64, u64)>)>;

    pub fn serialize<S: serde::Serializer>(all: &Latencies, to: S) -> Result<S::Ok, S::Error> {
        let counts = |histogram: &Histogram<u64>| {
            let recorded = histogram.iter_recorded();
            recorded.map(|at| (at.value_iterated_to(), at.count_at_value())).collect()
        };
        let sent = all.iter().map(|(&phase, histogram)| (phase, counts(histogram)));
        sent.collect::<Sent>().serialize(to)
    }

    pub fn deserialize<'a, D: serde::Deserializer<'a>>(from: D) -> Result<Latencies, D::Error> {
        let mut stats = TransportStats::default();
        for (phase, counts) in Sent::deserialize(from)? {
            counts.into_iter().for_each(|(us, times)| stats.record(phase, us, times));
        }
        Ok(stats.latencies)
    }
}

impl TransportStats {
    /// Records the time until a group of commands was answered.
    pub fn answered(&mut self, phase: SmtpPhase, took: Duration) {
        self.record(phase, u64::try_from(took.as_micros()).unwrap_or(u64::MAX), 1);
    }

    fn record(&mut self, phase: SmtpPhase, us: u64, times: u64) {
        let empty = || Histogram::new_with_max(LONGEST_US, DIGITS).expect("valid bounds");
        let histogram = self.latencies.entry(phase).or_insert_with(empty);
        histogram.saturating_record_n(us.clamp(1, LONGEST_US), times);
    }

    /// The sum of both statistics.
    pub fn plus(mut self, other: Self) -> Self {
        self.connections += other.connections;
        self.failed += other.failed;
        self.transactions += other.transactions;
        self.groups += other.groups;
        self.sent += other.sent;
        self.shortages += other.shortages;
        for (phase, histogram) in other.latencies {
            match self.latencies.entry(phase) {
                Entry::Vacant(entry) => drop(entry.insert(histogram)),
                Entry::Occupied(mut entry) => {
                    let _ = entry.get_mut().add(&histogram); // both histograms have the same bounds
                }
            }
        }
        self
    }
}

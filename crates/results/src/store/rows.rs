//! Rows of the store as its users see them.

use std::collections::BTreeMap;

use crate::check::parse_time;

/// Maximum length of the output of a round's worker, in bytes.
pub const MAX_LINES_BYTES: usize = 64 << 20;

/// One worker process, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundRow {
    /// The round's number within its run; rounds are read back in this order.
    pub seq: u64,
    /// The case, `area/name`.
    pub case: String,
    /// The case's parameters, by name.
    pub params: BTreeMap<String, String>,
    /// Kind of round: `round` (timed), `count` (the untimed pass), or `kept` (the untimed pass of an earlier run whose
    /// counts this run uses).
    pub kind: String,
    /// Outcome, in the runner's words.
    pub outcome: String,
    /// Start of the round, in milliseconds since 1970 UTC.
    pub started_ms: i64,
    /// The worker's output, at most [`MAX_LINES_BYTES`].
    pub lines: String,
}

/// A run in a list of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// The run's id.
    pub id: String,
    /// Start, as RFC 3339.
    pub started: String,
    /// End, as RFC 3339; `None` while the run is unfinished.
    pub finished: Option<String>,
    /// Version of oscost that measured.
    pub oscost: String,
    /// The user's labels.
    pub tags: BTreeMap<String, String>,
    /// The options of the run.
    pub asked: BTreeMap<String, String>,
    /// Number of rounds measured; 0 for an imported run. [`Store::thin`] removes the rounds, and not this number.
    pub rounds: u64,
    /// Number of results in the store.
    pub results: u64,
    /// The machine in one line, from [`machine_line`](crate::machine_line).
    pub machine: String,
}

impl RunSummary {
    /// Start in seconds since 1970; 0 if it is not a time.
    pub fn started_seconds(&self) -> f64 {
        parse_time(&self.started).map_or(0.0, |time| time.as_microsecond() as f64 / 1e6)
    }
}

/// The result of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imported {
    /// The run was added.
    Added,
    /// An equal run was already stored.
    AlreadyThere,
}

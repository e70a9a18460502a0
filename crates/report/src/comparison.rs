//! What a comparison of runs says, before it is shown.

use analysis::{Difference, Ratio, Verdict};

/// One base run and the runs held against it.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The base run, in words.
    pub base: String,
    /// The other runs, in words.
    pub news: Vec<String>,
    /// What else differs between the runs; empty when nothing does.
    pub also_differs: Vec<Difference>,
    /// What is to be known before the rows: the core's frequency in both runs, and what was compared in cycles; one
    /// text per line.
    pub facts: Vec<String>,
    /// Whether rows that are the same are shown too.
    pub all: bool,
    /// What the smallest difference is that this machine can tell, one text per line.
    pub noise_floor: Vec<String>,
    /// One per metric of each case.
    pub rows: Vec<CompareRow>,
}

/// One metric of one case in all runs.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareRow {
    /// `area/name{key=value,...}`.
    pub label: String,
    /// `time` for the cost.
    pub metric: String,
    /// The base's figure; `None` when it has none.
    pub base: Option<Cell>,
    /// One per other run.
    pub news: Vec<CompareCell>,
}

/// A figure with its interval, in `unit`.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The estimate.
    pub median: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    /// As in the results: `ns/op`, `pairs/s` ...
    pub unit: String,
}

/// One other run's figure held against the base's.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareCell {
    /// `None` when this run has no figure.
    pub figure: Option<Cell>,
    /// `None` when there is nothing to divide.
    pub ratio: Option<Ratio>,
    /// What can be said for certain.
    pub verdict: Verdict,
    /// What would settle it, or why it can't be compared; may be empty.
    pub note: String,
}

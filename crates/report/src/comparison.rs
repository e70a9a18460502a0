//! The data of a comparison of runs, before formatting.

use analysis::{Difference, Ratio, Verdict};

/// A base run and the runs compared with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// A description of the base run.
    pub base: String,
    /// Descriptions of the other runs.
    pub news: Vec<String>,
    /// Other differences between the runs, such as of their machines.
    pub also_differs: Vec<Difference>,
    /// Lines above the rows: the core's frequency in the runs, and what was compared in cycles.
    pub facts: Vec<String>,
    /// Whether unchanged rows are shown too.
    pub all: bool,
    /// The smallest difference that this machine can resolve, one text per line.
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
    /// The base's figure, if it has one.
    pub base: Option<Cell>,
    /// One cell per other run.
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

/// The figure of another run compared with that of the base.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareCell {
    /// The figure of this run, if it has one.
    pub figure: Option<Cell>,
    /// The ratio to the base; `None` if one of the figures is missing.
    pub ratio: Option<Ratio>,
    /// The smallest difference that can be reported, as a share.
    pub floor: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// What would decide an open verdict, or why the figures cannot be compared; may be empty.
    pub note: String,
}

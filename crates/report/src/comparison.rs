//! Data of a comparison of runs, or of results selected by another dimension, before formatting.

use analysis::{Difference, Ratio, Verdict};
use results::PointKey;

/// A base and the columns compared with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Dimension of the columns: `run`, `arch`.
    pub by: String,
    /// Name of each column, the base's first.
    pub columns: Vec<String>,
    /// Compared runs, each with its name in these tables and its description.
    pub runs: Vec<(String, String)>,
    /// Other differences between the runs, such as of their machines.
    pub also_differs: Vec<Difference>,
    /// Lines above the rows: the core's frequency in the runs, and the metrics that were compared in cycles.
    pub facts: Vec<String>,
    /// Whether unchanged rows are shown too.
    pub all: bool,
    /// The smallest difference that this machine can resolve, one text per line.
    pub noise_floor: Vec<String>,
    /// Rows, one per metric of each case.
    pub rows: Vec<CompareRow>,
}

impl Comparison {
    /// Names and descriptions of runs that are compared as such: `base`, and `new` or `new 1`, `new 2` ...
    pub fn names_of_runs(descriptions: Vec<String>) -> Vec<(String, String)> {
        let only_one = descriptions.len() == 2;
        let name = |at: usize| match at {
            0 => "base".to_owned(),
            _ if only_one => "new".to_owned(),
            n => format!("new {n}"),
        };
        let named = |(at, description)| (name(at), description);
        descriptions.into_iter().enumerate().map(named).collect()
    }

    /// The verdicts on a column; column 0 is the first after the base.
    pub(crate) fn verdicts(&self, column: usize) -> Vec<Verdict> {
        let cells = self.rows.iter().filter_map(|row| row.news.get(column)?.as_ref());
        cells.map(|cell| cell.verdict).collect()
    }
}

/// One metric of one case in all columns.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareRow {
    /// The case with its parameters.
    pub point: PointKey,
    /// Name of the metric; `time` for the cost.
    pub metric: String,
    /// The base's figure, if it has one.
    pub base: Option<Cell>,
    /// One cell per other column; `None` where the row has nothing to compare.
    pub news: Vec<Option<CompareCell>>,
    /// System calls on the host per operation, in each column, the base first; empty if no column has them.
    pub host_calls: Vec<Option<f64>>,
}

impl CompareRow {
    /// Whether the metric is the time, or one by which the designs of an application are judged: not one that explains it.
    pub fn is_cost(&self) -> bool {
        let applications = catalog::areas().iter().flat_map(|area| area.applications);
        let mut judged = applications.flat_map(|application| application.metrics);
        self.metric == measure::TIME.name || judged.any(|metric| metric.name == self.metric)
    }
}

/// A figure with its interval, in `unit`.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The estimate.
    pub median: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Unit of the results: `ns/op`, `pairs/s` ...
    pub unit: String,
}

/// The figure of another column compared with that of the base.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareCell {
    /// The figure of this column, if it has one.
    pub figure: Option<Cell>,
    /// The ratio to the base; `None` if one of the figures is missing.
    pub ratio: Option<Ratio>,
    /// Smallest difference that can be reported, as a share.
    pub floor: f64,
    /// Verdict on the column.
    pub verdict: Verdict,
    /// Note on an open verdict that says what would decide it, or why the figures cannot be compared; may be empty.
    pub note: String,
}

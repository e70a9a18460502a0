//! What a study consists of.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::claim::reading::text;
use crate::claim::{Claim, Side};

/// A published comparison, and how to repeat it.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// Its name on the command line.
    pub name: String,
    /// What it is about, in one line.
    pub title: String,
    /// The question it answered.
    pub question: String,
    /// Who published it, about which systems and machines.
    pub source: String,
    /// How measuring here differs from what was published, in sentences.
    pub differences: Vec<String>,
    /// Names of systems in claims, for runs that have no such name.
    pub systems: Vec<SystemRole>,
    /// What to measure.
    pub measure: Vec<Measure>,
    /// The half-width of an interval at which a point is measured precisely enough, as a share, if it is not the usual one.
    pub precision: Option<f64>,
    /// The longest time of all measurements, if it is not the usual one.
    pub budget: Option<Duration>,
    /// The published tables.
    pub tables: Vec<PublishedTable>,
    /// The published claims.
    pub claims: Vec<Claim>,
    /// What else is known about claims, by their names.
    pub about: BTreeMap<String, About>,
}

/// A name that claims use for a system, and which operating system it is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: [[system]]")]
pub struct SystemRole {
    /// The name.
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// The fact `os` of its machine, such as `Linux`.
    #[serde(deserialize_with = "text")]
    pub os: String,
}

/// Points to measure: all combinations of the values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure {
    /// Cases, areas or patterns.
    pub cases: Vec<String>,
    /// Values of parameters.
    pub params: BTreeMap<String, Vec<String>>,
}

/// A published table.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedTable {
    /// What the figures are.
    pub title: String,
    /// Their unit; empty for ratios.
    pub unit: String,
    /// The heading of the rows.
    pub rows_are: String,
    /// The headings of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<PublishedRow>,
}

/// A row of a published table.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedRow {
    /// Its heading.
    pub title: String,
    /// A cell for each column.
    pub cells: Vec<PublishedCell>,
}

/// A cell of a published table.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedCell {
    /// The published figure as it was printed; `None` where there is none.
    pub published: Option<String>,
    /// What corresponds to it here; `None` if nothing does.
    pub here: Option<Counterpart>,
}

/// The point that corresponds to a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Counterpart {
    /// The point and its metric.
    pub point: Side,
    /// The point that it is divided by.
    pub over: Option<Side>,
    /// The number, from 1, of the round whose value it is, instead of the estimate.
    pub round: Option<usize>,
    /// Converts the unit of the metric to that of the table.
    pub factor: f64,
}

/// What is known about a claim besides its sentence.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// Whether it follows from the published figures without being stated.
    pub derived: bool,
    /// Which systems its names mean, where that is not obvious.
    pub needs: Option<String>,
    /// Why the answer of today differs, or does not.
    pub today: Option<String>,
}

impl PublishedTable {
    /// Whether any figure was published; else the table has the layout only.
    pub fn is_published(&self) -> bool {
        self.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.published.is_some())
    }
}

impl PublishedCell {
    /// The published figure, where it is a plain number.
    pub fn number(&self) -> Option<f64> {
        self.published.as_ref()?.parse().ok().filter(|number: &f64| number.is_finite())
    }
}

impl Study {
    /// All points that tables select.
    pub(super) fn sides_of_tables(&self) -> impl Iterator<Item = &Side> {
        let cells = self.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells);
        let counterparts = cells.filter_map(|cell| cell.here.as_ref());
        counterparts.flat_map(|here| std::iter::once(&here.point).chain(&here.over))
    }

    /// The greatest number of rounds of one point that a table shows one by one.
    pub fn rounds_shown(&self) -> Option<usize> {
        let cells = self.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells);
        cells.filter_map(|cell| cell.here.as_ref()?.round).max()
    }

    /// All points that tables and claims select.
    pub fn sides(&self) -> Vec<&Side> {
        self.sides_of_tables().chain(self.claims.iter().flat_map(Claim::sides)).collect()
    }
}

//! Parts of a study.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::claim::reading::text;
use crate::claim::{Claim, Side};

/// A published comparison, and the measurements that repeat it.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// Name on the command line.
    pub name: String,
    /// Subject, in one line.
    pub title: String,
    /// Question that the study answered.
    pub question: String,
    /// Authors, and the systems and machines that they compared.
    pub source: String,
    /// Differences between measuring here and the publication, in sentences.
    pub differences: Vec<String>,
    /// Names of systems in claims, for runs that have no such name.
    pub systems: Vec<SystemRole>,
    /// Points to measure.
    pub measure: Vec<Measure>,
    /// Relative half-width of an interval at which a point is precise enough; `None` for the default.
    pub precision: Option<f64>,
    /// Maximum time of all measurements; `None` for the default.
    pub budget: Option<Duration>,
    /// The published tables.
    pub tables: Vec<PublishedTable>,
    /// The published claims.
    pub claims: Vec<Claim>,
    /// Remarks on claims, by the names of the claims.
    pub about: BTreeMap<String, About>,
}

/// A name that claims use for a system, and the operating system that it stands for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: [[system]]")]
pub struct SystemRole {
    /// Name of the system in claims.
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// Fact `os` of the system's machine, such as `Linux`.
    #[serde(deserialize_with = "text")]
    pub os: String,
}

/// Points to measure: all combinations of the values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure {
    /// Names of cases or areas, or patterns.
    pub cases: Vec<String>,
    /// Values of parameters.
    pub params: BTreeMap<String, Vec<String>>,
}

/// A published table.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedTable {
    /// Title: what the figures are.
    pub title: String,
    /// Unit of the figures; empty for ratios.
    pub unit: String,
    /// Heading of the rows.
    pub rows_are: String,
    /// Headings of the columns.
    pub columns: Vec<String>,
    /// Whether the mean over all systems is shown beside their figures.
    pub has_mean: bool,
    /// The rows.
    pub rows: Vec<PublishedRow>,
}

/// A row of a published table.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedRow {
    /// Heading of the row.
    pub title: String,
    /// A cell for each column.
    pub cells: Vec<PublishedCell>,
}

/// A cell of a published table.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedCell {
    /// Published figure as printed; `None` if there is none.
    pub published: Option<String>,
    /// Corresponding point here; `None` if there is none.
    pub here: Option<Counterpart>,
    /// Name of the claim whose quantity corresponds to the cell, if no point does.
    pub claim: Option<String>,
}

/// The point that corresponds to a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Counterpart {
    /// The point and its metric.
    pub point: Side,
    /// Point by which the figure is divided.
    pub over: Option<Side>,
    /// Number, from 1, of the round whose value is shown instead of the estimate.
    pub round: Option<usize>,
    /// Factor from the unit of the metric to that of the table.
    pub factor: f64,
}

/// Remarks on a claim besides its sentence.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// Whether the claim follows from the published figures without being stated.
    pub derived: bool,
    /// Systems that the claim's names mean, if that is not obvious.
    pub needs: Option<String>,
    /// Reason why today's answer differs, or does not.
    pub today: Option<String>,
}

impl PublishedTable {
    /// Whether any figure was published; otherwise the table only has the layout.
    pub fn is_published(&self) -> bool {
        self.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.published.is_some())
    }
}

impl PublishedCell {
    /// The published figure, if it is a plain number.
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

    /// Largest number of rounds of one point that a table shows one by one.
    pub fn rounds_shown(&self) -> Option<usize> {
        let cells = self.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells);
        cells.filter_map(|cell| cell.here.as_ref()?.round).max()
    }

    /// Whether the study has a claim of this name.
    pub(super) fn has_claim(&self, name: &str) -> bool {
        self.claims.iter().any(|claim| claim.name == name)
    }

    /// All points that tables and claims select.
    pub fn sides(&self) -> Vec<&Side> {
        self.sides_of_tables().chain(self.claims.iter().flat_map(Claim::sides)).collect()
    }
}

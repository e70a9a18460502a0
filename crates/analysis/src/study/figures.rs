//! Figures of runs in the layout of a published table.

use measure::Doubt;
use results::{CaseResult, Document, Outcome};
use serde::Serialize;

use super::model::{Counterpart, PublishedCell, PublishedTable};
use crate::claim::{Side, figures_of_side};
use crate::multiple::ratio;

/// A published table with the figures measured here.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredTable {
    /// Title: what the figures are.
    pub title: String,
    /// Unit of the figures; empty for ratios.
    pub unit: String,
    /// Heading of the rows.
    pub rows_are: String,
    /// Headings of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<MeasuredRow>,
}

/// A row of a published table with the figures measured here.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredRow {
    /// Heading of the row.
    pub title: String,
    /// A figure for each column.
    pub cells: Vec<CellFigure>,
}

/// A cell: the published and the measured figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellFigure {
    /// Published figure as printed; `None` if there is none.
    pub published: Option<String>,
    /// The figure measured here, in the unit of the table.
    pub here: Option<CellValue>,
    /// Ratio of the figure measured here to the published one, if both are numbers.
    pub ratio: Option<f64>,
    /// Reason why there is no figure; `None` if there is one, or if nothing corresponds to the cell.
    pub reason: Option<String>,
    /// The doubts about the figure.
    pub doubts: Vec<Doubt>,
}

/// A figure with its interval at 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CellValue {
    /// Value of the figure.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl CellValue {
    fn times(self, factor: f64) -> Self {
        let Self { value, low, high } = self;
        Self { value: value * factor, low: low * factor, high: high * factor }
    }
}

impl MeasuredTable {
    /// Fills the table with the figures of these runs, each of one system.
    pub fn of(table: &PublishedTable, runs: &[Document]) -> Self {
        let rows = table.rows.iter().map(|row| MeasuredRow {
            title: row.title.clone(),
            cells: row.cells.iter().map(|cell| CellFigure::of(cell, runs)).collect(),
        });
        Self {
            title: table.title.clone(),
            unit: table.unit.clone(),
            rows_are: table.rows_are.clone(),
            columns: table.columns.clone(),
            rows: rows.collect(),
        }
    }
}

impl CellFigure {
    fn of(cell: &PublishedCell, runs: &[Document]) -> Self {
        let measured = cell.here.as_ref().map(|here| measured(here, runs));
        let (here, reason, doubts) = match measured {
            None => (None, None, Vec::new()),
            Some(Ok((value, doubts))) => (Some(value), None, doubts),
            Some(Err(reason)) => (None, Some(reason), Vec::new()),
        };
        let published = cell.number().filter(|number| *number != 0.0);
        let ratio = here.zip(published).map(|(here, published)| here.value / published);
        Self { published: cell.published.clone(), here, ratio, reason, doubts }
    }
}

/// The figure of a point, or the quotient of two, with its doubts.
///
/// # Errors
/// The reason why there is no figure.
fn measured(here: &Counterpart, runs: &[Document]) -> Result<(CellValue, Vec<Doubt>), String> {
    let (of_point, count) = found(&here.point, runs)?;
    let Some(over) = &here.over else {
        let value = match (count, here.round) {
            (Some(count), _) => CellValue { value: count, low: count, high: count },
            (None, Some(round)) => of_round(of_point, round)?,
            (None, None) => of_estimate(of_point)?,
        };
        return Ok((value.times(here.factor), of_point.doubts.clone()));
    };
    let (of_over, _) = found(over, runs)?;
    let doubts = of_point.doubts.iter().chain(&of_over.doubts);
    let mut all: Vec<Doubt> = Vec::new();
    for doubt in doubts {
        if !all.contains(doubt) {
            all.push(doubt.clone());
        }
    }
    Ok((quotient(of_point, of_over)?.times(here.factor), all))
}

/// The one result that a side selects.
fn found<'a>(side: &Side, runs: &'a [Document]) -> Result<(&'a CaseResult, Option<f64>), String> {
    let selected = figures_of_side(side, runs)?;
    match selected[..] {
        [(result, _)] if result.outcome != Outcome::Measured => {
            let reason = result.reason.as_deref().unwrap_or("no reason is given");
            Err(format!("{}: {reason}", result.outcome.word()))
        }
        [one] => Ok(one),
        [] => Err(format!("{} of {} was not measured", side.metric.value, side.case.value)),
        [(one, _), (other, _), ..] => Err(format!(
            "several points correspond to it, such as {} and {}",
            one.label(),
            other.label()
        )),
    }
}

fn of_estimate(result: &CaseResult) -> Result<CellValue, String> {
    let estimate = result.estimate.ok_or_else(|| format!("{} has no figure", result.label()))?;
    Ok(CellValue { value: estimate.median, low: estimate.low, high: estimate.high })
}

fn of_round(result: &CaseResult, round: usize) -> Result<CellValue, String> {
    let value = round.checked_sub(1).and_then(|at| result.round_values.get(at)).copied();
    let value =
        value.ok_or_else(|| format!("there were only {} rounds", result.round_values.len()))?;
    Ok(CellValue { value, low: value, high: value })
}

/// The quotient of two figures. Its interval comes from the rounds of both; if one has no rounds, from the ends of the two
/// intervals; without intervals there is none.
fn quotient(of_point: &CaseResult, of_over: &CaseResult) -> Result<CellValue, String> {
    /// Seed of the bootstrap; any constant would do.
    const SEED: u64 = 1;
    let (a, b) = (of_estimate(of_point)?, of_estimate(of_over)?);
    let are_known = [a, b].iter().all(|value| value.low.is_finite() && value.high.is_finite());
    if b.value <= 0.0 || (are_known && b.low <= 0.0) {
        return Err(format!("{} may be 0, which nothing can be divided by", of_over.label()));
    }
    let value = a.value / b.value;
    Ok(match ratio(of_point, of_over, SEED) {
        Some(ratio) => CellValue { value: ratio.mid, low: ratio.low, high: ratio.high },
        None if are_known => CellValue { value, low: a.low / b.high, high: a.high / b.low },
        None => CellValue { value, low: f64::NEG_INFINITY, high: f64::INFINITY },
    })
}

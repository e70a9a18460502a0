//! Figures of runs in the layout of a published table.

use measure::Doubt;
use results::{CaseResult, Document, Outcome};
use serde::Serialize;

use super::model::{Counterpart, PublishedCell, PublishedTable, Study};
use super::systems::systems_of;
use crate::claim::{JudgedClaim, Side, figures_of_side, is_same_system};
use crate::multiple::ratio;
use crate::param_value::parse_x;

/// Heading of the means over all systems.
const MEAN: &str = "mean";

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
    /// The systems whose figures each cell has, in this order; the last may be the mean over the others.
    pub systems: Vec<String>,
    /// The rows.
    pub rows: Vec<MeasuredRow>,
}

/// A row of a published table with the figures measured here.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredRow {
    /// Heading of the row.
    pub title: String,
    /// The figures for each column.
    pub cells: Vec<CellFigures>,
}

/// A cell: the published figure, and those measured here.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellFigures {
    /// Published figure as printed; `None` if there is none.
    pub published: Option<String>,
    /// The figure of each system of the table.
    pub here: Vec<CellFigure>,
}

/// A figure measured on one system.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct CellFigure {
    /// The figure, in the unit of the table.
    pub value: Option<CellValue>,
    /// Ratio of the figure to the published one, if both are numbers.
    pub ratio: Option<f64>,
    /// Reason why there is no figure; `None` if there is one, or if nothing of this system corresponds to the cell.
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

    /// Half the width of the interval of the logarithm; `None` if the figure has no logarithm or no interval.
    fn log_half_width(self) -> Option<f64> {
        let ends = [self.value, self.low, self.high];
        let is_known = ends.iter().all(|end| *end > 0.0 && end.is_finite());
        is_known.then(|| (self.high / self.low).ln() / 2.0)
    }
}

impl MeasuredTable {
    /// The values of the headings of the rows, if they are at least three numbers, sizes or durations that increase.
    pub fn values_of_rows(&self) -> Option<Vec<f64>> {
        increasing(self.rows.iter().map(|row| row.title.as_str()))
    }

    /// The values of the headings of the columns, likewise.
    pub fn values_of_columns(&self) -> Option<Vec<f64>> {
        increasing(self.columns.iter().map(String::as_str))
    }
}

fn increasing<'a>(headings: impl Iterator<Item = &'a str>) -> Option<Vec<f64>> {
    let value = |heading: &str| parse_x(&heading.replace([' ', ','], ""));
    let values: Vec<f64> = headings.map(value).collect::<Option<_>>()?;
    let is_axis = values.len() >= 3 && values.windows(2).all(|pair| pair[0] < pair[1]);
    is_axis.then_some(values)
}

/// Runs and judged claims, from which the tables of a study are filled.
pub(super) struct Figures<'a> {
    pub(super) study: &'a Study,
    pub(super) runs: &'a [Document],
    /// The claims as they are judged by these runs.
    pub(super) claims: &'a [JudgedClaim],
}

impl Figures<'_> {
    /// Fills a table. A system that corresponds to none of its cells is left out.
    pub(super) fn table(&self, table: &PublishedTable) -> MeasuredTable {
        let all = systems_of(self.runs);
        let corresponds = |system: &&String| {
            let mut cells = table.rows.iter().flat_map(|row| &row.cells);
            cells.any(|cell| self.is_of(cell, system, &all))
        };
        let mut systems: Vec<String> = all.iter().filter(corresponds).cloned().collect();
        systems.extend(all.first().filter(|_| systems.is_empty()).cloned());
        let has_mean = table.has_mean && systems.len() > 1;
        let cell = |cell: &PublishedCell| {
            let figure = |system: &String| match self.is_of(cell, system, &all) {
                true => self.figure(cell, system),
                false => CellFigure::default(),
            };
            let mut here: Vec<CellFigure> = systems.iter().map(figure).collect();
            here.extend(has_mean.then(|| CellFigure::mean(&here, cell)));
            CellFigures { published: cell.published.clone(), here }
        };
        let rows = table.rows.iter().map(|row| MeasuredRow {
            title: row.title.clone(),
            cells: row.cells.iter().map(cell).collect(),
        });
        let rows = rows.collect();
        systems.extend(has_mean.then(|| MEAN.to_owned()));
        MeasuredTable {
            title: table.title.clone(),
            unit: table.unit.clone(),
            rows_are: table.rows_are.clone(),
            columns: table.columns.clone(),
            systems,
            rows,
        }
    }

    /// Whether the figure of a cell is one of this system. A figure of no single system is shown with the first one.
    fn is_of(&self, cell: &PublishedCell, system: &String, all: &[String]) -> bool {
        let is_first = all.first() == Some(system);
        let Some(here) = &cell.here else {
            let claims = || self.claims_named(cell.claim.as_deref());
            return claims().any(|claim| claim.claim.on.contains(system))
                || (is_first && claims().any(|claim| claim.claim.on.is_empty()));
        };
        let Some(name) = here.point.named_system() else { return true };
        let meant = self.study.meant_by(&name.value, self.runs);
        meant.contains(system) || (meant.is_empty() && is_first)
    }

    fn claims_named(&self, name: Option<&str>) -> impl Iterator<Item = &JudgedClaim> {
        self.claims.iter().filter(move |judged| Some(judged.claim.name.as_str()) == name)
    }

    fn figure(&self, cell: &PublishedCell, system: &str) -> CellFigure {
        let measured = match &cell.here {
            Some(here) => measured(&self.on(here, system), self.runs),
            None => self.of_claim(cell, system),
        };
        CellFigure::of(measured, cell)
    }

    /// The points of a cell on this system.
    fn on(&self, here: &Counterpart, system: &str) -> Counterpart {
        let first_of = |side: &Side| {
            let name = &side.named_system()?.value;
            self.study.meant_by(name, self.runs).into_iter().next()
        };
        let is_absent = |side: &Side| side.named_system().is_some() && first_of(side).is_none();
        let own = |side: &Side| match is_absent(side) {
            true => side.clone(),
            false => side.on(Some(system.to_owned())),
        };
        let over = here.over.as_ref().map(|over| match is_same_system(&here.point, over) {
            true => own(over),
            false => over.on(first_of(over)),
        });
        Counterpart { point: own(&here.point), over, ..here.clone() }
    }

    /// The quantity of the claim that a cell names.
    ///
    /// # Errors
    /// The reason why there is none.
    fn of_claim(
        &self,
        cell: &PublishedCell,
        system: &str,
    ) -> Result<(CellValue, Vec<Doubt>), String> {
        let is_it = |claim: &&JudgedClaim| {
            claim.claim.on.is_empty() || claim.claim.on.iter().any(|name| name == system)
        };
        let claim = self.claims_named(cell.claim.as_deref()).find(is_it);
        let claim = claim.ok_or_else(|| "the claim is not there".to_owned())?;
        let interval = claim.comparisons.first().and_then(|comparison| comparison.interval);
        let why = || match claim.note.is_empty() {
            true => format!("the claim {} has no figure", claim.claim.name),
            false => claim.note.clone(),
        };
        let interval = interval.ok_or_else(why)?;
        Ok((CellValue { value: interval.mid, low: interval.low, high: interval.high }, Vec::new()))
    }
}

impl CellFigure {
    fn of(measured: Result<(CellValue, Vec<Doubt>), String>, cell: &PublishedCell) -> Self {
        match measured {
            Ok((value, doubts)) => {
                let published = cell.number().filter(|number| *number != 0.0);
                let ratio = published.map(|published| value.value / published);
                Self { value: Some(value), ratio, reason: None, doubts }
            }
            Err(reason) => Self { reason: Some(reason), ..Self::default() },
        }
    }

    /// The geometric mean over all systems, whose figures have independent errors. It has no interval if one of them has none.
    fn mean(of: &[Self], cell: &PublishedCell) -> Self {
        let values: Option<Vec<CellValue>> = of.iter().map(|figure| figure.value).collect();
        let values = values.filter(|values| values.iter().all(|one| one.value > 0.0));
        let mean = values.map(|values| {
            let count = values.len() as f64;
            let value = (values.iter().map(|one| one.value.ln()).sum::<f64>() / count).exp();
            let squares = values.iter().map(|one| Some(one.log_half_width()?.powi(2)));
            match squares.sum::<Option<f64>>().map(|sum| sum.sqrt() / count) {
                Some(half) => {
                    CellValue { value, low: value * (-half).exp(), high: value * half.exp() }
                }
                None => CellValue { value, low: f64::NEG_INFINITY, high: f64::INFINITY },
            }
        });
        let mean = mean.ok_or_else(|| "not every system has a figure".to_owned());
        Self::of(mean.map(|mean| (mean, Vec::new())), cell)
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

//! The column of intervals beside a column of figures.

use results::{CaseResult, Estimate};

use crate::grid::{Cell, Column};
use crate::page::Page;
use crate::quantity::interval_figure;
use crate::rows::measured;

/// A figure with the number of rounds behind it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Uncertain {
    pub(crate) estimate: Estimate,
    pub(crate) rounds: u32,
}

impl Uncertain {
    /// The figure of a result; `None` if it has none.
    pub(crate) fn of(result: &CaseResult) -> Option<Self> {
        Some(Self { estimate: measured(result)?, rounds: result.rounds })
    }

    /// The interval, or the number of rounds where they are no evidence for one.
    pub(crate) fn words(self) -> Option<String> {
        let Estimate { median, low, high, .. } = self.estimate;
        match (self.estimate.has_interval(), self.rounds) {
            (true, _) => interval_figure(median, low, high).map(|figure| figure.to_string()),
            (false, 1) => Some("1 round".to_owned()),
            (false, rounds) => Some(format!("{rounds} rounds")),
        }
    }
}

/// The intervals, such as `±0.2 %`, or `1 round` where there is none; `None` where no row has either.
pub(crate) fn interval_column(
    figures: impl Iterator<Item = Option<Uncertain>>,
    page: &Page,
) -> Option<Column> {
    let cell = |figure: Option<Uncertain>| {
        let words = figure.and_then(Uncertain::words);
        words.map(|words| Cell::text(page.signs(&words))).unwrap_or_default()
    };
    let column = Column::figures(&page.signs("±"), figures.map(cell)).close();
    (!column.is_blank()).then_some(column)
}

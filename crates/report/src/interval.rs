//! The column of intervals beside a column of figures.

use results::Estimate;

use crate::grid::{Cell, Column};
use crate::page::Page;
use crate::quantity::interval_figure;

/// The intervals, such as `±0.2 %`; `None` where no row has one.
pub(crate) fn interval_column(
    estimates: impl Iterator<Item = Option<Estimate>>,
    page: &Page,
) -> Option<Column> {
    let cell = |e: Option<Estimate>| {
        let figure = e.and_then(|e| interval_figure(e.median, e.low, e.high));
        figure.map(|figure| Cell::text(page.signs(&figure.to_string()))).unwrap_or_default()
    };
    let column = Column::figures(&page.signs("±"), estimates.map(cell)).close();
    (!column.is_blank()).then_some(column)
}

//! Columns of rates by level.

use measure::Metric;

use crate::grid::Column;
use crate::interval::{Uncertain, interval_columns};
use crate::page::Page;
use crate::swept::levels::{self, Entry};
use crate::swept::{Point, Sweep};

/// Rate from which rates are shown in thousands.
const THOUSANDS_FROM: f64 = 10_000.0;

/// Layout of the table.
#[derive(Clone, Copy)]
pub struct Layout {
    /// Whether rates have intervals.
    pub intervals: bool,
    /// Whether multiples have intervals.
    pub multiples_intervals: bool,
    /// Whether columns are close to each other.
    pub close: bool,
}

/// Layouts from the widest to the narrowest.
pub const LAYOUTS: [Layout; 4] = {
    let least = Layout { intervals: false, multiples_intervals: false, close: true };
    let roomy = Layout { close: false, ..least };
    let multiples = Layout { multiples_intervals: true, ..roomy };
    [Layout { intervals: true, ..multiples }, multiples, roomy, least]
};

/// The unit of the rates of a sweep, chosen so that no number is long.
pub fn scale(sweep: &Sweep, rate: &Metric) -> f64 {
    let points = sweep.rows.iter().flat_map(|arch| &arch.points);
    let most =
        points.filter_map(|point| point.estimate(rate)).map(|e| e.median).fold(0.0, f64::max);
    if most >= THOUSANDS_FROM { 1e3 } else { 1.0 }
}

/// The unit as words for a title.
pub fn scale_words(scale: f64) -> &'static str {
    if scale > 1.0 { ", in thousands" } else { "" }
}

/// The column, moved closer to the one before it if `close`.
pub fn spaced(column: Column, close: bool) -> Column {
    if close { column.close() } else { column }
}

/// Columns of the rates at the level `at`, in the unit `scale`, with their marks, and with intervals if the layout has them.
pub fn rate_columns(
    sweep: &Sweep,
    rate: &Metric,
    (at, scale): (usize, f64),
    mark: impl Fn(&Point) -> String,
    layout: Layout,
    page: &Page,
) -> Vec<Column> {
    let points = || sweep.rows.iter().map(|arch| &arch.points[at]);
    let entry = |point: &Point| match point.estimate(rate) {
        Some(estimate) => Entry::estimate(&estimate, scale, &mark(point)),
        None => Entry::without_figure(point),
    };
    let rates = levels::column(&sweep.levels[at].to_string(), points().map(entry).collect());
    let mut columns = vec![spaced(rates, layout.close)];
    if layout.intervals {
        let figures = points().map(|point| Uncertain::of(point.result(rate)?));
        columns.extend(interval_columns(figures, page));
    }
    columns
}

//! Blocks of columns: one figure of all points, at several levels.

use measure::Metric;

use crate::grid::{Cell, Column};
use crate::quantity::{figure, format_per_op_briefly, half_width};
use crate::swept::levels::{self, Block, Entry};
use crate::swept::{Point, Sweep};

/// The figure of a point as a cell of a column.
pub type EntryOf = fn(&Point) -> Option<Entry>;

/// A number of events per operation, as an entry.
pub fn count(times: f64) -> Entry {
    Entry::number(format_per_op_briefly(times), "")
}

/// A metric that is a number of events per operation, as an entry.
pub fn count_of(point: &Point, metric: &Metric) -> Option<Entry> {
    Some(count(point.estimate(metric)?.median))
}

/// Blocks for those columns in which at least one point has a figure.
pub fn blocks(sweep: &Sweep, columns: &[(&str, EntryOf)], at: &[usize]) -> Vec<Block> {
    let block = |(heading, of): &(&str, EntryOf)| block(sweep, heading, at, of, levels::column);
    columns.iter().filter_map(block).collect()
}

/// A block of figures with their own units.
pub fn size_block(sweep: &Sweep, heading: &str, at: &[usize], metric: &Metric) -> Option<Block> {
    let size = |point: &Point| {
        let e = point.estimate(metric)?;
        let half_width = half_width(e.median, e.low, e.high).max(e.median * 0.01);
        Some(Cell::figure(figure(e.median, half_width, &point.result(metric)?.unit)))
    };
    block(sweep, heading, at, size, Column::figures)
}

/// A block with a column for each of the levels `at`, which `column` builds from the figures; `None` if no point has a figure.
pub fn block<T: From<Entry>>(
    sweep: &Sweep,
    heading: &str,
    at: &[usize],
    of: impl Fn(&Point) -> Option<T>,
    column: fn(&str, Vec<T>) -> Column,
) -> Option<Block> {
    let mut points = sweep.rows.iter().flat_map(|row| &row.points);
    points.find_map(&of)?;
    let several = sweep.levels.len() > 1;
    let of_level = |at: &usize| {
        let figure =
            |point: &Point| of(point).unwrap_or_else(|| Entry::without_figure(point).into());
        let figures = sweep.rows.iter().map(|row| figure(&row.points[*at])).collect();
        let level = sweep.levels[*at].to_string();
        vec![column(if several { &level } else { heading }, figures)]
    };
    let over = if several { heading } else { "" };
    Some(Block::new(over, at.iter().map(of_level).collect()))
}

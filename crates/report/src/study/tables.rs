//! The tables of a study in the published layout: published figures, those measured here, and the ratio.

use analysis::study::{CellFigure, CellValue, MeasuredTable};

use crate::footnotes::{Footnotes, Reason};
use crate::grid::{self, Cell, Column};
use crate::page::{Ink, Page};
use crate::quantity::{figure, half_width, interval_figure};

/// Relative precision of a ratio: published figures have no more digits.
const RATIO_DIGITS: f64 = 0.01;
/// Minimum width of row names beside figures.
const LEAST_NAMES: usize = 12;

/// A table with its title and the reasons for missing values.
pub(super) fn table_text(table: &MeasuredTable, page: &Page) -> String {
    let title = match table.unit.is_empty() {
        true => table.title.clone(),
        false => format!("{}, {}", table.title, table.unit),
    };
    let mut text = page.heading(&page.signs(&title));
    let reasons: Vec<Vec<Reason>> =
        table.rows.iter().map(|row| row.cells.iter().flat_map(reasons).collect()).collect();
    let notes = Footnotes::of(&reasons);
    text.push_str(&match table.columns.len() {
        1 => side_by_side(table, &notes, page),
        _ => one_below_the_other(table, &notes, page),
    });
    text + &notes.lines(page)
}

fn reasons(cell: &CellFigure) -> Vec<Reason> {
    cell.reason.iter().cloned().map(Reason::Missing).collect()
}

/// A table of one column: the published figure, the one measured here with its interval, and the ratio, side by side.
fn side_by_side(table: &MeasuredTable, notes: &Footnotes, page: &Page) -> String {
    let cells = || table.rows.iter().map(|row| &row.cells[0]);
    let interval = |value: CellValue| match interval_figure(value.value, value.low, value.high) {
        Some(figure) if value.low < value.high => Cell::figure(figure),
        _ => Cell::default(),
    };
    let mut columns = vec![names(&table.rows_are, table).wrapping()];
    let is_published = is_published(table);
    if is_published {
        columns.push(Column::figures("published", cells().map(published)));
    }
    columns.push(Column::figures("here", cells().map(|cell| here(cell, notes))));
    let intervals = Column::figures("", cells().map(|cell| cell.here.map(interval)));
    columns.extend(intervals.close().unless_blank());
    if is_published {
        columns.push(Column::figures("here/publ.", cells().map(ratio)));
    }
    grid::table(columns, page)
}

/// A table of several columns: published figures, those measured here, and the ratios below each other, divided if the page is
/// too narrow.
fn one_below_the_other(table: &MeasuredTable, notes: &Footnotes, page: &Page) -> String {
    let mut parts: Vec<(&str, Vec<Vec<Cell>>)> = Vec::new();
    let cells = |cell: &dyn Fn(&CellFigure) -> Cell| -> Vec<Vec<Cell>> {
        let column = |at: usize| table.rows.iter().map(|row| cell(&row.cells[at])).collect();
        (0..table.columns.len()).map(column).collect()
    };
    if is_published(table) {
        parts.push(("published", cells(&published)));
    }
    parts.push(("here", cells(&|cell| here(cell, notes))));
    if is_published(table) {
        parts.push(("here / published", cells(&ratio)));
    }
    let name = |part: &str| match parts.len() {
        1 => table.rows_are.clone(),
        _ => format!("{part}\n{}", table.rows_are),
    };
    let text = parts.iter().map(|(part, cells)| block(&name(part), cells, table, page));
    text.collect()
}

/// One part of a table, in as many pieces as the width of the page requires.
fn block(name: &str, cells: &[Vec<Cell>], table: &MeasuredTable, page: &Page) -> String {
    let mut pieces: Vec<Vec<Column>> = Vec::new();
    for (title, cells) in table.columns.iter().zip(cells) {
        let column = Column::figures(title, cells.clone());
        let fits =
            |piece: &Vec<Column>| grid::total_width(piece) + column.width() <= page.table_width();
        match pieces.last_mut() {
            Some(piece) if piece.len() == 1 || fits(piece) => piece.push(column),
            _ => pieces.push(vec![first_column(names(name, table), &column, page), column]),
        }
    }
    pieces.into_iter().map(|columns| grid::table(columns, page)).collect()
}

fn names(heading: &str, table: &MeasuredTable) -> Column {
    Column::words(heading, table.rows.iter().map(|row| row.title.as_str()))
}

/// Names of the rows, which wrap if they leave no room for other columns.
fn first_column(names: Column, other: &Column, page: &Page) -> Column {
    let room = page.table_width().saturating_sub(other.width()).max(LEAST_NAMES);
    if names.width() > room { names.wrapping() } else { names }
}

/// Whether any figure was published.
pub(crate) fn is_published(table: &MeasuredTable) -> bool {
    table.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.published.is_some())
}

fn published(cell: &CellFigure) -> Cell {
    match &cell.published {
        None => Cell::unknown(),
        Some(text) if text.parse::<f64>().is_ok() => Cell::number(text.clone()),
        Some(text) => Cell::text(text.clone()),
    }
}

fn here(cell: &CellFigure, notes: &Footnotes) -> Cell {
    match (&cell.here, &cell.reason) {
        (Some(value), _) => Cell::number(here_number(value, value.value)),
        (None, Some(_)) => Cell::inked(format!("- {}", notes.mark(&reasons(cell))), Ink::Doubt),
        (None, None) => Cell::unknown(),
    }
}

/// An end or the middle of a figure measured here. A figure without an interval has four digits.
pub(crate) fn here_number(here: &CellValue, value: f64) -> String {
    let half = half_width(here.value, here.low, here.high);
    figure(value, if half > 0.0 { half } else { value.abs() * 1e-3 }, "").number
}

fn ratio(cell: &CellFigure) -> Cell {
    ratio_number(cell).map(Cell::number).into()
}

/// The figure measured here divided by the published one.
pub(crate) fn ratio_number(cell: &CellFigure) -> Option<String> {
    cell.ratio.map(|ratio| figure(ratio, ratio.abs() * RATIO_DIGITS, "").number)
}

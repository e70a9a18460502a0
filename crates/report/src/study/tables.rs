//! The tables of a study in the published layout: published figures, those measured here, and the ratio.

use analysis::study::{CellFigure, CellFigures, CellValue, MeasuredRow, MeasuredTable};

use crate::footnotes::{Footnotes, Reason};
use crate::grid::{self, Cell, Column};
use crate::page::{Ink, Page};
use crate::quantity::{figure, half_width, interval_figure};
use crate::text;

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
    let of_row = |row: &MeasuredRow| row.cells.iter().flat_map(reasons_of_cell).collect();
    let reasons: Vec<Vec<Reason>> = table.rows.iter().map(of_row).collect();
    let notes = Footnotes::of(&reasons);
    text.push_str(&match (table.columns.len(), table.systems.len()) {
        (1, 1) => side_by_side(table, &notes, page),
        (1, _) => by_system(table, &notes, page),
        _ => one_below_the_other(table, &notes, page),
    });
    text + &notes.lines(page)
}

fn reasons_of_cell(cell: &CellFigures) -> Vec<Reason> {
    cell.here.iter().flat_map(reasons).collect()
}

fn reasons(figure: &CellFigure) -> Vec<Reason> {
    figure.reason.iter().cloned().map(Reason::Missing).collect()
}

/// The interval of a figure as a cell.
fn interval(value: CellValue) -> Cell {
    match interval_figure(value.value, value.low, value.high) {
        Some(figure) if value.low < value.high => Cell::figure(figure),
        _ => Cell::default(),
    }
}

/// A table of one column: the published figure, the one measured here with its interval, and the ratio, side by side.
fn side_by_side(table: &MeasuredTable, notes: &Footnotes, page: &Page) -> String {
    let figures = || table.rows.iter().map(|row| &row.cells[0].here[0]);
    let mut columns = vec![names(&table.rows_are, table).wrapping()];
    let is_published = is_published(table);
    if is_published {
        columns.push(Column::figures("published", published(table, 0)));
    }
    columns.push(Column::figures("here", figures().map(|figure| here(figure, notes))));
    let intervals = Column::figures("", figures().map(|figure| figure.value.map(interval)));
    columns.extend(intervals.close().unless_blank());
    if is_published {
        columns.push(Column::figures("here/publ.", figures().map(ratio)));
    }
    grid::table(columns, page)
}

/// A table of one column on several systems: the published figure, and that of each system with its interval, divided if the page
/// is too narrow.
fn by_system(table: &MeasuredTable, notes: &Footnotes, page: &Page) -> String {
    let mut of_systems: Vec<Vec<Column>> = Vec::new();
    if is_published(table) {
        of_systems.push(vec![Column::figures("published", published(table, 0))]);
    }
    for (at, system) in table.systems.iter().enumerate() {
        let figures = || table.rows.iter().map(|row| &row.cells[0].here[at]);
        let mut columns =
            vec![Column::figures(&text::clean(system), figures().map(|one| here(one, notes)))];
        let intervals = Column::figures("", figures().map(|one| one.value.map(interval)));
        columns.extend(intervals.close().unless_blank());
        of_systems.push(columns);
    }
    in_pieces(&table.rows_are, of_systems, table, page)
}

/// A table of several columns: published figures, those measured on each system, and for a single system the ratios, below each
/// other, divided if the page is too narrow.
fn one_below_the_other(table: &MeasuredTable, notes: &Footnotes, page: &Page) -> String {
    let columns = || 0..table.columns.len();
    let mut parts: Vec<(String, Vec<Vec<Cell>>)> = Vec::new();
    let cells = |system: usize, cell: &dyn Fn(&CellFigure) -> Cell| -> Vec<Vec<Cell>> {
        let column =
            |at: usize| table.rows.iter().map(|row| cell(&row.cells[at].here[system])).collect();
        columns().map(column).collect()
    };
    if is_published(table) {
        let published = columns().map(|at| published(table, at).collect()).collect();
        parts.push(("published".to_owned(), published));
    }
    for (at, system) in table.systems.iter().enumerate() {
        let name = match table.systems.len() {
            1 => "here".to_owned(),
            _ => text::clean(system),
        };
        parts.push((name, cells(at, &|figure| here(figure, notes))));
    }
    if is_published(table) && table.systems.len() == 1 {
        parts.push(("here / published".to_owned(), cells(0, &ratio)));
    }
    let name = |part: &str| match parts.len() {
        1 => table.rows_are.clone(),
        _ => format!("{part}\n{}", table.rows_are),
    };
    let text = parts.iter().map(|(part, cells)| block(&name(part), cells, table, page));
    text.collect()
}

/// One part of a table, with these cells in each of its columns.
fn block(name: &str, cells: &[Vec<Cell>], table: &MeasuredTable, page: &Page) -> String {
    let columns = table.columns.iter().zip(cells);
    let columns = columns.map(|(title, cells)| vec![Column::figures(title, cells.clone())]);
    in_pieces(name, columns.collect(), table, page)
}

/// Columns beside the names of the rows, in as many pieces as the width of the page requires. Columns of a group stay together.
fn in_pieces(
    heading: &str,
    groups: Vec<Vec<Column>>,
    table: &MeasuredTable,
    page: &Page,
) -> String {
    let mut pieces: Vec<Vec<Column>> = Vec::new();
    for columns in groups {
        let width: usize = columns.iter().map(Column::width).sum();
        let fits = |piece: &Vec<Column>| grid::total_width(piece) + width <= page.table_width();
        match pieces.last_mut() {
            Some(piece) if fits(piece) => piece.extend(columns),
            _ => {
                let names = first_column(names(heading, table), width, page);
                pieces.push([vec![names], columns].concat());
            }
        }
    }
    pieces.into_iter().map(|columns| grid::table(columns, page)).collect()
}

fn names(heading: &str, table: &MeasuredTable) -> Column {
    Column::words(heading, table.rows.iter().map(|row| row.title.as_str()))
}

/// Names of the rows, which wrap if they leave no room for other columns.
fn first_column(names: Column, others: usize, page: &Page) -> Column {
    let room = page.table_width().saturating_sub(others).max(LEAST_NAMES);
    if names.width() > room { names.wrapping() } else { names }
}

/// Whether any figure was published.
pub(crate) fn is_published(table: &MeasuredTable) -> bool {
    table.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.published.is_some())
}

/// The published figures of a column.
fn published(table: &MeasuredTable, column: usize) -> impl Iterator<Item = Cell> {
    table.rows.iter().map(move |row| match &row.cells[column].published {
        None => Cell::unknown(),
        Some(text) if text.parse::<f64>().is_ok() => Cell::number(text.clone()),
        Some(text) => Cell::text(text.clone()),
    })
}

fn here(figure: &CellFigure, notes: &Footnotes) -> Cell {
    match (&figure.value, &figure.reason) {
        (Some(value), _) => Cell::number(here_number(value, value.value)),
        (None, Some(_)) => Cell::inked(format!("- {}", notes.mark(&reasons(figure))), Ink::Doubt),
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

//! The table of counts per operation that differ between columns.

use analysis::CountRow;

use crate::grid::{self, Cell, Column};
use crate::labels::{self, Label};
use crate::page::{Ink, Page};
use crate::text;

/// Maximum number of rows; further rows are only counted.
const ROWS_AT_MOST: usize = 30;
/// Maximum number of cells: on a narrow page each column takes a line, so that many columns leave room for fewer rows.
const CELLS_AT_MOST: usize = 120;
const ROWS_AT_LEAST: usize = 4;

/// A table of the counts that differ between `columns`; an empty text if there are none. If there is not enough room, it has the
/// greatest differences only, the greatest first; with `all`, it has all of them.
pub fn counts_table(rows: &[CountRow], columns: &[String], all: bool, page: &Page) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let factor = |row: &CountRow| {
        let known = || row.columns.iter().flatten().copied();
        let least = known().fold(f64::INFINITY, f64::min);
        // A count of 0 has no ratio, so 0.01 is added to both: one event in a hundred operations.
        (known().fold(0.0, f64::max) + 0.01) / (least + 0.01)
    };
    let mut chosen: Vec<&CountRow> = rows.iter().collect();
    let at_most = (CELLS_AT_MOST / columns.len().max(1)).clamp(ROWS_AT_LEAST, ROWS_AT_MOST);
    if !all && chosen.len() > at_most {
        chosen.sort_by(|a, b| factor(b).total_cmp(&factor(a)));
        chosen.truncate(at_most);
    }
    let labels: Vec<Label> = chosen.iter().map(|row| Label::of(&row.point)).collect();
    let is_of_any_case = labels.iter().all(Label::is_of_any_case);
    let shared = if is_of_any_case { labels::shared(&labels) } else { Vec::new() };
    let name = |label: &Label| match label.is_of_any_case() {
        true => label.without(&shared).full(),
        false => label.with_area(),
    };
    let names = [
        Column::names("per operation", labels.iter().map(name)),
        Column::words("count", chosen.iter().map(|row| in_words(&row.count))),
    ];
    let mut text = String::new();
    if is_of_any_case {
        let title = labels::title(&labels[0].area, &shared);
        text.push_str(&page.heading(&title));
    }
    let values = values(&chosen, columns);
    let width = grid::total_width(&names[1..]) + grid::total_width(&values) + LEAST_NAMES;
    let table = match width <= page.table_width() {
        true => names.into_iter().chain(values).collect(),
        false => one_below_the_other(names, &chosen, columns),
    };
    text.push_str(&grid::table(table, page));
    if rows.len() > chosen.len() {
        let line = format!("{} more in --all\n", rows.len() - chosen.len());
        text.push_str(&page.paint_lines(Ink::Faint, &line));
    }
    text
}

/// Columns of counts, one for each of `columns`.
fn values(rows: &[&CountRow], columns: &[String]) -> Vec<Column> {
    let column = |(at, column): (usize, &String)| {
        let value = |row: &&CountRow| match row.columns.get(at).copied().flatten() {
            Some(value) => Cell::number(shown(value)),
            None => Cell::unknown(),
        };
        Column::figures(&text::clean(column), rows.iter().map(value))
    };
    columns.iter().enumerate().map(column).collect()
}

/// Table columns with a line for each of `columns` that has a count.
fn one_below_the_other(names: [Column; 2], rows: &[&CountRow], columns: &[String]) -> Vec<Column> {
    let (mut below, mut of, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let known = columns.iter().zip(&row.columns).filter_map(|(c, value)| Some((c, (*value)?)));
        let before = values.len();
        for (column, value) in known {
            of.push(text::clean(column));
            values.push(Cell::number(shown(value)));
        }
        // Each row has a count in some column, since it differs between columns.
        below.push((values.len() - before).saturating_sub(1));
    }
    let names = names.into_iter().map(|column| column.spread(&below));
    names.chain([Column::words("", of).wrapping(), Column::figures("", values)]).collect()
}

/// Minimum width of names.
const LEAST_NAMES: usize = 26;

/// Name of a count in words: `page faults` for `page_faults`, `host system calls` for `host_syscalls`.
fn in_words(count: &str) -> String {
    text::clean(&count.replace('_', " ").replace("syscalls", "system calls"))
}

fn shown(value: f64) -> String {
    match value {
        value if value >= 1_000.0 => format!("{value:.0}"),
        value => format!("{value:.2}"),
    }
}

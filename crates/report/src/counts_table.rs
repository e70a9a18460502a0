//! The table of counts per operation that differ between columns.

use analysis::CountRow;

use crate::grid::{self, Cell, Column};
use crate::labels::Label;
use crate::page::{Ink, Page};
use crate::text;

/// The maximum number of rows; the others are counted.
const ROWS_AT_MOST: usize = 30;

/// The counts that differ between `columns`, the greatest differences first if there is no room for all; an empty text if
/// there are none. With `all`, there is room.
pub fn counts_table(rows: &[CountRow], columns: &[String], all: bool, page: &Page) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let factor = |row: &CountRow| {
        let known = || row.columns.iter().flatten().copied();
        let least = known().fold(f64::INFINITY, f64::min);
        // A count of 0 is no factor: one event in a hundred operations stands for it.
        (known().fold(0.0, f64::max) + 0.01) / (least + 0.01)
    };
    let mut chosen: Vec<&CountRow> = rows.iter().collect();
    if !all && chosen.len() > ROWS_AT_MOST {
        chosen.sort_by(|a, b| factor(b).total_cmp(&factor(a)));
        chosen.truncate(ROWS_AT_MOST);
    }
    let name = |row: &&CountRow| {
        let label = Label::parse(&row.label);
        Cell::text(format!("{}/{}", label.area, label.full()))
    };
    let mut table = vec![
        Column::names("per operation", chosen.iter().map(name).collect()),
        Column::words("count", chosen.iter().map(|row| Cell::text(in_words(&row.count))).collect()),
    ];
    let mut left_out = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let value = |row: &&CountRow| match row.columns.get(at).copied().flatten() {
            Some(value) => Cell::number(shown(value)),
            None => Cell::unknown(),
        };
        let values = Column::figures(&text::clean(column), chosen.iter().map(value).collect());
        let others = grid::total_width(&table[1..]);
        match others + values.width() + LEAST_NAMES <= page.table_width() {
            true => table.push(values),
            false => left_out.push(column.as_str()),
        }
    }
    let mut text = grid::table(table, page);
    let mut notes = Vec::new();
    if rows.len() > chosen.len() {
        notes.push(format!("{} more in --all", rows.len() - chosen.len()));
    }
    if !left_out.is_empty() {
        notes.push(format!("a wider page shows {}", left_out.join(", ")));
    }
    if !notes.is_empty() {
        let line = text::hanging("", &notes.join("; "), page.prose_width());
        text.push_str(&page.paint_lines(Ink::Faint, &line));
    }
    text
}

/// The minimum width of names.
const LEAST_NAMES: usize = 26;

/// `page_faults` is shown as `page faults`, `host_syscalls` as `host system calls`.
fn in_words(count: &str) -> String {
    text::clean(&count.replace('_', " ").replace("syscalls", "system calls"))
}

fn shown(value: f64) -> String {
    match value {
        value if value >= 1_000.0 => format!("{value:.0}"),
        value => format!("{value:.2}"),
    }
}

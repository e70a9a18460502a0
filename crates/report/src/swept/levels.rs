//! Columns of figures by number of connections: numbers are aligned at their decimal points, followed by marks.

use results::{Estimate, Outcome};

use crate::footnotes::Footnotes;
use crate::grid::{self, Column, Group};
use crate::page::{Ink, Page};
use crate::quantity::{figure, half_width};
use crate::swept::{Point, Sweep, SweptRow};

/// Smallest relative and absolute step of figures, which have at most three digits.
const FINEST_SHARE: f64 = 0.01;
const FINEST: f64 = 0.0101;

/// Width of the gap before a column, which the first column of a table does not need.
const GAP_BEFORE_NAMES: usize = 2;

/// A cell of a column.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    number: String,
    mark: String,
    ink: Ink,
    /// Whether the text is a word, which is not aligned like a number.
    word: bool,
}

impl Entry {
    /// A number that is already formatted, with its mark.
    pub fn number(number: String, mark: &str) -> Entry {
        Entry { number, mark: mark.to_owned(), ..Entry::default() }
    }

    /// An estimate with as many digits as its interval justifies, at most three.
    pub fn estimate(estimate: &Estimate, scale: f64, mark: &str) -> Entry {
        let half_width = half_width(estimate.median, estimate.low, estimate.high) / scale;
        let value = estimate.median / scale;
        Entry::number(three_digits(value, half_width), mark)
    }

    /// The outcome of a point without a figure, or `-` if it was not in the run.
    pub fn without_figure(point: &Point) -> Entry {
        let (word, ink) = match point.ending().map(|ending| ending.outcome) {
            Some(Outcome::Unsupported) => ("n/a", Ink::Faint),
            Some(_) => ("failed", Ink::Bad),
            None => return Entry::number("-".to_owned(), ""),
        };
        Entry { number: word.to_owned(), ink, word: true, ..Entry::default() }
    }
}

impl From<Entry> for grid::Cell {
    fn from(entry: Entry) -> grid::Cell {
        grid::Cell::inked(entry.number + &entry.mark, entry.ink)
    }
}

/// A number with as many digits as its interval justifies, at most three.
pub fn three_digits(value: f64, half_width: f64) -> String {
    let finest = (value.abs() * FINEST_SHARE).max(FINEST).min(value.abs());
    figure(value, half_width.max(finest), "").number
}

/// The entries with aligned decimal points, followed by their marks.
pub fn column(heading: &str, entries: Vec<Entry>) -> Column {
    let parts = |entry: &Entry| {
        let at = entry.number.find('.').unwrap_or(entry.number.len());
        let (before, after) = entry.number.split_at(at);
        (before.to_owned(), format!("{after}{}", entry.mark))
    };
    let lined_up: Vec<Option<(String, String)>> =
        entries.iter().map(|entry| (!entry.word).then(|| parts(entry))).collect();
    let (whole, rest) = lined_up
        .iter()
        .flatten()
        .fold((0, 0), |widest, (a, b)| (widest.0.max(a.len()), widest.1.max(b.len())));
    let cells = entries.iter().zip(&lined_up).map(|(entry, parts)| match parts {
        Some((before, after)) => grid::Cell::text(format!("{before:>whole$}{after:<rest$}")),
        None => grid::Cell::inked(entry.number.clone(), entry.ink),
    });
    Column::figures(heading, cells)
}

/// The footnote letters of the rows; `None` if there are no notes.
pub fn marks(sweep: &Sweep, notes: &Footnotes) -> Option<Column> {
    notes.column(sweep.rows.iter().map(SweptRow::reasons)).unless_blank()
}

/// The positions of the `count` most informative levels, ascending; `order` has the most informative ones first.
pub fn shown_levels(sweep: &Sweep, count: usize, order: &[u32]) -> Vec<usize> {
    let rank = |level: u32| order.iter().position(|known| *known == level);
    let mut all: Vec<usize> = (0..sweep.levels.len()).collect();
    all.sort_by_key(|at| rank(sweep.levels[*at]).unwrap_or(order.len()));
    all.truncate(count);
    all.sort_unstable();
    all
}

/// A titled table of a sweep, in the first of `layouts` that fits the page.
pub fn titled(sweep: &Sweep, what: &str, layouts: Vec<Vec<Block>>, page: &Page) -> String {
    let names = Column::words(sweep.axes.rows, sweep.rows.iter().map(|row| row.name));
    page.heading(&sweep.title(what)) + &laid_out(&names, layouts, page)
}

/// A titled table of a sweep, in the first of `layouts` that fits the page, with a remark below; empty if no layout has figures.
pub fn remarked(
    sweep: &Sweep,
    what: &str,
    layouts: Vec<Vec<Block>>,
    remark: &str,
    page: &Page,
) -> String {
    match layouts.iter().all(Vec::is_empty) {
        true => String::new(),
        false => titled(sweep, what, layouts, page) + &page.faint(remark),
    }
}

/// Columns that stay together, under a common heading with the adjacent ones.
pub struct Block {
    /// Common heading; empty for none.
    pub heading: String,
    /// Columns of each level.
    pub parts: Vec<Vec<Column>>,
}

impl Block {
    /// Columns under a heading: each part has the columns of one level.
    pub fn new(heading: &str, parts: Vec<Vec<Column>>) -> Block {
        Block { heading: heading.to_owned(), parts }
    }
}

/// The tables in the first of `layouts` that fits the page beside `names`; otherwise in the last one, as several tables.
pub fn laid_out(names: &Column, layouts: Vec<Vec<Block>>, page: &Page) -> String {
    let mut tables = Vec::new();
    for layout in &layouts {
        tables = packed(names, layout, page);
        if tables.len() == 1 {
            break;
        }
    }
    let print = |groups| grid::grouped_table(groups, page);
    tables.into_iter().map(print).collect::<Vec<_>>().join("\n")
}

/// The blocks in as few tables as possible.
fn packed(names: &Column, blocks: &[Block], page: &Page) -> Vec<Vec<Group>> {
    let mut tables: Vec<Vec<Group>> = Vec::new();
    let mut current: Vec<(&str, Vec<Column>)> = Vec::new();
    let set = |blocks: &[(&str, Vec<Column>)]| -> Vec<Group> {
        let groups = blocks.iter().map(|(heading, columns)| Group::new(heading, columns.clone()));
        std::iter::once(Group::new("", vec![names.clone()])).chain(groups).collect()
    };
    let fits = |blocks: &[(&str, Vec<Column>)]| {
        let widths = set(blocks).iter().map(Group::width).sum::<usize>();
        widths <= page.table_width() + GAP_BEFORE_NAMES
    };
    for block in blocks {
        for (nth, part) in block.parts.iter().enumerate() {
            let mut with = current.clone();
            match with.last_mut().filter(|(heading, _)| nth > 0 && *heading == block.heading) {
                Some((_, columns)) => columns.extend(part.clone()),
                None => with.push((&block.heading, part.clone())),
            }
            if !current.is_empty() && !fits(&with) {
                tables.push(set(&current));
                with = vec![(&block.heading, part.clone())];
            }
            current = with;
        }
    }
    if !current.is_empty() {
        tables.push(set(&current));
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_or_what_their_interval_carries() {
        for (value, half_width, text) in [
            (47.52, 0.001, "47.5"),
            (47.52, 3.0, "48"),
            (6.537, 0.0, "6.54"),
            (0.6123, 0.0, "0.61"),
            (0.0042, 0.0, "0.0042"),
            (110.4, 0.0, "110"),
            (1620.0, 8.0, "1,620"),
            (0.0, 0.0, "0"),
        ] {
            assert_eq!(three_digits(value, half_width), text, "{value} ±{half_width}");
        }
    }

    #[test]
    fn points_line_up_and_marks_stand_behind_numbers() {
        let entries = [("6.54", ""), ("62", "*"), ("110", ""), ("-", "")];
        let entries = entries.map(|(number, mark)| Entry::number(number.to_owned(), mark));
        let page = Page { width: 80, colour: false, unicode: false, this_run: false };
        let text = grid::table(vec![column("10", entries.to_vec())], &page);
        assert_eq!(text, "    10\n------\n  6.54\n 62*\n110\n  -\n");
    }
}

//! Tables of columns under a light rule, without boxes. Decimal points and units are aligned.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use crate::page::{Ink, Page};
use crate::quantity::Figure;
use crate::text;

/// Width beyond which headings of figures wrap, at hyphens too.
const WIDEST_HEADING: usize = 12;

/// Width to which headings of narrow columns wrap, unless a word or the figures are wider.
const NARROW_HEADING: usize = 9;

/// Maximum length of a heading, also of one from a foreign file.
const WIDEST_NAME: usize = 24;

/// Additional width of a group's heading: a space and a part of the rule on both sides.
const HEADING_MARGIN: usize = 4;

/// Width of the gap between two groups.
const GROUP_GAP: usize = 2;

/// Minimum width of a column that may wrap.
const NARROWEST_WRAP: usize = 12;

/// One cell of a column.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    content: Content,
    ink: Ink,
}

#[derive(Debug, Clone)]
enum Content {
    Text(String),
    Figure(Figure),
}

impl Default for Content {
    fn default() -> Content {
        Content::Text(String::new())
    }
}

impl Cell {
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell::inked(text, Ink::Plain)
    }

    /// Text in a colour.
    pub fn inked(text: impl Into<String>, ink: Ink) -> Cell {
        Cell { content: Content::Text(text.into()), ink }
    }

    /// A number with its unit, aligned with those above and below.
    pub fn figure(figure: Figure) -> Cell {
        Cell { content: Content::Figure(figure), ink: Ink::Plain }
    }

    /// A number that is aligned at its decimal point.
    pub fn number(number: String) -> Cell {
        Cell::figure(Figure { number, unit: String::new() })
    }

    /// Sets the colour of the cell.
    pub fn in_ink(self, ink: Ink) -> Cell {
        Cell { ink, ..self }
    }

    /// A cell for an unknown value.
    pub fn unknown() -> Cell {
        Cell::inked("-", Ink::Faint)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::text(text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::text(text)
    }
}

/// `None` becomes an empty cell.
impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map(T::into).unwrap_or_default()
    }
}

/// A column: its heading and a cell for every row.
#[derive(Debug, Clone)]
pub struct Column {
    heading: Vec<String>,
    heading_ink: Ink,
    to_the_right: bool,
    gap: usize,
    wraps: bool,
    cells: Vec<(String, Ink)>,
}

impl Column {
    /// A column of words.
    pub fn words(heading: &str, cells: impl IntoIterator<Item: Into<Cell>>) -> Column {
        let cells: Vec<Cell> = cells.into_iter().map(Into::into).collect();
        Column {
            heading: heading_lines(heading, WIDEST_NAME),
            heading_ink: Ink::Plain,
            to_the_right: false,
            gap: 2,
            wraps: false,
            cells: aligned(&cells),
        }
    }

    /// A column of figures.
    pub fn figures(heading: &str, cells: impl IntoIterator<Item: Into<Cell>>) -> Column {
        Column {
            heading: heading_lines(heading, WIDEST_HEADING),
            to_the_right: true,
            ..Column::words(heading, cells)
        }
    }

    /// A column of figures as narrow as the figures and the longest word of the heading permit.
    pub fn narrow(heading: &str, cells: impl IntoIterator<Item: Into<Cell>>) -> Column {
        let column = Column::figures("", cells);
        let words = heading.split_inclusive([' ', '-', '\n']).map(|word| text::width(word.trim()));
        let widest = words.max().unwrap_or(0).min(WIDEST_HEADING);
        let width = widest.max(column.content_width()).max(NARROW_HEADING);
        Column { heading: heading_lines(heading, width), ..column }
    }

    /// A column of figures as narrow as the figures and the heading on one line permit.
    pub fn set_right(heading: &str, cells: impl IntoIterator<Item: Into<Cell>>) -> Column {
        Column { heading: vec![heading.to_owned()], ..Column::figures("", cells) }
    }

    /// A column whose heading and cells are already formatted.
    pub fn set(heading: String, cells: Vec<String>) -> Column {
        Column { heading: vec![heading], ..Column::words("", cells) }
    }

    /// A column of words that is wrapped if the page is too narrow; its heading names the table.
    pub fn names(heading: &str, cells: impl IntoIterator<Item: Into<Cell>>) -> Column {
        Column { wraps: true, heading_ink: Ink::Heading, gap: 0, ..Column::words(heading, cells) }
    }

    /// Makes the words of the column wrap if the page is too narrow.
    pub fn wrapping(self) -> Column {
        Column { wraps: true, ..self }
    }

    /// Moves the column closer to the one before it.
    pub fn close(self) -> Column {
        Column { gap: 1, ..self }
    }

    /// Adds empty cells below each cell of the column: as many as `counts` says.
    pub fn spread(self, counts: &[usize]) -> Column {
        let empty = (String::new(), Ink::Plain);
        let spread = |(cell, count): ((String, Ink), &usize)| {
            std::iter::once(cell).chain(std::iter::repeat_n(empty.clone(), *count))
        };
        let cells = self.cells.into_iter().zip(counts).flat_map(spread).collect();
        Column { cells, ..self }
    }

    /// Whether all cells are empty.
    pub fn is_blank(&self) -> bool {
        self.cells.iter().all(|(text, _)| text.is_empty())
    }

    /// The column; `None` if all cells are empty.
    pub fn unless_blank(self) -> Option<Column> {
        (!self.is_blank()).then_some(self)
    }

    /// Width of the column including the gap before it, in columns of the page.
    pub fn width(&self) -> usize {
        self.gap + self.content_width()
    }

    fn content_width(&self) -> usize {
        let cells = self.cells.iter().flat_map(|(text, _)| text.lines());
        let heading = self.heading.iter().map(String::as_str);
        let widths = heading.chain(cells).map(text::width);
        widths.max().unwrap_or(0)
    }

    /// Wraps the cells to `width`, and also the heading if it is too wide.
    fn wrapped(mut self, width: usize) -> Column {
        let is_too_wide = |line: &String| text::width(line) > width;
        if self.heading.iter().any(is_too_wide) {
            self.heading = heading_lines(&self.heading.join("\n"), width);
        }
        for (text, _) in &mut self.cells {
            *text = text::cell_lines(text, width).join("\n");
        }
        self
    }
}

/// Total width of `columns` including the gap before the first, in columns of the page.
pub fn total_width(columns: &[Column]) -> usize {
    columns.iter().map(Column::width).sum()
}

/// Columns under a common heading; columns under an empty heading have none.
#[derive(Debug, Clone)]
pub struct Group {
    heading: String,
    columns: Vec<Column>,
}

impl Group {
    /// Groups `columns`, with wider gaps if the heading needs them.
    pub fn new(heading: &str, mut columns: Vec<Column>) -> Group {
        let needed = if heading.is_empty() { 0 } else { text::width(heading) + HEADING_MARGIN };
        let span = total_width(&columns) - columns[0].gap;
        columns[0].gap += needed.saturating_sub(span);
        let heading = heading.to_owned();
        Group { heading, columns }
    }

    /// Width of the group's columns with their gaps.
    pub fn width(&self) -> usize {
        total_width(&self.columns)
    }

    /// The heading in the middle of a light rule over the columns.
    fn heading_line(&self, page: &Page) -> String {
        let gap = self.columns[0].gap.min(GROUP_GAP);
        let span = self.width() - gap;
        if self.heading.is_empty() {
            return " ".repeat(gap + span);
        }
        let rest = span - text::width(&self.heading) - 2;
        let rule = |length: usize| page.rule().to_string().repeat(length);
        let (left, right) = (rule(rest / 2), rule(rest - rest / 2));
        format!("{}{left} {} {right}", " ".repeat(gap), self.heading)
    }
}

/// The table of the columns of `groups`, with the headings of groups above those of columns.
///
/// No cell is wrapped: the table must fit the page.
pub fn grouped_table(mut groups: Vec<Group>, page: &Page) -> String {
    groups[0].columns[0].gap = 0;
    let headings: String = groups.iter().map(|group| group.heading_line(page)).collect();
    let headings = headings.trim_end();
    let headings = if headings.is_empty() { String::new() } else { format!("{headings}\n") };
    headings + &table(groups.into_iter().flat_map(|group| group.columns).collect(), page)
}

/// The table of `columns`, each with as many cells as the others; ends with a newline.
pub fn table(mut columns: Vec<Column>, page: &Page) -> String {
    columns[0].gap = 0;
    // The last columns wrap first, since the first ones identify the row.
    for at in (0..columns.len()).rev().filter(|&at| columns[at].wraps).collect::<Vec<_>>() {
        let total = total_width(&columns);
        if total > page.table_width() {
            let others = total - columns[at].content_width();
            let room = page.table_width().saturating_sub(others);
            let column = columns.remove(at);
            columns.insert(at, column.wrapped(room.max(NARROWEST_WRAP)));
        }
    }
    let mut text = lay_out(&columns, page).trim_fmt();
    text.push('\n');
    text
}

fn lay_out(columns: &[Column], page: &Page) -> Table {
    let mut table = Table::new();
    let rule = LineStyle::none().fill(page.rule());
    table.load_style(TableStyle::new().header_separator(rule));
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.force_no_tty();
    if page.colour {
        table.enforce_styling();
        table.style_text_only();
    }
    let tallest = columns.iter().map(|column| column.heading.len()).max().unwrap_or(0);
    table.set_header(columns.iter().map(|column| {
        let above = "\n".repeat(tallest - column.heading.len());
        let heading = above + &column.heading.join("\n");
        column.heading_ink.on_cell(comfy_table::Cell::new(heading))
    }));
    for row in 0..columns[0].cells.len() {
        table.add_row(columns.iter().map(|column| {
            let (text, ink) = &column.cells[row];
            let ink = if text.is_empty() { Ink::Plain } else { *ink };
            ink.on_cell(comfy_table::Cell::new(text))
        }));
    }
    for (column, set) in columns.iter().zip(table.column_iter_mut()) {
        set.set_padding((column.gap as u16, 0));
        if column.to_the_right {
            set.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// The lines of a heading, at least one: broken at its newlines and where it is too long.
fn heading_lines(heading: &str, width: usize) -> Vec<String> {
    let wrap = |line: &str| -> Vec<String> {
        let line = text::clean(line);
        let parts = textwrap::wrap(&line, width).into_iter();
        parts.map(|part| part.into_owned()).collect()
    };
    heading.split('\n').flat_map(wrap).collect()
}

/// The cells as text, with figures padded so that decimal points and units are aligned.
fn aligned(cells: &[Cell]) -> Vec<(String, Ink)> {
    let mut widths = (0, 0, 0);
    for cell in cells {
        if let Content::Figure(figure) = &cell.content {
            let (whole, part) = split_at_point(&figure.number);
            widths.0 = widths.0.max(text::width(whole));
            widths.1 = widths.1.max(text::width(part));
            widths.2 = widths.2.max(text::width(&figure.unit));
        }
    }
    let set = |cell: &Cell| match &cell.content {
        Content::Text(text) => text::clean(text),
        Content::Figure(figure) => padded(figure, widths),
    };
    cells.iter().map(|cell| (set(cell), cell.ink)).collect()
}

fn padded(figure: &Figure, (whole_width, part_width, unit_width): (usize, usize, usize)) -> String {
    let (whole, part) = split_at_point(&figure.number);
    let number = format!("{whole:>whole_width$}{part:<part_width$}");
    match unit_width {
        0 => number,
        _ => format!("{number} {:<unit_width$}", figure.unit),
    }
}

fn split_at_point(number: &str) -> (&str, &str) {
    number.split_at(number.find('.').unwrap_or(number.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::format_time;

    fn time(ns: f64, half_width: f64) -> Cell {
        let text = format_time(ns, half_width);
        let (number, unit) = text.split_once(' ').unwrap();
        Cell::figure(Figure { number: number.to_owned(), unit: unit.to_owned() })
    }

    #[test]
    fn points_and_units_line_up() {
        let names = ["getppid", "fork", "never"].map(Cell::text).to_vec();
        let costs = vec![time(164.93, 0.3), time(1.0832e6, 8e3), Cell::inked("failed", Ink::Bad)];
        let columns = vec![Column::names("syscall", names), Column::figures("cost", costs)];
        let page = Page { width: 80, colour: false, unicode: true, this_run: false };
        let lines = [
            "syscall        cost",
            "───────────────────",
            "getppid  164.9   ns",
            "fork       1.083 ms",
            "never        failed",
            "",
        ];
        assert_eq!(table(columns, &page), lines.join("\n"));
    }

    #[test]
    fn words_and_their_heading_give_way_to_a_narrow_page() {
        let name = vec![Cell::text("a-long-name over another-long-name")];
        let shown = vec![Cell::text("from about 12 (9-15)")];
        let columns = [Column::words("better", name), Column::words("by server CPU time", shown)];
        let page = Page { width: 60, colour: false, unicode: false, this_run: false };
        let kept = Column::words("", vec![Cell::text("abcdef")]);
        let columns = columns.map(Column::wrapping).into_iter().chain([kept]);
        let text = table(columns.collect(), &page);
        let lines = [
            "                                    by server CPU",
            "better                              time",
            "---------------------------------------------------------",
            "a-long-name over another-long-name  from about 12  abcdef",
            "                                      (9-15)",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
    }
}

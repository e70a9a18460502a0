//! Properties of the output: its width, colours and character set.

use anstyle::{AnsiColor, Style};

use crate::text;

/// Minimum width of tables; a narrower terminal wraps the lines itself.
const NARROWEST: usize = 60;

/// Maximum width of running text: longer lines are hard to read.
const WIDEST_PROSE: usize = 100;

/// The terminal or file that the text is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// The width of a line in columns.
    pub width: usize,
    /// Whether to use ANSI colours.
    pub colour: bool,
    /// Whether to use characters beyond ASCII.
    pub unicode: bool,
    /// Whether the interval of the run itself has a column beside that of the next run.
    pub this_run: bool,
}

/// The meaning of a piece of text, which selects its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ink {
    /// Text in the default colour.
    #[default]
    Plain,
    /// A title or the heading of a column.
    Heading,
    /// A remark.
    Faint,
    /// A result that is better.
    Good,
    /// A result that is worse, or a failure.
    Bad,
    /// A figure that may be wrong.
    Doubt,
}

impl Page {
    /// The width of tables in columns.
    pub fn table_width(&self) -> usize {
        self.width.max(NARROWEST)
    }

    /// The width of running text in columns.
    pub fn prose_width(&self) -> usize {
        self.table_width().min(WIDEST_PROSE)
    }

    /// The character of light rules.
    pub fn rule(&self) -> char {
        if self.unicode { '─' } else { '-' }
    }

    /// `text` with `±` and other signs replaced by ASCII if the page requires it.
    pub fn signs(&self, text: &str) -> String {
        if self.unicode {
            return text.to_owned();
        }
        text.replace('±', "+-").replace('…', "..").replace('→', "->")
    }

    /// `text` in `ink`, or unchanged if the page has no colours.
    pub fn paint(&self, ink: Ink, text: &str) -> String {
        if !self.colour || ink == Ink::Plain || text.is_empty() {
            return text.to_owned();
        }
        let style = ink.style();
        format!("{style}{text}{style:#}")
    }

    /// `text` wrapped to the width of running text: the first line begins with `first`, the others with as many spaces.
    pub fn hanging(&self, first: &str, text: &str) -> String {
        text::hanging(first, text, self.prose_width())
    }

    /// `text` in `ink`, wrapped to the width of running text.
    pub fn prose(&self, ink: Ink, text: &str) -> String {
        self.paint_lines(ink, &self.hanging("", text))
    }

    /// A heading.
    pub fn heading(&self, text: &str) -> String {
        self.prose(Ink::Heading, text)
    }

    /// A faint remark.
    pub fn faint(&self, text: &str) -> String {
        self.prose(Ink::Faint, &self.signs(text))
    }

    /// Paints each of `lines` in `ink`.
    pub fn paint_lines(&self, ink: Ink, lines: &str) -> String {
        lines.lines().map(|line| self.paint(ink, line) + "\n").collect()
    }
}

impl Ink {
    fn style(self) -> Style {
        match self {
            Ink::Plain => Style::new(),
            Ink::Heading => Style::new().bold(),
            Ink::Faint => Style::new().dimmed(),
            Ink::Good => AnsiColor::Green.on_default(),
            Ink::Bad => AnsiColor::Red.on_default(),
            Ink::Doubt => AnsiColor::Yellow.on_default(),
        }
    }

    /// Applies the ink to a cell of a table.
    pub fn on_cell(self, cell: comfy_table::Cell) -> comfy_table::Cell {
        use comfy_table::{Attribute, Color};
        match self {
            Ink::Plain => cell,
            Ink::Heading => cell.add_attribute(Attribute::Bold),
            Ink::Faint => cell.add_attribute(Attribute::Dim),
            Ink::Good => cell.fg(Color::DarkGreen),
            Ink::Bad => cell.fg(Color::DarkRed),
            Ink::Doubt => cell.fg(Color::DarkYellow),
        }
    }
}

//! Where the text goes: how wide, and what it can show there.

use anstyle::{AnsiColor, Style};

/// Narrower than this no table is laid out; a narrower terminal wraps the lines itself.
const NARROWEST: usize = 60;

/// Running text is not set wider than this: longer lines are hard to read.
const WIDEST_PROSE: usize = 100;

/// The terminal, file or mail the text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Columns a line may fill.
    pub width: usize,
    /// Whether ANSI colour is wanted.
    pub colour: bool,
    /// Whether characters beyond ASCII are wanted.
    pub unicode: bool,
}

/// What a piece of text means, for those who see colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Ink {
    #[default]
    Plain,
    Heading,
    Faint,
    Good,
    Bad,
    Doubt,
}

impl Page {
    /// Columns a table may fill.
    pub(crate) fn table_width(&self) -> usize {
        self.width.max(NARROWEST)
    }

    /// Columns running text may fill.
    pub(crate) fn prose_width(&self) -> usize {
        self.table_width().min(WIDEST_PROSE)
    }

    /// The character light rules are made of.
    pub(crate) fn rule(&self) -> char {
        if self.unicode { '─' } else { '-' }
    }

    /// Our own text with `±` and other signs put in ASCII where the page needs it.
    pub(crate) fn signs(&self, text: &str) -> String {
        if self.unicode {
            return text.to_owned();
        }
        text.replace('±', "+-").replace('…', "..").replace('→', "->")
    }

    /// `text` in `ink`, or as it is where no colour is wanted.
    pub(crate) fn paint(&self, ink: Ink, text: &str) -> String {
        if !self.colour || ink == Ink::Plain || text.is_empty() {
            return text.to_owned();
        }
        let style = ink.style();
        format!("{style}{text}{style:#}")
    }

    /// Each of `lines` in `ink`.
    pub(crate) fn paint_lines(&self, ink: Ink, lines: &str) -> String {
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

    /// The same ink on a cell of a table.
    pub(crate) fn on_cell(self, cell: comfy_table::Cell) -> comfy_table::Cell {
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

//! Tables of cells with a frozen heading and a filter, which continue on further sheets where necessary.

use std::collections::HashSet;

use rust_xlsxwriter::{
    ColNum, Format, FormatAlign, Formula, RowNum, Workbook, Worksheet, XlsxError,
};

/// Maximum number of rows of a sheet, including its heading.
pub(super) const ROWS_OF_A_SHEET: u32 = 1_048_576;

/// Maximum length of a cell's text, in units of UTF-16.
const LONGEST_TEXT: usize = 32_767;

/// Maximum length of a sheet's name.
const LONGEST_NAME: usize = 31;

/// Limits of the width of columns, which are as wide as their longest cell.
const NARROWEST: usize = 8;
const WIDEST: usize = 48;

/// The content of a cell.
#[derive(Debug, Clone)]
pub(super) enum CellValue {
    Empty,
    Text(String),
    /// A number and its format.
    Number(f64, &'static str),
    /// A missing figure, which charts leave out.
    Missing,
}

/// The format of counts.
pub(super) const WHOLE: &str = "0";

/// The format of values with an unknown unit.
const MEASURED: &str = "#,##0.0##";

impl CellValue {
    pub(super) fn text(text: &str) -> CellValue {
        CellValue::Text(text.to_owned())
    }

    /// A value in `unit`. Infinity and NaN become text, since Excel has no cells for them.
    pub(super) fn measured(value: f64, unit: &str) -> CellValue {
        let format = match unit {
            "share" => "0.0##%",
            _ => MEASURED,
        };
        CellValue::number(value, format)
    }

    pub(super) fn number(value: f64, format: &'static str) -> CellValue {
        if value.is_finite() {
            CellValue::Number(value, format)
        } else {
            CellValue::Text(value.to_string())
        }
    }

    /// The value of a parameter: a number if that loses no information.
    pub(super) fn param(text: &str) -> CellValue {
        match text.parse::<u32>() {
            Ok(number) if number.to_string() == text => CellValue::Number(f64::from(number), WHOLE),
            _ => CellValue::text(text),
        }
    }

    /// Approximate number of characters of the value.
    fn width(&self) -> usize {
        match self {
            CellValue::Empty => 0,
            CellValue::Text(text) => text.chars().take(WIDEST).count(),
            CellValue::Number(value, _) => format!("{value:.3}").len() + 2,
            CellValue::Missing => 4,
        }
    }

    /// Writes the value to a cell of `sheet`.
    pub(super) fn write(
        &self,
        sheet: &mut Worksheet,
        row: RowNum,
        column: ColNum,
    ) -> Result<(), XlsxError> {
        match self {
            CellValue::Empty => {}
            CellValue::Text(text) => {
                sheet.write_string(row, column, fitting(text))?;
            }
            CellValue::Number(value, format) => {
                let format = Format::new().set_num_format(*format);
                sheet.write_number_with_format(row, column, *value, &format)?;
            }
            CellValue::Missing => {
                sheet.write_formula(row, column, Formula::new("=NA()").set_result("#N/A"))?;
            }
        }
        Ok(())
    }
}

/// `text` with control characters replaced, and shortened with a note if it is too long for a cell.
pub(super) fn fitting(text: &str) -> String {
    let plain = |c: char| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c };
    let text: String = text.chars().map(plain).collect();
    let units: usize = text.chars().map(char::len_utf16).sum();
    if units <= LONGEST_TEXT {
        return text;
    }
    let note = format!(" ... (cut: {} characters in total, see JSON)", text.chars().count());
    beginning(&text, LONGEST_TEXT - note.len()) + &note
}

/// The beginning of `text` that fits in `room` units of UTF-16.
fn beginning(text: &str, mut room: usize) -> String {
    let fits = |c: &char| {
        let left = room.checked_sub(c.len_utf16());
        room = left.unwrap_or(0);
        left.is_some()
    };
    text.chars().take_while(fits).collect()
}

/// Format of the heading of a table.
pub(super) fn heading() -> Format {
    Format::new().set_bold().set_text_wrap().set_align(FormatAlign::Top)
}

/// A table that continues on another sheet when one is full.
pub(super) struct Pages<'a> {
    workbook: &'a mut Workbook,
    name: &'static str,
    headings: Vec<String>,
    rows_of_a_sheet: u32,
    /// Number of sheets created.
    sheets: usize,
    sheet: Worksheet,
    row: RowNum,
    widths: Vec<usize>,
}

impl<'a> Pages<'a> {
    pub(super) fn new(
        workbook: &'a mut Workbook,
        name: &'static str,
        headings: Vec<String>,
        rows_of_a_sheet: u32,
    ) -> Result<Pages<'a>, XlsxError> {
        let widths = headings.iter().map(|heading| heading.chars().count()).collect();
        let sheet = Worksheet::new();
        let mut pages =
            Pages { workbook, name, headings, rows_of_a_sheet, sheets: 0, sheet, row: 0, widths };
        pages.begin()?;
        Ok(pages)
    }

    fn begin(&mut self) -> Result<(), XlsxError> {
        self.sheets += 1;
        self.sheet = Worksheet::new();
        match self.sheets {
            1 => self.sheet.set_name(self.name)?,
            number => self.sheet.set_name(format!("{} {number}", self.name))?,
        };
        for (column, text) in (0..).zip(&self.headings) {
            self.sheet.write_string_with_format(0, column, fitting(text), &heading())?;
        }
        self.sheet.set_freeze_panes(1, 0)?;
        self.row = 1;
        Ok(())
    }

    /// Adds a row, on a new sheet if the present one is full.
    pub(super) fn push(&mut self, values: &[CellValue]) -> Result<(), XlsxError> {
        debug_assert_eq!(values.len(), self.headings.len());
        if self.row == self.rows_of_a_sheet {
            self.end()?;
            self.begin()?;
        }
        for ((column, value), width) in (0..).zip(values).zip(&mut self.widths) {
            value.write(&mut self.sheet, self.row, column)?;
            *width = (*width).max(value.width());
        }
        self.row += 1;
        Ok(())
    }

    /// Adds the sheet to the workbook.
    fn end(&mut self) -> Result<(), XlsxError> {
        let last = ColNum::try_from(self.headings.len() - 1).unwrap_or(ColNum::MAX);
        self.sheet.autofilter(0, 0, self.row - 1, last)?;
        for (column, width) in (0..).zip(&self.widths) {
            let width = (*width).clamp(NARROWEST, WIDEST) as f64 + 1.0;
            self.sheet.set_column_width(column, width)?;
        }
        let sheet = std::mem::replace(&mut self.sheet, Worksheet::new());
        self.workbook.push_worksheet(sheet);
        Ok(())
    }

    /// Ends the last sheet.
    pub(super) fn finish(mut self) -> Result<(), XlsxError> {
        self.end()
    }
}

/// Unique names of sheets, as Excel allows them.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// `name`, shortened to a valid name of a sheet, with a number if the name is already used.
    pub(super) fn free(&mut self, name: &str) -> String {
        let plain = |c: char| if c.is_control() || "[]:*?/\\'".contains(c) { '_' } else { c };
        let name: String = name.chars().map(plain).collect();
        let numbered = |number: usize| {
            let suffix = if number == 1 { String::new() } else { format!(" {number}") };
            beginning(&name, LONGEST_NAME - suffix.len()).trim_end().to_owned() + &suffix
        };
        let is_free = |name: &String| self.taken.insert(name.to_lowercase());
        (1..).map(numbered).find(is_free).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_say_what_was_cut() {
        let long = "\u{1f600}".repeat(40_000);
        let cut = fitting(&long);
        assert!(cut.encode_utf16().count() <= LONGEST_TEXT);
        assert!(cut.ends_with(" ... (cut: 40000 characters in total, see JSON)"));
        assert_eq!(fitting("a\u{1}b\nc"), "a\u{fffd}b\nc");
    }

    #[test]
    fn names_of_sheets_are_short_plain_and_different() {
        let mut names = Names::default();
        assert_eq!(names.free("cpu on one CPU"), "cpu on one CPU");
        assert_eq!(names.free("CPU on one CPU"), "CPU on one CPU 2");
        assert_eq!(names.free("a/b[c]'"), "a_b_c__");
        assert_eq!(names.free(&"x".repeat(40)), "x".repeat(31));
        assert_eq!(names.free(&"x".repeat(40)), "x".repeat(29) + " 2");
    }

    #[test]
    fn parameters_are_numbers_only_where_nothing_is_lost() {
        assert!(matches!(CellValue::param("17"), CellValue::Number(_, WHOLE)));
        for text in ["017", "+17", "17 ", "450us", "99999999999", ""] {
            assert!(matches!(CellValue::param(text), CellValue::Text(_)), "{text}");
        }
        assert!(matches!(CellValue::measured(f64::NAN, "ns"), CellValue::Text(_)));
    }
}

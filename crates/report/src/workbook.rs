//! A run as an Excel workbook: the value of every round, a summary, the description of the run, and charts that refer
//! to cells, so that they can be edited.

mod charts;
mod pages;
mod sheets;

use results::{CaseResult, Document};
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Workbook, XlsxError};

use crate::workbook::pages::ROWS_OF_A_SHEET;

/// Reason why a document cannot be converted to a workbook.
#[derive(Debug, thiserror::Error)]
pub enum WorkbookError {
    /// The document exceeds a limit of Excel's format, such as 16,384 columns.
    #[error("the results do not fit an Excel workbook: {0}; JSON and CSV have no such limits")]
    Format(#[from] XlsxError),
}

/// The bytes of an XLSX file with all data of `document`. The same document gives the same bytes.
///
/// The sheets `raw` (a row for each round's value) and `summary` (a row for each metric of each case) continue
/// on `raw 2`, `summary 2` if they exceed Excel's limit of rows. A text longer than Excel allows ends with a
/// note of how much was cut. Impossible values become failures, as in [`CaseResult::sound`].
pub fn workbook(document: &Document) -> Result<Vec<u8>, WorkbookError> {
    Ok(with_sheets_of(ROWS_OF_A_SHEET, document)?)
}

fn with_sheets_of(rows_of_a_sheet: u32, document: &Document) -> Result<Vec<u8>, XlsxError> {
    let results: Vec<CaseResult> =
        document.results.iter().map(|result| result.sound().into_owned()).collect();
    let mut workbook = Workbook::new();
    workbook.set_properties(&properties(document));
    sheets::run(&mut workbook, document)?;
    charts::add(&mut workbook, &results)?;
    sheets::summary(&mut workbook, &results, rows_of_a_sheet)?;
    sheets::raw(&mut workbook, &results, rows_of_a_sheet)?;
    workbook.save_to_buffer()
}

fn properties(document: &Document) -> DocProperties {
    let properties = DocProperties::new()
        .set_title(format!("oscost {}", document.run.id))
        .set_comment(pages::fitting(&document.machine_line()));
    match ExcelDateTime::parse_from_str(&document.run.started) {
        Ok(started) => properties.set_creation_datetime(&started),
        Err(_) => properties,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::{Direction, Estimate, SCHEMA};

    #[test]
    fn rows_beyond_a_full_sheet_are_on_the_next() {
        let run = simulated::run_info("a");
        let blank =
            CaseResult::blank("lock/spin", Default::default(), "time", "ns/op", Direction::Lower);
        let estimate = Some(Estimate { median: 1.0, low: 1.0, high: 1.0, level: 0.95 });
        let results = vec![CaseResult { round_values: vec![1.0; 25], estimate, ..blank }];
        let document = Document { schema: SCHEMA, run, machine: Default::default(), results };
        let bytes = with_sheets_of(10, &document).unwrap();
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
        let mut text = String::new();
        let mut workbook = archive.by_name("xl/workbook.xml").unwrap();
        std::io::Read::read_to_string(&mut workbook, &mut text).unwrap();
        for name in ["raw", "raw 2", "raw 3"] {
            assert!(text.contains(&format!("name=\"{name}\"")), "{name} in {text}");
        }
        assert!(!text.contains("raw 4"), "{text}");
    }
}

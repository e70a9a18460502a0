//! A study: the question, each published table beside the values measured here, a verdict for each claim with its figures, and the
//! differences in method; and the list of studies.

mod claims;
mod tables;

use std::time::Duration;

use analysis::claim::JudgedClaim;
use analysis::study::{MeasuredTable, Study};
use results::Document;

use crate::grid::{self, Cell, Column};
use crate::page::{Ink, Page};
use crate::quantity::format_duration;
use crate::text;

/// A study in the list of studies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyLine {
    /// Its name.
    pub name: String,
    /// The question it answers.
    pub question: String,
    /// How long it takes by default.
    pub takes: Duration,
    /// How long it takes with the original sizes.
    pub takes_in_full: Duration,
}

/// A study with what was measured.
#[derive(Debug, Clone, Copy)]
pub struct StudyPage<'a> {
    /// The study.
    pub study: &'a Study,
    /// Its tables with the figures measured here.
    pub tables: &'a [MeasuredTable],
    /// Its claims with their verdicts.
    pub claims: &'a [JudgedClaim],
    /// The runs that it is judged by.
    pub runs: &'a [Document],
    /// The names that claims use for some of them, each with the id of the run.
    pub named: &'a [(String, String)],
}

/// The list of studies.
pub fn studies_table(lines: &[StudyLine], page: &Page) -> String {
    let words = |cell: fn(&StudyLine) -> String| lines.iter().map(cell).map(Cell::text).collect();
    let columns = vec![
        Column::words("study", words(|line| line.name.clone())),
        Column::words("question", words(|line| line.question.clone())).wrapping(),
        Column::words("takes up to", words(|line| format_duration(line.takes))),
        Column::words("with --full", words(|line| format_duration(line.takes_in_full))),
    ];
    grid::table(columns, page)
}

/// A study as text.
pub fn study_text(page_of: &StudyPage, page: &Page) -> String {
    let study = page_of.study;
    let mut text =
        page.paint_lines(Ink::Heading, &text::hanging("", &study.title, page.prose_width()));
    let line =
        |first: &str, content: &str| text::hanging(first, &page.signs(content), page.prose_width());
    text.push_str(&line("question   ", &study.question));
    text.push_str(&line("published  ", &study.source));
    for run in page_of.runs {
        text.push_str(&line("here       ", &run_line(run, page_of)));
    }
    for table in page_of.tables {
        text.push('\n');
        text.push_str(&tables::table_text(table, page));
    }
    text.push('\n');
    text.push_str(&claims::claims_text(page_of, page));
    if !study.differences.is_empty() {
        text.push_str(&format!("\n{}\n", page.paint(Ink::Heading, "Differences in method")));
        for difference in &study.differences {
            text.push_str(&line("- ", difference));
        }
    }
    text
}

/// `20261121-203655-4f2a (linux): Linux 6.1 x86_64, AMD EPYC, 2 CPUs`.
fn run_line(run: &Document, page_of: &StudyPage) -> String {
    let id = &run.run.id;
    let named = page_of.named.iter().find(|(_, of)| of == id).map(|(name, _)| name.as_str());
    let system = named.or(run.system()).map(|name| format!(" ({name})")).unwrap_or_default();
    format!("run {id}{system}: {}", run.machine_line())
}

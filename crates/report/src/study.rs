//! A study: the question, each published table beside the values measured here, a verdict for each claim with its figures, and
//! the differences in method; and the list of studies.

mod claims;
mod model;
mod tables;

pub(crate) use claims::about_lines;
pub use model::StudyLine;
pub(crate) use tables::{here_number, is_published, ratio_number};

use std::time::Duration;

use analysis::claim::NATIVE;
use analysis::study::StudyFindings;
use results::Document;

use crate::grid::{self, Column};
use crate::matrix::systems_summary;
use crate::page::{Ink, Page};
use crate::quantity::format_duration;

/// The list of studies.
pub fn studies_table(lines: &[StudyLine], page: &Page) -> String {
    let takes = |heading: &str, of: fn(&StudyLine) -> Duration| {
        Column::words(heading, lines.iter().map(|line| format_duration(of(line))))
    };
    let columns = vec![
        Column::words("study", lines.iter().map(|line| line.name.as_str())),
        Column::words("question", lines.iter().map(|line| line.question.as_str())).wrapping(),
        takes("takes up to", |line| line.takes),
        takes("with --full", |line| line.takes_in_full),
    ];
    grid::table(columns, page)
}

/// A study as text.
pub fn study_text(page_of: &StudyFindings, page: &Page) -> String {
    let study = page_of.study;
    let mut text = page.heading(&study.title);
    let line = |first: &str, content: &str| page.hanging(first, &page.signs(content));
    text.push_str(&line("question   ", &study.question));
    text.push_str(&line("published  ", &study.source));
    for run in page_of.runs {
        text.push_str(&line("here       ", &run_line(run, page_of)));
    }
    for table in &page_of.tables {
        text.push('\n');
        text.push_str(&tables::table_text(table, page));
    }
    text.push('\n');
    text.push_str(&claims::claims_text(page_of, page));
    if page_of.runs.len() > 1 {
        let summary = systems_summary(page_of.runs, page);
        if !summary.is_empty() {
            text.push_str(&format!("\n{}\n", page.paint(Ink::Heading, "Systems and designs")));
            text.push_str(&summary);
        }
    }
    if !study.differences.is_empty() {
        text.push_str(&format!("\n{}\n", page.paint(Ink::Heading, "Differences in method")));
        for difference in &study.differences {
            text.push_str(&line("- ", difference));
        }
    }
    text
}

/// Line about a run: `run 20261121-203655-4f2a (linux): Linux 6.1 x86_64, AMD EPYC, 2 CPUs`.
pub(crate) fn run_line(run: &Document, page_of: &StudyFindings) -> String {
    let id = &run.run.id;
    let meant = page_of.named.iter().filter(|(_, of)| of == id).map(|(name, _)| name.as_str());
    let own = run.system().filter(|own| *own != NATIVE);
    let mut names: Vec<&str> = own.into_iter().chain(meant).collect();
    names.dedup();
    let system = match names[..] {
        [] => String::new(),
        [name] => format!(" ({name})"),
        [name, ref others @ ..] if own.is_some() => {
            format!(" ({name}, which claims call {})", others.join(" and "))
        }
        _ => format!(" ({})", names.join(", ")),
    };
    format!("run {id}{system}: {}", run.machine_line())
}

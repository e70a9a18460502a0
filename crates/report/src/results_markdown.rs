//! The results of a run as tables of Markdown.

use results::{CaseResult, Document, Extent, Outcome, TextFormat, announcement_of};

use crate::first_seen::{distinct, grouped};
use crate::interval::{Uncertain, interval_line};
use crate::markdown::escaped;
use crate::marks::marks;
use crate::quantity::{carries_unit, figure, half_width};
use crate::rows::word;
use crate::summary::machine_line;

/// Tables of Markdown.
pub const MARKDOWN: TextFormat = TextFormat {
    name: "markdown",
    about: "Markdown, a table for each area",
    extent: Extent::All,
    write: results_markdown,
};

/// The machine, then a table for each area with a row for each metric of each point, and the doubts about its figures.
fn results_markdown(document: &Document) -> String {
    let mut text = format!("# Run {}\n\n", escaped(&document.run.id));
    if let Some(line) = announcement_of("figures", [document]) {
        text.push_str(&format!("**{}**\n\n", escaped(&line)));
    }
    text.push_str(&format!("{}\n", escaped(&machine_line(document))));
    let area = |result: &CaseResult| result.point().area().to_owned();
    let areas = grouped(document.results.iter().map(|result| (area(result), result)));
    for (area, results) in &areas {
        text.push_str(&area_table(area, results, &document.results));
    }
    if let Some(line) = interval_line(&document.results) {
        text.push_str(&format!("\n{}\n", escaped(&line)));
    }
    text
}

fn area_table(area: &str, results: &[&CaseResult], all: &[CaseResult]) -> String {
    let mut text = format!("\n## {}\n\n", escaped(area));
    text.push_str("| point | metric | figure | ± | marks |\n|---|---|---:|---:|---|\n");
    for result in results {
        let (figure, interval) = figure_and_interval(result);
        let marks = match result.outcome {
            Outcome::Measured => marks(all, result).join(" "),
            _ => String::new(),
        };
        let cells = [result.label(), result.metric.clone(), figure, interval, marks];
        text.push_str(&format!("| {} |\n", cells.map(|cell| escaped(&cell)).join(" | ")));
    }
    let doubts = results.iter().flat_map(|result| &result.doubts);
    let doubts = distinct(doubts.filter_map(|doubt| Some((doubt.mark()?, doubt.to_string()))));
    if !doubts.is_empty() {
        text.push('\n');
    }
    for (mark, doubt) in doubts {
        text.push_str(&format!("- {}: {}\n", escaped(mark), escaped(&doubt)));
    }
    text
}

/// The figure with its unit and the interval; for a result that was not measured, how it ended and why.
fn figure_and_interval(result: &CaseResult) -> (String, String) {
    let Some(uncertain) = Uncertain::of(result) else {
        let reason = result.reason.as_deref().unwrap_or("no reason was given");
        return (format!("{}: {reason}", word(result.outcome)), String::new());
    };
    let e = uncertain.estimate;
    let shown = figure(e.median, half_width(e.median, e.low, e.high), &result.unit);
    // A figure without its whole unit is in `/s`, or has none.
    let unit = match (carries_unit(&result.unit), result.unit.as_str()) {
        (true, _) => shown.unit,
        (false, unit) => match shown.unit.strip_suffix("/s") {
            Some(prefix) => format!("{prefix} {unit}").trim_start().to_owned(),
            None => unit.to_owned(),
        },
    };
    (format!("{} {unit}", shown.number), uncertain.words().unwrap_or_default())
}

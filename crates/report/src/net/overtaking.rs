//! The number of connections from which one architecture is better than another.

use cases::net::metrics::{CHEAPER_FROM, FASTER_FROM};
use measure::Metric;
use results::{CaseResult, Outcome};

use crate::concurrency::measured;
use crate::footnotes::{Footnotes, Reason};
use crate::grid::{self, Cell, Column};
use crate::net::sweep::Sweep;
use crate::net::wording::{faint, heading};
use crate::page::{Ink, Page};

const COLUMNS: [(&Metric, &str); 2] =
    [(&FASTER_FROM, "by rate"), (&CHEAPER_FROM, "by server CPU time")];

/// A line per compared pair.
pub(crate) fn table(sweep: &Sweep, page: &Page) -> String {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    let of_crossings =
        |result: &&&CaseResult| COLUMNS.iter().any(|(metric, _)| result.metric == metric.name);
    for result in sweep.derived.iter().filter(of_crossings) {
        let pair = (result.params["arch"].as_str(), result.params["than"].as_str());
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    if pairs.is_empty() {
        return String::new();
    }
    let result = |pair: &(&str, &str), metric: &Metric| {
        let of_pair = |r: &&&CaseResult| r.params["arch"] == pair.0 && r.params["than"] == pair.1;
        sweep.derived.iter().filter(of_pair).find(|r| r.metric == metric.name).copied()
    };
    let results = |pair| COLUMNS.map(|(metric, _)| result(pair, metric));
    let reasons: Vec<Vec<Reason>> = pairs
        .iter()
        .map(|pair| results(pair).into_iter().flatten().flat_map(doubts).collect())
        .collect();
    let notes = Footnotes::of(&reasons);
    let columns = |metric: &Metric, heading: &str| {
        let results: Vec<Option<&CaseResult>> = pairs.iter().map(|p| result(p, metric)).collect();
        let cells = results.iter().map(|r| r.map(cell).unwrap_or_default()).collect();
        let marks = results.iter().map(|r| r.map(doubts).unwrap_or_default());
        let marks = marks.map(|reasons| Cell::inked(notes.mark(&reasons), Ink::Doubt)).collect();
        let columns = [Column::words(heading, cells).wrapping(), Column::words("", marks).close()];
        columns.into_iter().filter(|column| !column.is_blank()).collect::<Vec<_>>()
    };
    let said = |pair: &(&str, &str)| Cell::text(format!("{} over {}", pair.0, pair.1));
    let said = Column::words("better", pairs.iter().map(said).collect()).wrapping();
    let shown = COLUMNS.map(|(metric, heading)| columns(metric, heading));
    let all: Vec<Column> = std::iter::once(&said).chain(shown.iter().flatten()).cloned().collect();
    let tables = match grid::total_width(&all) <= page.table_width() + 2 {
        true => grid::table(all, page),
        false => {
            let with_names = |columns: &Vec<Column>| {
                grid::table(std::iter::once(&said).chain(columns).cloned().collect(), page)
            };
            shown
                .iter()
                .filter(|columns| !columns.is_empty())
                .map(with_names)
                .collect::<Vec<_>>()
                .join("\n")
        }
    };
    let title = sweep.title("number of connections from which one is better than another");
    let note = "a rate limited by the generator counts only if it is still the greater one";
    heading(&title, page) + &tables + &notes.lines(page) + &faint(note, page)
}

/// `from about 120 (90-160)`, or a short reason why there is no such number.
fn cell(result: &CaseResult) -> Cell {
    match measured(result) {
        Some(e) => {
            let [mid, low, high] = [e.median, e.low, e.high].map(rounded);
            Cell::text(format!("from about {mid} ({low}-{high})"))
        }
        None => {
            let ink = if result.outcome == Outcome::Unsupported { Ink::Plain } else { Ink::Bad };
            let reason = result.reason.as_deref().unwrap_or("no reason was given");
            Cell::inked(reason.split(": ").next().unwrap_or(reason), ink)
        }
    }
}

/// A number of connections to two digits.
fn rounded(connections: f64) -> String {
    let unit = 10f64.powi((connections.abs().max(1.0).log10().floor() as i32 - 1).max(0));
    format!("{:.0}", (connections / unit).round() * unit)
}

fn doubts(result: &CaseResult) -> Vec<Reason> {
    result.doubts.iter().cloned().map(Reason::Doubt).collect()
}

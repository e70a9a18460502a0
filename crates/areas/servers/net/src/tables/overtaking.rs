//! The number of connections from which one architecture is better than another.

use crate::metrics::{CHEAPER_FROM, FASTER_FROM};
use measure::Metric;
use results::{CaseResult, Outcome};

use report::first_seen::distinct;
use report::footnotes::{Footnotes, Reason};
use report::grid::{self, Cell, Column};
use report::page::{Ink, Page};
use report::rows::{measured, reason};
use report::swept::Sweep;

const COLUMNS: [(&Metric, &str); 2] =
    [(&FASTER_FROM, "by rate"), (&CHEAPER_FROM, "by server CPU time")];

/// A table with a line per compared pair.
pub(crate) fn table(sweep: &Sweep, page: &Page) -> String {
    let of_crossings =
        |result: &&&CaseResult| COLUMNS.iter().any(|(metric, _)| result.metric == metric.name);
    let pairs = distinct(sweep.derived.iter().filter(of_crossings).map(|result| pair(result)));
    if pairs.is_empty() {
        return String::new();
    }
    let result = |wanted: &[&str; 2], metric: &Metric| {
        let is_it = |r: &&CaseResult| r.metric == metric.name && pair(r) == *wanted;
        sweep.derived.iter().copied().find(is_it)
    };
    let results = |pair| COLUMNS.map(|(metric, _)| result(pair, metric));
    let doubts_of = |pair| results(pair).into_iter().flatten().flat_map(doubts).collect();
    let reasons: Vec<Vec<Reason>> = pairs.iter().map(doubts_of).collect();
    let notes = Footnotes::lettered(&reasons);
    let columns = |metric: &Metric, heading: &str| {
        let results: Vec<Option<&CaseResult>> = pairs.iter().map(|p| result(p, metric)).collect();
        let cells = results.iter().map(|r| r.map(cell));
        let marks = notes.column(results.iter().map(|r| r.map(doubts).unwrap_or_default()));
        let columns = [Column::words(heading, cells).wrapping(), marks];
        columns.into_iter().filter_map(Column::unless_blank).collect::<Vec<_>>()
    };
    let said = pairs.iter().map(|[arch, than]| format!("{arch} over {than}"));
    let said = Column::words("better", said).wrapping();
    let shown = COLUMNS.map(|(metric, heading)| columns(metric, heading));
    let with_names = |columns: &[Column]| [std::slice::from_ref(&said), columns].concat();
    let all = with_names(&shown.concat());
    let tables = match grid::total_width(&all) <= page.table_width() + 2 {
        true => grid::table(all, page),
        false => {
            let shown = shown.iter().filter(|columns| !columns.is_empty());
            let tables = shown.map(|columns| grid::table(with_names(columns), page));
            tables.collect::<Vec<_>>().join("\n")
        }
    };
    let title = sweep.title("number of connections from which one is better than another");
    let note = "a rate limited by the generator counts only if it is still the greater one";
    page.heading(&title) + &tables + &notes.lines(page) + &page.faint(note)
}

/// The architecture that is better, and the other one.
fn pair(result: &CaseResult) -> [&str; 2] {
    ["arch", "than"].map(|key| result.params[key].as_str())
}

/// A cell such as `from about 120 (90-160)`, or a short reason why there is no such number.
fn cell(result: &CaseResult) -> Cell {
    match measured(result) {
        Some(e) => {
            let [mid, low, high] = [e.median, e.low, e.high].map(rounded);
            Cell::text(format!("from about {mid} ({low}-{high})"))
        }
        None => {
            let ink = if result.outcome == Outcome::Unsupported { Ink::Plain } else { Ink::Bad };
            let reason = reason(result);
            Cell::inked(reason.split(": ").next().unwrap_or(reason), ink)
        }
    }
}

/// A number of connections rounded to two digits.
fn rounded(connections: f64) -> String {
    let unit = 10f64.powi((connections.abs().max(1.0).log10().floor() as i32 - 1).max(0));
    format!("{:.0}", (connections / unit).round() * unit)
}

fn doubts(result: &CaseResult) -> Vec<Reason> {
    result.doubts.iter().cloned().map(Reason::Doubt).collect()
}

//! `concurrency/degree`: the effect of the degree of concurrency, and the laws fitted to it.

use crate::metrics::{AMDAHL_SERIAL, RATE, USL_COHERENCE, USL_CONTENTION, USL_KNEE};
use results::CaseResult;

use super::derived::{doubts, no_figure, said};
use super::shape::{Group, ORDER, grouped, kind_words, length_words, options_words, param};
use super::side_by_side::{intervals, ratio_text, value_cell};
use report::footnotes::{Footnotes, Reason};
use report::grid::{self, Cell, Column};
use report::page::Page;
use report::picture::bar;
use report::rows::{COST, Row, measured};

/// Maximum and minimum width of a bar.
const WIDEST_BAR: usize = 32;
const NARROWEST_BAR: usize = 8;

/// Width of the gap between the figures and the bars.
const BAR_GAP: usize = 2;

/// Tables of `rows`, one per kind of jobs, with the fitted laws.
pub(crate) fn tables(rows: &[&Row], page: &Page) -> String {
    let groups = grouped(rows.iter().copied(), &["degree"]);
    groups.iter().map(|group| table(group, page) + "\n").collect()
}

/// Title of a table: `64 CPU-bound jobs of 2 ms each, by threads`.
pub(crate) fn title(group: &Group) -> String {
    let length = length_words(group.param("length"));
    let kind = kind_words(group.param("kind"));
    format!("{} {kind} of {length} each, by {}", group.param("jobs"), group.param("executor"))
        + &options_words(group)
}

fn table(group: &Group, page: &Page) -> String {
    let (mut cases, derived): (Vec<&Row>, Vec<&Row>) =
        group.rows.iter().copied().partition(|row| !param(row, "degree").is_empty());
    cases.sort_by(|a, b| ORDER.by_value(param(a, "degree"), param(b, "degree")));
    let title = format!("concurrency/degree: {}", title(group));
    let mut text = page.heading(&title);
    if !cases.is_empty() {
        let reasons: Vec<Vec<Reason>> = cases.iter().map(|row| row.reasons()).collect();
        let notes = Footnotes::of(&reasons);
        text.push_str(&grid::table(columns(&cases, &notes, page), page));
        text.push_str(&notes.lines(page));
    }
    let derived: Vec<&CaseResult> = derived.iter().flat_map(|row| &row.results).copied().collect();
    let lines = fit_lines(&derived);
    text.extend(lines.iter().map(|line| page.hanging("", line)));
    text
}

/// The columns that fit the page.
fn columns(rows: &[&Row], notes: &Footnotes, page: &Page) -> Vec<Column> {
    let results = |metric: &str| -> Vec<Option<&CaseResult>> {
        rows.iter().map(|row| row.by_name(metric)).collect()
    };
    let shown = |result: &Option<&CaseResult>| result.map(value_cell);
    let (times, rates) = (results(COST), results(RATE.name));
    let mut columns = vec![
        Column::figures("at once", rows.iter().map(|row| param(row, "degree"))),
        Column::figures("elapsed", times.iter().map(shown)),
    ];
    columns.extend(intervals(&times, page));
    columns.push(Column::narrow("rate\n(jobs/s)", rates.iter().map(shown)));
    let speed_ups = speed_ups(rows, &times);
    let speed_up = |ratio: &Option<f64>| ratio.map(|ratio| Cell::number(ratio_text(ratio)));
    columns.push(Column::figures("speed-up", speed_ups.iter().map(speed_up)));
    columns.push(notes.column(rows.iter().map(|row| row.reasons())));
    columns.retain(|column| !column.is_blank());
    let room = page.table_width().saturating_sub(grid::total_width(&columns) + BAR_GAP);
    if room >= NARROWEST_BAR {
        columns.push(bars(&speed_ups, room.min(WIDEST_BAR), page));
    }
    columns
}

/// The speedup relative to degree 1.
fn speed_ups(rows: &[&Row], times: &[Option<&CaseResult>]) -> Vec<Option<f64>> {
    let median = |time: &Option<&CaseResult>| Some(measured((*time)?)?.median).filter(|m| *m > 0.0);
    let alone = rows.iter().position(|row| param(row, "degree") == "1");
    let alone = alone.and_then(|at| median(&times[at]));
    times.iter().map(|time| Some(alone? / median(time)?)).collect()
}

fn bars(speed_ups: &[Option<f64>], width: usize, page: &Page) -> Column {
    let most = speed_ups.iter().flatten().copied().fold(0.0, f64::max);
    let picture = |ratio: &Option<f64>| ratio.map(|ratio| bar(ratio / most, width, page.unicode));
    Column::words("", speed_ups.iter().map(picture))
}

/// Lines with the parameters of Amdahl's law and of the Universal Scalability Law, if they were fitted.
fn fit_lines(derived: &[&CaseResult]) -> Vec<String> {
    let laws = [
        ("Amdahl", &[AMDAHL_SERIAL.name][..]),
        ("USL", &[USL_CONTENTION.name, USL_COHERENCE.name, USL_KNEE.name]),
    ];
    let lines = laws.iter().filter_map(|(law, metrics)| {
        let of = |metric: &&str| derived.iter().copied().find(|r| r.metric == *metric);
        let results: Vec<&CaseResult> = metrics.iter().filter_map(of).collect();
        let shown: Vec<String> = results.iter().map(|result| parameter(result)).collect();
        (!shown.is_empty()).then(|| format!("{law}: {}{}", shown.join(", "), doubts(&results)))
    });
    lines.collect()
}

/// A parameter of a law with its name, or the reason why it is missing.
fn parameter(result: &CaseResult) -> String {
    match (result.metric.as_str(), measured(result)) {
        (metric, Some(_)) if metric == AMDAHL_SERIAL.name => format!("{} serial", said(result)),
        (metric, _) if metric == USL_CONTENTION.name => format!("contention {}", said(result)),
        (metric, _) if metric == USL_COHERENCE.name => format!("coherence {}", said(result)),
        (metric, Some(e)) if metric == USL_KNEE.name => {
            let [mid, low, high] = [e.median, e.low, e.high].map(|degree| format!("{degree:.0}"));
            format!("knee at {mid} ({low} to {high}) at once")
        }
        (metric, None) if metric == USL_KNEE.name => format!("no knee ({})", no_figure(result)),
        _ => said(result),
    }
}

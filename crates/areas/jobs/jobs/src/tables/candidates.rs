//! `concurrency/answer`: the candidates for the user's jobs, one row each.

use crate::metrics::{FOREGROUND_DELAY_P90, TURNAROUND, TURNAROUND_WORST};
use results::CaseResult;

use super::shape::{ANSWER, Group, grouped, param};
use super::side_by_side::{intervals, value_cell};
use report::footnotes::{Footnotes, Reason};
use report::grid::{self, Column};
use report::labels::{self, Label, Param};
use report::names;
use report::page::Page;
use report::rows::{COST, Row};

/// Parameters in which candidates for the same jobs differ.
const OF_CANDIDATES: [&str; 3] = ["executor", "degree", "order"];

/// Metrics with their headings, the most important one first.
const HEADINGS: [(&str, &str); 4] = [
    (COST, "elapsed"),
    (TURNAROUND.name, "turnaround"),
    (TURNAROUND_WORST.name, "worst"),
    (FOREGROUND_DELAY_P90.name, "delay"),
];

/// Tables of `rows`, one per list of jobs.
pub(crate) fn tables(rows: &[&Row], page: &Page) -> String {
    let groups = grouped(rows.iter().copied(), &OF_CANDIDATES);
    let of_group = |group: &Group| {
        let jobs = group.params.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let title = labels::title(ANSWER, &jobs.collect::<Vec<Param>>());
        page.heading(&title) + &table(&group.rows, page) + "\n"
    };
    groups.iter().map(of_group).collect()
}

fn table(rows: &[&Row], page: &Page) -> String {
    let reasons: Vec<Vec<Reason>> = rows.iter().map(|row| row.reasons()).collect();
    let notes = Footnotes::of(&reasons);
    let labels: Vec<Label> = rows.iter().map(|row| label(row)).collect();
    // A narrow page shows fewer intervals, so that each candidate fits one line, and fewer metrics if names cannot be wrapped
    // enough.
    let with = |(with_interval, headings): (&[&str], &[(&str, &str)])| {
        let mut columns = figures(rows, headings, with_interval, page);
        columns.extend(notes.column(&reasons).unless_blank());
        columns
    };
    let room = |columns: &[Column]| page.table_width().saturating_sub(grid::total_width(columns));
    let fewer = (1..=HEADINGS.len()).rev().map(|count| (&[][..], &HEADINGS[..count]));
    let with_intervals = [&[COST, TURNAROUND.name][..], &[COST]].map(|some| (some, &HEADINGS[..]));
    let choices: Vec<Vec<Column>> = with_intervals.into_iter().chain(fewer).map(with).collect();
    let on_one_line = |columns: &&Vec<Column>| names::apart("", &labels, room(columns)).is_some();
    let wrapped = |columns: &&Vec<Column>| {
        let room = room(columns);
        names::least_width(&names::columns("", &labels, room)) <= room
    };
    let roomy = choices.iter().take(3).find(on_one_line);
    let fitting = roomy.or_else(|| choices.iter().skip(2).find(wrapped)).or(choices.last());
    let columns = fitting.cloned().unwrap_or_default();
    let names = names::columns("", &labels, room(&columns));
    grid::table(names.into_iter().chain(columns).collect(), page) + &notes.lines(page)
}

/// Columns of the candidates' figures, with the intervals of some metrics.
fn figures(
    rows: &[&Row],
    headings: &[(&str, &str)],
    with_interval: &[&str],
    page: &Page,
) -> Vec<Column> {
    let mut columns = Vec::new();
    for &(metric, heading) in headings {
        let results: Vec<Option<&CaseResult>> =
            rows.iter().map(|row| row.by_name(metric)).collect();
        let cells = results.iter().map(|result| result.map(value_cell));
        columns.extend(Column::figures(heading, cells).unless_blank());
        if with_interval.contains(&metric) {
            columns.extend(intervals(&results, page));
        }
    }
    columns
}

/// Label of a candidate: its executor, degree and order.
fn label(row: &Row) -> Label {
    let params = ["degree", "order"].map(|key| (key.to_owned(), param(row, key).to_owned()));
    let name = param(row, "executor").to_owned();
    Label { area: String::new(), name, params: params.into() }
}

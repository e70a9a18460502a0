//! `concurrency/worth`: the job length from which an executor pays off.

use super::derived::{doubts, said};
use super::shape::{Group, ORDER, grouped, is_derived, length_words, options_words, param};
use super::side_by_side::{SideBySide, missing_lines};
use report::grid::Column;
use report::page::Page;
use report::rows::{Row, measured};

/// Tables of `rows`, one per number of jobs and degree, with the crossing points.
pub(crate) fn tables(rows: &[&Row], page: &Page) -> String {
    let groups = grouped(rows.iter().copied(), &["executor", "length"]);
    groups.iter().map(|group| table(group, page) + "\n").collect()
}

/// Title of a table: `64 CPU-bound jobs, at most 2 at once`.
pub(crate) fn title(group: &Group) -> String {
    format!("{} CPU-bound jobs, at most {} at once", group.param("jobs"), group.param("degree"))
        + &options_words(group)
}

fn table(group: &Group, page: &Page) -> String {
    let (derived, cases): (Vec<&Row>, Vec<&Row>) =
        group.rows.iter().partition(|row| row.results.iter().any(|result| is_derived(result)));
    let title = format!("concurrency/worth: {}", title(group));
    let side_by_side = SideBySide::of(&cases, &["length"]);
    let lengths = side_by_side.keys(0).into_iter().map(length_words);
    let keys = [Column::figures("length", lengths)];
    page.heading(&title)
        + &side_by_side.print(&keys, page).text
        + &shortest(&derived, page)
        + &missing_lines(&cases, page)
}

/// Lines with the job length from which each executor pays off, or the reason why it is unknown.
fn shortest(derived: &[&Row], page: &Page) -> String {
    let mut known = Vec::new();
    let mut unknown = Vec::new();
    for executor in ORDER.values(derived, "executor") {
        let of_it = derived.iter().filter(|row| param(row, "executor") == executor);
        for result in of_it.flat_map(|row| &row.results) {
            match measured(result) {
                Some(_) => {
                    known.push(format!("{executor} {}{}", said(result), doubts(&[result])));
                }
                None => unknown.push(format!("{executor}: {}", said(result))),
            }
        }
    }
    let mut lines = Vec::new();
    if !known.is_empty() {
        lines.push(format!("shortest job that pays off: {}", known.join(", ")));
    }
    lines.extend(unknown);
    lines.into_iter().map(|line| page.hanging("", &line)).collect()
}

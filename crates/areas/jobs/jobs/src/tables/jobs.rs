//! `concurrency/jobs`: the executors side by side for the same lists of jobs.

use super::shape::{
    Group, JOBS, cpus_words, grouped, kind_words, length_words, options_words, order_words,
};
use super::side_by_side::{SideBySide, missing_lines};
use crate::metrics::{FOREGROUND_DELAY_P90, OVERHEAD, WORK_ERROR};
use measure::Metric;
use report::grid::{Cell, Column};
use report::page::{Ink, Page};
use report::quantity::figure;
use report::rows::{Row, measured};
use report::text;

/// Tables of `rows`, one per kind of jobs, CPUs, order and degree.
pub(crate) fn tables(rows: &[&Row], page: &Page) -> String {
    let groups = grouped(rows.iter().copied(), &["executor", "base", "jobs"]);
    let mut text: String = groups.iter().map(|group| table(group, page) + "\n").collect();
    if let Some(line) = accuracy(rows) {
        text.push_str(&(page.hanging("", &line) + "\n"));
    }
    text
}

/// Title of a table: `CPU-bound jobs on one CPU, longest first, at most 25 at once`. `order` is the word before the order.
pub(crate) fn title(group: &Group, order: &str) -> String {
    let of = |key| group.param(key);
    let (kind, cpus) = (kind_words(of("kind")), cpus_words(of("cpus")));
    let order = format!("{order}{}", order_words(of("order")));
    let options = options_words(group);
    format!("{kind} {cpus}, {order}, at most {} at once{options}", of("degree"))
}

fn table(group: &Group, page: &Page) -> String {
    let titles = ["handed out ", ""].map(|order| format!("{JOBS}: {}", title(group, order)));
    let fits = |title: &&String| text::width(title) <= page.prose_width();
    let title = titles.iter().find(fits).unwrap_or(&titles[1]);
    let side_by_side = SideBySide::of(&group.rows, &["base", "jobs"]);
    let bases = side_by_side.keys(0);
    let repeats = |at: usize| at > 0 && bases[at - 1] == bases[at];
    let base = |(at, base): (usize, &&str)| {
        Cell::inked(length_words(base), if repeats(at) { Ink::Faint } else { Ink::Plain })
    };
    let keys = [
        Column::figures("base", bases.iter().enumerate().map(base)),
        Column::figures("jobs", side_by_side.keys(1)),
    ];
    let printed = side_by_side.print(&keys, page);
    let mut text = page.heading(title) + &printed.text;
    if !printed.tells_overhead {
        let what = "over an ideal schedule (median)";
        text.push_str(&medians_line(&side_by_side, &OVERHEAD, what, share_words, page));
    }
    let what = "wake-up delay of the foreground task, 90 % of its wake-ups (median)";
    let time = |ns: f64| figure(ns, 0.05 * ns, FOREGROUND_DELAY_P90.unit).to_string();
    text.push_str(&medians_line(&side_by_side, &FOREGROUND_DELAY_P90, what, time, page));
    text + &missing_lines(&group.rows, page)
}

/// A line with a metric of each executor, as the median over the lists of jobs; empty if none has it.
fn medians_line(
    side_by_side: &SideBySide,
    metric: &Metric,
    what: &str,
    in_words: impl Fn(f64) -> String,
    page: &Page,
) -> String {
    let shown = |executor: &str| {
        let median = median(side_by_side.medians(executor, metric.name))?;
        Some(format!("{executor} {}", in_words(median)))
    };
    let shown: Vec<String> = side_by_side.executors().into_iter().filter_map(shown).collect();
    match shown.is_empty() {
        true => String::new(),
        false => page.hanging("", &format!("{what}: {}", shown.join(", "))),
    }
}

/// A line with the deviation of the jobs' calibrated work from the requested CPU time.
fn accuracy(rows: &[&Row]) -> Option<String> {
    let errors = rows.iter().flat_map(|row| &row.results).filter(|r| r.metric == WORK_ERROR.name);
    let errors: Vec<f64> =
        errors.filter_map(|result| Some(measured(result)?.median.abs())).collect();
    let worst = errors.iter().copied().fold(0.0, f64::max);
    let median = median(errors)?;
    Some(format!(
        "CPU time of the jobs deviates from the requested one by {} (median over cells), at most {}",
        share_words(median),
        share_words(worst)
    ))
}

/// A share as text: `0.4 %`, with tenths where they matter.
fn share_words(share: f64) -> String {
    let decimals = if share.abs() < 0.0995 { 1 } else { 0 };
    let percent = format!("{:.decimals$}", share * 100.0);
    // Minus zero is shown as zero.
    format!("{} %", if percent == "-0.0" { "0.0" } else { &percent })
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    (!values.is_empty()).then(|| measure::stats::median(&mut values))
}

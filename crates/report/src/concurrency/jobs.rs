//! `concurrency/jobs`: the executors side by side for the same lists of jobs.

use crate::concurrency::shape::{
    Group, JOBS, cpus_words, grouped, kind_words, length_words, options_words, order_words,
};
use crate::concurrency::side_by_side::{SideBySide, measured, missing_lines};
use crate::grid::{Cell, Column};
use crate::page::{Ink, Page};
use crate::quantity::figure;
use crate::rows::Row;
use crate::text;
use cases::concurrency::metrics::{FOREGROUND_DELAY_P90, OVERHEAD, WORK_ERROR};

/// The tables of `rows`, one per kind of jobs, CPUs, order and degree.
pub(crate) fn tables(rows: &[&Row], page: &Page) -> String {
    let groups = grouped(rows.iter().copied(), &["executor", "base", "jobs"]);
    let mut text: String = groups.iter().map(|group| table(group, page) + "\n").collect();
    if let Some(line) = accuracy(rows) {
        text.push_str(&(text::hanging("", &line, page.prose_width()) + "\n"));
    }
    text
}

/// `CPU-bound jobs on one CPU, longest first, at most 25 at once`; `order` is the word before the order.
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
    let jobs = side_by_side.keys(1).into_iter().map(Cell::text).collect();
    let keys = [
        Column::figures("base", bases.iter().enumerate().map(base).collect()),
        Column::figures("jobs", jobs),
    ];
    let printed = side_by_side.print(&keys, page);
    let overheads = (!printed.tells_overhead).then(|| overheads(&side_by_side)).flatten();
    let overheads =
        overheads.map(|line| text::hanging("", &line, page.prose_width())).unwrap_or_default();
    page.prose(Ink::Heading, title)
        + &printed.text
        + &overheads
        + &foreground_delays(&side_by_side, page)
        + &missing_lines(&group.rows, page)
}

/// The overhead of each executor relative to an ideal schedule, as the median over the lines.
fn overheads(side_by_side: &SideBySide) -> Option<String> {
    let shown = |executor: &str| {
        let median = median(side_by_side.medians(executor, OVERHEAD.name))?;
        Some(format!("{executor} {}", share_words(median)))
    };
    let shown: Vec<String> = side_by_side.executors().into_iter().filter_map(shown).collect();
    (!shown.is_empty()).then(|| format!("over an ideal schedule (median): {}", shown.join(", ")))
}

/// The wake-up delay of the foreground task with each executor, as the median over the lines.
fn foreground_delays(side_by_side: &SideBySide, page: &Page) -> String {
    let shown = |executor: &str| {
        let delay = median(side_by_side.medians(executor, FOREGROUND_DELAY_P90.name))?;
        Some(format!("{executor} {}", figure(delay, 0.05 * delay, FOREGROUND_DELAY_P90.unit)))
    };
    let shown: Vec<String> = side_by_side.executors().into_iter().filter_map(shown).collect();
    if shown.is_empty() {
        return String::new();
    }
    let line = format!(
        "wake-up delay of the foreground task, 90 % of its wake-ups (median): {}",
        shown.join(", ")
    );
    text::hanging("", &line, page.prose_width())
}

/// The deviation of the jobs' calibrated work from the requested CPU time.
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

/// `0.4 %`, to tenths where they matter.
fn share_words(share: f64) -> String {
    let decimals = if share.abs() < 0.0995 { 1 } else { 0 };
    let percent = format!("{:.decimals$}", share * 100.0);
    // Minus zero is shown as zero.
    format!("{} %", if percent == "-0.0" { "0.0" } else { &percent })
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    (!values.is_empty()).then(|| measure::stats::median(&mut values))
}

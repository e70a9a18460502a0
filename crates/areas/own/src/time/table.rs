//! The table of timed commands: a line for each.

use measure::TIME;
use report::grid::{Cell, Column, table};
use report::page::{Ink, Page};
use report::quantity::{figure, format_per_op_briefly, interval_figure, measured_half_width};
use results::{CaseResult, Outcome};

use super::command::{CASE_NAME, COMMAND, PREPARE};
use super::lines::shortened;
use super::metrics;

/// Relative precision of single runs' times.
const OF_ONE: f64 = 0.005;

/// A line for each command, and what is to be said about them below; `None` without commands.
pub fn commands_table(results: &[CaseResult], page: &Page) -> Option<String> {
    let is_time = |result: &&CaseResult| result.case == CASE_NAME && result.metric == TIME.name;
    let times: Vec<&CaseResult> = results.iter().filter(is_time).collect();
    if times.is_empty() {
        return None;
    }
    let measured: Vec<&CaseResult> =
        times.iter().copied().filter(|time| time.outcome == Outcome::Measured).collect();
    let mut text = String::new();
    if !measured.is_empty() {
        text.push_str(&table(columns(&measured, results), page));
    }
    for time in &times {
        let mut said: Vec<String> = time.doubts.iter().map(ToString::to_string).collect();
        if time.outcome != Outcome::Measured {
            let reason = time.reason.clone().unwrap_or_default();
            said.push(format!("{}: {reason}", time.outcome.word()));
        }
        for sentence in said {
            let line = format!("{}: {sentence}", name(time));
            text.push_str(&page.paint_lines(Ink::Doubt, &page.hanging("", &line)));
        }
    }
    Some(page.signs(&text))
}

fn name(time: &CaseResult) -> String {
    let line = time.params.get(COMMAND).map_or("", String::as_str);
    match time.params.get(PREPARE) {
        Some(prepare) => format!("{} (after {})", shortened(line), shortened(prepare)),
        None => shortened(line),
    }
}

fn columns(times: &[&CaseResult], results: &[CaseResult]) -> Vec<Column> {
    let of = |time: &CaseResult, metric: &str| {
        let is_it = |other: &&CaseResult| other.params == time.params && other.metric == metric;
        results.iter().filter(|other| other.case == CASE_NAME).find(is_it).and_then(|r| r.estimate)
    };
    let median = times.iter().map(|time| {
        let estimate = time.estimate?;
        let half = measured_half_width(estimate.median, estimate.low, estimate.high);
        Some(Cell::figure(figure(estimate.median, half, "ns")))
    });
    let interval = times.iter().map(|time| {
        let estimate = time.estimate?;
        let ink = if time.converged == Some(false) { Ink::Doubt } else { Ink::Plain };
        let few = || Cell::inked("few runs", Ink::Doubt);
        let figure = interval_figure(estimate.median, estimate.low, estimate.high);
        Some(figure.map_or_else(few, |figure| Cell::figure(figure).in_ink(ink)))
    });
    let of_run = |select: fn(&results::Distribution) -> f64| {
        let cell = move |time: &&CaseResult| {
            let ns = select(time.seen.as_ref()?);
            Some(Cell::figure(figure(ns, ns * OF_ONE, "ns")))
        };
        times.iter().map(cell).collect::<Vec<_>>()
    };
    let metric = |metric: &measure::Metric| {
        let cell = |time: &&CaseResult| {
            let estimate = of(time, metric.name)?;
            let half = (estimate.median * 0.01).max(estimate.high - estimate.low);
            Some(Cell::figure(figure(estimate.median, half, metric.unit)))
        };
        times.iter().map(cell).collect::<Vec<_>>()
    };
    let calls = times.iter().map(|time| {
        let calls = time.per_op.as_ref()?.syscalls?;
        Some(Cell::number(format_per_op_briefly(calls)))
    });
    let runs = times.iter().map(|time| Cell::number(time.samples.to_string()));
    let columns = vec![
        Column::names("command", times.iter().map(|time| Cell::text(name(time)))),
        Column::set_right("time", median),
        Column::set_right("±", interval).close(),
        Column::set_right("fastest", of_run(|seen| seen.min)),
        Column::set_right("p95", of_run(|seen| seen.p95)).close(),
        Column::set_right("CPU", metric(&metrics::CPU)),
        Column::set_right("memory", metric(&metrics::MAX_RESIDENT)),
        Column::set_right("calls", calls),
        Column::set_right("runs", runs),
    ];
    columns.into_iter().filter_map(Column::unless_blank).collect()
}

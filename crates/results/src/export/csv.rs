//! CSV (RFC 4180): one row for each metric of each case.

use std::iter;

use csv::{Terminator, WriterBuilder};

use super::format::{Extent, TextFormat};
use crate::document::{CaseResult, Distribution, Document, Estimate, NextRun, Outcome, PerOp};

/// A column: its heading, and its cell for a result, which is empty if the result has no such figure.
type Column = (&'static str, fn(&CaseResult) -> String);

/// The columns after the run's id.
const COLUMNS: [Column; 41] = [
    ("case", |of| of.case.clone()),
    ("params", params),
    ("metric", |of| of.metric.clone()),
    ("unit", |of| of.unit.clone()),
    ("better", |of| of.better.word().to_owned()),
    ("outcome", |of| of.outcome.word().to_owned()),
    ("reason", |of| of.reason.clone().unwrap_or_default()),
    ("median", |of| estimate(of, |e| e.median)),
    ("low", |of| estimate(of, |e| e.low)),
    ("high", |of| estimate(of, |e| e.high)),
    ("level", |of| estimate(of, |e| e.level)),
    ("min", |of| seen(of, |s| s.min)),
    ("p5", |of| seen(of, |s| s.p5)),
    ("p25", |of| seen(of, |s| s.p25)),
    ("p50", |of| seen(of, |s| s.p50)),
    ("p75", |of| seen(of, |s| s.p75)),
    ("p95", |of| seen(of, |s| s.p95)),
    ("p99", |of| seen(of, |s| s.p99)),
    ("mean", |of| seen(of, |s| s.mean)),
    ("quiet_share", |of| figure(of, |of| of.quiet_share)),
    ("rounds", |of| figure(of, |of| Some(of.rounds))),
    ("samples", |of| figure(of, |of| Some(of.samples))),
    ("converged", |of| figure(of, |of| of.converged)),
    ("syscalls", |of| per_op(of, |n| n.syscalls)),
    ("voluntary_switches", |of| per_op(of, |n| n.voluntary_switches)),
    ("involuntary_switches", |of| per_op(of, |n| n.involuntary_switches)),
    ("page_faults", |of| per_op(of, |n| n.page_faults)),
    ("instructions", |of| per_op(of, |n| n.instructions)),
    ("cycles", |of| per_op(of, |n| n.cycles)),
    ("doubts", CaseResult::doubts_in_words),
    ("core_cycles", |of| figure(of, |of| Some(of.cycles?.median))),
    ("core_cycles_low", |of| figure(of, |of| Some(of.cycles?.low).filter(|low| low.is_finite()))),
    ("core_cycles_high", |of| {
        figure(of, |of| Some(of.cycles?.high).filter(|high| high.is_finite()))
    }),
    ("host_syscalls", |of| per_op(of, |n| n.host_syscalls)),
    ("host_switches", |of| per_op(of, |n| n.host_switches)),
    ("host_ptrace_stops", |of| per_op(of, |n| n.host_ptrace_stops)),
    ("next_low", |of| next_run(of, |next| next.low)),
    ("next_high", |of| next_run(of, |next| next.high)),
    ("next_visits", |of| figure(of, |of| Some(of.next_run?.visits))),
    ("machine_low", |of| figure(of, |of| Some(of.this_machine?.low))),
    ("machine_high", |of| figure(of, |of| Some(of.this_machine?.high))),
];

/// The reason why the writer cannot fail: all rows have as many fields as the header.
const IN_MEMORY: &str = "writing to memory cannot fail";

/// The CSV format.
pub const FORMAT: TextFormat = TextFormat {
    name: "csv",
    about: "One row for each metric of each case",
    extent: Extent::All,
    write: to_csv,
};

/// The results as CSV with a header line; lines end with CR LF (RFC 4180).
///
/// A result that was not measured has its outcome and reason, and empty figures: never a zero.
pub fn to_csv(document: &Document) -> String {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    let headings = COLUMNS.iter().map(|(heading, _)| *heading);
    writer.write_record(iter::once("run").chain(headings)).expect(IN_MEMORY);
    for result in &document.results {
        let result = result.sound();
        let cells = COLUMNS.iter().map(|(_, cell)| as_text(cell(&result)));
        writer.write_record(iter::once(document.run.id.clone()).chain(cells)).expect(IN_MEMORY);
    }
    let bytes = writer.into_inner().expect(IN_MEMORY);
    String::from_utf8(bytes).expect("all fields are text")
}

/// The cell, with an apostrophe before a text that spreadsheets would take for a formula: what a document says is not executed.
fn as_text(cell: String) -> String {
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_formula && cell.parse::<f64>().is_err() { format!("'{cell}") } else { cell }
}

fn params(of: &CaseResult) -> String {
    let params: Vec<String> = of.params.iter().map(|(k, v)| format!("{k}={v}")).collect();
    params.join(";")
}

/// The value as text; empty for a result that was not measured.
fn figure<T: ToString>(of: &CaseResult, value: impl Fn(&CaseResult) -> Option<T>) -> String {
    let value = Some(of).filter(|of| of.outcome == Outcome::Measured).and_then(value);
    value.map_or_else(String::new, |value| value.to_string())
}

fn estimate(of: &CaseResult, part: fn(Estimate) -> f64) -> String {
    figure(of, |of| of.estimate.map(part).filter(|number| number.is_finite()))
}

fn next_run(of: &CaseResult, part: fn(NextRun) -> f64) -> String {
    figure(of, |of| of.next_run.map(part))
}

fn seen(of: &CaseResult, part: fn(Distribution) -> f64) -> String {
    figure(of, |of| of.seen.map(part))
}

fn per_op(of: &CaseResult, count: fn(&PerOp) -> Option<f64>) -> String {
    figure(of, |of| count(of.per_op.as_ref()?))
}

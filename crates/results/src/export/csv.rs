//! CSV (RFC 4180): one row for each metric of each case.

use csv::{Terminator, WriterBuilder};

use super::format::TextFormat;
use crate::document::{CaseResult, Direction, Document, Outcome};

const HEADER: [&str; 37] = [
    "run",
    "case",
    "params",
    "metric",
    "unit",
    "better",
    "outcome",
    "reason",
    "median",
    "low",
    "high",
    "level",
    "min",
    "p5",
    "p25",
    "p50",
    "p75",
    "p95",
    "p99",
    "mean",
    "quiet_share",
    "rounds",
    "samples",
    "converged",
    "syscalls",
    "voluntary_switches",
    "involuntary_switches",
    "page_faults",
    "instructions",
    "cycles",
    "doubts",
    "core_cycles",
    "core_cycles_low",
    "core_cycles_high",
    "host_syscalls",
    "host_switches",
    "host_ptrace_stops",
];

/// Why the writer cannot fail: all rows have as many fields as the header.
const IN_MEMORY: &str = "writing to memory cannot fail";

/// CSV.
pub const FORMAT: TextFormat =
    TextFormat { name: "csv", about: "One row for each metric of each case", write: to_csv };

/// The results as CSV with a header line; lines end with CR LF (RFC 4180).
///
/// A result that was not measured has its outcome and reason, and empty figures: never a zero.
pub fn to_csv(document: &Document) -> String {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(HEADER).expect(IN_MEMORY);
    for result in &document.results {
        let result = result.sound();
        let mut row = identity(&document.run.id, &result);
        row.extend(figures(&result).into_iter().map(Option::unwrap_or_default));
        row.push(result.doubts_in_words());
        row.extend(core_cycles(&result).map(Option::unwrap_or_default));
        row.extend(host_counts(&result).map(Option::unwrap_or_default));
        debug_assert_eq!(row.len(), HEADER.len());
        writer.write_record(row).expect(IN_MEMORY);
    }
    let bytes = writer.into_inner().expect(IN_MEMORY);
    String::from_utf8(bytes).expect("all fields are text")
}

fn identity(run: &str, result: &CaseResult) -> Vec<String> {
    let params: Vec<String> = result.params.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let better = match result.better {
        Direction::Lower => "lower",
        Direction::Higher => "higher",
        Direction::Neither => "neither",
    };
    vec![
        run.to_owned(),
        result.case.clone(),
        params.join(";"),
        result.metric.clone(),
        result.unit.clone(),
        better.to_owned(),
        result.outcome.word().to_owned(),
        result.reason.clone().unwrap_or_default(),
    ]
}

/// The columns between `reason` and `doubts`; `None` is an empty cell.
fn figures(result: &CaseResult) -> [Option<String>; 22] {
    if result.outcome != Outcome::Measured {
        return [const { None }; 22];
    }
    let number = |value: Option<f64>| value.map(|value| value.to_string());
    let (estimate, seen) = (result.estimate, result.seen);
    let per_op = result.per_op.clone().unwrap_or_default();
    [
        number(estimate.map(|e| e.median)),
        number(estimate.map(|e| e.low)),
        number(estimate.map(|e| e.high)),
        number(estimate.map(|e| e.level)),
        number(seen.map(|s| s.min)),
        number(seen.map(|s| s.p5)),
        number(seen.map(|s| s.p25)),
        number(seen.map(|s| s.p50)),
        number(seen.map(|s| s.p75)),
        number(seen.map(|s| s.p95)),
        number(seen.map(|s| s.p99)),
        number(seen.map(|s| s.mean)),
        number(result.quiet_share),
        Some(result.rounds.to_string()),
        Some(result.samples.to_string()),
        result.converged.map(|converged| converged.to_string()),
        number(per_op.syscalls),
        number(per_op.voluntary_switches),
        number(per_op.involuntary_switches),
        number(per_op.page_faults),
        number(per_op.instructions),
        number(per_op.cycles),
    ]
}

/// The columns after `doubts`: new columns are only added at the end.
fn core_cycles(result: &CaseResult) -> [Option<String>; 3] {
    let cycles = result.cycles;
    [cycles.map(|c| c.median), cycles.map(|c| c.low), cycles.map(|c| c.high)]
        .map(|value| value.map(|value| value.to_string()))
}

fn host_counts(result: &CaseResult) -> [Option<String>; 3] {
    let per_op = result.per_op.as_ref().filter(|_| result.outcome == Outcome::Measured);
    let counts = per_op.map_or([None; 3], |per_op| {
        [per_op.host_syscalls, per_op.host_switches, per_op.host_ptrace_stops]
    });
    counts.map(|count| count.map(|count| count.to_string()))
}

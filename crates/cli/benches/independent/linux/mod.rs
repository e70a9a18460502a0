//! The comparison: arguments, turns, the table and the exit code.

mod arguments;
mod calls;
mod explanations;
mod figure;
mod lengths;
mod operation;
mod operations;
mod plain;
mod ratio;
mod setting;
mod sysv;
mod table;
mod tasks;
mod workers;

use std::process::ExitCode;

use anyhow::Context;

use arguments::{Arguments, Mode};
use explanations::Explanation;
use figure::Oscost;
use operation::Operation;
use ratio::Ratio;
use table::{Outcome, Row, Turn};

/// Exit codes: a ratio differs from 1 by more than 5 % and is not explained; an operation could not be measured.
const UNEXPLAINED: u8 = 1;
const NOT_MEASURED: u8 = 3;

/// Measures the operations that the arguments select, and prints the table. A child process runs one plain loop.
pub fn main() -> ExitCode {
    let done = match Arguments::parse().mode() {
        Mode::PlainLoop { name, awake } => {
            plain::run_here(&name, awake).map(|()| ExitCode::SUCCESS)
        }
        Mode::List(operations) => {
            operations.iter().for_each(|operation| println!("{operation}"));
            Ok(ExitCode::SUCCESS)
        }
        Mode::Lengths { turns, json } => lengths::compare(turns, json.as_deref()),
        Mode::Compare { operations, turns, awake, json } => {
            compare(&operations, turns, awake, json.as_deref())
        }
    };
    done.unwrap_or_else(|error| {
        eprintln!("independent: {error:#}");
        ExitCode::from(2)
    })
}

fn compare(
    operations: &[&'static Operation],
    turns: usize,
    awake: bool,
    json: Option<&std::path::Path>,
) -> anyhow::Result<ExitCode> {
    let explanations = explanations::all()?;
    for explanation in &explanations {
        let of_none = !operations::all().any(|operation| is_about(explanation, operation));
        anyhow::ensure!(!of_none, "explanations.toml: {} is no operation", explanation.case);
    }
    plain::end_loops_with_this_process().context("handling signals")?;
    note_load();
    let oscost = Oscost::new()?;
    let mut rows = Vec::new();
    for (at, &operation) in operations.iter().enumerate() {
        eprintln!("{} of {}: {operation}", at + 1, operations.len());
        let outcome = match measure(operation, turns, awake, &oscost) {
            Ok(measured) => judge(operation, measured, &explanations),
            Err(error) => Outcome::NotMeasured(format!("{error:#}")),
        };
        rows.push(Row { operation, outcome });
    }
    table::print(&rows);
    if let Some(path) = json {
        let document = serde_json::to_string_pretty(&table::document(&rows))?;
        std::fs::write(path, document + "\n").with_context(|| path.display().to_string())?;
    }
    let any = |is: fn(&Outcome) -> bool| rows.iter().any(|row| is(&row.outcome));
    Ok(if any(Outcome::is_unexplained) {
        ExitCode::from(UNEXPLAINED)
    } else if any(|outcome| matches!(outcome, Outcome::NotMeasured(_))) {
        ExitCode::from(NOT_MEASURED)
    } else {
        ExitCode::SUCCESS
    })
}

/// Prints a note if other programs run: they slow the plain loops down, but not the figures of quiet samples.
fn note_load() {
    const AT_MOST: f64 = 0.5;
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = text.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0);
    if load > AT_MOST {
        eprintln!(
            "independent: the load was {load} in the last minute: the table may show other programs"
        );
    }
}

/// Measures both in each turn, in alternating order, so that a drift of the machine affects both alike.
fn measure(
    operation: &'static Operation,
    turns: usize,
    awake: bool,
    oscost: &Oscost,
) -> anyhow::Result<Vec<Turn>> {
    let turn = |number: usize| {
        let own = || oscost.figure(operation).context("oscost");
        let other = || plain::run_in_child(operation, awake).context("the plain loop");
        // The fields are evaluated in the order in which they stand here.
        Ok(match number.is_multiple_of(2) {
            true => Turn { plain: other()?, oscost: own()? },
            false => Turn { oscost: own()?, plain: other()? },
        })
    };
    (0..turns).map(turn).collect()
}

fn judge(operation: &Operation, turns: Vec<Turn>, explanations: &[Explanation]) -> Outcome {
    let of = |figure: fn(&Turn) -> f64| {
        Ratio::of(&turns.iter().map(|turn| (figure(turn), turn.plain.ns)).collect::<Vec<_>>())
    };
    let ratio = of(|turn| turn.oscost.ns);
    let mean = of(|turn| turn.oscost.mean_ns.unwrap_or(turn.oscost.ns));
    let explanation = explanations.iter().find(|one| is_about(one, operation)).cloned();
    Outcome::Measured { turns, ratio, mean, explanation }
}

fn is_about(explanation: &Explanation, operation: &Operation) -> bool {
    explanation.is_about(operation.case, operation.params, operation.metric())
}

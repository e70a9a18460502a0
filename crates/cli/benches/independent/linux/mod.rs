//! The comparison: arguments, turns, the table and the exit code.

mod arguments;
mod explanations;
mod figure;
mod inside;
mod lengths;
mod modes;
mod ratio;
mod table;

use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::Context;
use loops::answer::Answer;
use loops::operation::Operation;
use loops::{child, operations, win32};
use serde_json::{Value, json};

use arguments::{Arguments, Mode};
use explanations::Explanation;
use figure::{Found, Oscost, program, static_program};
use inside::Inside;
use modes::Modes;
use ratio::{MARGIN, MARGIN_INSIDE, Ratio};
use table::{Outcome, Row, Turn};

/// Exit codes: a ratio differs from 1 by more than the margin and is not explained; an operation could not be measured.
const UNEXPLAINED: u8 = 1;
const NOT_MEASURED: u8 = 3;

/// Time besides its length after which a loop on this system is ended.
const ENDS_WITHIN: Duration = Duration::from_secs(20);

/// Measures the operations that the arguments select, and prints the table. A child process runs one plain loop.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.mode() {
        Mode::PlainLoop(ask) => loops::run(&ask, program()).map(|answer| {
            println!("{answer}");
            ExitCode::SUCCESS
        }),
        Mode::List(operations) => {
            operations.iter().for_each(|operation| println!("{operation}"));
            Ok(ExitCode::SUCCESS)
        }
        Mode::Lengths => lengths::compare(arguments.turns(), arguments.json()),
        Mode::Compare(operations) => compare_here(&operations, &arguments),
        Mode::CompareInside => compare_inside(&arguments),
    };
    done.unwrap_or_else(|error| {
        eprintln!("independent: {error:#}");
        ExitCode::from(2)
    })
}

fn compare_here(
    operations: &[&'static Operation],
    arguments: &Arguments,
) -> anyhow::Result<ExitCode> {
    let explanations = begin()?;
    let oscost = Oscost::new(program(), arguments.budget())?;
    let mut rows = Vec::new();
    for (at, &operation) in operations.iter().enumerate() {
        eprintln!("{} of {}: {operation}", at + 1, operations.len());
        let ask = arguments.ask(operation.to_string());
        let mut plain = || {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg("--plain-loop");
            child::run_in_child(command, &ask, ENDS_WITHIN + ask.length + ask.warm_up)
        };
        let turns = measure(arguments.turns(), &mut || oscost.figure(operation, None), &mut plain);
        rows.push(Row { operation, outcome: judge(operation, turns, None, &explanations) });
    }
    table::print(&rows);
    end(arguments, &rows, table::document(&rows))
}

fn compare_inside(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let explanations = begin()?;
    let oscost = static_program("OSCOST", "static/oscost", "scripts/static-build")?;
    let oscost = Oscost::new(oscost, arguments.budget())?;
    let mut systems = Vec::new();
    for text in arguments.on() {
        systems.push((text, Inside::new(text)?));
    }
    let (mut documents, mut all) = (serde_json::Map::new(), Vec::new());
    for (text, mut system) in systems {
        let operations = arguments.selected(system.operations());
        let mut rows = Vec::new();
        for (at, &operation) in operations.iter().enumerate() {
            eprintln!("{} of {}: {operation} in {}", at + 1, operations.len(), system.name());
            let ask = arguments.ask(operation.to_string());
            let own = &mut || oscost.figure(operation, Some(text.as_str()));
            let turns = measure(arguments.turns(), own, &mut || system.run(&ask));
            let outcome = judge(operation, turns, Some(system.name()), &explanations);
            rows.push(Row { operation, outcome });
        }
        table::print_inside(&system.heading(), &rows);
        documents.insert(system.name().to_owned(), table::document(&rows));
        all.extend(rows);
    }
    end(arguments, &all, json!({ "systems": documents }))
}

/// Prepares a comparison, and returns all explanations.
fn begin() -> anyhow::Result<Vec<Explanation>> {
    let explanations = explanations::all()?;
    for explanation in &explanations {
        let mut all = operations::all().chain(win32::all());
        let of_none = !all.any(|operation| is_about(explanation, operation));
        anyhow::ensure!(!of_none, "explanations.toml: {} is no operation", explanation.case);
    }
    ctrlc::set_handler(child::interrupt).context("handling signals")?;
    note_load();
    Ok(explanations)
}

/// Writes the document if that was asked for, and returns the exit code.
fn end(arguments: &Arguments, rows: &[Row], document: Value) -> anyhow::Result<ExitCode> {
    if let Some(path) = arguments.json() {
        std::fs::write(path, format!("{document}\n"))
            .with_context(|| path.display().to_string())?;
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
    turns: usize,
    oscost: &mut dyn FnMut() -> anyhow::Result<Found>,
    plain: &mut dyn FnMut() -> anyhow::Result<Answer>,
) -> anyhow::Result<Vec<Turn>> {
    let turn = |number: usize| {
        let mut own = || oscost().context("oscost");
        let mut other = || plain().context("the plain loop");
        // The fields are evaluated in the order in which they stand here.
        Ok(match number.is_multiple_of(2) {
            true => Turn { plain: other()?, oscost: own()? },
            false => Turn { oscost: own()?, plain: other()? },
        })
    };
    (0..turns).map(turn).collect()
}

/// Judges the turns in the system with this name, or in this one.
fn judge(
    operation: &Operation,
    turns: anyhow::Result<Vec<Turn>>,
    on: Option<&str>,
    explanations: &[Explanation],
) -> Outcome {
    let turns = match turns {
        Ok(turns) => turns,
        Err(error) => return Outcome::NotMeasured(format!("{error:#}")),
    };
    let of = |figure: fn(&Turn) -> f64| {
        Ratio::of(&turns.iter().map(|turn| (figure(turn), turn.plain.ns)).collect::<Vec<_>>())
    };
    let ratio = of(|turn| turn.oscost.ns);
    let mean = of(|turn| turn.oscost.mean_ns.unwrap_or(turn.oscost.ns));
    // Samples are read only where another system is compared, so modes are not told apart on this one.
    let readings = turns.iter().map(|turn| [&turn.oscost.samples[..], &turn.plain.readings]);
    let has_samples = turns.iter().all(|turn| !turn.oscost.samples.is_empty());
    let modes =
        has_samples.then(|| Modes::of(&readings.collect::<Vec<_>>())).flatten().map(Box::new);
    let is_about = |one: &&Explanation| is_about(one, operation) && one.on.as_deref() == on;
    let explanation = explanations.iter().find(is_about).cloned().map(Box::new);
    let margin = if on.is_some() { MARGIN_INSIDE } else { MARGIN };
    Outcome::Measured { turns, ratio, mean, modes, margin, explanation }
}

fn is_about(explanation: &Explanation, operation: &Operation) -> bool {
    explanation.is_about(operation.case, operation.params, operation.metric())
}

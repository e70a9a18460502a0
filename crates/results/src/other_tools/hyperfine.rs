//! The JSON of `hyperfine --export-json`, of its versions 1 and 2. It has the time of each run of a command, which is a process.

use std::collections::BTreeMap;

use measure::doubt::OtherSpread;
use measure::{Direction, Doubt};
use serde::Deserialize;
use serde_json::Value;

use super::figures::{OtherMetric, TIME, failed, of_number, of_values};
use super::format::{Reads, ToolFormat, ToolResult, ToolRun};
use super::names;
use super::number::Amount;
use crate::document::MachineFacts;
use crate::import::{ImportError, read};
use crate::point::PointKey;

/// hyperfine's JSON.
pub const FORMAT: ToolFormat =
    ToolFormat { name: "hyperfine", about: "JSON of --export-json", reads: Reads::Text(run) };

const NS: f64 = 1e9;
const USER: OtherMetric = ("user", "ns", Direction::Lower);
const SYSTEM: OtherMetric = ("system", "ns", Direction::Lower);
const MEMORY: OtherMetric = ("memory_peak_resident", "bytes", Direction::Lower);

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    metadata: Metadata,
    results: Vec<Command>,
}

/// Only version 2 writes it.
#[derive(Deserialize, Default)]
struct Metadata {
    hyperfine_version: Option<String>,
    start_time: Option<String>,
    #[serde(default)]
    platform: Platform,
}

#[derive(Deserialize, Default)]
struct Platform {
    os: Option<String>,
    architecture: Option<String>,
}

/// A command. Version 1 has times and means, version 2 measurements.
#[derive(Deserialize)]
struct Command {
    command: String,
    #[serde(default)]
    parameters: BTreeMap<String, Value>,
    #[serde(default)]
    measurements: Vec<Measurement>,
    #[serde(default)]
    times: Option<Vec<Amount>>,
    mean: Option<Amount>,
    median: Option<Amount>,
    user: Option<Amount>,
    system: Option<Amount>,
    #[serde(default)]
    exit_codes: Vec<Option<i32>>,
}

#[derive(Deserialize)]
struct Measurement {
    time_wall_clock: Quantity,
    time_user: Option<Quantity>,
    time_system: Option<Quantity>,
    memory_peak_resident: Option<Quantity>,
    exit_code: Option<i32>,
}

#[derive(Deserialize)]
struct Quantity {
    value: Amount,
}

fn run(text: &str) -> Result<ToolRun, ImportError> {
    let File { metadata, results } = read(text)?;
    let mut machine = MachineFacts::new();
    let Platform { os, architecture } = metadata.platform;
    for (key, value) in [("os", os), ("arch", architecture)] {
        if let Some(value) = value {
            machine.insert(key.to_owned(), value.into());
        }
    }
    let results = results.iter().flat_map(results_of).collect();
    Ok(ToolRun {
        version: metadata.hyperfine_version,
        started: metadata.start_time,
        machine,
        results,
        left_out: Vec::new(),
    })
}

fn results_of(command: &Command) -> Vec<ToolResult> {
    let mut point = names::point(FORMAT.name, &command.command, "command");
    for (name, value) in &command.parameters {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        point.params.entry(name.clone()).or_insert(value);
    }
    let mut results = match command.measurements.is_empty() {
        true => of_first_version(command, &point),
        false => of_second_version(command, &point),
    };
    let codes = command.measurements.iter().map(|run| run.exit_code);
    let codes: Vec<Option<i32>> = codes.chain(command.exit_codes.iter().copied()).collect();
    match results.first_mut() {
        Some(time) => time.result.doubts.extend(failures(&codes)),
        None => results.push(failed(&point, TIME, "the file has no time of it")),
    }
    results
}

fn of_second_version(command: &Command, point: &PointKey) -> Vec<ToolResult> {
    let figure = |metric, factor: f64, part: fn(&Measurement) -> Option<&Quantity>| {
        let values = command.measurements.iter().filter_map(part);
        let values = values.map(|quantity| quantity.value.0 * factor).collect();
        of_values(point, metric, values, OtherSpread::Processes)
    };
    [
        figure(TIME, NS, |run| Some(&run.time_wall_clock)),
        figure(USER, NS, |run| run.time_user.as_ref()),
        figure(SYSTEM, NS, |run| run.time_system.as_ref()),
        figure(MEMORY, 1.0, |run| run.memory_peak_resident.as_ref()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_first_version(command: &Command, point: &PointKey) -> Vec<ToolResult> {
    let times = command.times.iter().flatten().map(|time| time.0 * NS).collect();
    let number = |metric, amount: Option<Amount>| Some(of_number(point, metric, amount?.0 * NS));
    let time = of_values(point, TIME, times, OtherSpread::Processes)
        .or_else(|| number(TIME, command.median.or(command.mean)));
    let parts = [time, number(USER, command.user), number(SYSTEM, command.system)];
    parts.into_iter().flatten().collect()
}

fn failures(exit_codes: &[Option<i32>]) -> Option<Doubt> {
    let failed = exit_codes.iter().filter(|code| **code != Some(0)).count();
    let how = format!("failed in {failed} of {} runs", exit_codes.len());
    (failed > 0).then_some(Doubt::CommandFailed { how })
}

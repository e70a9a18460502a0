//! The JSON of `hyperfine --export-json`. It has the time of each run of a command, which is a process, and not hyperfine's
//! version.

use std::collections::BTreeMap;

use measure::doubt::OtherSpread;
use measure::{Direction, Doubt};
use serde::Deserialize;

use super::figures::{OtherMetric, TIME, of_number, of_values};
use super::number::Amount;
use super::{Reads, ToolFormat, ToolResult, ToolRun, names};
use crate::import::{ImportError, read};

/// hyperfine's JSON.
pub const FORMAT: ToolFormat =
    ToolFormat { name: "hyperfine", about: "JSON of --export-json", reads: Reads::Text(run) };

const NS: f64 = 1e9;
/// CPU times, of which hyperfine stores the means only.
const CPU_TIMES: [OtherMetric; 2] =
    [("user", "ns", Direction::Lower), ("system", "ns", Direction::Lower)];

#[derive(Deserialize)]
struct File {
    results: Vec<Command>,
}

#[derive(Deserialize)]
struct Command {
    command: String,
    median: Option<Amount>,
    mean: Amount,
    user: Option<Amount>,
    system: Option<Amount>,
    #[serde(default)]
    times: Option<Vec<Amount>>,
    #[serde(default)]
    exit_codes: Vec<Option<i32>>,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
}

fn run(text: &str) -> Result<ToolRun, ImportError> {
    let file: File = read(text)?;
    let results = file.results.iter().flat_map(results).collect();
    Ok(ToolRun { results, ..ToolRun::default() })
}

fn results(command: &Command) -> Vec<ToolResult> {
    let mut point = names::point(FORMAT.name, &command.command, "command");
    for (name, value) in &command.parameters {
        point.params.entry(name.clone()).or_insert_with(|| value.clone());
    }
    let times = command.times.iter().flatten().map(|time| time.0 * NS).collect();
    let mut time = of_values(&point, TIME, times, OtherSpread::Processes)
        .unwrap_or_else(|| of_number(&point, TIME, command.median.unwrap_or(command.mean).0 * NS));
    time.result.doubts.extend(failures(&command.exit_codes));
    let cpu_times = CPU_TIMES.into_iter().zip([command.user, command.system]);
    let cpu_times =
        cpu_times.filter_map(|(metric, mean)| Some(of_number(&point, metric, mean?.0 * NS)));
    std::iter::once(time).chain(cpu_times).collect()
}

fn failures(exit_codes: &[Option<i32>]) -> Option<Doubt> {
    let failed = exit_codes.iter().filter(|code| **code != Some(0)).count();
    let how = format!("failed in {failed} of {} runs", exit_codes.len());
    (failed > 0).then_some(Doubt::CommandFailed { how })
}

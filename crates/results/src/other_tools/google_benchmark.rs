//! The JSON of google-benchmark (`--benchmark_format=json`): repetitions of one process, or only their aggregates.

use std::collections::BTreeMap;

use measure::Direction;
use measure::doubt::OtherSpread;
use serde::Deserialize;
use serde_json::Value;

use super::figures::{OtherMetric, TIME, of_number, of_values, without_figure};
use super::format::{Reads, ToolFormat, ToolResult, ToolRun};
use super::names;
use super::number::Amount;
use crate::document::{MachineFacts, Outcome};
use crate::import::{ImportError, read};
use crate::point::PointKey;

/// google-benchmark's JSON.
pub const FORMAT: ToolFormat = ToolFormat {
    name: "google-benchmark",
    about: "JSON of --benchmark_format=json",
    reads: Reads::Text(run),
};

const CPU_TIME: OtherMetric = ("cpu", "ns/op", Direction::Lower);
/// Counters that the library defines.
const RATES: [(&str, OtherMetric); 2] = [
    ("bytes_per_second", ("bandwidth", "bytes/s", Direction::Higher)),
    ("items_per_second", ("rate", "items/s", Direction::Higher)),
];
/// Members of an entry that are no counters of the user.
const OWN: [&str; 5] =
    ["family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads"];

#[derive(Deserialize)]
struct File {
    context: Context,
    benchmarks: Vec<Entry>,
}

#[derive(Deserialize)]
struct Context {
    date: Option<String>,
    num_cpus: Option<u64>,
    library_version: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    run_name: Option<String>,
    run_type: Option<String>,
    aggregate_name: Option<String>,
    real_time: Option<Amount>,
    cpu_time: Option<Amount>,
    #[serde(default)]
    time_unit: TimeUnit,
    #[serde(default)]
    error_occurred: bool,
    error_message: Option<String>,
    #[serde(default)]
    skipped: bool,
    skip_message: Option<String>,
    iterations: Option<f64>,
    /// Counters among others.
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum TimeUnit {
    #[default]
    Ns,
    Us,
    Ms,
    S,
}

impl TimeUnit {
    fn ns(self) -> f64 {
        match self {
            Self::Ns => 1.0,
            Self::Us => 1e3,
            Self::Ms => 1e6,
            Self::S => 1e9,
        }
    }
}

impl Entry {
    /// Why the entry has no figures; `None` if it has some.
    fn why_none(&self) -> Option<(Outcome, String)> {
        let said = |message: &Option<String>| message.clone().unwrap_or_default();
        if self.error_occurred {
            return Some((Outcome::Failed, said(&self.error_message)));
        }
        if self.skipped {
            return Some((Outcome::Unsupported, format!("skipped: {}", said(&self.skip_message))));
        }
        let has_run = self.iterations != Some(0.0);
        (!has_run).then(|| (Outcome::Failed, "it ran 0 iterations".to_owned()))
    }

    /// Whether this is an asymptotic fit, or its error; versions before 1.5 write these without a type.
    fn is_fit(&self) -> bool {
        let aggregate = self.aggregate_name.as_deref();
        aggregate.is_some_and(|name| ["BigO", "RMS"].contains(&name)) || self.is_old_fit()
    }

    fn is_old_fit(&self) -> bool {
        self.run_type.is_none() && ["big_o", "rms"].iter().any(|key| self.rest.contains_key(*key))
    }
}

/// The entries of one benchmark.
#[derive(Default)]
struct Group<'f> {
    repetitions: Vec<&'f Entry>,
    median: Option<&'f Entry>,
    mean: Option<&'f Entry>,
}

fn run(text: &str) -> Result<ToolRun, ImportError> {
    let file: File = read(text)?;
    let fits = file.benchmarks.iter().filter(|entry| entry.is_fit());
    let mut groups: Vec<(&str, Group)> = Vec::new();
    for entry in file.benchmarks.iter().filter(|entry| !entry.is_fit()) {
        let name = entry.run_name.as_deref().unwrap_or(&entry.name);
        let at = groups.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            groups.push((name, Group::default()));
            groups.len() - 1
        });
        let group = &mut groups[at].1;
        match (entry.run_type.as_deref(), entry.aggregate_name.as_deref()) {
            (Some("aggregate"), Some("median")) => group.median = Some(entry),
            (Some("aggregate"), Some("mean")) => group.mean = Some(entry),
            (Some("aggregate"), _) => {}
            _ => group.repetitions.push(entry),
        }
    }
    let mut machine = MachineFacts::new();
    if let Some(cpus) = file.context.num_cpus {
        machine.insert("cpus".to_owned(), cpus.into());
    }
    Ok(ToolRun {
        // Debian's builds write no version.
        version: file.context.library_version.filter(|version| !version.is_empty()),
        started: file.context.date,
        machine,
        left_out: fits.map(|fit| fit.name.clone()).collect(),
        results: groups.iter().flat_map(|(name, group)| results(name, group)).collect(),
    })
}

fn results(name: &str, group: &Group) -> Vec<ToolResult> {
    let point = names::point(FORMAT.name, name, "name");
    let entries = match (group.repetitions.as_slice(), group.median.or(group.mean)) {
        ([], Some(aggregate)) => vec![aggregate],
        (repetitions, _) => repetitions.to_vec(),
    };
    if let Some((outcome, reason)) = entries.iter().find_map(|entry| entry.why_none()) {
        return vec![without_figure(&point, TIME, outcome, &reason)];
    }
    let mut counters: Vec<&String> = Vec::new();
    for name in entries.iter().flat_map(|entry| entry.rest.keys()) {
        if !OWN.contains(&name.as_str()) && !counters.contains(&name) {
            counters.push(name);
        }
    }
    let time =
        figure(&point, TIME, &entries, |entry| Some(entry.real_time?.0 * entry.time_unit.ns()));
    let cpu =
        figure(&point, CPU_TIME, &entries, |entry| Some(entry.cpu_time?.0 * entry.time_unit.ns()));
    let counters = counters.into_iter().filter_map(|name| {
        let known = RATES.iter().find(|(counter, _)| counter == name);
        let metric =
            known.map_or((name.as_str(), "count", Direction::Neither), |(_, known)| *known);
        figure(&point, metric, &entries, |entry| entry.rest.get(name)?.as_f64())
    });
    time.into_iter().chain(cpu).chain(counters).collect()
}

fn figure(
    point: &PointKey,
    metric: OtherMetric,
    entries: &[&Entry],
    value: impl Fn(&Entry) -> Option<f64>,
) -> Option<ToolResult> {
    let values: Vec<f64> = entries.iter().filter_map(|entry| value(entry)).collect();
    match values.as_slice() {
        // An aggregate is one number; its standard deviation is no interval.
        [number] => Some(of_number(point, metric, *number)),
        _ => of_values(point, metric, values, OtherSpread::Repetitions),
    }
}

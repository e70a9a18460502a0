//! Runs as a CSV for Apache Otava, which finds change points, with its configuration: <https://otava.apache.org>.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::times::name;
use crate::document::{CaseResult, Direction, Document, Outcome};

/// Name of the format in `oscost export --format`.
pub const OTAVA: &str = "otava";
/// The format in one line.
pub const ABOUT_OTAVA: &str = "All runs of the machine for Otava; --output DIR";

/// Attributes that every row has.
const ATTRIBUTES: [&str; 3] = ["run", "oscost", "kernel"];
/// The column of times.
const TIME: &str = "time";

/// A metric of a point over the runs.
struct Series<'r> {
    name: String,
    better: Direction,
    /// The result of each run that measured it, by the run's position.
    results: BTreeMap<usize, &'r CaseResult>,
    in_cycles: bool,
}

/// The files of a folder, each with its name and content: `otava.yaml`, and a CSV with a row for each run and a column for each
/// metric that has a direction.
///
/// Otava rejects an empty cell and finds no change in a column with a NaN. So all metrics that were measured in the same runs
/// share a CSV, and each CSV is a test in the configuration; the group `oscost` has all tests. Times of which all runs have core
/// cycles are in cycles, which do not change with the core's frequency.
///
/// `runs` are in the order of their start. `folder` is the folder's path in the configuration.
pub fn to_otava(runs: &[Document], folder: &Path) -> Vec<(String, String)> {
    let mut by_runs: BTreeMap<Vec<usize>, Vec<Series>> = BTreeMap::new();
    for series in series(runs) {
        by_runs.entry(series.results.keys().copied().collect()).or_default().push(series);
    }
    let mut tests: Vec<(Vec<usize>, Vec<Series>)> = by_runs.into_iter().collect();
    tests.sort_by_key(|(runs, _)| std::cmp::Reverse(runs.len()));
    let mut config = String::from("# Written by `oscost export --format otava`.\ntests:\n");
    let mut files = Vec::new();
    for (number, (measured, series)) in (1..).zip(&tests) {
        let file = format!("oscost-{number}.csv");
        config.push_str(&test(number, &folder.join(&file), series, &attributes(runs)));
        files.push((file, table(runs, measured, series)));
    }
    let names: Vec<String> = (1..=tests.len()).map(|number| format!("oscost-{number}")).collect();
    config.push_str(&format!("test_groups:\n  oscost: [{}]\n", names.join(", ")));
    files.insert(0, ("otava.yaml".to_owned(), config));
    files
}

/// All metrics of all points, in the order of their first appearance.
fn series(runs: &[Document]) -> Vec<Series<'_>> {
    let mut all: Vec<Series> = Vec::new();
    let mut known: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for (run, document) in runs.iter().enumerate() {
        let measured = document.results.iter().filter(|result| {
            let is_sound = result.sound().outcome == Outcome::Measured;
            is_sound && result.estimate.is_some() && result.better != Direction::Neither
        });
        for result in measured {
            let key = (name(result), result.unit.as_str());
            let at = *known.entry(key).or_insert_with(|| {
                let (name, better) = (name(result), result.better);
                all.push(Series { name, better, results: BTreeMap::new(), in_cycles: false });
                all.len() - 1
            });
            all[at].results.insert(run, result);
        }
    }
    for series in &mut all {
        series.in_cycles = series.results.values().all(|result| result.cycles.is_some());
    }
    all
}

impl Series<'_> {
    /// The name of the column: without commas, which separate names in `otava analyze --metrics`.
    fn column(&self) -> String {
        let unit = self.results.values().next().map_or("", |result| result.unit.as_str());
        let unit = if self.in_cycles { unit.replacen("ns", "cycles", 1) } else { unit.to_owned() };
        format!("{} ({unit})", self.name.replace(',', ";"))
    }

    fn value(&self, run: usize) -> Option<f64> {
        let result = self.results.get(&run)?;
        match result.cycles.filter(|_| self.in_cycles) {
            Some(cycles) => Some(cycles.median),
            None => result.estimate.map(|estimate| estimate.median),
        }
    }
}

/// The names of the attributes: the usual ones, and the keys of the tags.
fn attributes(runs: &[Document]) -> Vec<String> {
    let tags: BTreeSet<&String> = runs.iter().flat_map(|run| run.run.tags.keys()).collect();
    let is_free = |tag: &&&String| !ATTRIBUTES.contains(&tag.as_str()) && **tag != TIME;
    let tags = tags.iter().filter(is_free).map(|tag| (*tag).clone());
    ATTRIBUTES.iter().map(|name| (*name).to_owned()).chain(tags).collect()
}

fn attribute(run: &Document, name: &str) -> String {
    match name {
        "run" => run.run.id.clone(),
        "oscost" => run.run.oscost.clone(),
        "kernel" => {
            let release = run.machine.get("release").and_then(|release| release.as_str());
            release.unwrap_or("unknown").to_owned()
        }
        tag => run.run.tags.get(tag).cloned().unwrap_or_default(),
    }
}

fn test(number: usize, file: &Path, series: &[Series], attributes: &[String]) -> String {
    let attributes: Vec<String> = attributes.iter().map(|name| quoted(name)).collect();
    let mut text = format!(
        "  oscost-{number}:\n    type: csv\n    file: {}\n    time_column: {TIME}\n    attributes: [{}]\n    metrics:\n",
        quoted(&file.to_string_lossy()),
        attributes.join(", ")
    );
    for series in series {
        let direction = if series.better == Direction::Lower { -1 } else { 1 };
        let name = quoted(&series.column());
        text.push_str(&format!("      {name}: {{direction: {direction}}}\n"));
    }
    text
}

fn table(runs: &[Document], measured: &[usize], series: &[Series]) -> String {
    /// Reason why writing cannot fail: all rows have as many fields.
    const IN_MEMORY: &str = "writing to memory cannot fail";
    let attributes = attributes(runs);
    let mut writer = csv::Writer::from_writer(Vec::new());
    let columns = series.iter().map(Series::column);
    let header = std::iter::once(TIME.to_owned()).chain(attributes.clone()).chain(columns);
    writer.write_record(header).expect(IN_MEMORY);
    for &run in measured {
        let document = &runs[run];
        let facts = attributes.iter().map(|name| attribute(document, name));
        let values = series
            .iter()
            .map(|series| series.value(run).map_or_else(String::new, |value| value.to_string()));
        let row = std::iter::once(document.run.started.clone()).chain(facts).chain(values);
        writer.write_record(row).expect(IN_MEMORY);
    }
    String::from_utf8(writer.into_inner().expect(IN_MEMORY)).expect("all fields are text")
}

/// A string of YAML, which has JSON's strings.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("writing to memory cannot fail")
}

//! oscost's figure of an operation.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use loops::child::output_of;
use loops::operation::{Figure, Operation};
use serde_json::Value;
use tempfile::TempDir;

use crate::linux::modes::Reading;

/// Path of the program whose figures are compared: that of this build, or the one that the variable OSCOST names by its full
/// path.
pub fn program() -> PathBuf {
    std::env::var_os("OSCOST").unwrap_or_else(|| env!("CARGO_BIN_EXE_oscost").into()).into()
}

/// Path of a static program for other systems: that which the variable names, or that which `script` has built
/// in the folder of the workspace's builds.
///
/// # Errors
/// If there is none.
pub fn static_program(variable: &str, built: &str, script: &str) -> anyhow::Result<PathBuf> {
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").join(built);
    let path = std::env::var_os(variable).map_or_else(built, PathBuf::from);
    path.canonicalize().with_context(|| {
        format!("{}: build it with {script}, or name it by {variable}=FILE", path.display())
    })
}

/// Time limit of a run, which ends with the last round of its budget.
const ENDS_WITHIN: Duration = Duration::from_secs(60);
/// Time limit of a run in another system, which may be an emulated machine that has to be booted.
const ENDS_WITHIN_INSIDE: Duration = Duration::from_secs(600);

/// oscost with a separate store, which is removed when dropped.
pub struct Oscost {
    program: PathBuf,
    budget: String,
    store: PathBuf,
    /// Removes the store when dropped.
    _folder: TempDir,
}

/// Result of one run.
pub struct Found {
    /// Estimated time of one operation in ns, from quiet samples.
    pub ns: f64,
    /// Mean of all samples in ns, quiet or not, if there are samples of this time.
    pub mean_ns: Option<f64>,
    /// Mean time of one operation in ns in the first 1 ms and 10 ms of a process's first operations, where oscost reports that.
    pub first: [Option<f64>; 2],
    /// All samples of a run in another system, if it has samples of this time.
    pub samples: Vec<Reading>,
}

impl Oscost {
    /// Creates an empty store. `budget` is that of each run of `program`.
    ///
    /// # Errors
    /// The error of creating the folder.
    pub fn new(program: PathBuf, budget: &str) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("oscost-independent-").tempdir()?;
        let store = folder.path().join("store");
        Ok(Self { program, budget: budget.to_owned(), store, _folder: folder })
    }

    /// Path of the store.
    pub fn store(&self) -> &Path {
        &self.store
    }

    /// Measures the point once, in the system that `on` names or in this one.
    ///
    /// # Errors
    /// The reason why the point cannot be measured.
    pub fn figure(&self, operation: &Operation, on: Option<&str>) -> anyhow::Result<Found> {
        let mut command = Command::new(&self.program);
        command.args(["run", operation.case, "--quick", "--budget", &self.budget, "--json"]);
        for (name, value) in operation.params {
            command.args(["--param", &format!("{name}={value}")]);
        }
        command.arg("--store").arg(&self.store);
        command.args(on.iter().flat_map(|system| ["--on", system]));
        let limit = if on.is_some() { ENDS_WITHIN_INSIDE } else { ENDS_WITHIN };
        // If a point cannot be measured, the document has the reason, and the exit code is 3.
        let text = output_of(&mut command, limit, |code| code == 0 || code == 3)?;
        let mut document: Value = serde_json::from_str(&text)?;
        if on.is_none() {
            return figure_in(&document, operation);
        }
        // A run in other systems prints a list of documents.
        let document = document.get_mut(0).map(Value::take).context("no document")?;
        let found = figure_in(&document, operation)?;
        let run = document["run"]["id"].as_str().context("a document without a run")?;
        let samples = self.samples(run, operation)?;
        Ok(Found { samples, ..found })
    }

    /// The samples of a run in the order in which they were taken, from the output of its rounds. If some rounds repeated the
    /// operation until it was steady, these have all that count.
    fn samples(&self, run: &str, operation: &Operation) -> anyhow::Result<Vec<Reading>> {
        if !matches!(operation.figure, Figure::Time) {
            return Ok(Vec::new());
        }
        let mut steady = Vec::new();
        let mut others = Vec::new();
        for round in results::Store::open_read_only(&self.store)?.rounds(run)? {
            let lines = round.lines.lines().filter_map(|line| serde_json::from_str(line).ok());
            for series in lines.filter_map(|mut line: Value| Some(line.get_mut("series")?.take())) {
                let is_steady = series["grouped"] == true;
                let batch = series["batch"].as_f64().unwrap_or_default();
                let samples = series["samples"].as_array().into_iter().flatten();
                let readings = samples.filter_map(Value::as_f64).filter(|ns| *ns > 0.0);
                let kept = if is_steady { &mut steady } else { &mut others };
                kept.extend(readings.map(|ns| (ns, batch)));
            }
        }
        Ok(if steady.is_empty() { others } else { steady })
    }
}

/// oscost's metrics of a beginning.
const FIRST: [&str; 2] = ["first-1ms", "first-10ms"];

fn figure_in(document: &Value, operation: &Operation) -> anyhow::Result<Found> {
    let is_point = |result: &&Value| {
        let has = |(name, value): &(&str, &str)| result["params"][name] == *value;
        result["case"] == operation.case && operation.params.iter().all(has)
    };
    let results = document["results"].as_array().context("a document without results")?;
    let of = |metric: &str| -> Vec<&Value> {
        results.iter().filter(|result| is_point(result) && result["metric"] == metric).collect()
    };
    let points = of(operation.metric());
    let [point] = points[..] else { bail!("{} points have these parameters", points.len()) };
    if point["outcome"] != "measured" {
        let text = |field: &str| point[field].as_str().unwrap_or_default().to_owned();
        bail!("{}: {}", text("outcome"), text("reason"));
    }
    let estimate = point["estimate"]["median"].as_f64().context("a figure without a number")?;
    ensure!(estimate > 0.0, "the figure is {estimate}");
    let (ns, mean_ns) = match operation.figure {
        Figure::Time => (estimate, point["seen"]["mean"].as_f64()),
        Figure::Rate(_) => (1e9 / estimate, None),
    };
    let first = FIRST.map(|metric| of(metric).first()?["estimate"]["median"].as_f64());
    Ok(Found { ns, mean_ns, first, samples: Vec::new() })
}

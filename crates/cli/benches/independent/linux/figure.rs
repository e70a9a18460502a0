//! oscost's figure of an operation.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::linux::operation::{Figure, Operation};
use crate::linux::plain::output_of;

/// Path of the program whose figures are compared: that of this build, or the one that the variable OSCOST names by its full
/// path.
pub fn program() -> PathBuf {
    std::env::var_os("OSCOST").unwrap_or_else(|| env!("CARGO_BIN_EXE_oscost").into()).into()
}

/// Time limit of a run, which has a budget of one second and ends with its last round.
const ENDS_WITHIN: Duration = Duration::from_secs(60);

/// oscost with a separate store, which is removed when dropped.
pub struct Oscost {
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
}

impl Oscost {
    /// Creates an empty store.
    ///
    /// # Errors
    /// The error of creating the folder.
    pub fn new() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("oscost-independent-").tempdir()?;
        Ok(Self { store: folder.path().join("store"), _folder: folder })
    }

    /// Path of the store.
    pub fn store(&self) -> &std::path::Path {
        &self.store
    }

    /// Measures the point once.
    ///
    /// # Errors
    /// The reason why the point cannot be measured.
    pub fn figure(&self, operation: &Operation) -> anyhow::Result<Found> {
        let mut command = Command::new(program());
        command.args(["run", operation.case, "--quick", "--budget", "1s", "--json"]);
        for (name, value) in operation.params {
            command.args(["--param", &format!("{name}={value}")]);
        }
        command.arg("--store").arg(&self.store);
        // If a point cannot be measured, the document has the reason, and the exit code is 3.
        let document = output_of(&mut command, ENDS_WITHIN, |code| code == 0 || code == 3)?;
        figure_in(&serde_json::from_str(&document)?, operation)
    }
}

fn figure_in(document: &Value, operation: &Operation) -> anyhow::Result<Found> {
    let is_point = |result: &&Value| {
        let has = |(name, value): &(&str, &str)| result["params"][name] == *value;
        result["case"] == operation.case
            && result["metric"] == operation.metric()
            && operation.params.iter().all(has)
    };
    let results = document["results"].as_array().context("a document without results")?;
    let points: Vec<&Value> = results.iter().filter(is_point).collect();
    let [point] = points[..] else { bail!("{} points have these parameters", points.len()) };
    if point["outcome"] != "measured" {
        let text = |field: &str| point[field].as_str().unwrap_or_default().to_owned();
        bail!("{}: {}", text("outcome"), text("reason"));
    }
    let estimate = point["estimate"]["median"].as_f64().context("a figure without a number")?;
    ensure!(estimate > 0.0, "the figure is {estimate}");
    Ok(match operation.figure {
        Figure::Time => Found { ns: estimate, mean_ns: point["seen"]["mean"].as_f64() },
        Figure::Rate(_) => Found { ns: 1e9 / estimate, mean_ns: None },
    })
}

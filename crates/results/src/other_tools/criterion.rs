//! The folder `target/criterion` of criterion.rs. Each benchmark's folder `new` has the samples of one process, and estimates
//! with criterion's own bootstrap intervals. The files have no version.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::figures::{TIME, distribution, of_interval};
use super::format::{Reads, ToolError, ToolFormat, ToolResult, ToolRun, error};
use super::names;
use super::number::Amount;
use crate::document::Estimate;
use crate::import::{MAX_TEXT_BYTES, read};

/// criterion's folder.
pub const FORMAT: ToolFormat = ToolFormat {
    name: "criterion",
    about: "the folder target/criterion",
    reads: Reads::Folder(run),
};

/// Depth of folders below that of the results: group, function, value and `new`, and one more.
const DEEPEST: usize = 5;

#[derive(Deserialize)]
struct Benchmark {
    full_id: String,
}

#[derive(Deserialize)]
struct Estimates {
    median: Statistic,
}

#[derive(Deserialize)]
struct Statistic {
    confidence_interval: OwnInterval,
    point_estimate: Amount,
}

#[derive(Deserialize)]
struct OwnInterval {
    confidence_level: f64,
    lower_bound: f64,
    upper_bound: f64,
}

/// Iterations of each sample, and their time together in ns.
#[derive(Deserialize)]
struct Samples {
    iters: Vec<Amount>,
    times: Vec<Amount>,
}

fn run(folder: &Path) -> Result<(ToolRun, String), ToolError> {
    let mut found = Vec::new();
    find(folder, DEEPEST, &mut found)?;
    found.sort_unstable();
    let mut texts = String::new();
    let results = found.iter().map(|folder| result(folder, &mut texts));
    let results = results.collect::<Result<Vec<ToolResult>, ToolError>>()?;
    Ok((ToolRun { results, ..ToolRun::default() }, texts))
}

/// Folders named `new` that have estimates.
fn find(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), ToolError> {
    let failed = |problem: std::io::Error| ToolError {
        file: folder.to_owned(),
        error: error(1, format!("cannot read the folder: {problem}")),
    };
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if !path.is_dir() || path.is_symlink() {
            continue;
        }
        if path.file_name().is_some_and(|name| name == "new") && path.join(ESTIMATES).is_file() {
            found.push(path);
        } else if depth > 0 {
            find(&path, depth - 1, found)?;
        }
    }
    Ok(())
}

const ESTIMATES: &str = "estimates.json";

fn result(folder: &Path, texts: &mut String) -> Result<ToolResult, ToolError> {
    let benchmark: Benchmark = file(&folder.join("benchmark.json"), texts)?;
    let Estimates { median } = file(&folder.join(ESTIMATES), texts)?;
    let at = folder.join("sample.json");
    let Samples { iters, times } = file(&at, texts)?;
    if iters.is_empty() || iters.len() != times.len() || iters.iter().any(|iters| iters.0 == 0.0) {
        let counts = format!("{} iterations for {} times", iters.len(), times.len());
        return Err(ToolError { file: at, error: error(1, counts) });
    }
    let point = names::point(FORMAT.name, &benchmark.full_id, "name");
    let interval = &median.confidence_interval;
    let estimate = Estimate {
        median: median.point_estimate.0,
        low: interval.lower_bound,
        high: interval.upper_bound,
        level: interval.confidence_level,
    };
    let mut result = of_interval(&point, TIME, estimate);
    let per_iteration = times.iter().zip(&iters).map(|(time, iters)| time.0 / iters.0);
    result.result.samples = times.len() as u64;
    result.result.seen = Some(distribution(per_iteration.collect()));
    Ok(result)
}

fn file<T: for<'t> Deserialize<'t>>(path: &Path, texts: &mut String) -> Result<T, ToolError> {
    let failed = |error| ToolError { file: path.to_owned(), error };
    let cannot =
        |problem: &dyn std::fmt::Display| failed(error(1, format!("cannot read it: {problem}")));
    let size = std::fs::metadata(path).map_err(|problem| cannot(&problem))?.len();
    if size > MAX_TEXT_BYTES as u64 {
        return Err(cannot(&"it is longer than 64 MiB"));
    }
    let text = std::fs::read_to_string(path).map_err(|problem| cannot(&problem))?;
    texts.push_str(&text);
    read(&text).map_err(failed)
}

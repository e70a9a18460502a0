//! Shared by comparisons of runs and of the columns of another dimension.

use std::path::Path;

use analysis::{Compared, NoiseCheck, Settings};
use report::{Cell, CompareCell};
use results::{Document, Estimate, Store};
use runner::stored_noise_checks;

use crate::args::StoreArg;
use crate::commands::exchange::read_document;
use crate::ending::Ending;
use crate::store::store_to_read;

/// A failed check if any row is certainly worse by more than the limit.
pub fn ending<'a>(mut compared: impl Iterator<Item = &'a Compared>, limit: Option<f64>) -> Ending {
    let limit = limit.unwrap_or(f64::INFINITY);
    let too_slow = compared.any(|row| certainly_worse_by(row) > limit);
    if too_slow { Ending::CheckFailed } else { Ending::Done }
}

/// The share by which a row is worse for certain; negative infinity without that verdict.
fn certainly_worse_by(row: &Compared) -> f64 {
    match row.ratio {
        Some(ratio) if row.verdict.is_loss() => (ratio.low - 1.0).max(1.0 / ratio.high - 1.0),
        _ => f64::NEG_INFINITY,
    }
}

/// Whether a run is named by the path of its document.
pub fn is_document(name: &str) -> bool {
    // No run's id looks like a path; a tag may.
    let looks_like_path = name.contains(['/', '\\']) || name.ends_with(".json");
    let is_path = looks_like_path && !name.contains('=');
    name == "-" || is_path || Path::new(name).is_file()
}

/// Finds a run in the store, or a document in a file.
pub fn find(name: &str, store: &StoreArg) -> anyhow::Result<Document> {
    if is_document(name) {
        return read_document(Path::new(name));
    }
    let store = store_to_read(store)?;
    Ok(store.document(&store.resolve(name)?)?)
}

/// The id, the tags and the machine of a run.
pub fn words(run: &Document) -> String {
    let tags: Vec<String> = run.run.tags.iter().map(|(k, v)| format!(" {k}={v}")).collect();
    format!("{}{} on {}", run.run.id, tags.concat(), run.machine_line())
}

/// What the noise floor is, and what it comes from.
pub fn floor_lines(
    compared: &[Vec<Compared>],
    noise: &NoiseCheck,
    settings: &Settings,
) -> Vec<String> {
    let mut floors: Vec<f64> =
        compared.iter().flatten().filter(|row| row.ratio.is_some()).map(|row| row.floor).collect();
    if floors.is_empty() {
        return Vec::new();
    }
    let largest = floors.iter().copied().fold(0.0, f64::max) * 100.0;
    let median = measure::stats::median(&mut floors) * 100.0;
    let margin = settings.margin * 100.0;
    let basis = match noise.checks() {
        0 => "no noise check of this machine is stored; `oscost noise` runs one".to_owned(),
        n => format!("from these runs and {n} noise checks"),
    };
    vec![
        format!("smallest detectable difference: {median:.1} % (median; largest {largest:.1} %)"),
        basis,
        format!(
            "same: certainly within {margin:.1} %; intervals hold for all rows together at 95 %"
        ),
    ]
}

/// The cell of a table for a compared row.
pub fn compared_cell(row: &Compared) -> CompareCell {
    CompareCell {
        figure: row.new.map(|estimate| cell(estimate, &row.unit)),
        ratio: row.ratio,
        floor: row.floor,
        verdict: row.verdict,
        note: row.note.clone(),
    }
}

/// An estimate as a cell of a table.
pub fn cell(estimate: Estimate, unit: &str) -> Cell {
    let Estimate { median, low, high, .. } = estimate;
    Cell { median, low, high, unit: unit.to_owned() }
}

/// The stored noise checks of the base's machine that are not of these runs; a missing store has none.
pub fn noise_checks<'r>(
    store: Option<&Store>,
    base: &Document,
    runs: impl IntoIterator<Item = &'r Document>,
) -> anyhow::Result<NoiseCheck> {
    let ids: Vec<&str> = runs.into_iter().map(|run| run.run.id.as_str()).collect();
    Ok(match store {
        Some(store) => stored_noise_checks(store, base, &ids)?,
        None => NoiseCheck::default(),
    })
}

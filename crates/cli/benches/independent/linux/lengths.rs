//! Checks that the figures of tasks that answer each other do not depend on the length of batches and warm-up.

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::Context;
use loops::child::output_of;
use serde_json::{Value, json};

use crate::linux::UNEXPLAINED;
use crate::linux::figure::{Oscost, program};
use crate::linux::ratio::{Ratio, geometric_mean};

/// Areas whose cases have such tasks.
const AREAS: [&str; 2] = ["ipc", "switch"];
/// Lengths, as multiples of the default ones.
const LENGTHS: [&str; 3] = ["1", "0.5", "2"];
/// Share by which a figure may differ from that with the default lengths.
const MARGIN: f64 = 0.03;
const ENDS_WITHIN: Duration = Duration::from_secs(300);

/// Times of all points in ns, by their labels.
type Times = BTreeMap<String, f64>;

/// Measures all points with each of the lengths, in turns, and prints their ratios to those of the default lengths.
///
/// # Errors
/// The error of oscost if it fails.
pub fn compare(turns: usize, json: Option<&std::path::Path>) -> anyhow::Result<ExitCode> {
    let oscost = Oscost::new(program(), "1s")?;
    let mut taken: [Vec<Times>; 3] = Default::default();
    for turn in 0..turns {
        for step in 0..LENGTHS.len() {
            let which = (turn + step) % LENGTHS.len();
            eprintln!("turn {} of {turns}: {} times the usual length", turn + 1, LENGTHS[which]);
            taken[which].push(times(&oscost, LENGTHS[which])?);
        }
    }
    let width = taken[0].iter().flatten().map(|(point, _)| point.len()).max().unwrap_or(0);
    println!("{:width$}  usual, ns      half  95 % interval    double  95 % interval", "point");
    let (mut differ, mut rows) = (0, Vec::new());
    for (point, _) in taken[0].first().into_iter().flatten() {
        let of = |which: usize| -> Option<Vec<f64>> {
            taken[which].iter().map(|times| times.get(point).copied()).collect()
        };
        let (Some(usual), Some(half), Some(double)) = (of(0), of(1), of(2)) else { continue };
        let ratio = |with: &[f64]| {
            let pairs = with.iter().copied().zip(usual.iter().copied());
            Ratio::of(&pairs.collect::<Vec<_>>())
        };
        let [half, double] = [ratio(&half), ratio(&double)];
        let verdict = match half.touches(MARGIN) && double.touches(MARGIN) {
            true => "",
            false => "  DEPENDS",
        };
        differ += usize::from(!verdict.is_empty());
        let shown = |r: &Ratio| format!("{:.3}  {:.3}..{:.3}", r.mean, r.low, r.high);
        let mean = geometric_mean(usual.iter().copied());
        println!(
            "{point:width$}  {mean:9.0}  {:>20}  {:>20}{verdict}",
            shown(&half),
            shown(&double)
        );
        let of = |r: &Ratio| json!({"mean": r.mean, "low": r.low, "high": r.high});
        rows.push(json!({"point": point, "ns": usual, "half": of(&half), "double": of(&double)}));
    }
    println!("\n{} points, of which {differ} depend on the length by more than 3 %", rows.len());
    if let Some(path) = json {
        let document = serde_json::to_string_pretty(&json!({ "points": rows }))?;
        std::fs::write(path, document + "\n").with_context(|| path.display().to_string())?;
    }
    Ok(if differ == 0 { ExitCode::SUCCESS } else { ExitCode::from(UNEXPLAINED) })
}

/// The times that one run measures with these lengths.
fn times(oscost: &Oscost, length: &str) -> anyhow::Result<Times> {
    let mut command = Command::new(program());
    command.arg("run").args(AREAS).args(["--json", "--partner-batches", length]);
    command.arg("--store").arg(oscost.store());
    let text = output_of(&mut command, ENDS_WITHIN, |code| code == 0 || code == 3)?;
    let document: Value = serde_json::from_str(&text)?;
    let results = document["results"].as_array().context("a document without results")?;
    let times = results.iter().filter(|result| result["metric"] == "time");
    let label = |result: &Value| {
        let params = result["params"].as_object().into_iter().flatten();
        let params: Vec<String> = params
            .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or("?")))
            .collect();
        format!("{} {}", result["case"].as_str().unwrap_or_default(), params.join(" "))
    };
    Ok(times.filter_map(|r| Some((label(r), r["estimate"]["median"].as_f64()?))).collect())
}

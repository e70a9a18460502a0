//! Replays recorded runs of several machines: measures how often a run's figures lay in the range that the run before
//! predicted.
//!
//!     cargo bench -p oscost-analysis --bench next_run [-- --own-family]
//!
//! Each run is predicted from earlier runs on its machine, as if its processor had never been recorded; with
//! `--own-family`, with the program's knowledge of the processor. The share of figures inside has an interval from the
//! differences between runs.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use analysis::{Cause, Coverage, History, Scores};
use anyhow::Context;
use flate2::read::GzDecoder;
use results::Document;

fn main() -> anyhow::Result<()> {
    let knows_family = std::env::args().any(|argument| argument == "--own-family");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/next_run/recordings");
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<_>>()?;
    files.sort();
    for file in files {
        let runs = recorded(&file).with_context(|| format!("{}", file.display()))?;
        let predicted = predicted(&runs, knows_family);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let machine = runs.first().context("it has no run")?.machine_line();
        println!("{}: {} runs, {machine}", name.trim_end_matches(".jsonl.gz"), runs.len());
        println!(
            "{:<26} {:>7} {:>5} {:>16} {:>10} {:>10}",
            "", "figures", "runs", "inside, %", "next run", "this run"
        );
        let scores = Scores::of(&predicted);
        for (cause, inside) in &scores.by_cause {
            print_row(&cause.to_string(), inside, widths(&predicted, Some(cause)));
        }
        print_row("all", &scores.all, widths(&predicted, None));
        let mut history = History::default();
        predicted.iter().for_each(|run| history.add(run));
        println!("differences between visits, as standard deviations:");
        for (cause, (deviation, visits)) in history.deviations(&predicted[0].machine) {
            let deviation = match cause {
                Cause::Entry => format!("{deviation:.2} cycles a call"),
                _ => format!("{:.2} %", deviation * 100.0),
            };
            println!("{:<26} {deviation:>22} ({visits} visits)", cause.to_string());
        }
        println!();
    }
    Ok(())
}

fn recorded(file: &Path) -> anyhow::Result<Vec<Document>> {
    let lines = BufReader::new(GzDecoder::new(File::open(file)?)).lines();
    lines.map(|line| Ok(serde_json::from_str(&line?)?)).collect()
}

/// The runs with their predictions of the next run.
fn predicted(runs: &[Document], knows_family: bool) -> Vec<Document> {
    let mut history = History::default();
    if !knows_family {
        history = history.of_any_processor();
    }
    let with_prediction = |run: &Document| {
        let mut run = run.clone();
        history.predict(&mut run);
        history.add(&run);
        run
    };
    runs.iter().map(with_prediction).collect()
}

/// Medians of the half-widths of the next run's and of this run's intervals, as shares, over all runs but the last.
fn widths(runs: &[Document], cause: Option<&Cause>) -> [f64; 2] {
    let mut widths: [Vec<f64>; 2] = Default::default();
    for run in &runs[..runs.len() - 1] {
        for result in
            run.results.iter().filter(|r| cause.is_none_or(|cause| Cause::of(r) == *cause))
        {
            let (Some(next), Some(estimate)) = (result.next_run, result.estimate) else { continue };
            let share = |low: f64, high: f64| (high - low) / 2.0 / estimate.median.abs();
            widths[0].push(share(next.low, next.high));
            widths[1].push(share(estimate.low, estimate.high));
        }
    }
    widths.map(|mut widths| {
        widths.retain(|width| width.is_finite());
        if widths.is_empty() { f64::NAN } else { measure::stats::median(&mut widths) }
    })
}

fn print_row(name: &str, inside: &Coverage, [next, this]: [f64; 2]) {
    let error = inside.error.map_or(String::new(), |error| format!(" ±{:.1}", error * 100.0));
    let share = format!("{:.1}{error}", inside.inside * 100.0);
    let [next, this] = [next, this].map(|width| format!("±{:.2} %", width * 100.0));
    println!(
        "{name:<26} {:>7} {:>5} {share:>16} {next:>10} {this:>10}",
        inside.figures, inside.runs
    );
}

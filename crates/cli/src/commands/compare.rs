//! `oscost compare`.

use std::path::Path;

use analysis::{Compared, Difference, Frequencies, NoiseCheck, Ratio, Settings, cpu_differences};
use report::{Cell, CompareCell, CompareRow, Comparison, compare_table};
use results::{Document, Estimate, Interval};
use runner::{also_differs, stored_noise_checks};
use serde::Serialize;

use super::exchange::read_document;
use crate::args::{Compare, StoreArg};
use crate::ending::Ending;
use crate::output::{page, print};
use crate::store::store_to_read;

/// Compares runs.
pub fn compare(args: &Compare) -> anyhow::Result<Ending> {
    let base = find(&args.base, &args.store)?;
    let news = args.news.iter().map(|name| find(name, &args.store));
    let news = news.collect::<anyhow::Result<Vec<Document>>>()?;
    let mut compared_ids: Vec<&str> = news.iter().map(|new| new.run.id.as_str()).collect();
    compared_ids.push(&base.run.id);
    // A missing store has no earlier checks, which is no error.
    let noise = match store_to_read(&args.store) {
        Ok(store) => stored_noise_checks(&store, &base, &compared_ids)?,
        Err(_) => NoiseCheck::default(),
    };
    let settings = Settings { margin: args.margin, ..Settings::default() };
    let compared: Vec<Vec<Compared>> =
        news.iter().map(|new| analysis::compare(&base, new, &noise, &settings)).collect();
    if args.json {
        print(&serde_json::to_string_pretty(&compare_json(&base, &news, &compared, &noise))?)?;
    } else {
        let mut comparison = comparison(&base, &news, &compared, &noise, &settings);
        comparison.all = args.all;
        print(&compare_table(&comparison, &page()))?;
    }
    let limit = args.fail_above.unwrap_or(f64::INFINITY);
    let too_slow = compared.iter().flatten().any(|row| certainly_worse_by(row) > limit);
    Ok(if too_slow { Ending::CheckFailed } else { Ending::Done })
}

/// The share by which a row is worse for certain; negative infinity without that verdict.
fn certainly_worse_by(row: &Compared) -> f64 {
    match row.ratio {
        Some(ratio) if row.verdict.is_loss() => (ratio.low - 1.0).max(1.0 / ratio.high - 1.0),
        _ => f64::NEG_INFINITY,
    }
}

/// Finds a run in the store, or a document in a file.
pub(super) fn find(name: &str, store: &StoreArg) -> anyhow::Result<Document> {
    // No run's id looks like a path; a tag may.
    let looks_like_path = name.contains(['/', '\\']) || name.ends_with(".json");
    let is_path = looks_like_path && !name.contains('=');
    if name == "-" || is_path || Path::new(name).is_file() {
        return read_document(Path::new(name));
    }
    let store = store_to_read(store)?;
    Ok(store.document(&store.resolve(name)?)?)
}

fn words(run: &Document) -> String {
    let tags: Vec<String> = run.run.tags.iter().map(|(k, v)| format!(" {k}={v}")).collect();
    format!("{}{} on {}", run.run.id, tags.concat(), run.machine_line())
}

pub(super) fn comparison(
    base: &Document,
    news: &[Document],
    compared: &[Vec<Compared>],
    noise: &NoiseCheck,
    settings: &Settings,
) -> Comparison {
    let mut all = vec![base];
    all.extend(news);
    Comparison {
        base: words(base),
        news: news.iter().map(words).collect(),
        also_differs: also_differs(&all),
        facts: facts_of(base, news, compared),
        all: false,
        noise_floor: floor_lines(compared, noise, settings),
        rows: rows(compared),
    }
}

/// A line or two for each run: the core's frequency, and what was compared in cycles.
fn facts_of(base: &Document, news: &[Document], compared: &[Vec<Compared>]) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, (new, rows)) in (1..).zip(news.iter().zip(compared)) {
        let name = if news.len() == 1 { "new".to_owned() } else { format!("new {number}") };
        lines.extend(frequency_line(&Frequencies::of(base, new), &name));
        lines.extend(unit_line(base, new, rows, &name));
    }
    lines
}

/// The core's frequency in both runs; `None` if it is unknown in both.
fn frequency_line(frequencies: &Frequencies, new: &str) -> Option<String> {
    /// Smaller differences are not reported: the frequency is no more precise.
    const LEAST: f64 = 0.002;
    let ghz = |clock: Option<Interval>| match clock {
        Some(clock) => format!("{:.2} GHz", clock.median),
        None => "unknown".to_owned(),
    };
    let (of_base, of_new) = (ghz(frequencies.base), ghz(frequencies.new));
    let Some(log) = frequencies.log_ratio() else {
        let any_known = frequencies.base.or(frequencies.new).is_some();
        return any_known.then(|| format!("core clock: {of_base} in base, {of_new} in {new}"));
    };
    if log.abs() < LEAST {
        return Some(format!("core clock: {of_base} in base and in {new}"));
    }
    let (change, word) = match log < 0.0 {
        true => (-log.exp_m1(), "lower"),
        false => (log.exp_m1(), "higher"),
    };
    let (times, longer) = match log < 0.0 {
        true => ((-log).exp_m1(), "more"),
        false => (-(-log).exp_m1(), "less"),
    };
    Some(format!(
        "core clock: {of_base} in base, {of_new} in {new} ({:.1} % {word}): by that alone, what the core does takes \
         {:.1} % {longer} time, in as many cycles",
        change * 100.0,
        times * 100.0
    ))
}

/// The number of rows compared in cycles, or why there are none; `None` if neither run has cycles.
fn unit_line(base: &Document, new: &Document, rows: &[Compared], name: &str) -> Option<String> {
    let has_cycles = |run: &Document| run.results.iter().any(|result| result.cycles.is_some());
    let (in_base, in_new) = (has_cycles(base), has_cycles(new));
    let in_cycles = rows.iter().filter(|row| row.unit.starts_with("cycles")).count();
    match (in_base, in_new) {
        (false, false) => None,
        (true, false) => Some(format!("{name} has no core cycles: times are compared in ns")),
        (false, true) => Some("base has no core cycles: times are compared in ns".to_owned()),
        (true, true) if in_cycles > 0 => Some(format!(
            "in core cycles (cyc), which do not depend on the core clock: {in_cycles} of {} rows; other times in ns",
            rows.len()
        )),
        (true, true) => {
            let differs = cpu_differences(base, new);
            (!differs.is_empty()).then(|| {
                let facts = differs.join(", ");
                format!("possibly another CPU than in {name} ({facts}): times are compared in ns")
            })
        }
    }
}

fn floor_lines(compared: &[Vec<Compared>], noise: &NoiseCheck, settings: &Settings) -> Vec<String> {
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

/// One row for each metric of each case, one cell for each run beside the base.
fn rows(compared: &[Vec<Compared>]) -> Vec<CompareRow> {
    let mut rows: Vec<CompareRow> = Vec::new();
    for (number, run) in compared.iter().enumerate() {
        for row in run {
            let known = rows.iter().position(|r| r.label == row.label && r.metric == row.metric);
            let at = known.unwrap_or_else(|| {
                let base = row.base.map(|estimate| cell(estimate, &row.unit));
                let (label, metric) = (row.label.clone(), row.metric.clone());
                rows.push(CompareRow { label, metric, base, news: Vec::new() });
                rows.len() - 1
            });
            // Earlier runs may lack the row.
            rows[at].news.resize_with(number, absent);
            rows[at].news.push(CompareCell {
                figure: row.new.map(|estimate| cell(estimate, &row.unit)),
                ratio: row.ratio,
                floor: row.floor,
                verdict: row.verdict,
                note: row.note.clone(),
            });
        }
    }
    for row in &mut rows {
        row.news.resize_with(compared.len(), absent);
    }
    rows
}

fn absent() -> CompareCell {
    CompareCell {
        figure: None,
        ratio: None,
        floor: 0.0,
        verdict: analysis::Verdict::NotComparable,
        note: "not measured in this run".to_owned(),
    }
}

fn cell(estimate: Estimate, unit: &str) -> Cell {
    let Estimate { median, low, high, .. } = estimate;
    Cell { median, low, high, unit: unit.to_owned() }
}

/// The comparison of one base with several runs.
#[derive(Serialize)]
struct CompareJson<'a> {
    schema: u32,
    base: &'a str,
    noise_checks: usize,
    comparisons: Vec<ComparisonJson<'a>>,
}

#[derive(Serialize)]
struct ComparisonJson<'a> {
    new: &'a str,
    also_differs: Vec<Difference>,
    core_clock_ghz: CoreClocks,
    cpu_differences: Vec<&'static str>,
    rows: Vec<RowJson<'a>>,
}

#[derive(Serialize)]
struct CoreClocks {
    base: Option<Interval>,
    new: Option<Interval>,
}

#[derive(Serialize)]
struct RowJson<'a> {
    case: &'a str,
    metric: &'a str,
    unit: &'a str,
    base: Option<Estimate>,
    new: Option<Estimate>,
    ratio: Option<Ratio>,
    floor: f64,
    verdict: &'static str,
    note: &'a str,
}

fn compare_json<'a>(
    base: &'a Document,
    news: &'a [Document],
    compared: &'a [Vec<Compared>],
    noise: &NoiseCheck,
) -> CompareJson<'a> {
    let comparisons = news.iter().zip(compared).map(|(new, rows)| ComparisonJson {
        new: &new.run.id,
        also_differs: also_differs(&[base, new]),
        core_clock_ghz: CoreClocks { base: base.run.core_clock_ghz, new: new.run.core_clock_ghz },
        cpu_differences: cpu_differences(base, new),
        rows: rows.iter().map(row_json).collect(),
    });
    CompareJson {
        schema: 1,
        base: &base.run.id,
        noise_checks: noise.checks(),
        comparisons: comparisons.collect(),
    }
}

fn row_json(row: &Compared) -> RowJson<'_> {
    RowJson {
        case: &row.label,
        metric: &row.metric,
        unit: &row.unit,
        base: row.base,
        new: row.new,
        ratio: row.ratio,
        floor: row.floor,
        verdict: row.verdict.word(),
        note: &row.note,
    }
}

//! `oscost compare`.

use std::path::Path;

use analysis::{Compared, Frequencies, NoiseCheck, Settings, cpu_differences};
use report::{Cell, CompareCell, CompareRow, Comparison, compare_table};
use results::{Document, Estimate, Interval, Store};
use serde_json::json;

use super::exchange::read_document;
use crate::args::{Compare, StoreArg};
use crate::ending::Ending;
use crate::machine::{also_differs, compared_keys};
use crate::output::{page, print};

/// Checks of equal against equal that are looked at: the latest.
const CHECKS_AT_MOST: usize = 20;

/// Holds runs against each other.
pub fn compare(args: &Compare) -> anyhow::Result<Ending> {
    let base = find(&args.base, &args.store)?;
    let news = args.news.iter().map(|name| find(name, &args.store));
    let news = news.collect::<anyhow::Result<Vec<Document>>>()?;
    let mut compared_ids: Vec<&str> = news.iter().map(|new| new.run.id.as_str()).collect();
    compared_ids.push(&base.run.id);
    // Without a store there are no earlier checks, and that is no error.
    let noise = match super::store_to_read(&args.store) {
        Ok(store) => checks_in(&store, &base, &compared_ids)?,
        Err(_) => NoiseCheck::default(),
    };
    let settings = Settings { margin: args.margin, ..Settings::default() };
    let compared: Vec<Vec<Compared>> =
        news.iter().map(|new| analysis::compare(&base, new, &noise, &settings)).collect();
    if args.json {
        print(&serde_json::to_string_pretty(&as_json(&base, &news, &compared, &noise))?)?;
    } else {
        let mut comparison = comparison(&base, &news, &compared, &noise, &settings);
        comparison.all = args.all;
        print(&compare_table(&comparison, &page()))?;
    }
    let limit = args.fail_above.unwrap_or(f64::INFINITY);
    let too_slow = compared.iter().flatten().any(|row| certainly_worse_by(row) > limit);
    Ok(if too_slow { Ending::CheckFailed } else { Ending::Done })
}

/// By which share a row is worse for certain; nothing for rows without that verdict.
fn certainly_worse_by(row: &Compared) -> f64 {
    match row.ratio {
        Some(ratio) if row.verdict.is_loss() => (ratio.low - 1.0).max(1.0 / ratio.high - 1.0),
        _ => f64::NEG_INFINITY,
    }
}

/// A run of the store, or a document in a file.
fn find(name: &str, store: &StoreArg) -> anyhow::Result<Document> {
    // No run's id is like that; a tag may be.
    let looks_like_path = name.contains(['/', '\\']) || name.ends_with(".json");
    let is_path = looks_like_path && !name.contains('=');
    if name == "-" || is_path || Path::new(name).is_file() {
        return read_document(Path::new(name));
    }
    let store = super::store_to_read(store)?;
    Ok(store.document(&store.resolve(name)?)?)
}

/// What earlier runs of `oscost noise` on this machine have shown, without the runs compared.
pub fn checks_in(store: &Store, like: &Document, without: &[&str]) -> anyhow::Result<NoiseCheck> {
    let facts = platform::machine::describe();
    let keys = compared_keys(&facts);
    let mut pairs: Vec<(String, Vec<String>)> = Vec::new();
    for run in store.runs()? {
        let Some(check) = run.tags.get(super::noise::TAG) else { continue };
        match pairs.iter_mut().find(|(known, _)| known == check) {
            Some((_, runs)) => runs.push(run.id),
            None => pairs.push((check.clone(), vec![run.id])),
        }
    }
    let mut noise = NoiseCheck::default();
    for (_, runs) in pairs.into_iter().rev().take(CHECKS_AT_MOST) {
        let [first, second] = &runs[..] else { continue };
        if without.contains(&first.as_str()) && without.contains(&second.as_str()) {
            continue; // these two are what is compared
        }
        let (first, second) = (store.document(first)?, store.document(second)?);
        let alike = keys.iter().all(|key| first.machine.get(*key) == like.machine.get(*key));
        if alike && first.run.finished.is_some() && second.run.finished.is_some() {
            noise.add(&first, &second);
        }
    }
    Ok(noise)
}

fn words(run: &Document) -> String {
    let tags: Vec<String> = run.run.tags.iter().map(|(k, v)| format!(" {k}={v}")).collect();
    format!("{}{} on {}", run.run.id, tags.concat(), run.machine_line())
}

fn comparison(
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
        facts: facts_told(base, news, compared),
        all: false,
        noise_floor: floor_lines(compared, noise, settings),
        rows: rows(compared),
    }
}

/// The core's frequency in the runs, and what was compared in cycles, a line or two for each run.
fn facts_told(base: &Document, news: &[Document], compared: &[Vec<Compared>]) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, (new, rows)) in (1..).zip(news.iter().zip(compared)) {
        let name = if news.len() == 1 { "new".to_owned() } else { format!("new {number}") };
        lines.extend(frequency_line(&Frequencies::of(base, new), &name));
        lines.extend(unit_line(base, new, rows, &name));
    }
    lines
}

/// What the core's frequency was in both runs; `None` if neither knows it.
fn frequency_line(frequencies: &Frequencies, new: &str) -> Option<String> {
    /// A smaller difference is none: the frequency is known to about as much.
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

/// How many rows were compared in cycles, or why none was; `None` where there are no cycles in either run.
fn unit_line(base: &Document, new: &Document, rows: &[Compared], name: &str) -> Option<String> {
    let has_cycles = |run: &Document| run.results.iter().any(|result| result.cycles.is_some());
    let (in_base, in_new) = (has_cycles(base), has_cycles(new));
    let in_cycles = rows.iter().filter(|row| row.unit.starts_with("cycles")).count();
    match (in_base, in_new) {
        (false, false) => None,
        (true, false) => Some(format!("{name} has no core cycles: times are compared in ns")),
        (false, true) => Some("base has no core cycles: times are compared in ns".to_owned()),
        (true, true) if in_cycles > 0 => Some(format!(
            "in core cycles (cyc), which do not follow the core clock: {in_cycles} of {} rows; other times in ns",
            rows.len()
        )),
        (true, true) => {
            let differs = cpu_differences(base, new);
            (!differs.is_empty()).then(|| {
                let facts = differs.join(", ");
                format!(
                    "not certainly the same CPU as in {name} ({facts}): times are compared in ns"
                )
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
        0 => "no check of equal against equal is known for this machine: `oscost noise` makes one"
            .to_owned(),
        n => format!("from these runs and {n} checks of equal against equal"),
    };
    vec![
        format!(
            "smallest difference that can be told: {median:.1} % (median; largest {largest:.1} %)"
        ),
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
            // A run before this one may not have had the row at all.
            rows[at].news.resize_with(number, absent);
            rows[at].news.push(CompareCell {
                figure: row.new.map(|estimate| cell(estimate, &row.unit)),
                ratio: row.ratio,
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
        verdict: analysis::Verdict::NotComparable,
        note: "this run did not measure it".to_owned(),
    }
}

fn cell(estimate: Estimate, unit: &str) -> Cell {
    let Estimate { median, low, high, .. } = estimate;
    Cell { median, low, high, unit: unit.to_owned() }
}

fn as_json(
    base: &Document,
    news: &[Document],
    compared: &[Vec<Compared>],
    noise: &NoiseCheck,
) -> serde_json::Value {
    let comparisons: Vec<_> = news
        .iter()
        .zip(compared)
        .map(|(new, rows)| {
            let differs: Vec<_> = also_differs(&[base, new])
                .into_iter()
                .map(|d| json!({"key": d.key, "values": d.values}))
                .collect();
            json!({
                "new": new.run.id,
                "also_differs": differs,
                "core_clock_ghz": json!({"base": base.run.core_clock_ghz, "new": new.run.core_clock_ghz}),
                "cpu_differences": cpu_differences(base, new),
                "rows": rows.iter().map(row_json).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({
        "schema": 1,
        "base": base.run.id,
        "noise_checks": noise.checks(),
        "comparisons": comparisons,
    })
}

fn row_json(row: &Compared) -> serde_json::Value {
    json!({
        "case": row.label,
        "metric": row.metric,
        "unit": row.unit,
        "base": row.base,
        "new": row.new,
        "ratio": row.ratio.map(|r| json!({"mid": r.mid, "low": r.low, "high": r.high})),
        "floor": row.floor,
        "verdict": row.verdict.word(),
        "note": row.note,
    })
}

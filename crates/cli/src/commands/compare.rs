//! `oscost compare`.

pub mod columns;
mod shared;

use analysis::{Compared, Frequencies, Settings, also_differs, cpu_differences, mapped, nuisances};
use command::ending::{Ending, Usage};
use command::measure::print_announcement;
use command::output::{page, print, print_json};
use report::{CompareCell, CompareRow, Comparison, compare_table};
use results::{CaseResult, Document, Interval};
use serde_json::{Value, json};
use shared::{cell, compared_cell, ending, find_merged, floor_lines, keep_only, pairs, words};
pub use shared::{find, is_document};

use super::gate::JudgedRows;
use crate::args::{Compare, Run};

/// Compares runs.
pub fn compare(args: &Compare) -> anyhow::Result<Ending> {
    if let Some(by) = &args.by {
        return columns::compare_by(args, by);
    }
    let names = std::iter::once(&args.base).chain(&args.news);
    let all = names.map(|name| find_merged(name, &args.store));
    let mut all = all.collect::<anyhow::Result<Vec<Document>>>()?;
    if !args.map.is_empty() {
        all = mapped(&all, &args.map).map_err(|error| Usage(error.to_string()))?;
    }
    keep_only(&args.only, &mut all)?;
    let (base, news) = all.split_first().expect("a base");
    let settings = Settings {
        margin: args.margin,
        across_machines: args.gate.across_machines,
        ..Settings::default()
    };
    let compared = compare_runs(base, news, &settings);
    let mut comparison = comparison(base, news, &compared, &settings);
    comparison.all = args.all;
    comparison.facts.extend(pairs(&args.map).iter().map(|pair| format!("matched: {pair}")));
    if args.json {
        let mut document = compare_json(base, news, &compared);
        if !args.map.is_empty() {
            document["map"] = pairs(&args.map).into();
        }
        print_json(&document)?;
    } else {
        print_announcement("ratios", &all)?;
        print(&compare_table(&comparison, &page()))?;
    }
    let columns = comparison.columns.iter().skip(1).zip(&compared);
    let rows = columns.flat_map(|(name, rows)| rows.iter().map(|row| (name.as_str(), row)));
    let rows = rows.collect();
    ending(&JudgedRows { comparison: &comparison, rows, runs: &all, limit: args.fail_above }, args)
}

/// Compares a new run with the points of a document that it has measured, prints this below the run's results, and returns the
/// ending of the gate.
///
/// # Errors
/// The error of writing.
pub fn compare_with(mut base: Document, run: Document, args: &Run) -> anyhow::Result<Ending> {
    let is_measured = |result: &CaseResult| {
        run.results.iter().any(|new| (&new.case, &new.params) == (&result.case, &result.params))
    };
    base.results.retain(is_measured);
    let all = [base, run];
    let [base, run] = &all;
    let settings =
        Settings { across_machines: args.baseline.gate.across_machines, ..Settings::default() };
    let compared = compare_runs(base, std::slice::from_ref(run), &settings);
    let comparison = comparison(base, std::slice::from_ref(run), &compared, &settings);
    let is_json = args.output.json;
    if !is_json {
        print(&format!("\n{}", compare_table(&comparison, &page())))?;
    }
    let rows = compared.iter().flatten().map(|row| ("new", row)).collect();
    let limit = args.baseline.fail_above;
    let judged = JudgedRows { comparison: &comparison, rows, runs: &all, limit };
    let tally = judged.tally();
    tally.print(is_json)?;
    judged.write(&args.baseline.gate)?;
    Ok(limit.map_or(Ending::Done, |_| tally.ending(args.baseline.gate.undecided)))
}

/// Comparisons of each of `news` with `base`.
pub(super) fn compare_runs(
    base: &Document,
    news: &[Document],
    settings: &Settings,
) -> Vec<Vec<Compared>> {
    news.iter().map(|new| analysis::compare(base, new, settings)).collect()
}

pub(super) fn comparison(
    base: &Document,
    news: &[Document],
    compared: &[Vec<Compared>],
    settings: &Settings,
) -> Comparison {
    let mut all = vec![base];
    all.extend(news);
    let runs = Comparison::names_of_runs(all.iter().copied().map(words).collect());
    Comparison {
        by: "run".to_owned(),
        columns: runs.iter().map(|(name, _)| name.clone()).collect(),
        runs,
        also_differs: also_differs(&all),
        facts: facts_of(base, news, compared, settings),
        all: false,
        noise_floor: floor_lines(compared, all.iter().copied(), settings),
        rows: rows(compared),
    }
}

/// A few lines for each run: whether it is of another machine, the core's frequency, and the metrics that were compared in cycles.
fn facts_of(
    base: &Document,
    news: &[Document],
    compared: &[Vec<Compared>],
    settings: &Settings,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, (new, rows)) in (1..).zip(news.iter().zip(compared)) {
        let name = if news.len() == 1 { "new".to_owned() } else { format!("new {number}") };
        lines.extend(settings.announcement(base, new, &name));
        lines.extend(frequency_line(&Frequencies::of(base, new), &name));
        lines.extend(unit_line(base, new, rows, &name));
    }
    lines
}

/// The core's frequency in both runs; `None` if it is unknown in both.
fn frequency_line(frequencies: &Frequencies, new: &str) -> Option<String> {
    /// Smallest difference that is reported, as a share: the frequency is no more precise.
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

/// A line with the number of rows compared in cycles, or with the reason why there are none; `None` if neither run has cycles.
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

/// Rows, one for each metric of each case, with one cell for each run other than the base.
fn rows(compared: &[Vec<Compared>]) -> Vec<CompareRow> {
    let mut rows: Vec<CompareRow> = Vec::new();
    for (number, run) in compared.iter().enumerate() {
        for row in run {
            let known = rows.iter().position(|r| r.point == row.point && r.metric == row.metric);
            let at = known.unwrap_or_else(|| {
                let base = row.base.map(|estimate| cell(estimate, &row.unit));
                let (point, metric) = (row.point.clone(), row.metric.clone());
                rows.push(CompareRow {
                    point,
                    metric,
                    base,
                    news: Vec::new(),
                    host_calls: Vec::new(),
                });
                rows.len() - 1
            });
            // The row gets empty cells for earlier runs that lack it.
            rows[at].news.resize_with(number, absent);
            rows[at].news.push(Some(compared_cell(row)));
        }
    }
    for row in &mut rows {
        row.news.resize_with(compared.len(), absent);
    }
    rows
}

fn absent() -> Option<CompareCell> {
    Some(CompareCell {
        figure: None,
        ratio: None,
        floor: 0.0,
        verdict: analysis::Verdict::NotComparable,
        note: "not measured in this run".to_owned(),
    })
}

/// The comparison of one base with several runs, as JSON.
fn compare_json(base: &Document, news: &[Document], compared: &[Vec<Compared>]) -> Value {
    let comparisons = news.iter().zip(compared).map(|(new, rows)| {
        json!({
            "new": new.run.id,
            "also_differs": also_differs(&[base, new]),
            "another_machine": !nuisances(base, new, &[]).is_empty(),
            "core_clock_ghz": {
                "base": base.run.core_clock_ghz,
                "new": new.run.core_clock_ghz,
            },
            "cpu_differences": cpu_differences(base, new),
            "rows": rows,
        })
    });
    json!({
        "schema": 1,
        "base": base.run.id,
        "comparisons": comparisons.collect::<Vec<_>>(),
    })
}

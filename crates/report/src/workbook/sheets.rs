//! The sheets `run`, `summary` and `raw`.

use std::collections::BTreeSet;

use results::{CaseResult, Document, Outcome};
use rust_xlsxwriter::{Workbook, XlsxError};

use crate::rows::{measured, of_this_run};
use crate::workbook::pages::{CellValue, Pages, ROWS_OF_A_SHEET, WHOLE};

/// The identity of the run, its options, and the facts about the machine.
pub(super) fn run(workbook: &mut Workbook, document: &Document) -> Result<(), XlsxError> {
    let headings = ["of", "what", "value"].map(str::to_owned).to_vec();
    let mut pages = Pages::new(workbook, "run", headings, ROWS_OF_A_SHEET)?;
    let mut say =
        |of: &str, what: &str, value: &str| pages.push(&[of, what, value].map(CellValue::text));
    let run = &document.run;
    say("run", "id", &run.id)?;
    say("run", "started", &run.started)?;
    say("run", "finished", run.finished.as_deref().unwrap_or("not yet"))?;
    // The seed is a text, since Excel's numbers have no more than 15 digits.
    say("run", "seed", &run.seed.to_string())?;
    say("run", "oscost", &run.oscost)?;
    if let Some(clock) = run.core_clock_ghz {
        say("core clock, GHz", "low", &clock.low.to_string())?;
        say("core clock, GHz", "median", &clock.median.to_string())?;
        say("core clock, GHz", "high", &clock.high.to_string())?;
    }
    for (area, seconds) in &run.area_seconds {
        say("seconds", area, &seconds.to_string())?;
    }
    for (of, list) in [("tag", &run.tags), ("asked", &run.asked)] {
        for (what, value) in list {
            say(of, what, value)?;
        }
    }
    for (what, value) in &document.machine {
        let value = match value {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Null => "unknown".to_owned(),
            other => other.to_string(),
        };
        say("machine", what, &value)?;
    }
    pages.finish()
}

/// One row per metric of each case.
pub(super) fn summary(
    workbook: &mut Workbook,
    results: &[CaseResult],
    rows_of_a_sheet: u32,
) -> Result<(), XlsxError> {
    const AFTER_PARAMS: [&str; 17] = [
        "metric",
        "unit",
        "better",
        "outcome",
        "reason",
        "median",
        "low",
        "high",
        "level",
        "rounds",
        "quiet share",
        "doubts",
        "core cycles",
        "core cycles low",
        "core cycles high",
        "this run low",
        "this run high",
    ];
    let params = params(results);
    let mut pages =
        Pages::new(workbook, "summary", headings(&params, &AFTER_PARAMS), rows_of_a_sheet)?;
    for result in results {
        let interval = |figures: Option<[f64; 3]>, unit: &str| match figures {
            Some(figures) => figures.map(|figure| CellValue::measured(figure, unit)),
            None => [const { CellValue::Empty }; 3],
        };
        let share = |value: Option<f64>| {
            value.map_or(CellValue::Empty, |value| CellValue::number(value, "0.0%"))
        };
        let estimate = measured(result);
        let cycles = result.cycles.filter(|_| result.outcome == Outcome::Measured);
        let mut row = identity(result, &params);
        row.extend([
            CellValue::text(result.better.word()),
            CellValue::text(result.outcome.word()),
            CellValue::text(result.reason.as_deref().unwrap_or("")),
        ]);
        row.extend(interval(estimate.map(|e| [e.median, e.low, e.high]), &result.unit));
        row.extend([
            share(estimate.map(|e| e.level)),
            CellValue::number(f64::from(result.rounds), WHOLE),
            share(result.quiet_share),
            CellValue::text(&result.doubts_in_words()),
        ]);
        row.extend(interval(cycles.map(|c| [c.median, c.low, c.high]), "cycles/op"));
        let of_run = of_this_run(result).map(|e| [e.median, e.low, e.high]);
        row.extend(interval(of_run, &result.unit).into_iter().skip(1));
        pages.push(&row)?;
    }
    pages.finish()
}

/// One row per round and metric.
pub(super) fn raw(
    workbook: &mut Workbook,
    results: &[CaseResult],
    rows_of_a_sheet: u32,
) -> Result<(), XlsxError> {
    let params = params(results);
    let headings = headings(&params, &["metric", "unit", "round", "value", "core cycles"]);
    let mut pages = Pages::new(workbook, "raw", headings, rows_of_a_sheet)?;
    for result in results {
        let identity = identity(result, &params);
        for (round, value) in (1u32..).zip(&result.round_values) {
            let mut row = identity.clone();
            row.push(CellValue::number(f64::from(round), WHOLE));
            row.push(CellValue::measured(*value, &result.unit));
            row.push(result.cycles_per_ns().map_or(CellValue::Empty, |cycles_per_ns| {
                CellValue::measured(value * cycles_per_ns, "cycles/op")
            }));
            pages.push(&row)?;
        }
    }
    pages.finish()
}

/// The names of the parameters of all cases.
fn params(results: &[CaseResult]) -> Vec<&str> {
    let names: BTreeSet<&str> =
        results.iter().flat_map(|result| result.params.keys()).map(String::as_str).collect();
    names.into_iter().collect()
}

fn headings(params: &[&str], others: &[&str]) -> Vec<String> {
    ["case"].iter().chain(params).chain(others).map(|name| (*name).to_owned()).collect()
}

/// The cells before the figures, up to the unit.
fn identity(result: &CaseResult, params: &[&str]) -> Vec<CellValue> {
    let mut row = vec![CellValue::text(&result.case)];
    row.extend(params.iter().map(|name| {
        result.params.get(*name).map_or(CellValue::Empty, |value| CellValue::param(value))
    }));
    row.extend([CellValue::text(&result.metric), CellValue::text(&result.unit)]);
    row
}

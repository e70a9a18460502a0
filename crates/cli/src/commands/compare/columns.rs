//! `oscost compare --by`: the values of a dimension as columns.

use analysis::{
    Compared, ComparedTable, Condition, CountRow, Dimension, Ladder, Overview, Question, Renaming,
    Selection, Settings, Table, also_differs, announcements, compare_columns, differing_counts,
    ladders, overview, tabulate,
};
use command::ending::{Ending, Usage};
use command::measure::print_announcement;
use command::options::StoreArg;
use command::output::{page, print, print_json};
use command::store::store_to_read;
use report::{CompareRow, Comparison, compare_table, counts_table, ladder_table, overview_text};
use results::Document;
use serde_json::{Value, json};

use super::shared::{cell, compared_cell, ending, find, floor_lines, keep_only, pairs, words};
use crate::args::Compare;
use crate::commands::gate::JudgedRows;

/// Compares the values of `by`.
pub fn compare_by(args: &Compare, by: &Dimension) -> anyhow::Result<Ending> {
    let question = Question {
        at: Selection(args.at.clone()),
        map: args.map.clone(),
        base: args.base_value.clone(),
    };
    if args.ladder && *by != Dimension::System {
        return Err(Usage("--ladder compares systems: use it with --by system".to_owned()).into());
    }
    if args.map.iter().any(Renaming::has_params) {
        let why = "with --by, --map matches cases: without parameters in braces";
        return Err(Usage(why.to_owned()).into());
    }
    let names = std::iter::once(&args.base).chain(&args.news);
    let mut runs = runs(names, by, &question.at, &args.store)?;
    keep_only(&args.only, &mut runs)?;
    let settings = Settings {
        margin: args.margin,
        across_machines: args.gate.across_machines,
        ..Settings::default()
    };
    let (all, ladder) = (args.all, args.ladder);
    let found = side_by_side(&runs, by, &question, &settings, all, ladder)?;
    let SideBySide { compared, comparison, .. } = &found;
    let columns = || comparison.columns.iter().skip(1);
    let rows = compared.rows.iter().flat_map(|row| columns().zip(row));
    let rows = rows.filter_map(|(name, row)| Some((name.as_str(), row.as_ref()?))).collect();
    let judged = JudgedRows { comparison, rows, runs: &runs, limit: args.fail_above };
    if args.json {
        print_json(&columns_json(&found, &question))?;
        return ending(&judged, args);
    }
    print_announcement("ratios", &runs)?;
    let page = page();
    let shown = &comparison.columns;
    let mut parts = vec![overview_text(&runs, &found.overview, shown, by, &page)];
    if args.ladder {
        parts.push(ladder_table(&found.ladders, &page));
    }
    parts.push(compare_table(&shortened(comparison.clone(), by), &page));
    parts.push(counts_table(&found.counts, shown, args.all, &page));
    parts.retain(|part| !part.is_empty());
    print(&parts.join("\n"))?;
    ending(&judged, args)
}

/// The comparison of the columns of a dimension.
pub struct SideBySide<'a> {
    compared: ComparedTable<'a>,
    pub comparison: Comparison,
    pub overview: Overview,
    pub counts: Vec<CountRow>,
    pub ladders: Vec<Ladder>,
}

/// Compares the values of `by` in these runs, with `all` rows or only those that differ, and with the systems' layers if
/// `ladder`.
pub fn side_by_side<'a>(
    runs: &'a [Document],
    by: &Dimension,
    question: &Question,
    settings: &Settings,
    all: bool,
    ladder: bool,
) -> anyhow::Result<SideBySide<'a>> {
    let table = tabulate(runs, by, question).map_err(|error| Usage(error.to_string()))?;
    let counts = differing_counts(&table);
    let ladders = if ladder { ladders(&table, settings) } else { Vec::new() };
    let columns = shown_names(by, &table.columns);
    let compared = compare_columns(table, settings);
    let overview = overview(&compared, &question.at, settings);
    let comparison = comparison(&compared, columns, settings, all);
    Ok(SideBySide { compared, comparison, overview, counts, ladders })
}

/// The runs that the user named, each once. If systems are compared, a run that was measured on several systems brings those on
/// the others.
pub fn runs<'n>(
    names: impl Iterator<Item = &'n String>,
    by: &Dimension,
    at: &Selection,
    store_arg: &StoreArg,
) -> anyhow::Result<Vec<Document>> {
    let takes_group = by.is_of_runs() || at.fixes(&Dimension::System) || at.fixes(&Dimension::Run);
    let mut runs: Vec<Document> = Vec::new();
    for name in names {
        let run = find(name, store_arg)?;
        let together = match store_to_read(store_arg) {
            Ok(store) if takes_group => match store.group_of(&run.run.id) {
                Ok(ids) if ids.len() > 1 => {
                    ids.iter().map(|id| store.document(id)).collect::<Result<Vec<_>, _>>()?
                }
                _ => vec![run],
            },
            _ => vec![run],
        };
        let is_new = |run: &Document| !runs.iter().any(|known| known.run.id == run.run.id);
        let new: Vec<Document> = together.into_iter().filter(is_new).collect();
        runs.extend(new);
    }
    Ok(runs)
}

/// Names of the columns in tables; cases are named without their area, which all share.
fn shown_names(by: &Dimension, columns: &[String]) -> Vec<String> {
    let short = |name: &String| match (by, name.split_once('/')) {
        (Dimension::Case, Some((_, name))) => name.to_owned(),
        _ => name.clone(),
    };
    columns.iter().map(short).collect()
}

fn comparison(
    compared: &ComparedTable,
    columns: Vec<String>,
    settings: &Settings,
    all: bool,
) -> Comparison {
    let table = &compared.table;
    let judged: Vec<Vec<Compared>> =
        vec![compared.rows.iter().flatten().flatten().cloned().collect()];
    let rows = table.rows.iter().zip(&compared.rows);
    let has_pair = |(_, cells): &(_, &Vec<Option<Compared>>)| cells.iter().any(Option::is_some);
    let row = |(row, cells): (&analysis::Row, &Vec<Option<Compared>>)| {
        // If cells are compared in cycles, the base is shown in cycles.
        let in_unit = cells.iter().flatten().find(|cell| cell.base.is_some());
        CompareRow {
            point: row.point(table),
            metric: row.metric.clone(),
            base: in_unit.and_then(|row| Some(cell(row.base?, &row.unit))),
            news: cells.iter().map(|cell| cell.as_ref().map(compared_cell)).collect(),
            host_calls: host_calls(row),
        }
    };
    let without: usize = rows.clone().filter(|row| !has_pair(row)).count();
    let base = &columns[0];
    let mut facts = announcements(table, settings);
    if !table.fixed.is_empty() {
        let fixed = table.fixed.iter().map(|(key, value)| format!("{key}={value}"));
        facts.push(format!("all rows have {}", fixed.collect::<Vec<_>>().join(", ")));
    }
    if without > 0 {
        facts.push(format!("{without} rows are left out: {base} has no such points"));
    }
    Comparison {
        by: table.by.to_string(),
        runs: described(table),
        also_differs: differences(table),
        facts,
        all,
        noise_floor: floor_lines(&judged, table.runs, settings),
        rows: rows.filter(has_pair).map(row).collect(),
        columns,
    }
}

/// The host's system calls per operation; empty if no column has them.
fn host_calls(row: &analysis::Row) -> Vec<Option<f64>> {
    let known = |cell: &analysis::Cell| cell.found()?.result.per_op.as_ref()?.host_syscalls;
    let calls: Vec<Option<f64>> = row.cells.iter().map(known).collect();
    if calls.iter().all(Option::is_none) { Vec::new() } else { calls }
}

/// Leaves out the rows of metrics other than the costs by which designs are judged, if too many rows have changed.
fn shortened(mut comparison: Comparison, by: &Dimension) -> Comparison {
    // Within a run a row has a line for each column.
    let rows_at_most = if by.is_of_runs() { 120 } else { 12 };
    let is_changed =
        |row: &&CompareRow| row.news.iter().flatten().any(|cell| cell.verdict.is_difference());
    let others = comparison.rows.iter().filter(is_changed).filter(|row| !row.is_cost()).count();
    let changed = comparison.rows.iter().filter(is_changed).count();
    if comparison.all || changed <= rows_at_most || others == changed {
        return comparison;
    }
    comparison.rows.retain(CompareRow::is_cost);
    comparison.facts.push(format!(
        "only costs are shown: {others} rows of other metrics differ too (--all, or --at metric=NAME)"
    ));
    comparison
}

/// The runs with their names in the tables.
fn described(table: &Table) -> Vec<(String, String)> {
    let name = |run: &Document| match table.by.value_of_run(run) {
        Some(value) => value,
        None => "run".to_owned(),
    };
    match table.by.is_of_runs() {
        true => in_columns(table).into_iter().map(|run| (name(run), words(run))).collect(),
        false if table.runs.len() == 1 => vec![("run".to_owned(), words(&table.runs[0]))],
        false => {
            let runs = 0..table.runs.len();
            runs.map(|run| (table.name_of_run(run).1, words(&table.runs[run]))).collect()
        }
    }
}

/// The runs in the order of the columns.
fn in_columns<'a>(table: &Table<'a>) -> Vec<&'a Document> {
    let of = |column: &String| {
        let has_value = |run: &&'a Document| table.by.value_of_run(run).as_ref() == Some(column);
        table.runs.iter().find(has_value)
    };
    table.columns.iter().filter_map(of).collect()
}

fn differences(table: &Table) -> Vec<analysis::Difference> {
    match table.by.is_of_runs() {
        true => also_differs(&in_columns(table)),
        false => Vec::new(),
    }
}

fn columns_json(found: &SideBySide, question: &Question) -> Value {
    let SideBySide { compared, overview, counts, ladders, .. } = found;
    let table = &compared.table;
    let run = |run: &Document| {
        known(json!({
            "id": run.run.id,
            "system": analysis::system_name(run),
            "column": table.by.value_of_run(run),
            "emulated": run.emulated(),
        }))
    };
    let condition = |Condition { dimension, value }: &Condition| format!("{dimension}={value}");
    let rows = table.rows.iter().zip(&compared.rows);
    known(json!({
        "schema": 1,
        "by": table.by.to_string(),
        "columns": table.columns,
        "runs": table.runs.iter().map(run).collect::<Vec<_>>(),
        "at": question.at.0.iter().map(condition).collect::<Vec<_>>(),
        "map": pairs(&question.map),
        "also_differs": differences(table),
        "overview": overview,
        "rows": rows.map(|(row, compared)| row_json(table, row, compared)).collect::<Vec<_>>(),
        "counts": counts,
        "ladders": (!ladders.is_empty()).then_some(ladders),
    }))
}

/// A row with its cells, each with its comparison with the cell of the first column, as JSON.
fn row_json(table: &Table, row: &analysis::Row, compared: &[Option<Compared>]) -> Value {
    let cell = |(at, cell): (usize, &analysis::Cell)| {
        let found = cell.found();
        let comparison = at.checked_sub(1).and_then(|other| compared[other].as_ref());
        let against_base = comparison.map(|row| {
            json!({
                "unit": row.unit,
                "ratio": row.ratio,
                "floor": row.floor,
                "verdict": row.verdict.word(),
                "note": row.note,
            })
        });
        known(json!({
            "column": table.columns[at],
            "point": found.map(|found| found.result.label()),
            "estimate": cell.measured().and_then(|found| found.result.estimate),
            "reason": cell.reason(),
            "per_op": found.and_then(|found| found.result.per_op.as_ref()),
            "against_base": against_base,
        }))
    };
    known(json!({
        "label": results::label(&row.case, &row.params),
        "case": row.case,
        "params": row.params,
        "run": row.run.map(|run| &table.runs[run].run.id),
        "metric": row.metric,
        "unit": row.unit,
        "cells": row.cells.iter().enumerate().map(cell).collect::<Vec<_>>(),
    }))
}

/// The JSON object without its null members.
fn known(mut object: Value) -> Value {
    object.as_object_mut().into_iter().for_each(|members| members.retain(|_, it| !it.is_null()));
    object
}

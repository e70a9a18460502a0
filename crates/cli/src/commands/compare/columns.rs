//! `oscost compare --by`: the values of a dimension are the columns.

use analysis::{
    Compared, ComparedTable, Condition, CountRow, Dimension, Ladder, NoiseCheck, Overview,
    Question, Ratio, Renaming, Selection, Settings, Table, TableError, compare_columns,
    differing_counts, ladders, overview, tabulate,
};
use measure::TIME;
use report::{CompareRow, Comparison, compare_table, counts_table, ladder_table, overview_text};
use results::{Document, Estimate, PerOp};
use runner::{also_differs, stored_noise_checks};
use serde::Serialize;

use super::shared::{cell, compared_cell, ending, find, floor_lines, words};
use crate::args::{Compare, StoreArg};
use crate::ending::{Ending, Usage};
use crate::output::{page, print, print_json};
use crate::store::store_to_read;

/// Compares the values of `by`.
pub fn compare_by(args: &Compare, by: &Dimension) -> anyhow::Result<Ending> {
    let question = Question {
        at: Selection(args.at.clone()),
        map: args.map.clone(),
        base: args.base_value.clone(),
    };
    let wrong = |error: TableError| Usage(error.to_string());
    if args.ladder && *by != Dimension::System {
        return Err(Usage("--ladder compares systems: use it with --by system".to_owned()).into());
    }
    let names = std::iter::once(&args.base).chain(&args.news);
    let runs = runs(names, by, &question.at, &args.store)?;
    let table = tabulate(&runs, by, &question).map_err(wrong)?;
    let noise = noise(&args.store, &table)?;
    let settings = Settings { margin: args.margin, ..Settings::default() };
    let overview = overview(&table, &question.at, &noise, &settings);
    let counts = differing_counts(&table);
    let ladders = match args.ladder {
        true => ladders(&table, &noise, &settings),
        false => Vec::new(),
    };
    let compared = compare_columns(table, &noise, &settings);
    if args.json {
        let judged = Judged { overview: &overview, counts: &counts, ladders: &ladders };
        let json = columns_json(&compared, &question, &judged, &noise);
        print_json(&json)?;
    } else {
        let page = page();
        let columns = &compared.table.columns;
        let shown = shown_names(by, columns);
        let mut parts = vec![overview_text(&overview, &shown, by, &page)];
        if args.ladder {
            parts.push(ladder_table(&ladders, &page));
        }
        let comparison = comparison(&compared, shown.clone(), &noise, &settings, args.all);
        parts.push(compare_table(&shortened(comparison), &page));
        parts.push(counts_table(&counts, &shown, args.all, &page));
        parts.retain(|part| !part.is_empty());
        print(&parts.join("\n"))?;
    }
    Ok(ending(compared.rows.iter().flatten().flatten(), args.fail_above))
}

/// The columns of a dimension, compared, for a page.
pub struct SideBySide {
    pub comparison: Comparison,
    pub overview: Overview,
    pub counts: Vec<CountRow>,
    pub ladders: Vec<Ladder>,
}

/// Compares the values of `by` in these runs.
pub fn side_by_side(
    runs: &[Document],
    by: &Dimension,
    question: &Question,
    store: &StoreArg,
) -> anyhow::Result<SideBySide> {
    let table = tabulate(runs, by, question).map_err(|error| Usage(error.to_string()))?;
    let noise = noise(store, &table)?;
    let settings = Settings::default();
    let overview = overview(&table, &question.at, &noise, &settings);
    let counts = differing_counts(&table);
    let ladders = match by {
        Dimension::System => ladders(&table, &noise, &settings),
        _ => Vec::new(),
    };
    let columns = shown_names(by, &table.columns);
    let compared = compare_columns(table, &noise, &settings);
    let comparison = comparison(&compared, columns, &noise, &settings, true);
    Ok(SideBySide { comparison, overview, counts, ladders })
}

/// The runs that the user named; of a run that was measured with others on several systems, all of them if systems are
/// compared. None twice.
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

/// The stored noise checks of the base's machine; a missing store has none.
fn noise(store: &StoreArg, table: &Table) -> anyhow::Result<NoiseCheck> {
    let base = base_run(table);
    let ids: Vec<&str> = table.runs.iter().map(|run| run.run.id.as_str()).collect();
    Ok(match store_to_read(store) {
        Ok(store) => stored_noise_checks(&store, base, &ids)?,
        Err(_) => NoiseCheck::default(),
    })
}

fn base_run<'a>(table: &Table<'a>) -> &'a Document {
    let has_base = |run: &&Document| table.by.value_of_run(run).as_ref() == Some(&table.columns[0]);
    table.runs.iter().find(has_base).unwrap_or(&table.runs[0])
}

/// The columns' names in tables: of cases without their area, which is that of all.
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
    noise: &NoiseCheck,
    settings: &Settings,
    all: bool,
) -> Comparison {
    let table = &compared.table;
    let judged: Vec<Vec<Compared>> =
        vec![compared.rows.iter().flatten().flatten().cloned().collect()];
    let rows = table.rows.iter().zip(&compared.rows);
    let has_pair = |(_, cells): &(_, &Vec<Option<Compared>>)| cells.iter().any(Option::is_some);
    let row = |(row, cells): (&analysis::Row, &Vec<Option<Compared>>)| {
        // Cells that are compared in cycles show the base in cycles.
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
    let mut facts = Vec::new();
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
        noise_floor: floor_lines(&judged, noise, settings),
        rows: rows.filter(has_pair).map(row).collect(),
        columns,
    }
}

/// The host's system calls per operation, if they are known in any column.
fn host_calls(row: &analysis::Row) -> Vec<Option<f64>> {
    let known = |cell: &analysis::Cell| cell.found()?.result.per_op.as_ref()?.host_syscalls;
    let calls: Vec<Option<f64>> = row.cells.iter().map(known).collect();
    if calls.iter().all(Option::is_none) { Vec::new() } else { calls }
}

/// Leaves out the rows of metrics other than the time, if more than a reader would look at have changed.
fn shortened(mut comparison: Comparison) -> Comparison {
    const ROWS_AT_MOST: usize = 120;
    let is_changed =
        |row: &&CompareRow| row.news.iter().flatten().any(|cell| cell.verdict.is_difference());
    let is_time = |row: &CompareRow| row.metric == TIME.name;
    let others = comparison.rows.iter().filter(is_changed).filter(|row| !is_time(row)).count();
    let changed = comparison.rows.iter().filter(is_changed).count();
    if comparison.all || changed <= ROWS_AT_MOST || others == changed {
        return comparison;
    }
    comparison.rows.retain(is_time);
    comparison.facts.push(format!(
        "only times are shown: {others} rows of other metrics differ too (--all, or --at metric=NAME)"
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

/// The columns of a dimension compared with the first.
#[derive(Serialize)]
struct ColumnsJson<'a> {
    schema: u32,
    by: String,
    columns: &'a [String],
    runs: Vec<RunJson<'a>>,
    at: Vec<String>,
    map: Vec<String>,
    noise_checks: usize,
    also_differs: Vec<analysis::Difference>,
    overview: &'a Overview,
    rows: Vec<RowJson<'a>>,
    counts: &'a [CountRow],
    #[serde(skip_serializing_if = "<[Ladder]>::is_empty")]
    ladders: &'a [Ladder],
}

#[derive(Serialize)]
struct RunJson<'a> {
    id: &'a str,
    system: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    emulated: Option<&'a str>,
}

#[derive(Serialize)]
struct RowJson<'a> {
    label: String,
    case: &'a str,
    params: &'a measure::Params,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
    metric: &'a str,
    unit: &'a str,
    cells: Vec<CellJson<'a>>,
}

/// A cell, and its comparison with that of the first column.
#[derive(Serialize)]
struct CellJson<'a> {
    column: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    point: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<Estimate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_op: Option<PerOp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    against_base: Option<AgainstBase<'a>>,
}

#[derive(Serialize)]
struct AgainstBase<'a> {
    unit: &'a str,
    ratio: Option<Ratio>,
    floor: f64,
    verdict: &'static str,
    note: &'a str,
}

/// What is certain about the columns beside the rows.
struct Judged<'a> {
    overview: &'a Overview,
    counts: &'a [CountRow],
    ladders: &'a [Ladder],
}

fn columns_json<'a>(
    compared: &'a ComparedTable,
    question: &Question,
    judged: &Judged<'a>,
    noise: &NoiseCheck,
) -> ColumnsJson<'a> {
    let table = &compared.table;
    let runs = table.runs.iter().map(|run| RunJson {
        id: &run.run.id,
        system: analysis::system_name(run),
        column: table.by.value_of_run(run),
        emulated: run.emulated(),
    });
    let condition = |Condition { dimension, value }: &Condition| format!("{dimension}={value}");
    let pair = |Renaming { old, new }: &Renaming| format!("{old}={new}");
    let rows = table.rows.iter().zip(&compared.rows);
    ColumnsJson {
        schema: 1,
        by: table.by.to_string(),
        columns: &table.columns,
        runs: runs.collect(),
        at: question.at.0.iter().map(condition).collect(),
        map: question.map.iter().map(pair).collect(),
        noise_checks: noise.checks(),
        also_differs: differences(table),
        overview: judged.overview,
        rows: rows.map(|(row, compared)| row_json(table, row, compared)).collect(),
        counts: judged.counts,
        ladders: judged.ladders,
    }
}

fn row_json<'a>(
    table: &'a Table,
    row: &'a analysis::Row,
    compared: &'a [Option<Compared>],
) -> RowJson<'a> {
    let cell = |(at, cell): (usize, &analysis::Cell)| {
        let found = cell.found();
        let comparison = at.checked_sub(1).and_then(|other| compared[other].as_ref());
        CellJson {
            column: &table.columns[at],
            point: found.map(|found| found.result.label()),
            estimate: cell.measured().and_then(|found| found.result.estimate),
            reason: cell.reason(),
            per_op: found.and_then(|found| found.result.per_op.clone()),
            against_base: comparison.map(|row| AgainstBase {
                unit: &row.unit,
                ratio: row.ratio,
                floor: row.floor,
                verdict: row.verdict.word(),
                note: &row.note,
            }),
        }
    };
    RowJson {
        label: results::label(&row.case, &row.params),
        case: &row.case,
        params: &row.params,
        run: row.run.map(|run| table.runs[run].run.id.as_str()),
        metric: &row.metric,
        unit: &row.unit,
        cells: row.cells.iter().enumerate().map(cell).collect(),
    }
}

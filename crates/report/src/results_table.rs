//! The tables of a run: one per area, a row per case with its parameters.
//!
//! What could not be measured stays visible: failures as rows, missing things folded below the table.

use std::time::Duration;

use results::{CaseResult, Outcome, PerOp};

use crate::footnotes::Footnotes;
use crate::grid::{self, Cell, Column};
use crate::labels::{self, Label};
use crate::page::{Ink, Page};
use crate::picture::{PICTURE_SCALE, picture};
use crate::quantity::{
    Figure, carries_unit, figure, format_duration, format_per_op, half_width, interval_figure,
    share_figure,
};
use crate::rows::{Area, COST, Metric, Row, areas, reasons, word};
use crate::text;

/// Names of rows are wrapped rather than made narrower than this, while there are columns to leave out.
const NARROWEST_NAMES: usize = 24;

/// Ranks up to this one belong to the table at any usual width; the others are for wide pages.
const LAST_CORE_RANK: usize = 3;

/// The results as tables, one or two per area, with footnotes below each and a legend at the end.
pub fn results_tables(results: &[CaseResult], page: &Page) -> String {
    if results.is_empty() {
        return "no results\n".to_owned();
    }
    let areas = areas(results);
    let mut text = String::new();
    for area in &areas {
        text.push_str(&area_text(area, page));
        text.push('\n');
    }
    text.push_str(&legend(results, page));
    text
}

/// How many cases were measured and how many were not, such as
/// `46 cases: 41 measured (2 with doubts), 3 unsupported, 2 failed, in 2 min 13 s`.
pub fn closing_line(results: &[CaseResult], took: Option<Duration>) -> String {
    let areas = areas(results);
    let rows: Vec<&Row> = areas.iter().flat_map(|area| &area.rows).collect();
    let doubtful = rows.iter().filter(|row| row.is_doubtful()).count();
    let outcomes = [
        Outcome::Measured,
        Outcome::Unsupported,
        Outcome::Failed,
        Outcome::TimedOut,
        Outcome::Implausible,
    ];
    let mut parts = Vec::new();
    for outcome in outcomes {
        let count = rows.iter().filter(|row| row.outcome() == outcome).count();
        if outcome == Outcome::Measured && doubtful > 0 {
            parts.push(format!("{count} measured ({doubtful} with doubts)"));
        } else if count > 0 || outcome == Outcome::Measured {
            parts.push(format!("{count} {}", word(outcome)));
        }
    }
    let cases = if rows.len() == 1 { "case" } else { "cases" };
    let took = took.map_or_else(String::new, |t| format!(", in {}", format_duration(t)));
    format!("{} {cases}: {}{took}\n", rows.len(), parts.join(", "))
}

fn area_text(area: &Area, page: &Page) -> String {
    let shown: Vec<&Row> = area.rows.iter().filter(|row| !is_folded(row)).collect();
    let (mut text, notes) =
        in_one_table(area, &shown, page).unwrap_or_else(|| in_several_tables(area, &shown, page));
    text.push_str(&notes.lines(page));
    if shown.is_empty() {
        text.push_str(&page.paint(Ink::Heading, &text::clean(&area.name)));
        text.push('\n');
    }
    text.push_str(&folded_lines(area, page));
    text
}

/// Everything side by side, where the page is wide enough for all of it.
fn in_one_table(area: &Area, rows: &[&Row], page: &Page) -> Option<(String, Footnotes)> {
    let metrics = area.further_metrics();
    if metrics.is_empty() || parted(rows).0.is_empty() {
        return None;
    }
    let mut notes = Footnotes::default();
    let choices = cost_choices(rows, page, &mut notes);
    let mut columns: Vec<Column> = choices.into_iter().map(|choice| choice.column).collect();
    for metric in metrics {
        let results: Vec<Option<&CaseResult>> = rows.iter().map(|row| row.result(metric)).collect();
        columns.extend(measured_columns(&heading(metric), &results, page, &mut notes));
    }
    let room = page.table_width().checked_sub(grid::total_width(&columns))?;
    let names = name_column(&area.name, rows, room);
    if names.width() > room {
        return None;
    }
    columns.insert(0, names);
    Some((grid::table(columns, page), notes))
}

/// The costs in one table, further metrics in as many more as they need.
fn in_several_tables(area: &Area, rows: &[&Row], page: &Page) -> (String, Footnotes) {
    let mut notes = Footnotes::default();
    let mut tables = Vec::new();
    let (costs, others) = parted(rows);
    let mut room_for_names = page.table_width();
    if !costs.is_empty() {
        let choices = cost_choices(&costs, page, &mut notes);
        room_for_names = page.table_width().saturating_sub(width_to(LAST_CORE_RANK, &choices));
        let columns = fitting(name_column(&area.name, &costs, room_for_names), choices, page);
        tables.push(grid::table(columns, page));
    }
    if !others.is_empty() {
        tables.extend(further_tables(area, &others, room_for_names, page, &mut notes));
    }
    (tables.join("\n"), notes)
}

/// The rows for the table of costs, and those for the tables of further metrics.
///
/// Where no cost was measured at all, a failed one does not make a table of its own.
fn parted<'a, 'r>(rows: &[&'a Row<'r>]) -> (Vec<&'a Row<'r>>, Vec<&'a Row<'r>>) {
    let is_measured = |result: &&CaseResult| result.outcome == Outcome::Measured;
    let any_cost = rows.iter().any(|row| row.cost().as_ref().is_some_and(is_measured));
    let any_other = rows.iter().any(|row| row.results.iter().any(|r| r.metric != COST));
    if any_other && !any_cost {
        return (Vec::new(), rows.to_vec());
    }
    let costs = rows.iter().copied().filter(|row| row.cost().is_some()).collect();
    let others = rows.iter().copied().filter(|row| has_more(row)).collect();
    (costs, others)
}

/// Whether a row has figures besides its cost, or ended otherwise than its cost says.
fn has_more(row: &Row) -> bool {
    let says_more = |result: &&CaseResult| match row.cost() {
        Some(cost) => {
            result.outcome != cost.outcome
                || result.reason != cost.reason
                || cost.outcome == Outcome::Measured
        }
        None => true,
    };
    row.results.iter().filter(|r| r.metric != COST).any(says_more)
}

/// A column the table may have; the higher its rank, the sooner a narrow page leaves it out.
struct Choice {
    column: Column,
    rank: usize,
}

fn cost_choices(rows: &[&Row], page: &Page, notes: &mut Footnotes) -> Vec<Choice> {
    let costs: Vec<Option<&CaseResult>> = rows.iter().map(|row| row.cost()).collect();
    let must = |column| Choice { column, rank: 0 };
    let mut choices: Vec<Choice> =
        measured_columns("cost", &costs, page, notes).into_iter().map(must).collect();
    let mut offer = |rank, heading: &str, tell: &dyn Fn(&Row) -> Option<Cell>| {
        let heading = page.signs(heading);
        choices.extend(told_column(&heading, rows, tell).map(|column| Choice { column, rank }));
    };
    offer(2, PICTURE_SCALE, &|row| picture_cell(row.cost()?, page));
    offer(4, "p95", &|row| p95_cell(row.cost()?));
    offer(3, "quiet", &|row| Some(Cell::figure(share_figure(row.cost()?.quiet_share?))));
    offer(1, "calls", &|row| per_op_cell(row, |counts| counts.syscalls));
    offer(5, "switches", &|row| per_op_cell(row, switches));
    offer(6, "faults", &|row| per_op_cell(row, |counts| counts.page_faults));
    offer(7, "instructions", &|row| per_op_cell(row, |counts| counts.instructions));
    choices
}

/// The names of the rows and as many of the columns as the page has room for.
fn fitting(names: Column, choices: Vec<Choice>, page: &Page) -> Vec<Column> {
    let fits = |rank: &usize| {
        let least = if *rank <= LAST_CORE_RANK { NARROWEST_NAMES } else { usize::MAX };
        width_to(*rank, &choices) + names.width().min(least) <= page.table_width()
    };
    let highest = choices.iter().map(|c| c.rank).max().unwrap_or(0);
    let last = (1..=highest).take_while(fits).last().unwrap_or(0);
    let kept = choices.into_iter().filter(|c| c.rank <= last).map(|c| c.column);
    std::iter::once(names).chain(kept).collect()
}

fn width_to(rank: usize, choices: &[Choice]) -> usize {
    choices.iter().filter(|c| c.rank <= rank).map(|c| c.column.width()).sum()
}

/// Metrics other than the cost, in as many tables as they need side by side.
fn further_tables(
    area: &Area,
    rows: &[&Row],
    room_for_names: usize,
    page: &Page,
    notes: &mut Footnotes,
) -> Vec<String> {
    let metrics = area.further_metrics();
    let mut tables = Vec::new();
    let mut rest = metrics.as_slice();
    while !rest.is_empty() {
        let (part, later) = rest.split_at(how_many_fit(&area.name, rows, rest, page));
        rest = later;
        let belongs = |row: &&Row| {
            row.ending().is_some() || part.iter().any(|metric| row.result(*metric).is_some())
        };
        let rows: Vec<&Row> = rows.iter().copied().filter(belongs).collect();
        let mut columns = Vec::new();
        for metric in part {
            columns.extend(metric_columns(&rows, *metric, page, notes));
        }
        let room = page.table_width().saturating_sub(grid::total_width(&columns));
        columns.insert(0, name_column(&area.name, &rows, room.min(room_for_names)));
        tables.push(grid::table(columns, page));
    }
    tables
}

/// How many of `metrics` fit beside the names, at least one.
fn how_many_fit(area: &str, rows: &[&Row], metrics: &[Metric], page: &Page) -> usize {
    let names = name_column(area, rows, 0).width().min(page.table_width() / 2);
    let width = |metric: &Metric| {
        let mut notes = Footnotes::default();
        grid::total_width(&metric_columns(rows, *metric, page, &mut notes))
    };
    let widths = metrics.iter().scan(names, |sum, metric| {
        *sum += width(metric);
        Some(*sum)
    });
    widths.take_while(|sum| *sum <= page.table_width()).count().max(1)
}

fn name_column(area: &str, rows: &[&Row], room: usize) -> Column {
    let labels: Vec<Label> = rows.iter().map(|row| row.label.clone()).collect();
    let names = labels::shortened(&labels, room);
    Column::names(area, names.into_iter().map(Cell::text).collect())
}

/// The columns of `metric`; a case that ended without any figure tells so in each of them.
fn metric_columns(
    rows: &[&Row],
    metric: Metric,
    page: &Page,
    notes: &mut Footnotes,
) -> Vec<Column> {
    let mut results = Vec::new();
    for row in rows {
        results.push(row.result(metric).or(row.ending()));
    }
    measured_columns(&heading(metric), &results, page, notes)
}

/// The metric's name, with its unit where the figures don't show it.
fn heading(metric: Metric) -> String {
    match metric {
        Metric { name, unit } if name == unit || carries_unit(unit) => name.to_owned(),
        Metric { name, unit } => format!("{name}\n({unit})"),
    }
}

/// The figure, its interval and its mark; the last two only where some row has one.
fn measured_columns(
    heading: &str,
    results: &[Option<&CaseResult>],
    page: &Page,
    notes: &mut Footnotes,
) -> Vec<Column> {
    let cells = |tell: &mut dyn FnMut(&CaseResult) -> Option<Cell>| -> Vec<Cell> {
        let cell = |result: &Option<&CaseResult>| result.and_then(&mut *tell).unwrap_or_default();
        results.iter().map(cell).collect()
    };
    let values = Column::figures(heading, cells(&mut |result| Some(value_cell(result))));
    let intervals =
        Column::figures(&page.signs("±"), cells(&mut |result| interval_cell(result, page)));
    let marks = Column::words(
        "",
        cells(&mut |result| Some(Cell::inked(notes.mark(&reasons(result)), Ink::Doubt))),
    );
    let mut columns = vec![values];
    columns.extend([intervals.close(), marks].into_iter().filter(|column| !column.is_blank()));
    columns
}

/// A column of what `tell` knows of each row; `None` where it knows nothing of any.
fn told_column(
    heading: &str,
    rows: &[&Row],
    tell: &dyn Fn(&Row) -> Option<Cell>,
) -> Option<Column> {
    let told: Vec<Option<Cell>> = rows.iter().map(|row| tell(row)).collect();
    if told.iter().all(Option::is_none) {
        return None;
    }
    let nothing = |row: &Row| match row.cost() {
        Some(cost) if cost.outcome == Outcome::Measured => Cell::unknown(),
        _ => Cell::default(),
    };
    let cells = told.into_iter().zip(rows).map(|(cell, row)| cell.unwrap_or_else(|| nothing(row)));
    Some(Column::figures(heading, cells.collect()))
}

fn value_cell(result: &CaseResult) -> Cell {
    match (result.outcome, result.estimate) {
        (Outcome::Measured, Some(e)) => {
            let half_width = half_width(e.median, e.low, e.high);
            Cell::figure(figure(e.median, half_width, &result.unit))
        }
        (Outcome::Measured, None) => Cell::inked("no figure", Ink::Bad),
        (outcome, _) => Cell::inked(word(outcome), Ink::Bad),
    }
}

/// The interval, but not of a property that all rounds agree on.
fn interval_cell(result: &CaseResult, page: &Page) -> Option<Cell> {
    let estimate = result.estimate.filter(|_| result.outcome == Outcome::Measured)?;
    if result.metric != COST && estimate.low == estimate.high {
        return None;
    }
    let interval = interval_figure(estimate.median, estimate.low, estimate.high)?;
    Some(Cell::figure(Figure { number: page.signs(&interval.number), unit: interval.unit }))
}

fn picture_cell(cost: &CaseResult, page: &Page) -> Option<Cell> {
    let picture = picture(&cost.seen?, cost.estimate?.median, page.unicode);
    (!picture.is_empty()).then(|| Cell::text(picture))
}

fn p95_cell(cost: &CaseResult) -> Option<Cell> {
    let p95 = cost.seen?.p95;
    Some(Cell::figure(figure(p95, p95.abs() * 0.01, &cost.unit)))
}

fn per_op_cell(row: &Row, count: impl Fn(&PerOp) -> Option<f64>) -> Option<Cell> {
    let counts = row.results.iter().find_map(|result| result.per_op.as_ref())?;
    Some(Cell::number(format_per_op(count(counts)?)))
}

fn switches(counts: &PerOp) -> Option<f64> {
    match (counts.voluntary_switches, counts.involuntary_switches) {
        (None, None) => None,
        (voluntary, involuntary) => Some(voluntary.unwrap_or(0.0) + involuntary.unwrap_or(0.0)),
    }
}

/// Rows of things this system does not have are named below the table, not in it.
fn is_folded(row: &Row) -> bool {
    row.outcome() == Outcome::Unsupported
}

fn folded_lines(area: &Area, page: &Page) -> String {
    let mut by_reason: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in area.rows.iter().filter(|row| is_folded(row)) {
        let mut reasons: Vec<&str> =
            row.results.iter().filter_map(|r| r.reason.as_deref()).collect();
        reasons.dedup();
        let reason = reasons.join("; ");
        match by_reason.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, rows)) => rows.push(row),
            None => by_reason.push((reason, vec![row])),
        }
    }
    let line = |(reason, rows): &(String, Vec<&Row>)| {
        let text = format!("({reason}): {}", folded_names(area, rows).join(", "));
        text::hanging("unsupported here ", &text, page.prose_width())
    };
    by_reason.iter().map(line).map(|lines| page.paint_lines(Ink::Faint, &lines)).collect()
}

/// The names of `rows`; a case all of whose rows are there is named once, with their number.
fn folded_names(area: &Area, rows: &[&Row]) -> Vec<String> {
    let labels: Vec<Label> = rows.iter().map(|row| row.label.clone()).collect();
    let mut names = Vec::new();
    for (row, name) in rows.iter().zip(labels::shortened(&labels, 0)) {
        let case = &row.label.name;
        let of_case = |row: &&Row| row.label.name == *case;
        let all = area.rows.iter().filter(|row| of_case(row)).count();
        let whole = all > 2 && rows.iter().copied().filter(|row| of_case(row)).count() == all;
        let name = if whole { format!("{case} (all {all})") } else { name };
        if !whole || !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// What the columns mean, in three lines at most.
fn legend(results: &[CaseResult], page: &Page) -> String {
    let Some(level) = results.iter().find_map(|result| result.estimate).map(|e| e.level * 100.0)
    else {
        return String::new();
    };
    let samples = if page.unicode {
        "one character per 5 %, the ends open"
    } else {
        "a digit per 5 %: tenths of them"
    };
    let has_cost = results.iter().any(|r| r.metric == COST && r.estimate.is_some());
    let lines = if has_cost {
        vec![
            format!(
                "cost ±: one undisturbed operation, and half the width of its {level:.0} % interval"
            ),
            format!("{PICTURE_SCALE}: all samples around the cost, {samples}"),
            "quiet: share of undisturbed time; per operation: system calls, switches, faults"
                .to_owned(),
        ]
    } else {
        vec![format!("±: half the width of the {level:.0} % interval")]
    };
    let set = |line: String| {
        let wrapped = text::hanging("", &page.signs(&line), page.prose_width());
        page.paint_lines(Ink::Faint, &wrapped)
    };
    lines.into_iter().map(set).collect()
}

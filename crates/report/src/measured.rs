//! Columns of figures: costs with their intervals and counts, and further metrics.

use results::{CaseResult, Interval, Outcome, PerOp};

use crate::footnotes::{Footnotes, Reason};
use crate::grid::{Cell, Column};
use crate::interval::{Uncertain, interval_columns};
use crate::page::{Ink, Page};
use crate::picture::{Scale, picture};
use crate::quantity::{
    carries_unit, figure, format_per_op, format_per_op_briefly, half_width, measured_half_width,
    share_figure,
};
use crate::rows::{COST, Metric, Row, ending_word, measured, reasons};
use crate::text::clean;

/// A possible column of the table. A narrow page leaves out the columns of the highest rank first.
pub struct Choice {
    pub column: Column,
    pub rank: usize,
}

/// Spacing of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    Roomy,
    /// Narrow: shorter pictures and counts, and narrower gaps between columns.
    Tight,
}

impl Setting {
    pub fn scale(self) -> Scale {
        match self {
            Setting::Roomy => Scale::Full,
            Setting::Tight => Scale::Short,
        }
    }

    /// Sets the gap before the column to that of this setting.
    pub fn spaced(self, column: Column) -> Column {
        match self {
            Setting::Roomy => column,
            Setting::Tight => column.close(),
        }
    }

    fn per_op(self, times: f64) -> String {
        match self {
            Setting::Roomy => format_per_op(times),
            Setting::Tight => format_per_op_briefly(times),
        }
    }
}

/// All columns for the costs of `rows`.
pub fn cost_choices(
    rows: &[&Row],
    setting: Setting,
    notes: &Footnotes,
    page: &Page,
) -> Vec<Choice> {
    let costs: Vec<Option<&CaseResult>> = rows.iter().map(|row| row.cost()).collect();
    let values = Column::figures("cost", costs.iter().map(|cost| cost.map(value_cell)));
    let marks = notes.column(costs.iter().map(|cost| cost.map(reasons).unwrap_or_default()));
    let mut columns = vec![values];
    columns.extend(intervals(&costs, page));
    columns.extend(marks.unless_blank());
    let must = |column| Choice { column, rank: 0 };
    let mut choices: Vec<Choice> = columns.into_iter().map(must).collect();
    let mut offer = |rank, heading: &str, cell_of: &dyn Fn(&Row) -> Option<Cell>| {
        let heading = page.signs(heading);
        let column = optional_column(&heading, rows, cell_of).map(|column| setting.spaced(column));
        choices.extend(column.map(|column| Choice { column, rank }));
    };
    let per_op = |count: Option<f64>| Some(Cell::number(setting.per_op(count?)));
    // The quiet share is the least important column beside cycles, which hold at any frequency.
    let moved = usize::from(has_cycles(rows));
    offer(2, "cycles", &|row| cycles_cell(row.cost()?));
    offer(1, "CPUs", &|row| cpus_cell(row.cost()?));
    let heading = setting.scale().heading();
    offer(2 + moved, heading, &|row| picture_cell(row.cost()?, setting.scale(), page));
    offer(4 + moved, "p95", &|row| p95_cell(row.cost()?));
    let quiet = |row: &Row| Some(Cell::figure(share_figure(row.cost()?.quiet_share?)));
    offer(3 + moved, "quiet", &quiet);
    offer(1, "calls", &|row| per_op(counts(row)?.syscalls));
    offer(1, "host calls", &|row| per_op(counts(row)?.host_syscalls));
    offer(5 + moved, "host switches", &|row| per_op(counts(row)?.host_switches));
    offer(6 + moved, "ptrace stops", &|row| per_op(counts(row)?.host_ptrace_stops));
    offer(8 + moved, "system calls", &|row| Some(Cell::text(call_names(counts(row)?, setting)?)));
    offer(5 + moved, "switches", &|row| per_op(switches(counts(row)?)));
    offer(6 + moved, "faults", &|row| per_op(counts(row)?.page_faults));
    offer(7 + moved, "instructions", &|row| per_op(counts(row)?.instructions));
    choices
}

/// Whether any row has its cost in core cycles.
pub fn has_cycles(rows: &[&Row]) -> bool {
    rows.iter().any(|row| row.cost().is_some_and(|cost| cost.cycles.is_some()))
}

/// Cost in core cycles, with the relative precision of the cost in ns.
fn cycles_cell(cost: &CaseResult) -> Option<Cell> {
    let Interval { median, low, high } = cost.cycles?;
    Some(Cell::figure(figure(median, measured_half_width(median, low, high), "count")))
}

/// Columns that accompany the figures of metrics.
#[derive(Debug, Clone, Copy)]
pub struct Detail {
    /// Whether intervals are shown.
    pub intervals: bool,
    /// Whether each column shows the outcome of a case without any figure.
    pub endings: bool,
}

/// A column for each of `metrics`, and one mark for all of them.
pub fn metric_columns(
    rows: &[&Row],
    metrics: &[Metric],
    detail: Detail,
    notes: &Footnotes,
    page: &Page,
) -> Vec<Column> {
    let mut columns = Vec::new();
    for metric in metrics {
        let results: Vec<Option<&CaseResult>> =
            rows.iter().map(|row| result_of(row, *metric, detail)).collect();
        let values = results.iter().map(|result| result.map(value_cell));
        columns.push(Column::narrow(&heading(*metric), values));
        if detail.intervals {
            columns.extend(intervals(&results, page));
        }
    }
    let of_row = |row: &&Row| {
        let results = metrics.iter().filter_map(|metric| result_of(row, *metric, detail));
        results.flat_map(reasons).collect::<Vec<Reason>>()
    };
    columns.extend(notes.column(rows.iter().map(of_row)).unless_blank());
    columns
}

fn result_of<'a>(row: &Row<'a>, metric: Metric, detail: Detail) -> Option<&'a CaseResult> {
    row.result(metric).or_else(|| row.ending().filter(|_| detail.endings))
}

/// Name of the metric, with its unit unless the figures show it.
fn heading(metric: Metric) -> String {
    match metric {
        Metric { name, unit } if name == unit || carries_unit(unit) => name.to_owned(),
        Metric { name, unit } => format!("{name}\n({unit})"),
    }
}

/// Columns of the intervals that some row has.
fn intervals(results: &[Option<&CaseResult>], page: &Page) -> Vec<Column> {
    interval_columns(results.iter().map(|result| uncertain((*result)?)), page)
}

/// A column of cells; `None` if no row has one.
fn optional_column(
    heading: &str,
    rows: &[&Row],
    cell_of: &dyn Fn(&Row) -> Option<Cell>,
) -> Option<Column> {
    let shown: Vec<Option<Cell>> = rows.iter().map(|row| cell_of(row)).collect();
    if shown.iter().all(Option::is_none) {
        return None;
    }
    let nothing = |row: &Row| match row.cost() {
        Some(cost) if cost.outcome == Outcome::Measured => Cell::unknown(),
        _ => Cell::default(),
    };
    let cells = shown.into_iter().zip(rows).map(|(cell, row)| cell.unwrap_or_else(|| nothing(row)));
    Some(Column::figures(heading, cells))
}

/// A cell with the estimate, or the outcome.
pub fn value_cell(result: &CaseResult) -> Cell {
    match (result.outcome, measured(result)) {
        (Outcome::Measured, Some(e)) => {
            let half_width = match result.metric == COST {
                true => measured_half_width(e.median, e.low, e.high),
                false => half_width(e.median, e.low, e.high),
            };
            Cell::figure(figure(e.median, half_width, &result.unit))
        }
        (Outcome::Measured, None) => Cell::inked("no figure", Ink::Bad),
        _ => Cell::inked(ending_word(result), Ink::Bad),
    }
}

/// The estimate of a measured result, unless it is a property with the same value in all rounds.
fn uncertain(result: &CaseResult) -> Option<Uncertain> {
    let figure = Uncertain::of(result)?;
    let is_exact = figure.estimate.low == figure.estimate.high;
    (result.metric == COST || !is_exact).then_some(figure)
}

/// The CPUs of a case whose CPUs were chosen by what they have in common.
fn cpus_cell(cost: &CaseResult) -> Option<Cell> {
    let chosen = catalog::are_chosen_apart(&cost.params) && !cost.cpus.is_empty();
    let cpus: Vec<String> = cost.cpus.iter().map(usize::to_string).collect();
    chosen.then(|| Cell::text(cpus.join(",")))
}

fn picture_cell(cost: &CaseResult, scale: Scale, page: &Page) -> Option<Cell> {
    let picture = picture(&cost.seen?, cost.estimate?.median, scale, page.unicode);
    (!picture.is_empty()).then(|| Cell::text(picture))
}

fn p95_cell(cost: &CaseResult) -> Option<Cell> {
    let p95 = cost.seen?.p95;
    Some(Cell::figure(figure(p95, p95.abs() * 0.01, &cost.unit)))
}

fn counts<'a>(row: &Row<'a>) -> Option<&'a PerOp> {
    row.results.iter().find_map(|result| result.per_op.as_ref())
}

/// Names of the most frequent system calls with their number per operation, such as `semop 2`; `None` if the names are unknown.
fn call_names(counts: &PerOp, setting: Setting) -> Option<String> {
    const NAMES_AT_MOST: usize = 3;
    let mut calls: Vec<(&String, &f64)> = counts.calls.iter().collect();
    calls.sort_by(|a, b| b.1.total_cmp(a.1));
    let names = calls.iter().take(NAMES_AT_MOST);
    let mut names: Vec<String> =
        names.map(|(name, times)| format!("{} {}", clean(name), setting.per_op(**times))).collect();
    match calls.len().saturating_sub(NAMES_AT_MOST) {
        0 => {}
        others => names.push(format!("{others} others")),
    }
    (!names.is_empty()).then(|| names.join(", "))
}

fn switches(counts: &PerOp) -> Option<f64> {
    match (counts.voluntary_switches, counts.involuntary_switches) {
        (None, None) => None,
        (voluntary, involuntary) => Some(voluntary.unwrap_or(0.0) + involuntary.unwrap_or(0.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_calls_are_named() {
        let of = |calls: &[(&str, f64)]| {
            let calls = calls.iter().map(|&(name, times)| (name.to_owned(), times)).collect();
            let counts = PerOp { calls, ..PerOp::default() };
            call_names(&counts, Setting::Roomy)
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("semop", 2.0)]).as_deref(), Some("semop 2"));
        let many = [("a", 0.5), ("b", 4.0), ("c", 1.0), ("d", 2.0), ("e", 0.1)];
        assert_eq!(of(&many).as_deref(), Some("b 4, d 2, c 1, 2 others"));
    }
}

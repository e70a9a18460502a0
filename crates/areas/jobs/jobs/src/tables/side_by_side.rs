//! Executors side by side: the figures of the serial executor, and those of the others as multiples of its figures.

use std::cmp::Ordering;

use crate::metrics::{OVERHEAD, TURNAROUND};
use results::{CaseResult, Estimate, Outcome};

use super::shape::{ORDER, param};
use report::first_seen::grouped;
use report::folded::unsupported_lines;
use report::footnotes::{Footnotes, Reason};
use report::grid::{self, Cell, Column, Group};
use report::interval::{Uncertain, interval_columns};
use report::page::{Ink, Page};
use report::quantity::{Figure, figure, measured_half_width};
use report::rows::{COST, Row, ending_word, measured, of_this_run};

/// The figures of several executors for the same jobs, one line per list of jobs.
pub(crate) struct SideBySide<'a, 'r> {
    lines: Vec<JobsLine<'a, 'r>>,
    executors: Vec<Executor<'a, 'r>>,
    notes: Footnotes,
}

/// A list of jobs that all executors carried out.
struct JobsLine<'a, 'r> {
    /// Parameters in which lines differ.
    keys: Vec<&'r str>,
    rows: Vec<&'a Row<'r>>,
}

/// The figures of one executor, by line.
struct Executor<'a, 'r> {
    name: &'r str,
    cells: Vec<Option<&'a Row<'r>>>,
}

/// Columns per executor.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// Whether all executors have intervals, or only the time of the first one.
    all_intervals: bool,
    first_interval: bool,
    /// Whether the first executor's turnaround is shown beside the ratios to it.
    first_turnaround: bool,
    overhead: bool,
    turnaround: &'static str,
}

/// The layouts from the widest to the narrowest; a page gets the first one that fits.
const LAYOUTS: [Layout; 6] = {
    let all = Layout {
        all_intervals: true,
        first_interval: true,
        first_turnaround: true,
        overhead: true,
        turnaround: "turnaround",
    };
    let no_overhead = Layout { overhead: false, ..all };
    let one_interval = Layout { all_intervals: false, ..no_overhead };
    let wrapped = Layout { turnaround: "turn-\naround", ..one_interval };
    let no_interval = Layout { first_interval: false, ..wrapped };
    [all, no_overhead, one_interval, wrapped, no_interval, LEAST]
};

const LEAST: Layout = Layout {
    all_intervals: false,
    first_interval: false,
    first_turnaround: false,
    overhead: false,
    turnaround: "turn-\naround",
};

/// Text of the tables, and whether it includes all overheads.
pub(crate) struct Printed {
    pub text: String,
    pub tells_overhead: bool,
}

impl<'a, 'r> SideBySide<'a, 'r> {
    /// Builds the lines from `rows` of one table, one line for each combination of `keys`; the serial executor comes first if
    /// there is one.
    ///
    /// Executors that this system does not support are left out.
    pub(crate) fn of(rows: &[&'a Row<'r>], keys: &[&str]) -> SideBySide<'a, 'r> {
        let exists = |row: &&Row| row.outcome() != Outcome::Unsupported;
        let existing: Vec<&Row> = rows.iter().copied().filter(exists).collect();
        let keyed = |&row: &&'a Row<'r>| {
            (keys.iter().map(|key| param(row, key)).collect::<Vec<&str>>(), row)
        };
        let lines = grouped(rows.iter().map(keyed)).into_iter();
        let mut lines: Vec<JobsLine> = lines.map(|(keys, rows)| JobsLine { keys, rows }).collect();
        lines.sort_by(|a, b| by_keys(&a.keys, &b.keys));
        let reasons: Vec<Vec<Reason>> = lines
            .iter()
            .map(|line| shown(&line.rows, &existing).flat_map(Row::reasons).collect())
            .collect();
        let executor =
            |name| Executor { name, cells: lines.iter().map(|line| line.of(name)).collect() };
        let executors = ORDER.values(&existing, "executor").into_iter().map(executor).collect();
        SideBySide { lines, executors, notes: Footnotes::of(&reasons) }
    }

    /// Prints as few tables as possible, and the notes below them. `keys` are the columns that identify the lines.
    pub(crate) fn print(&self, keys: &[Column], page: &Page) -> Printed {
        let Some((first, others)) = self.executors.split_first() else {
            return Printed { text: String::new(), tells_overhead: true };
        };
        let parts = |count: usize| match others {
            [] => vec![others],
            _ => others.chunks(count).collect(),
        };
        let fits = |count: usize, layout: &Layout| {
            let groups = |part| self.groups(keys, first, part, layout, page);
            let width = |part| groups(part).iter().map(Group::width).sum::<usize>();
            parts(count).into_iter().all(|part| width(part) <= page.table_width())
        };
        let all = others.len().max(1);
        let (count, layout) = match LAYOUTS.iter().find(|layout| fits(all, layout)) {
            Some(layout) => (all, layout),
            None => ((1..all).rev().find(|count| fits(*count, &LEAST)).unwrap_or(1), &LEAST),
        };
        let evenly = all.div_ceil(all.div_ceil(count));
        let table = |part| grid::grouped_table(self.groups(keys, first, part, layout, page), page);
        let tables: Vec<String> = parts(evenly).into_iter().map(table).collect();
        let text = tables.join("\n") + &self.notes.lines(page);
        Printed { text, tells_overhead: layout.overhead }
    }

    /// The keys of the lines and the figures of `first` and of `others`.
    fn groups(
        &self,
        keys: &[Column],
        first: &Executor,
        others: &[Executor],
        layout: &Layout,
        page: &Page,
    ) -> Vec<Group> {
        let mut groups = vec![Group::new("", keys.to_vec())];
        groups.push(self.first_group(first, layout, page));
        groups.extend(others.iter().map(|other| self.ratio_group(first, other, layout, page)));
        groups
    }

    /// The columns of the executor with which the others are compared.
    fn first_group(&self, first: &Executor, layout: &Layout, page: &Page) -> Group {
        let times = first.results(COST);
        let elapsed =
            |heading| Column::figures(heading, times.iter().map(|time| time.map(value_cell)));
        let mut columns = Vec::new();
        if self.has(TURNAROUND.name) {
            columns.push(elapsed("elapsed"));
            if layout.first_interval {
                columns.extend(intervals(&times, page));
            }
            let turnarounds = first.results(TURNAROUND.name);
            if layout.first_turnaround {
                let shown = turnarounds.iter().map(|turnaround| turnaround.map(value_cell));
                columns.push(Column::narrow(layout.turnaround, shown));
                if layout.all_intervals {
                    columns.extend(intervals(&turnarounds, page));
                }
            }
            columns.extend(overhead_column(first).filter(|_| layout.overhead));
            columns.extend(self.marks(first));
            return Group::new(first.name, columns);
        }
        columns.push(elapsed(first.name));
        if layout.first_interval {
            columns.extend(intervals(&times, page));
        }
        columns.extend(self.marks(first));
        Group::new("", columns)
    }

    /// The figures of `other` as multiples of those of `first`.
    fn ratio_group(
        &self,
        first: &Executor,
        other: &Executor,
        layout: &Layout,
        page: &Page,
    ) -> Group {
        let ratios = |metric: &str, unit: &str| -> Vec<Cell> {
            let pairs = first.results(metric).into_iter().zip(other.results(metric));
            pairs.map(|(first, other)| ratio_cell(first, other, unit)).collect()
        };
        let has_turnaround = self.has(TURNAROUND.name);
        let heading = if has_turnaround { "elapsed" } else { other.name };
        let mut columns = vec![Column::narrow(heading, ratios(COST, ""))];
        let interval = |metric| match layout.all_intervals {
            true => intervals(&other.results(metric), page),
            false => Vec::new(),
        };
        columns.extend(interval(COST));
        if has_turnaround {
            columns.push(Column::narrow(layout.turnaround, ratios(TURNAROUND.name, " x")));
            columns.extend(interval(TURNAROUND.name));
        }
        columns.extend(overhead_column(other).filter(|_| layout.overhead));
        columns.extend(self.marks(other));
        Group::new(if has_turnaround { other.name } else { "" }, columns)
    }

    /// The footnote letters of one executor's figures.
    fn marks(&self, executor: &Executor) -> Option<Column> {
        let reasons = executor.cells.iter().map(|row| row.map(Row::reasons).unwrap_or_default());
        self.notes.column(reasons).unless_blank()
    }

    /// Whether any executor has a figure for `metric`.
    fn has(&self, metric: &str) -> bool {
        let results = self.executors.iter().flat_map(|executor| executor.results(metric));
        results.flatten().next().is_some()
    }

    /// The values of one key, line by line.
    pub(crate) fn keys(&self, at: usize) -> Vec<&'r str> {
        self.lines.iter().map(|line| line.keys[at]).collect()
    }

    /// The names of the executors; the first is the one with which the others are compared.
    pub(crate) fn executors(&self) -> Vec<&'r str> {
        self.executors.iter().map(|executor| executor.name).collect()
    }

    /// The medians of `metric` of one executor, for all lines that have one.
    pub(crate) fn medians(&self, executor: &str, metric: &str) -> Vec<f64> {
        let of_it = self.executors.iter().filter(|other| other.name == executor);
        let results = of_it.flat_map(|executor| executor.results(metric)).flatten();
        results.filter_map(|result| Some(measured(result)?.median)).collect()
    }
}

impl<'a, 'r> JobsLine<'a, 'r> {
    fn of(&self, executor: &str) -> Option<&'a Row<'r>> {
        self.rows.iter().copied().find(|row| param(row, "executor") == executor)
    }
}

impl<'r> Executor<'_, 'r> {
    /// The result for `metric`, line by line.
    fn results(&self, metric: &str) -> Vec<Option<&'r CaseResult>> {
        self.cells.iter().map(|row| row.and_then(|row| row.by_name(metric))).collect()
    }
}

/// The `rows` whose executor has any of `existing`.
fn shown<'a, 'b, 'r>(
    rows: &'b [&'a Row<'r>],
    existing: &'b [&'a Row<'r>],
) -> impl Iterator<Item = &'a Row<'r>> {
    let exists =
        |row: &Row| existing.iter().any(|other| param(other, "executor") == param(row, "executor"));
    rows.iter().copied().filter(move |row| exists(row))
}

fn by_keys(a: &[&str], b: &[&str]) -> Ordering {
    a.iter().zip(b).map(|(a, b)| ORDER.by_value(a, b)).fold(Ordering::Equal, Ordering::then)
}

/// A cell with the value, or the outcome.
pub(crate) fn value_cell(result: &CaseResult) -> Cell {
    measured(result)
        .map_or_else(|| ending_cell(result), |e| Cell::figure(rounded(&e, &result.unit)))
}

fn ending_cell(result: &CaseResult) -> Cell {
    Cell::inked(ending_word(result), Ink::Bad)
}

fn rounded(estimate: &Estimate, unit: &str) -> Figure {
    let half_width = measured_half_width(estimate.median, estimate.low, estimate.high);
    figure(estimate.median, half_width, unit)
}

/// The columns of intervals that some line has.
pub(crate) fn intervals(results: &[Option<&CaseResult>], page: &Page) -> Vec<Column> {
    interval_columns(results.iter().map(|result| Uncertain::of((*result)?)), page)
}

/// The overhead relative to an ideal schedule.
fn overhead_column(executor: &Executor) -> Option<Column> {
    let results = executor.results(OVERHEAD.name).into_iter();
    let shown = results.map(|result| result.filter(|it| measured(it).is_some()).map(value_cell));
    Column::narrow("over\nideal", shown).unless_blank()
}

/// A cell with `other` as a multiple of `first`, or with its outcome if there is no figure to compare.
fn ratio_cell(first: Option<&CaseResult>, other: Option<&CaseResult>, suffix: &str) -> Cell {
    let Some(other) = other else { return Cell::default() };
    let Some(estimate) = measured(other) else { return ending_cell(other) };
    let positive = |e: &Estimate| e.median > 0.0 && e.median.is_finite();
    match first.and_then(of_this_run).zip(of_this_run(other)).filter(|(base, _)| positive(base)) {
        Some((base, other)) => compared(&base, &other),
        None => Cell::text(rounded(&estimate, &other.unit).to_string() + suffix),
    }
}

/// The ratio, marked if the two intervals overlap.
fn compared(base: &Estimate, other: &Estimate) -> Cell {
    let number = ratio_text(other.median / base.median);
    if other.low <= base.high && base.low <= other.high {
        return Cell::number(format!("~{number}")).in_ink(Ink::Faint);
    }
    let ink = match number.as_str() {
        "1.00" => Ink::Plain,
        _ if other.median < base.median => Ink::Good,
        _ => Ink::Bad,
    };
    Cell::number(number).in_ink(ink)
}

/// A ratio with three significant digits.
pub(crate) fn ratio_text(ratio: f64) -> String {
    match ratio {
        r if !r.is_finite() => "?".to_owned(),
        r if r >= 99.95 => format!("{r:.0}"),
        r if r >= 9.995 => format!("{r:.1}"),
        r if r >= 0.0995 => format!("{r:.2}"),
        r if r >= 0.0005 => format!("{r:.3}"),
        _ => "<0.001".to_owned(),
    }
}

/// Lines of unsupported executors, one per reason: `unsupported here (reason): processes, tokio`.
pub(crate) fn missing_lines(rows: &[&Row], page: &Page) -> String {
    let missing = ORDER.values(rows, "executor").into_iter().filter_map(|executor| {
        let mut of_it = rows.iter().filter(|row| param(row, "executor") == executor).peekable();
        let reason = of_it.peek().and_then(|row| row.results.first()?.reason.as_deref());
        let is_missing = of_it.all(|row| row.outcome() == Outcome::Unsupported);
        is_missing.then(|| (reason, executor.to_owned()))
    });
    unsupported_lines(missing, page)
}

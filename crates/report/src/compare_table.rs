//! The table of a comparison of runs: ratios with their intervals, and verdicts.

use analysis::{Difference, Ratio, Verdict};
use measure::Params;
use results::PointKey;

use crate::comparison::{Cell, CompareCell, CompareRow, Comparison};
use crate::first_seen::grouped;
use crate::footnotes::{Footnotes, Reason};
use crate::grid::{self, Column};
use crate::labels::{self, Label, Param};
use crate::names;
use crate::page::{Ink, Page};
use crate::quantity::{Figure, figure, format_per_op_briefly, half_width};
use crate::rows::COST;
use crate::text;
use crate::undecided::{is_undecided, undecided_text};

/// Maximum width of the column of keys under `also differs`.
const WIDEST_KEY: usize = 24;

/// Heading of the column with the host's system calls.
const HOST_CALLS: &str = "host calls";

/// Minimum width of row names; on narrower pages figures are left out.
const LEAST_NAMES: usize = 14;

pub(crate) fn ink(verdict: Verdict) -> Ink {
    match verdict {
        Verdict::Faster | Verdict::Better => Ink::Good,
        Verdict::Slower | Verdict::Worse => Ink::Bad,
        Verdict::Higher | Verdict::Lower => Ink::Plain,
        Verdict::Same => Ink::Faint,
        Verdict::CannotTell
        | Verdict::Emulated
        | Verdict::AnotherMachine
        | Verdict::NotComparable => Ink::Doubt,
    }
}

/// The verdict's word in its colour.
pub(crate) fn verdict_cell(verdict: Verdict) -> grid::Cell {
    grid::Cell::inked(verdict.word(), ink(verdict))
}

/// Maximum number of undecided rows in the tables; if there are more, they are summarised by case.
const MOST_UNDECIDED: usize = 20;

/// A comparison as text: the names of the runs, a table per area with changed and undecided rows, the numbers of verdicts, the
/// noise floor, and other differences between the runs, of which different systems have many. With `all`, the tables have all
/// rows.
pub fn compare_table(comparison: &Comparison, page: &Page) -> String {
    let mut text = runs_text(comparison, page);
    text.push_str(&facts_text(comparison, page));
    let undecided = |row: &&CompareRow| !has_changed(row) && is_undecided(row);
    let folded: Vec<&CompareRow> = comparison.rows.iter().filter(undecided).collect();
    let folds = !comparison.all && folded.len() > MOST_UNDECIDED;
    let folded = if folds { folded } else { Vec::new() };
    let is_shown =
        |row: &&CompareRow| comparison.all || has_changed(row) || (!folds && is_undecided(row));
    let shown: Vec<&CompareRow> = comparison.rows.iter().filter(is_shown).collect();
    for group in groups(&shown) {
        text.push('\n');
        text.push_str(&group_text(&group, comparison, page));
    }
    if !folded.is_empty() {
        text.push('\n');
        text.push_str(&undecided_text(&folded, page));
    }
    text.push('\n');
    text.push_str(&summary(comparison, page));
    if !shown.is_empty() {
        let of_base = match comparison.columns[0].as_str() {
            "base" => "the new figure divided by the base's".to_owned(),
            base => format!("the figure divided by that of {base}"),
        };
        let mut legend = format!("ratio: {of_base}, with its interval");
        // The legend explains the column only if the page had room for it.
        if text.contains(HOST_CALLS) {
            legend.push_str(&format!("; {HOST_CALLS}: system calls on the host per operation"));
        }
        text.push_str(&page.prose(Ink::Faint, &legend));
    }
    for line in &comparison.noise_floor {
        text.push_str(&page.hanging("", line));
    }
    text + &differences_text(comparison, page)
}

/// Whether a difference is certain in any column.
fn has_changed(row: &CompareRow) -> bool {
    row.news.iter().flatten().any(|cell| cell.verdict.is_difference())
}

fn facts_text(comparison: &Comparison, page: &Page) -> String {
    let lines = comparison.facts.iter();
    let text: String = lines.map(|line| page.hanging("", &page.signs(line))).collect();
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn runs_text(comparison: &Comparison, page: &Page) -> String {
    /// Minimum width of names.
    const NAME: usize = 6;
    let longest = comparison.runs.iter().map(|(name, _)| text::width(name)).max().unwrap_or(0);
    let column = longest.clamp(NAME, WIDEST_KEY);
    let line = |(name, run): &(String, String)| {
        let name = text::clean(name);
        page.hanging(&format!("{name:<column$}  "), run)
    };
    comparison.runs.iter().map(line).collect()
}

fn differences_text(comparison: &Comparison, page: &Page) -> String {
    if comparison.also_differs.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", page.paint(Ink::Doubt, "also differs"));
    let keys = comparison.also_differs.iter().map(|d| text::width(&d.key));
    let column = keys.max().unwrap_or(0).min(WIDEST_KEY);
    let names: Vec<&String> = comparison.runs.iter().map(|(name, _)| name).collect();
    for Difference { key, values, .. } in &comparison.also_differs {
        let said = match values.as_slice() {
            [base, new] => page.signs(&format!("{base} → {new}")),
            values => of_runs(&names, values),
        };
        let key = text::clean(key);
        text.push_str(&page.hanging(&format!("  {key:<column$}  "), &said));
    }
    text
}

/// The values of several runs, each value once: `a, b: on; c: off`.
fn of_runs(names: &[&String], values: &[String]) -> String {
    let said = grouped(values.iter().zip(names.iter().map(|name| name.as_str())));
    let parts = said.iter().map(|(value, names)| format!("{}: {value}", names.join(", ")));
    parts.collect::<Vec<_>>().join("; ")
}

/// The rows of one metric in one area.
struct Group<'a> {
    title: String,
    shared: Vec<Param>,
    rows: Vec<&'a CompareRow>,
    /// Labels of the rows, without the `shared` parameters.
    labels: Vec<Label>,
}

/// The groups of rows, one per area and metric; the metrics of an area follow one another. The metrics of an area with one point
/// only are one group.
fn groups<'a>(rows: &[&'a CompareRow]) -> Vec<Group<'a>> {
    let areas = grouped(rows.iter().map(|row| (row.point.area(), (row.metric.as_str(), *row))));
    let of_area = |(area, rows): (&'a str, Vec<(&'a str, &'a CompareRow)>)| match &rows[..] {
        [(_, first), _, ..] if rows.iter().all(|(_, row)| row.point == first.point) => {
            vec![group_of_metrics(&rows)]
        }
        _ => {
            let groups = grouped(rows).into_iter();
            groups.map(|(metric, rows)| group(area, metric, rows)).collect()
        }
    };
    areas.into_iter().flat_map(of_area).collect()
}

/// The metrics of one point.
fn group_of_metrics<'a>(rows: &[(&'a str, &'a CompareRow)]) -> Group<'a> {
    let label = |(metric, row): &(&str, &CompareRow)| {
        let case = format!("{}/{metric}", row.point.area());
        Label::of(&PointKey { case, params: Params::new() })
    };
    let point = &rows[0].1.point;
    let shared = Label::of(point).params;
    let title = text::clean(&point.case);
    let labels = rows.iter().map(label).collect();
    Group { title, shared, rows: rows.iter().map(|(_, row)| *row).collect(), labels }
}

fn group<'a>(area: &str, metric: &str, mut rows: Vec<&'a CompareRow>) -> Group<'a> {
    let label = |row: &&CompareRow| Label::of(&row.point);
    let all: Vec<Label> = rows.iter().map(label).collect();
    rows.sort_by_cached_key(|row| labels::rank(&label(row), &all));
    let shared = labels::shared(&all);
    let area = text::clean(area);
    let title = if metric == COST { area } else { format!("{area}: {metric}") };
    let labels = rows.iter().map(|row| label(row).without(&shared)).collect();
    Group { title, shared, rows, labels }
}

fn group_text(group: &Group, comparison: &Comparison, page: &Page) -> String {
    let reasons = |row: &&CompareRow| row.news.iter().flatten().flat_map(reasons).collect();
    let reasons: Vec<Vec<Reason>> = group.rows.iter().map(reasons).collect();
    let notes = Footnotes::of(&reasons);
    let mut text = String::new();
    if group.is_titled() {
        let title = labels::title(&group.title, &group.shared);
        text.push_str(&page.heading(&title));
    }
    let columns = side_by_side(group, comparison, &notes, page)
        .unwrap_or_else(|| one_below_the_other(group, comparison, &notes, page));
    text + &grid::table(columns, page) + &notes.lines(page)
}

impl Group<'_> {
    /// Whether a title above the table names the shared parameters in addition to the area, or the area alone if rows are named
    /// by their parameters.
    fn is_titled(&self) -> bool {
        let is_of_any_case = self.labels.iter().all(Label::is_of_any_case);
        !self.shared.is_empty() || self.rows[0].metric != COST || is_of_any_case
    }

    /// Heading of the first column; empty if the table has a title.
    fn heading(&self) -> &str {
        if self.is_titled() { "" } else { &self.title }
    }
}

/// The table with one line per row; `None` if the page is too narrow.
fn side_by_side(
    group: &Group,
    comparison: &Comparison,
    notes: &Footnotes,
    page: &Page,
) -> Option<Vec<Column>> {
    let room = |columns: &[Column]| page.table_width().saturating_sub(grid::total_width(columns));
    let names = |columns: &[Column]| names::columns(group.heading(), &group.labels, room(columns));
    let fits = |columns: &[Column]| grid::total_width(&names(columns)) <= room(columns);
    // The column of counts is left out before the ratio, which it only explains.
    let with_counts = figure_columns(group, comparison, notes, Some(page));
    let mut columns = match fits(&with_counts) {
        true => with_counts,
        false => figure_columns(group, comparison, notes, None),
    };
    if !fits(&columns) && comparison.columns.len() != 2 {
        return None;
    }
    if !fits(&columns) {
        // The new figure is left out first, since the base and the ratio imply it.
        columns.remove(1);
    }
    // A narrow page shows only the ratio, so that each row fits one line.
    let fits_without_figures = || fits(&columns[1..]) && names(&columns[1..]).len() > 1;
    if room(&columns) < LEAST_NAMES || (!fits(&columns) && fits_without_figures()) {
        columns.remove(0);
    }
    Some(names(&columns).into_iter().chain(columns).collect())
}

/// Columns of the base's figures, and of the figures, ratios and verdicts of each other column; with the host's system calls if a
/// page is given.
fn figure_columns(
    group: &Group,
    comparison: &Comparison,
    notes: &Footnotes,
    counts: Option<&Page>,
) -> Vec<Column> {
    let base = group.rows.iter().map(|row| figure_cell(row.base.as_ref()));
    let mut columns = vec![Column::figures(&comparison.columns[0], base)];
    for (i, name) in comparison.columns[1..].iter().enumerate() {
        let cells: Vec<Option<&CompareCell>> =
            group.rows.iter().map(|row| row.news.get(i).and_then(Option::as_ref)).collect();
        if cells.iter().all(Option::is_none) && comparison.columns.len() > 2 {
            continue;
        }
        let figures = cells.iter().map(|cell| figure_cell(cell.and_then(|c| c.figure.as_ref())));
        columns.push(Column::figures(name, figures));
        columns.extend(verdict_columns(&cells, notes));
        if let Some(page) = counts {
            let calls = group.rows.iter().map(|row| {
                let new = format_per_op_briefly(row.host_calls.get(i + 1).copied().flatten()?);
                let base = row.host_calls[0].map_or_else(|| "-".to_owned(), format_per_op_briefly);
                Some(page.signs(&format!("{base} → {new}")))
            });
            columns.extend(Column::words(HOST_CALLS, calls).unless_blank());
        }
    }
    columns
}

/// The table with one line per column of each row, the base first.
fn one_below_the_other(
    group: &Group,
    comparison: &Comparison,
    notes: &Footnotes,
    page: &Page,
) -> Vec<Column> {
    let (base, others) = comparison.columns.split_first().expect("a base");
    let mut below = Vec::new();
    let mut lines = Vec::new();
    for row in &group.rows {
        let calls = |at: usize| row.host_calls.get(at).copied().flatten();
        lines.push((base, row.base.as_ref(), None, calls(0)));
        let news = others.iter().zip(&row.news).enumerate();
        let present = news.filter_map(|(at, (run, new))| Some((at, run, new.as_ref()?)));
        let before = lines.len();
        lines.extend(
            present.map(|(at, run, new)| (run, new.figure.as_ref(), Some(new), calls(at + 1))),
        );
        below.push(lines.len() - before);
    }
    let cells: Vec<Option<&CompareCell>> = lines.iter().map(|(_, _, cell, _)| *cell).collect();
    let mut columns = vec![
        Column::words(&comparison.by, lines.iter().map(|(run, ..)| run.as_str())),
        Column::figures("figure", lines.iter().map(|(_, figure, ..)| figure_cell(*figure))),
    ];
    columns.extend(verdict_columns(&cells, notes));
    let calls = |calls: f64| grid::Cell::number(format_per_op_briefly(calls));
    let calls = Column::figures(HOST_CALLS, lines.iter().map(|(.., known)| known.map(calls)));
    let room = page.table_width().saturating_sub(grid::total_width(&columns) + LEAST_NAMES);
    columns.extend(calls.unless_blank().filter(|calls| calls.width() <= room));
    if grid::total_width(&columns) + LEAST_NAMES > page.table_width() {
        columns.remove(1);
    }
    let room = page.table_width().saturating_sub(grid::total_width(&columns));
    let names = names::columns(group.heading(), &group.labels, room);
    names.into_iter().map(|column| column.spread(&below)).chain(columns).collect()
}

/// Reason for an undecided verdict.
fn reasons(cell: &CompareCell) -> Option<Reason> {
    let reason = match cell.verdict {
        Verdict::NotComparable => Reason::Missing,
        _ => Reason::Note,
    };
    (!cell.note.is_empty()).then(|| reason(cell.note.clone()))
}

/// Columns of ratios, verdicts and marks; marks only if any row has one.
fn verdict_columns(cells: &[Option<&CompareCell>], notes: &Footnotes) -> Vec<Column> {
    let ratios = cells.iter().map(|cell| cell.and_then(|cell| cell.ratio).map(ratio_cell));
    let verdicts = cells.iter().map(|cell| cell.map(|cell| verdict_cell(cell.verdict)));
    let reasons = cells.iter().map(|cell| Vec::from_iter(cell.and_then(reasons)));
    let columns = [Column::figures("ratio", ratios), Column::words("verdict", verdicts)];
    columns.into_iter().chain(notes.column(reasons).unless_blank()).collect()
}

fn figure_cell(cell: Option<&Cell>) -> grid::Cell {
    match cell {
        Some(Cell { median, low, high, unit }) => {
            grid::Cell::figure(figure(*median, half_width(*median, *low, *high), unit))
        }
        None => grid::Cell::unknown(),
    }
}

/// A ratio with its interval, such as `x1.032 (1.028..1.037)`, in two parts. If the interval extends from a tenth to ten times,
/// only its end on the side of 1, such as `>x25`; unknown if it includes 1.
pub(crate) fn ratio_cell(ratio: Ratio) -> grid::Cell {
    if ratio.high > ratio.mid * 10.0 && ratio.low < ratio.mid / 10.0 {
        let number = match (ratio.low, ratio.high) {
            (low, _) if low > 1.0 => format!(">x{low:.1}"),
            (_, high) if high < 1.0 => format!("<x{high:.3}"),
            _ => return grid::Cell::unknown(),
        };
        return grid::Cell::figure(Figure { number, unit: String::new() });
    }
    let places = match ratio.mid.abs() {
        mid if mid >= 100.0 => 1,
        mid if mid >= 10.0 => 2,
        mid if mid >= 0.1 => 3,
        _ => 5,
    };
    grid::Cell::figure(Figure {
        number: format!("x{:.places$}", ratio.mid),
        unit: format!("({:.places$}..{})", ratio.low, bound(ratio.high, places)),
    })
}

/// The number of rows per verdict, one line per column.
fn summary(comparison: &Comparison, page: &Page) -> String {
    /// Maximum number of columns that have a line each; more are counted together.
    const COLUMNS_APART: usize = 8;
    let mut text = String::new();
    let (base, others) = comparison.columns.split_first().expect("a base");

    let lines: Vec<(&str, Vec<Verdict>)> = match others.len() {
        n if n > COLUMNS_APART => {
            vec![("all", (0..n).flat_map(|at| comparison.verdicts(at)).collect())]
        }
        n => (0..n).map(|at| (others[at].as_str(), comparison.verdicts(at))).collect(),
    };
    for (name, verdicts) in lines {
        let is_judged = verdicts.iter().any(|verdict| verdict.is_judged());
        let changed = match !is_judged || verdicts.iter().any(|verdict| verdict.is_difference()) {
            true => "",
            false => "no certain difference: ",
        };
        let (count, counts) = (verdicts.len(), Verdict::counted(&verdicts));
        let line =
            format!("{} compared with {base}: {changed}{counts}", text::number_of(count, "row"));
        text.push_str(&page.hanging(&format!("{name}: "), &line));
    }
    text
}

/// A bound as text. Bounds beyond 1000 are shown as `>1000`: they carry no information, and their digits would not fit.
pub(crate) fn bound(ratio: f64, places: usize) -> String {
    const NOTHING_KNOWN: f64 = 1_000.0;
    if ratio > NOTHING_KNOWN { ">1000".to_owned() } else { format!("{ratio:.places$}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_of_which_nothing_is_known_is_not_shown() {
        let is_unknown = |low, high| {
            let shown = format!("{:?}", ratio_cell(Ratio { mid: 14.2, low, high }));
            shown == format!("{:?}", grid::Cell::unknown())
        };
        assert!(is_unknown(1.0, 6.4e43));
        assert!(!is_unknown(1.5, 6.4e43) && !is_unknown(14.0, 14.4));
    }

    #[test]
    fn an_endless_interval_is_short() {
        assert_eq!(bound(6.4e43, 3), ">1000");
        assert_eq!(bound(f64::INFINITY, 3), ">1000");
        assert_eq!(bound(1.05, 3), "1.050");
    }
}

//! Runs side by side: ratios with their intervals, and what can be said for certain.

use analysis::{Difference, Ratio, Verdict};

use crate::footnotes::Footnotes;
use crate::grid::{self, Column};
use crate::labels::{self, Label};
use crate::page::{Ink, Page};
use crate::quantity::{Figure, figure, half_width};
use crate::rows::COST;
use crate::text;

/// Names of rows are shortened where they would be wider than this in a table of several runs.
const NARROWEST_NAMES: usize = 24;

/// Figures are left out where the names of rows would get less than this.
const LEAST_NAMES: usize = 14;

/// One base run and the runs held against it.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The base run, in words.
    pub base: String,
    /// The other runs, in words.
    pub news: Vec<String>,
    /// What else differs between the runs; empty when nothing does.
    pub also_differs: Vec<Difference>,
    /// What the smallest difference is that this machine can tell, one text per line.
    pub noise_floor: Vec<String>,
    /// One per metric of each case.
    pub rows: Vec<CompareRow>,
}

/// One metric of one case in all runs.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareRow {
    /// `area/name{key=value,...}`.
    pub label: String,
    /// `time` for the cost.
    pub metric: String,
    /// The base's figure; `None` when it has none.
    pub base: Option<Cell>,
    /// One per other run.
    pub news: Vec<CompareCell>,
}

/// A figure with its interval, in `unit`.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The estimate.
    pub median: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    /// As in the results: `ns/op`, `pairs/s` ...
    pub unit: String,
}

/// One other run's figure held against the base's.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareCell {
    /// `None` when this run has no figure.
    pub figure: Option<Cell>,
    /// `None` when there is nothing to divide.
    pub ratio: Option<Ratio>,
    /// What can be said for certain.
    pub verdict: Verdict,
    /// What would settle it, or why it can't be compared; may be empty.
    pub note: String,
}

fn ink(verdict: Verdict) -> Ink {
    match verdict {
        Verdict::Faster | Verdict::Better => Ink::Good,
        Verdict::Slower | Verdict::Worse => Ink::Bad,
        Verdict::Higher | Verdict::Lower => Ink::Plain,
        Verdict::Same => Ink::Faint,
        Verdict::CannotTell | Verdict::NotComparable => Ink::Doubt,
    }
}

/// The runs, what else differs, a table per area, the counts of verdicts and the noise floor.
pub fn compare_table(comparison: &Comparison, page: &Page) -> String {
    let mut text = runs_text(comparison, page);
    text.push_str(&differences_text(comparison, page));
    for (area, rows) in areas(&comparison.rows) {
        text.push('\n');
        text.push_str(&area_text(&area, &rows, comparison, page));
    }
    text.push('\n');
    text.push_str(&summary(comparison, page));
    let legend = "ratio: the new figure divided by the base's, with its interval";
    let legend = text::hanging("", legend, page.prose_width());
    text.push_str(&page.paint_lines(Ink::Faint, &legend));
    for line in &comparison.noise_floor {
        text.push_str(&text::hanging("", line, page.prose_width()));
    }
    text
}

/// What the runs are called in the table: `new`, or `new 1`, `new 2` ...
fn run_names(comparison: &Comparison) -> Vec<String> {
    match comparison.news.len() {
        1 => vec!["new".to_owned()],
        n => (1..=n).map(|i| format!("new {i}")).collect(),
    }
}

fn runs_text(comparison: &Comparison, page: &Page) -> String {
    let names = run_names(comparison);
    let names = std::iter::once("base").chain(names.iter().map(String::as_str));
    let runs = std::iter::once(&comparison.base).chain(&comparison.news);
    let line = |(name, run): (&str, &String)| {
        text::hanging(&format!("{name:<6}  "), run, page.prose_width())
    };
    names.zip(runs).map(line).collect()
}

fn differences_text(comparison: &Comparison, page: &Page) -> String {
    if comparison.also_differs.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", page.paint(Ink::Doubt, "also differs"));
    let keys = comparison.also_differs.iter().map(|d| text::width(&d.key));
    let column = keys.max().unwrap_or(0).min(NARROWEST_NAMES);
    let names = run_names(comparison);
    for Difference { key, values } in &comparison.also_differs {
        let said = match values.as_slice() {
            [base, new] => page.signs(&format!("{base} → {new}")),
            [base, news @ ..] => {
                let news = names.iter().zip(news).map(|(name, new)| format!("; {name}: {new}"));
                format!("base: {base}{}", news.collect::<String>())
            }
            [] => String::new(),
        };
        let key = text::clean(key);
        text.push_str(&text::hanging(&format!("  {key:<column$}  "), &said, page.prose_width()));
    }
    text
}

fn areas(rows: &[CompareRow]) -> Vec<(String, Vec<&CompareRow>)> {
    let mut areas: Vec<(String, Vec<&CompareRow>)> = Vec::new();
    for row in rows {
        let area = Label::parse(&row.label).area;
        match areas.iter_mut().find(|(name, _)| *name == area) {
            Some((_, list)) => list.push(row),
            None => areas.push((area, vec![row])),
        }
    }
    areas
}

fn area_text(area: &str, rows: &[&CompareRow], comparison: &Comparison, page: &Page) -> String {
    let mut notes = Footnotes::default();
    let columns = side_by_side(area, rows, comparison, page, &mut notes).unwrap_or_else(|| {
        notes = Footnotes::default();
        one_below_the_other(area, rows, comparison, page, &mut notes)
    });
    grid::table(columns, page) + &notes.lines(page)
}

/// A line per row; `None` where the page is too narrow for it.
fn side_by_side(
    area: &str,
    rows: &[&CompareRow],
    comparison: &Comparison,
    page: &Page,
    notes: &mut Footnotes,
) -> Option<Vec<Column>> {
    let base = rows.iter().map(|row| figure_cell(row.base.as_ref())).collect();
    let mut columns = vec![Column::figures("base", base)];
    for (i, name) in run_names(comparison).iter().enumerate() {
        let cells: Vec<Option<&CompareCell>> = rows.iter().map(|row| row.news.get(i)).collect();
        let figures = cells.iter().map(|cell| figure_cell(cell.and_then(|c| c.figure.as_ref())));
        columns.push(Column::figures(name, figures.collect()));
        columns.extend(verdict_columns(&cells, notes));
    }
    let room = |columns: &[Column]| page.table_width().saturating_sub(grid::total_width(columns));
    let names = |columns: &[Column]| name_column(area, rows, room(columns));
    let fits = |columns: &[Column]| names(columns).width() <= room(columns);
    if !fits(&columns) && comparison.news.len() != 1 {
        return None;
    }
    if !fits(&columns) {
        // Two figures and their ratio say one thing twice: the new figure can be missed.
        columns.remove(1);
    }
    if room(&columns) < LEAST_NAMES {
        columns.remove(0);
    }
    columns.insert(0, names(&columns));
    Some(columns)
}

/// A line per run of each row, the base first.
fn one_below_the_other(
    area: &str,
    rows: &[&CompareRow],
    comparison: &Comparison,
    page: &Page,
    notes: &mut Footnotes,
) -> Vec<Column> {
    let labels = names_of(rows, NARROWEST_NAMES);
    let runs = run_names(comparison);
    let mut names = Vec::new();
    let mut run_cells = Vec::new();
    let mut figures = Vec::new();
    let mut cells = Vec::new();
    for (row, label) in rows.iter().zip(labels) {
        names.push(grid::Cell::text(label));
        run_cells.push(grid::Cell::text("base"));
        figures.push(figure_cell(row.base.as_ref()));
        cells.push(None);
        for (run, new) in runs.iter().zip(&row.news) {
            names.push(grid::Cell::default());
            run_cells.push(grid::Cell::text(run.as_str()));
            figures.push(figure_cell(new.figure.as_ref()));
            cells.push(Some(new));
        }
    }
    let mut columns = vec![
        Column::names(area, names),
        Column::words("run", run_cells),
        Column::figures("figure", figures),
    ];
    columns.extend(verdict_columns(&cells, notes));
    if grid::total_width(&columns[1..]) + LEAST_NAMES > page.table_width() {
        columns.remove(2);
    }
    columns
}

/// The ratio, the verdict and the mark; the last only where some row has one.
fn verdict_columns(cells: &[Option<&CompareCell>], notes: &mut Footnotes) -> Vec<Column> {
    let column = |tell: &mut dyn FnMut(&CompareCell) -> grid::Cell| -> Vec<grid::Cell> {
        cells.iter().map(|cell| cell.map(&mut *tell).unwrap_or_default()).collect()
    };
    let ratios = column(&mut |cell| cell.ratio.map(ratio_cell).unwrap_or_default());
    let verdicts = column(&mut |cell| grid::Cell::inked(cell.verdict.word(), ink(cell.verdict)));
    let marks = column(&mut |cell| {
        let reasons: Vec<String> =
            [&cell.note].into_iter().filter(|n| !n.is_empty()).cloned().collect();
        grid::Cell::inked(notes.mark(&reasons), Ink::Doubt)
    });
    let mut columns = vec![Column::figures("ratio", ratios), Column::words("verdict", verdicts)];
    columns.extend(Some(Column::words("", marks)).filter(|column| !column.is_blank()));
    columns
}

fn figure_cell(cell: Option<&Cell>) -> grid::Cell {
    match cell {
        Some(Cell { median, low, high, unit }) => {
            grid::Cell::figure(figure(*median, half_width(*median, *low, *high), unit))
        }
        None => grid::Cell::unknown(),
    }
}

/// `x1.032 (1.028..1.037)`, in two parts.
fn ratio_cell(ratio: Ratio) -> grid::Cell {
    let places = match ratio.mid.abs() {
        mid if mid >= 100.0 => 1,
        mid if mid >= 10.0 => 2,
        mid if mid >= 0.1 => 3,
        _ => 5,
    };
    grid::Cell::figure(Figure {
        number: format!("x{:.places$}", ratio.mid),
        unit: format!("({:.places$}..{:.places$})", ratio.low, ratio.high),
    })
}

fn name_column(area: &str, rows: &[&CompareRow], room: usize) -> Column {
    Column::names(area, names_of(rows, room).into_iter().map(grid::Cell::text).collect())
}

/// What to call the rows; a metric other than the cost is named too.
fn names_of(rows: &[&CompareRow], room: usize) -> Vec<String> {
    let metric = |row: &CompareRow| match row.metric.as_str() {
        COST => String::new(),
        metric => format!(": {metric}"),
    };
    let metrics: Vec<String> = rows.iter().map(|row| metric(row)).collect();
    let widest = metrics.iter().map(|metric| text::width(metric)).max().unwrap_or(0);
    let labels: Vec<Label> = rows.iter().map(|row| Label::parse(&row.label)).collect();
    let names = labels::shortened(&labels, room.saturating_sub(widest));
    names.into_iter().zip(metrics).map(|(name, metric)| name + &metric).collect()
}

/// How often each verdict was given, a line per run.
fn summary(comparison: &Comparison, page: &Page) -> String {
    let mut text = String::new();
    for (i, name) in run_names(comparison).iter().enumerate() {
        let verdicts: Vec<Verdict> = comparison
            .rows
            .iter()
            .filter_map(|row| row.news.get(i))
            .map(|cell| cell.verdict)
            .collect();
        let counts = Verdict::ALL.into_iter().filter_map(|verdict| {
            let count = verdicts.iter().filter(|v| **v == verdict).count();
            (count > 0).then(|| format!("{count} {}", verdict.word()))
        });
        let counts: Vec<String> = counts.collect();
        let line = format!("{} compared with base: {}", verdicts.len(), counts.join(", "));
        text.push_str(&text::hanging(&format!("{name}: "), &line, page.prose_width()));
    }
    text
}

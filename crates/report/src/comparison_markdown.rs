//! A comparison as Markdown, for a comment on a pull request or the summary of a job.

use analysis::{Difference, Ratio, Verdict};
use results::{Document, announcement_of};

use crate::compare_table::bound;
use crate::comparison::{Cell, CompareCell, CompareRow, Comparison};
use crate::markdown::{MOST, escaped, folded, limited};
use crate::quantity::{figure, half_width};
use crate::text::{clean, number_of};

/// Number of changed rows that are not folded.
const OPEN: usize = 20;
/// Shares of the room for the changed rows and for those that cannot be judged.
const CHANGED: usize = MOST / 2;
const UNDECIDED: usize = MOST / 4;
const SAME: usize = MOST / 8;

/// A row in one column.
struct Line<'c> {
    row: &'c CompareRow,
    column: &'c str,
    cell: &'c CompareCell,
}

/// A comparison in at most [`MOST`] bytes: `headline`, the runs, the changed rows, losses first; folded those that cannot be judged
/// with the reasons, the unchanged ones, and what else differs between the runs.
pub fn comparison_markdown(comparison: &Comparison, headline: &str, runs: &[Document]) -> String {
    let (base, columns) = comparison.columns.split_first().expect("a base");
    let lines: Vec<Line> = comparison.rows.iter().flat_map(|row| lines(row, columns)).collect();
    let of = |wanted: fn(Verdict) -> bool| -> Vec<&Line> {
        lines.iter().filter(|line| wanted(line.cell.verdict)).collect()
    };
    let mut changed = of(Verdict::is_difference);
    changed.sort_by(|a, b| rank(b.cell).total_cmp(&rank(a.cell)));
    let undecided = of(|verdict| !verdict.is_decided());
    let same = of(|verdict| verdict == Verdict::Same);
    let mut text = format!("### oscost: {}\n\n", escaped(headline));
    if let Some(line) = announcement_of("ratios", runs) {
        text.push_str(&format!("**{}**\n\n", escaped(&line)));
    }
    for (name, run) in &comparison.runs {
        text.push_str(&format!("- {}: {}\n", escaped(name), escaped(run)));
    }
    let counts = Verdict::counted(&lines.iter().map(|line| line.cell.verdict).collect::<Vec<_>>());
    let rows = number_of(lines.len(), "row");
    text.push_str(&format!("\n{rows} compared with {}: {counts}.\n", escaped(base)));
    let (open, rest) = changed.split_at(changed.len().min(OPEN));
    text.push_str(&table(open, base, columns.len() > 1, CHANGED));
    if !rest.is_empty() {
        let room = CHANGED.saturating_sub(text.len());
        let summary = format!("{} more changed", rest.len());
        text.push_str(&folded(&summary, &table(rest, base, columns.len() > 1, room)));
    }
    if !undecided.is_empty() {
        let verdicts: Vec<Verdict> = undecided.iter().map(|line| line.cell.verdict).collect();
        let summary = Verdict::counted(&verdicts);
        let table = table(&undecided, base, columns.len() > 1, UNDECIDED);
        text.push_str(&folded(&summary, &table));
    }
    if !same.is_empty() {
        let point = |line: &&Line| line.row.point.to_string();
        let names = limited(&same, SAME, |line| format!("- {}\n", name(line)), point);
        text.push_str(&folded(&format!("same: {}", same.len()), &names));
    }
    let mut facts: Vec<String> = comparison.facts.iter().map(|fact| escaped(fact)).collect();
    facts.extend(comparison.also_differs.iter().map(difference));
    if !facts.is_empty() {
        let room = MOST.saturating_sub(text.len() + 1_000);
        let list = limited(&facts, room, |fact| format!("- {fact}\n"), |_| "a fact".to_owned());
        text.push_str(&folded("also differs", &list));
    }
    let floor: Vec<String> = comparison.noise_floor.iter().map(|line| escaped(line)).collect();
    if !floor.is_empty() {
        text.push_str(&format!("\n{}.\n", floor.join(". ")));
    }
    text
}

/// The row in each column that has a counterpart of the base.
fn lines<'c>(row: &'c CompareRow, columns: &'c [String]) -> impl Iterator<Item = Line<'c>> {
    let cells = row.news.iter().zip(columns);
    cells.filter_map(move |(cell, column)| Some(Line { row, column, cell: cell.as_ref()? }))
}

/// Order of changed rows: losses before neutral changes and gains, the greatest first.
fn rank(cell: &CompareCell) -> f64 {
    let size = cell.ratio.map_or(f64::MAX.ln(), |ratio| ratio.mid.ln().abs());
    match cell.verdict {
        verdict if verdict.is_loss() => 2e3 + size,
        verdict if verdict.is_gain() => size,
        _ => 1e3 + size,
    }
}

fn table(lines: &[&Line], base: &str, has_columns: bool, room: usize) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let new = if has_columns { "column | figure" } else { "new" };
    let rule =
        if has_columns { "|---|--:|---|--:|--:|---|---|" } else { "|---|--:|--:|--:|---|---|" };
    let head =
        format!("\n| point | {} | {new} | ratio | verdict | note |\n{rule}\n", escaped(base));
    let row = |line: &&Line| {
        let figure = |cell: &Option<Cell>| cell.as_ref().map_or("-".to_owned(), figure_of);
        let mut cells = vec![name(line), figure(&line.row.base)];
        cells.extend(has_columns.then(|| escaped(line.column)));
        cells.extend([
            figure(&line.cell.figure),
            line.cell.ratio.map_or("-".to_owned(), ratio),
            line.cell.verdict.word().to_owned(),
            escaped(&line.cell.note),
        ]);
        format!("| {} |\n", cells.join(" | "))
    };
    let room = room.saturating_sub(head.len());
    head + &limited(lines, room, row, |line| line.row.point.to_string())
}

/// The point as code, with its metric if that is not the time.
fn name(line: &Line) -> String {
    let metric = &line.row.metric;
    let metric = if metric == measure::TIME.name { String::new() } else { format!(" {metric}") };
    // In code only the backtick is special; in a table also the bar, even within code.
    let point = clean(&line.row.point.to_string()).replace('`', "'").replace('|', "\\|");
    format!("`{point}`{}", escaped(&metric))
}

fn figure_of(cell: &Cell) -> String {
    let half = half_width(cell.median, cell.low, cell.high);
    escaped(&figure(cell.median, half, &cell.unit).to_string())
}

fn ratio(Ratio { mid, low, high }: Ratio) -> String {
    let places = if mid >= 10.0 { 1 } else { 3 };
    format!("{mid:.places$} ({low:.places$} to {})", escaped(&bound(high, places)))
}

fn difference(Difference { key, values, .. }: &Difference) -> String {
    let values: Vec<String> = values.iter().map(|value| escaped(value)).collect();
    format!("{}: {}", escaped(key), values.join(" → "))
}

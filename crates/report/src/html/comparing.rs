//! The comparison of runs: ratios with their intervals around 1, where the noise floor is shaded.

use analysis::Verdict;
use maud::{Markup, html};

use crate::compare_table::bound;
use crate::comparison::{Cell, CompareCell, CompareRow, Comparison};
use crate::html::chart::{Axis, Chart, ChartPoint, Series, Shade};
use crate::html::table::scrolled;
use crate::html::text::{Ids, Text, paragraphs, visible};
use crate::labels::Label;
use crate::quantity::{figure, half_width};

/// Maximum number of rows of the chart of changes.
const CHANGES: usize = 40;

/// Number of decimals of a ratio.
pub(super) const PLACES: usize = 3;

/// Explanation of the chart of ratios.
const NOTE: &str = "Ratio to the base with its interval; 1 means equal. Within the shaded range lie differences \
                    that this machine cannot resolve.";

/// Factor beyond which ratios are drawn at the edge of the chart.
const FARTHEST: f64 = 16.0;

/// The section with the differences between the runs, or between the columns of another dimension; then `standings`, then the
/// changes.
pub(super) fn section(comparison: &Comparison, standings: Markup, ids: &mut Ids) -> Markup {
    let changed = |cell: &&CompareCell| cell.verdict.is_difference();
    let distance = |row: &CompareRow| {
        let cells = row.news.iter().flatten().filter(changed).filter_map(|cell| cell.ratio);
        cells.map(|ratio| ratio.mid.ln().abs()).fold(0.0, f64::max)
    };
    let has_changed = |row: &&CompareRow| row.news.iter().flatten().any(|cell| changed(&cell));
    let mut rows: Vec<&CompareRow> = comparison.rows.iter().filter(has_changed).collect();
    rows.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
    let count = rows.len();
    rows.truncate(CHANGES);
    let mut chart = chart(comparison, &rows, "Changes, the largest first", true, ids);
    if count > CHANGES {
        chart.notes.push(format!("The largest {CHANGES} of {count} changes: the areas show all."));
    }
    html! {
        section id="comparison" aria-labelledby="comparison-h" {
            h2 id="comparison-h" { "Comparison" }
            dl.runs {
                @for (name, description) in &comparison.runs {
                    dt { (Text(name)) } dd { (Text(description)) }
                }
            }
            @for (at, name) in others(comparison).iter().enumerate() {
                p.verdicts {
                    @if others(comparison).len() > 1 { (Text(name)) ": " }
                    (Text(&verdicts(comparison, at)))
                }
            }
            (standings)
            @if count == 0 { p { "No difference is certain." } }
            div.charts { (chart.figure()) }
            (differences(comparison))
            (paragraphs(&comparison.facts))
            (paragraphs(&comparison.noise_floor))
        }
    }
}

/// Names of the columns other than the base.
fn others(comparison: &Comparison) -> &[String] {
    comparison.columns.get(1..).unwrap_or_default()
}

fn verdicts(comparison: &Comparison, new: usize) -> String {
    match comparison.verdicts(new) {
        none if none.is_empty() => "nothing to compare".to_owned(),
        verdicts => Verdict::counted(&verdicts),
    }
}

fn differences(comparison: &Comparison) -> Markup {
    html! { @if !comparison.also_differs.is_empty() {
        (scrolled("What else differs between the runs", html! {
            thead { tr {
                th scope="col" { "fact" }
                @for (name, _) in &comparison.runs { th scope="col" { (Text(name)) } }
            } }
            tbody { @for difference in &comparison.also_differs { tr {
                th scope="row" { (Text(&difference.key)) }
                @for value in &difference.values { td.text { (Text(value)) } }
            } } }
        }))
    } }
}

/// The ratios of one area: a chart and a table of all rows.
pub(super) fn area(comparison: &Comparison, name: &str, ids: &mut Ids) -> Markup {
    let rows: Vec<&CompareRow> =
        comparison.rows.iter().filter(|row| row.point.area() == name).collect();
    if rows.is_empty() {
        return html! {};
    }
    let chart = chart(comparison, &rows, &format!("{name}: ratio to the base"), false, ids);
    html! {
        div.charts { (chart.figure()) }
        details { summary { "All compared figures of " (Text(name)) ": " (rows.len()) }
            (scrolled(&format!("Compared figures: {name}"), html! {
                thead { tr {
                    th scope="col" { "point" } th scope="col" { "metric" }
                    th.n scope="col" { (Text(comparison.columns.first().map_or("base", String::as_str))) }
                    @for name in others(comparison) {
                        @let of = if others(comparison).len() == 1 { String::new() } else { format!(" of {name}") };
                        th.n scope="col" { (Text(name)) } th.n scope="col" { (Text(&format!("ratio{of}"))) }
                        th scope="col" { (Text(&format!("interval{of}"))) } th scope="col" { (Text(&format!("verdict{of}"))) }
                    }
                } }
                tbody { @for row in &rows { (table_row(row)) } }
            }))
        }
    }
}

fn table_row(row: &CompareRow) -> Markup {
    let shown = |Cell { median, low, high, unit }: &Cell| {
        figure(*median, half_width(*median, *low, *high), unit).to_string()
    };
    html! { tr {
        th scope="row" { (Text(&row.point.to_string())) } td.words { (Text(&row.metric)) }
        td { (Text(&row.base.as_ref().map(shown).unwrap_or_default())) }
        @for cell in &row.news { @if let Some(cell) = cell {
            td { (Text(&cell.figure.as_ref().map(shown).unwrap_or_default())) }
            td {
                @if let Some(ratio) = cell.ratio { (Text(&format!("{:.3}", ratio.mid))) }
            }
            td { @if let Some(ratio) = cell.ratio { (Text(&format!("{:.3} to {}", ratio.low, bound(ratio.high, PLACES)))) } } td class=(class(cell.verdict)) { (cell.verdict.word()) @if !cell.note.is_empty() { span.note { (Text(&cell.note)) } } }
        } @else { td {} td {} td {} td {} } }
    } }
}

pub(super) fn class(verdict: Verdict) -> &'static str {
    match verdict {
        verdict if verdict.is_loss() => "verdict bad",
        Verdict::Faster | Verdict::Better => "verdict good",
        _ => "verdict",
    }
}

fn chart(
    comparison: &Comparison,
    rows: &[&CompareRow],
    title: &str,
    full: bool,
    ids: &mut Ids,
) -> Chart {
    let with_ratio =
        |row: &&&CompareRow| row.news.iter().flatten().any(|cell| drawn(cell).is_some());
    let rows: Vec<&CompareRow> = rows.iter().filter(with_ratio).copied().collect();
    let name = |row: &CompareRow| {
        let label = Label::of(&row.point);
        let short = if full { format!("{} {}", label.area, label.short()) } else { label.short() };
        let short = visible(&short).into_owned();
        if row.metric == measure::TIME.name { short } else { format!("{short} {}", row.metric) }
    };
    let line = |new: usize| {
        let point = |(at, row): (usize, &&CompareRow)| {
            let cell = row.news.get(new)?.as_ref()?;
            let ratio = drawn(cell)?;
            let words = format!(
                "{}, {}: {:.3} times the base ({:.3} to {}), {}",
                row.point,
                row.metric,
                ratio.mid,
                ratio.low,
                bound(ratio.high, PLACES),
                cell.verdict.word()
            );
            Some(ChartPoint::in_row(at, [ratio.mid, ratio.low, ratio.high], words))
        };
        let points = rows.iter().enumerate().filter_map(point).collect();
        let name = others(comparison).get(new).cloned().unwrap_or_default();
        Series { name, look: new, points, joined: false }
    };
    let shade = |(row, of_row): (usize, &&CompareRow)| {
        let cells = of_row.news.iter().flatten().filter(|cell| drawn(cell).is_some());
        let floors = cells.map(|cell| cell.floor);
        let floor = floors.fold(0.0, f64::max);
        (floor > 0.0 && floor < 1.0).then(|| Shade {
            row,
            low: 1.0 / (1.0 + floor),
            high: 1.0 + floor,
        })
    };
    Chart {
        id: ids.chart(),
        title: title.to_owned(),
        notes: vec![NOTE.to_owned()],
        x: Axis { limits: Some((1.0 / FARTHEST, FARTHEST)), ..Axis::ratios("ratio to the base") },
        y: Axis::rows(rows.iter().map(|row| name(row))),
        lines: (0..others(comparison).len()).map(line).collect(),
        shades: rows.iter().enumerate().filter_map(shade).collect(),
        reference: Some(1.0),
        ..Chart::default()
    }
}

/// The ratio of a cell, if it can be drawn.
fn drawn(cell: &CompareCell) -> Option<analysis::Ratio> {
    let is_drawn = |r: &analysis::Ratio| {
        [r.mid, r.low].iter().all(|v| v.is_finite() && *v > 0.0) && !r.high.is_nan()
    };
    cell.ratio.filter(is_drawn)
}

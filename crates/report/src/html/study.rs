//! A study: published figures beside measured ones, and a verdict for each claim.

use analysis::claim::{ClaimVerdict, JudgedClaim};
use analysis::study::{CellFigure, MeasuredTable};
use maud::{Markup, html};

use crate::claims::{counts, figure_lines};
use crate::footnotes::{Reason, joined};
use crate::html::chart::{Bar, BarScale, Bars, Chart, Drawing};
use crate::html::figures::scrolled;
use crate::html::text::{Ids, Text};
use crate::quantity::{figure, half_width};
use crate::study::{StudyPage, about_lines, here_number, is_published, ratio_number, run_line};

/// Unlimited width, since only the browser wraps lines of claims.
const UNBROKEN: usize = usize::MAX;

/// The section of the study.
pub(super) fn section(page_of: &StudyPage, ids: &mut Ids) -> Markup {
    let study = page_of.study;
    html! {
        section id="study" aria-labelledby="study-h" {
            h2 id="study-h" { "Study " (Text(&study.name)) }
            p { (Text(&study.title)) }
            (claims(page_of))
            dl {
                dt { "Question" } dd { (Text(&study.question)) }
                dt { "Published" } dd { (Text(&study.source)) }
                dt { "Here" } @for run in page_of.runs { dd { (Text(&run_line(run, page_of))) } }
            }
            @for table in page_of.tables {
                h3 { (Text(&table.title)) @if !table.unit.is_empty() { ", " (Text(&table.unit)) } }
                div.charts { (chart(table, ids).figure()) }
                (table_of(table))
            }
            @if !study.differences.is_empty() {
                h3 { "Differences in method" }
                ul { @for difference in &study.differences { li { (Text(difference)) } } }
            }
        }
    }
}

/// The published number of a cell, if it has one.
fn published(cell: &CellFigure) -> Option<f64> {
    cell.published.as_ref()?.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Bars of the published and the measured number of each cell, below each other.
fn chart(table: &MeasuredTable, ids: &mut Ids) -> Chart {
    let several = table.columns.len() > 1;
    let mut rows = Vec::new();
    for row in &table.rows {
        for (column, cell) in table.columns.iter().zip(&row.cells) {
            let name = if several { format!("{}, {column}", row.title) } else { row.title.clone() };
            let published = published(cell).map(|value| Bar {
                label: "published".to_owned(),
                look: 7,
                value,
                low: value,
                high: value,
                figure: cell.published.clone().unwrap_or_default(),
                ..Bar::default()
            });
            let mut bars: Vec<Bar> = published.into_iter().chain(here(cell)).collect();
            if let Some(first) = bars.first_mut() {
                first.heading = Some(name);
            }
            rows.extend(bars);
        }
    }
    let unit = if table.unit.is_empty() { String::new() } else { format!(" ({})", table.unit) };
    let bars = Bars { scale: BarScale::Amount(String::new()), rows };
    let title = format!("{}: published and measured{unit}", table.title);
    Chart::new(ids.chart(), title, Drawing::Bars(bars))
}

fn here(cell: &CellFigure) -> Option<Bar> {
    let here =
        cell.here.filter(|here| [here.value, here.low, here.high].iter().all(|v| v.is_finite()))?;
    let half = half_width(here.value, here.low, here.high);
    let shown = |value: f64| figure(value, half.max(value.abs() * 1e-3), "").number;
    Some(Bar {
        label: "measured here".to_owned(),
        value: here.value,
        low: here.low,
        high: here.high,
        figure: shown(here.value),
        interval: format!("{} to {}", shown(here.low), shown(here.high)),
        ..Bar::default()
    })
}

/// The figures of a table: published, measured, and the ratio, for each column.
fn table_of(table: &MeasuredTable) -> Markup {
    let mut cells = table.rows.iter().flat_map(|row| &row.cells);
    let is_published = is_published(table);
    let has_doubts = cells.any(|cell| !cell.doubts.is_empty() || cell.reason.is_some());
    let heading = |what: &str, column: &str| match table.columns.len() {
        1 => what.to_owned(),
        _ => format!("{column}: {what}"),
    };
    scrolled(
        &table.title,
        html! {
            thead { tr {
                th scope="col" { (Text(&table.rows_are)) }
                @for column in &table.columns {
                    @if is_published { th.n scope="col" { (Text(&heading("published", column))) } }
                    th.n scope="col" { (Text(&heading("here", column))) }
                    @if is_published { th.n scope="col" { (Text(&heading("here / published", column))) } }
                }
                @if has_doubts { th scope="col" { "doubts" } }
            } }
            tbody { @for row in &table.rows { tr {
                th scope="row" { (Text(&row.title)) }
                @for cell in &row.cells {
                    @if is_published {
                        td { (Text(cell.published.as_deref().unwrap_or_default())) }
                    }
                    (here_cell(cell))
                    @if is_published { td {
                        (Text(&ratio_number(cell).unwrap_or_default()))
                    } }
                }
                @if has_doubts { (doubts(&row.cells)) }
            } } }
        },
    )
}

fn here_cell(cell: &CellFigure) -> Markup {
    let Some(here) = cell.here else {
        return html! { td.bad { @if cell.reason.is_some() { "no figure" } } };
    };
    let shown = |value: f64| here_number(&here, value);
    html! {
        td {
            (Text(&shown(here.value)))
            @if here.low < here.high && here.low.is_finite() && here.high.is_finite() { small { (shown(here.low)) " to " (shown(here.high)) } }
        }
    }
}

/// Reasons why figures of a row are missing or doubtful, each once.
fn doubts(cells: &[CellFigure]) -> Markup {
    let reasons = cells.iter().flat_map(|cell| {
        let missing = cell.reason.iter().cloned().map(Reason::Missing);
        missing.chain(cell.doubts.iter().cloned().map(Reason::Doubt))
    });
    html! { td.doubts { (Text(&joined(reasons))) } }
}

fn claims(page_of: &StudyPage) -> Markup {
    let about = |judged: &JudgedClaim| {
        let mut lines = figure_lines(judged, UNBROKEN);
        lines.extend(about_lines(judged, page_of));
        lines
    };
    html! { @if !page_of.claims.is_empty() {
        h3 { "Claims" }
        p.sentence { (Text(&counts(page_of.claims))) }
        (scrolled("Claims", html! {
            thead { tr {
                th scope="col" { "claim" } th scope="col" { "verdict" } th scope="col" { "sentence" } th scope="col" { "figures" }
            } }
            tbody { @for judged in page_of.claims { tr {
                th scope="row" { (Text(&judged.claim.name)) }
                td class=(class(judged.verdict)) { (judged.verdict.word()) }
                td.text { (Text(&judged.claim.sentence)) }
                td.text { @for line in &about(judged) { span.row { (Text(line)) } } }
            } } }
        }))
    } }
}

fn class(verdict: ClaimVerdict) -> &'static str {
    match verdict {
        ClaimVerdict::Holds => "verdict good",
        ClaimVerdict::Fails => "verdict bad",
        ClaimVerdict::Undecided | ClaimVerdict::NotMeasurable => "verdict",
    }
}

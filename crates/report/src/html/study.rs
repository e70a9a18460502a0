//! A study: published figures beside measured ones, and a verdict for each claim.

use analysis::claim::{ClaimVerdict, JudgedClaim};
use analysis::study::{CellFigure, CellFigures, CellValue, MeasuredTable, StudyFindings};
use maud::{Markup, html};

use crate::claims::{counts, figure_lines};
use crate::footnotes::{Reason, joined};
use crate::html::chart::{
    Bar, BarScale, Bars, Chart, Drawing, Extent, Line, LinePoint, Lines, ScaleKind, XAxis,
};
use crate::html::figures::scrolled;
use crate::html::text::{Ids, Text};
use crate::quantity::{figure, half_width};
use crate::study::{about_lines, here_number, is_published, ratio_number, run_line};

/// Unlimited width, since only the browser wraps lines of claims.
const UNBROKEN: usize = usize::MAX;

/// The section of the study.
pub(super) fn section(page_of: &StudyFindings, ids: &mut Ids) -> Markup {
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
            @for table in &page_of.tables {
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
fn published(cell: &CellFigures) -> Option<f64> {
    cell.published.as_ref()?.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Look of published figures.
const PUBLISHED: usize = 7;

/// A chart of the published and the measured numbers: lines over the headings that are numbers, otherwise bars.
fn chart(table: &MeasuredTable, ids: &mut Ids) -> Chart {
    let unit = if table.unit.is_empty() { String::new() } else { format!(" ({})", table.unit) };
    let what = if is_published(table) { ": published and measured" } else { "" };
    let title = format!("{}{what}{unit}", table.title);
    let drawing = lines(table).map_or_else(|| Drawing::Bars(bars(table)), Drawing::Lines);
    Chart::new(ids.chart(), title, drawing)
}

/// Lines over the rows, or else over the columns, whose headings are numbers: one for each of the others, and for each system.
fn lines(table: &MeasuredTable) -> Option<Lines> {
    let (rows, columns) = (table.rows.len(), table.columns.len());
    let row_names = || table.rows.iter().map(|row| row.title.as_str()).collect::<Vec<_>>();
    let column_names = || table.columns.iter().map(String::as_str).collect::<Vec<_>>();
    type Position = fn(usize, usize) -> [usize; 2];
    let (values, named, others, position): (_, _, _, Position) =
        match (table.values_of_rows(), table.values_of_columns()) {
            (Some(values), _) => (values, row_names(), column_names(), |at, line| [at, line]),
            (None, Some(values)) => (values, column_names(), row_names(), |at, line| [line, at]),
            (None, None) => return None,
        };
    let is_one = others.len() == 1;
    let mut lines = Vec::new();
    let cell = |at: usize, line: usize| {
        let [row, column] = position(at, line);
        &table.rows[row].cells[column]
    };
    let name = |line: usize, what: &str, is_alone: bool| match (is_one, is_alone) {
        (true, _) => what.to_owned(),
        (false, true) => others[line].to_owned(),
        (false, false) => format!("{}, {what}", others[line]),
    };
    let mut look = 0;
    for line in 0..others.len() {
        let point = |at: usize| {
            let y = published(cell(at, line))?;
            let text = format!("{}: published {y}", named[at]);
            Some(LinePoint { x: values[at], y, low: y, high: y, text, point: None })
        };
        let points: Vec<LinePoint> = (0..values.len()).filter_map(point).collect();
        if !points.is_empty() {
            lines.push(Line { name: name(line, "published", false), look: PUBLISHED, points });
        }
        for (system, named_system) in table.systems.iter().enumerate() {
            let point = |at: usize| {
                let value = cell(at, line).here[system].value.filter(is_finite)?;
                let CellValue { value: y, low, high } = value;
                let shown = here_number(&value, y);
                let text = format!("{}: {shown}", named[at]);
                Some(LinePoint { x: values[at], y, low, high, text, point: None })
            };
            let points: Vec<LinePoint> = (0..values.len()).filter_map(point).collect();
            let is_alone = table.systems.len() == 1;
            let what = if is_alone { "here" } else { named_system };
            let is_alone = is_alone && !is_published(table);
            lines.push(Line { name: name(line, what, is_alone), look: look % PUBLISHED, points });
            look += 1;
        }
    }
    lines.retain(|line| !line.points.is_empty());
    let kind = match (values.first(), values.last()) {
        (Some(&low), Some(&high)) => Extent { low, high }.best(),
        _ => ScaleKind::Linear,
    };
    let axis = values.iter().copied().zip(named.iter().map(|name| (*name).to_owned()));
    let heading =
        if values.len() == rows && values.len() != columns { &table.rows_are } else { "" };
    let x = XAxis { title: heading.to_owned(), kind, named: axis.collect(), ..XAxis::default() };
    let unit = table.unit.clone();
    Some(Lines { x, metric: table.title.clone(), unit, lines, ..Lines::default() })
}

fn is_finite(value: &CellValue) -> bool {
    [value.value, value.low, value.high].iter().all(|number| number.is_finite())
}

/// Bars of the published and the measured numbers of each cell, below each other.
fn bars(table: &MeasuredTable) -> Bars {
    let several = table.columns.len() > 1;
    let mut rows = Vec::new();
    for row in &table.rows {
        for (column, cell) in table.columns.iter().zip(&row.cells) {
            let name = if several { format!("{}, {column}", row.title) } else { row.title.clone() };
            let published = published(cell).map(|value| Bar {
                label: "published".to_owned(),
                look: PUBLISHED,
                value,
                low: value,
                high: value,
                figure: cell.published.clone().unwrap_or_default(),
                ..Bar::default()
            });
            let here = cell.here.iter().zip(&table.systems).enumerate();
            let here = here.filter_map(|(look, (figure, system))| {
                let label = match table.systems.len() {
                    1 => "measured here".to_owned(),
                    _ => system.clone(),
                };
                Some(Bar { label, look: look % PUBLISHED, ..bar(figure.value.filter(is_finite)?) })
            });
            let mut bars: Vec<Bar> = published.into_iter().chain(here).collect();
            if let Some(first) = bars.first_mut() {
                first.heading = Some(name);
            }
            rows.extend(bars);
        }
    }
    Bars { scale: BarScale::Amount(String::new()), rows }
}

fn bar(here: CellValue) -> Bar {
    let half = half_width(here.value, here.low, here.high);
    let shown = |value: f64| figure(value, half.max(value.abs() * 1e-3), "").number;
    Bar {
        value: here.value,
        low: here.low,
        high: here.high,
        figure: shown(here.value),
        interval: format!("{} to {}", shown(here.low), shown(here.high)),
        ..Bar::default()
    }
}

/// The figures of a table: published, measured on each system, and the ratios, for each column.
fn table_of(table: &MeasuredTable) -> Markup {
    let figures = || table.rows.iter().flat_map(|row| &row.cells).flat_map(|cell| &cell.here);
    let is_published = is_published(table);
    let has_doubts = figures().any(|figure| !figure.doubts.is_empty() || figure.reason.is_some());
    let heading = |what: &str, column: &str| match table.columns.len() {
        1 => what.to_owned(),
        _ => format!("{column}: {what}"),
    };
    let here = |system: &str| match table.systems.len() {
        1 => "here".to_owned(),
        _ => system.to_owned(),
    };
    scrolled(
        &table.title,
        html! {
            thead { tr {
                th scope="col" { (Text(&table.rows_are)) }
                @for column in &table.columns {
                    @if is_published { th.n scope="col" { (Text(&heading("published", column))) } }
                    @for system in &table.systems {
                        th.n scope="col" { (Text(&heading(&here(system), column))) }
                        @if is_published { th.n scope="col" { (Text(&heading(&format!("{} / published", here(system)), column))) } }
                    }
                }
                @if has_doubts { th scope="col" { "doubts" } }
            } }
            tbody { @for row in &table.rows { tr {
                th scope="row" { (Text(&row.title)) }
                @for cell in &row.cells {
                    @if is_published {
                        td { (Text(cell.published.as_deref().unwrap_or_default())) }
                    }
                    @for figure in &cell.here {
                        (here_cell(figure))
                        @if is_published { td {
                            (Text(&ratio_number(figure).unwrap_or_default()))
                        } }
                    }
                }
                @if has_doubts { (doubts(&row.cells)) }
            } } }
        },
    )
}

fn here_cell(figure: &CellFigure) -> Markup {
    let Some(here) = figure.value else {
        return html! { td.bad { @if figure.reason.is_some() { "no figure" } } };
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
fn doubts(cells: &[CellFigures]) -> Markup {
    let reasons = cells.iter().flat_map(|cell| &cell.here).flat_map(|figure| {
        let missing = figure.reason.iter().cloned().map(Reason::Missing);
        missing.chain(figure.doubts.iter().cloned().map(Reason::Doubt))
    });
    html! { td.doubts { (Text(&joined(reasons))) } }
}

fn claims(page_of: &StudyFindings) -> Markup {
    let about = |judged: &JudgedClaim| {
        let mut lines = figure_lines(judged, UNBROKEN);
        lines.extend(about_lines(judged, page_of));
        lines
    };
    html! { @if !page_of.claims.is_empty() {
        h3 { "Claims" }
        p.sentence { (Text(&counts(&page_of.claims))) }
        (scrolled("Claims", html! {
            thead { tr {
                th scope="col" { "claim" } th scope="col" { "verdict" } th scope="col" { "sentence" } th scope="col" { "figures" }
            } }
            tbody { @for judged in &page_of.claims { tr {
                th scope="row" { (Text(&judged.claim.title())) }
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

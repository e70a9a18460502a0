//! A study: published figures beside measured ones, and a verdict for each claim.

use analysis::claim::{ClaimVerdict, JudgedClaim};
use analysis::study::{
    CellFigure, CellFigures, CellValue, MeasuredRow, MeasuredTable, StudyFindings,
};
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

/// The headings of a table that are numbers, and its cells along them.
struct Axis<'t> {
    title: &'t str,
    names: Vec<&'t str>,
    values: Vec<f64>,
    /// The other headings, each with its cells in the order of the axis.
    lines: Vec<(&'t str, Vec<&'t CellFigures>)>,
}

impl<'t> Axis<'t> {
    /// The axis over the rows, or else over the columns; `None` if neither has numbers.
    fn of(table: &'t MeasuredTable) -> Option<Self> {
        let columns = table.columns.iter().map(String::as_str);
        if let Some(values) = table.values_of_rows() {
            let cells = |column: usize| table.rows.iter().map(|row| &row.cells[column]).collect();
            let lines = columns.enumerate().map(|(at, name)| (name, cells(at))).collect();
            let names = table.rows.iter().map(|row| row.title.as_str()).collect();
            return Some(Self { title: &table.rows_are, names, values, lines });
        }
        let values = table.values_of_columns()?;
        let line = |row: &'t MeasuredRow| (row.title.as_str(), row.cells.iter().collect());
        let lines = table.rows.iter().map(line).collect();
        Some(Self { title: "", names: columns.collect(), values, lines })
    }

    fn line(
        &self,
        name: String,
        look: usize,
        figures: impl Iterator<Item = Option<CellValue>>,
    ) -> Line {
        let point = |((value, name), figure): ((&f64, &&str), Option<CellValue>)| {
            let figure = figure.filter(is_finite)?;
            let text = format!("{name}: {}", here_number(&figure, figure.value));
            let CellValue { value: y, low, high } = figure;
            Some(LinePoint { x: *value, y, low, high, text, point: None })
        };
        let points = self.values.iter().zip(&self.names).zip(figures).filter_map(point).collect();
        Line { name, look, points }
    }
}

/// Lines of the published figures and of those of each system; `None` if the table has no axis.
fn lines(table: &MeasuredTable) -> Option<Lines> {
    let axis = Axis::of(table)?;
    let kinds = table.systems.len() + usize::from(is_published(table));
    let mut lines = Vec::new();
    for (number, (other, cells)) in axis.lines.iter().enumerate() {
        let name = |what: &str| match (axis.lines.len(), kinds) {
            (1, _) => what.to_owned(),
            (_, 1) => (*other).to_owned(),
            _ => format!("{other}, {what}"),
        };
        let exact = |value| CellValue { value, low: value, high: value };
        let figures = cells.iter().map(|cell| published(cell).map(exact));
        lines.push(axis.line(name("published"), PUBLISHED, figures));
        for (at, system) in table.systems.iter().enumerate() {
            let what = if table.systems.len() == 1 { "here" } else { system };
            let look = (number * table.systems.len() + at) % PUBLISHED;
            lines.push(axis.line(name(what), look, cells.iter().map(|cell| cell.here[at].value)));
        }
    }
    lines.retain(|line| !line.points.is_empty());
    let kind = match (axis.values.first(), axis.values.last()) {
        (Some(&low), Some(&high)) => Extent { low, high }.best(),
        _ => ScaleKind::Linear,
    };
    let names = axis.names.iter().map(|name| (*name).to_owned());
    let named = axis.values.iter().copied().zip(names).collect();
    let x = XAxis { title: axis.title.to_owned(), kind, named, ..XAxis::default() };
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

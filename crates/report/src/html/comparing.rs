//! The comparison of runs, or of the columns of another dimension: first what is slower and faster, where and by how much, and
//! what could not be decided.

use std::cmp::Reverse;

use analysis::{Ratio, Verdict};
use maud::{Markup, html};
use results::{PointKey, SLOW_DOWN};

use crate::comparison::{Cell, CompareCell, CompareRow, Comparison};
use crate::first_seen::{distinct, grouped};
use crate::html::chart::{BarScale, Bars, Chart, Drawing, grid};
use crate::html::figures::scrolled;
use crate::html::ratios::{RatioBar, interval, ratio_bars, verdict_class};
use crate::html::standings::{self, Standings};
use crate::html::text::{Ids, Text, paragraphs, visible};
use crate::labels::{self, Label, Param};
use crate::overview::sentences;
use crate::quantity::{figure, half_width, ratio_words};
use crate::text;

/// Maximum number of bars of the chart of changes, and of the chart of an area.
const CHANGES: usize = 20;
const ROWS_OF_AREA: usize = 24;

/// Maximum number of figures or areas that a sentence names; further ones are counted.
const NAMED: usize = 4;

/// Number of columns besides the base from which their sentences are folded.
const MANY: usize = 4;

/// The verdict, with which the page of a comparison begins; first the answers of the compared run, if there is only one.
pub(super) fn verdict(
    comparison: &Comparison,
    standings: Option<&Standings>,
    answers: &[String],
    ids: &mut Ids,
) -> Markup {
    let others = others(comparison);
    let overview = standings.map(|all| sentences(all.overview, &comparison.columns));
    let changed: Vec<&CompareRow> = changed(comparison);
    let count = changed.len();
    let common = if others.len() < MANY { common(comparison) } else { Vec::new() };
    let names = Names::of(comparison);
    let most = rows_at_most(CHANGES, others);
    let mut charts = Vec::new();
    if !common.is_empty() {
        let rows = common.iter().map(|(label, row)| ((*label).to_owned(), bars_of(row, others)));
        charts.push(chart(comparison, "Common operations", rows, ids));
    }
    if count > 0 {
        let rows = changed.iter().take(most).map(|row| (names.of_row(row), bars_of(row, others)));
        let mut chart = chart(comparison, "Largest differences", rows, ids);
        if count > most {
            chart.notes.push(format!("The largest {most} of {count}: the table below has all."));
        }
        charts.push(chart);
    }
    html! {
        section id="comparison" aria-labelledby="comparison-h" {
            h2 id="comparison-h" { "Verdict" }
            @for answer in answers { p.sentence { (Text(answer)) "." } }
            @for (name, sentence) in overview.iter().flatten() {
                p.sentence { strong { (Text(name)) } ": " (Text(sentence)) "." }
            }
            @if !comparison.rows.is_empty() { p { (Text(&judged(comparison))) } }
            @for (at, name) in others.iter().enumerate() {
                @if others.len() >= MANY {
                    details { summary { strong { (Text(name)) } ": " (Verdict::counted(&comparison.verdicts(at))) } (column(comparison, at, &names)) }
                } @else if overview.is_none() || has_verdict(comparison, at) {
                    @if others.len() > 1 { h3 { (Text(name)) } }
                    (column(comparison, at, &names))
                }
            }
            @if comparison.rows.is_empty() { p { "There is nothing to compare." } }
            dl.facts {
                @for (name, description) in &comparison.runs {
                    div { dt { (Text(name)) } dd { (Text(description)) } }
                }
            }
            @if let Some(all) = standings { (standings::charts(all, &comparison.columns, ids)) }
            (grid(&charts))
            @if !charts.is_empty() { p.note {
                "Ratio to " (Text(base(comparison))) " with its interval, on a logarithmic scale: bars begin at 1, which means equal. "
                @if !is_not_judged(comparison) { "Orange: slower or worse. Blue: faster or better. Grey: no certain difference. " }
                @if has_floor(comparison) { "Within the shaded range lie differences that this machine cannot resolve." }
            } }
            (paragraphs(&names.shared_lines()))
            (paragraphs(&comparison.facts))
            @if let Some(all) = standings { (standings::tables(all, &comparison.columns)) }
            (undecided(comparison, &names))
            (differences(comparison))
            @if !comparison.noise_floor.is_empty() { div.block {
                h3 { "How far to trust it" }
                @for line in &comparison.noise_floor { p.note { (Text(line)) } }
            } }
        }
    }
}

/// How far to trust the verdicts: `14 of 57 figures have a verdict; the chance that any is wrong is 5 %.`
fn judged(comparison: &Comparison) -> String {
    let cells = || comparison.rows.iter().flat_map(|row| row.news.iter().flatten());
    let judged = cells().filter(|cell| cell.verdict.is_decided()).count();
    let notes = cells().filter(|cell| cell.verdict.is_decided()).map(|cell| cell.note.as_str());
    let notes: Vec<&str> = notes.filter(|note| !note.is_empty()).collect();
    let reserved = match (notes.len(), &distinct(notes.iter().copied())[..]) {
        (0, _) => String::new(),
        (count, [only]) => format!(" {}: {only}.", text::number_of(count, "verdict")),
        (count, _) => format!(" {} with a reservation.", text::number_of(count, "verdict")),
    };
    let all = match cells().count() {
        1 if judged == 1 => "The only figure has a verdict".to_owned(),
        all if all == judged => format!("All {all} figures have a verdict"),
        all => format!("{judged} of {all} figures have a verdict"),
    };
    match judged {
        0 => format!("{all}."),
        _ => format!("{all}; the chance that any is wrong is 5 %.{reserved}"),
    }
}

/// Whether a ratio is drawn with a range that the machine cannot resolve.
fn has_floor(comparison: &Comparison) -> bool {
    let mut cells = comparison.rows.iter().flat_map(|row| row.news.iter().flatten());
    cells.any(|cell| cell.floor > 0.0 && cell.floor < 1.0)
}

/// Number of rows with at most about so many bars.
fn rows_at_most(bars: usize, others: &[String]) -> usize {
    (bars / others.len().max(1)).max(3)
}

/// Names of the columns other than the base.
fn others(comparison: &Comparison) -> &[String] {
    comparison.columns.get(1..).unwrap_or_default()
}

fn base(comparison: &Comparison) -> &str {
    comparison.columns.first().map_or("the base", String::as_str)
}

/// Distance of a ratio from 1.
fn distance(cell: &CompareCell) -> f64 {
    cell.ratio.map_or(0.0, |ratio| ratio.mid.ln().abs())
}

/// Rows with a difference: costs before counts, the largest difference first.
fn changed(comparison: &Comparison) -> Vec<&CompareRow> {
    let of_row = |row: &CompareRow| {
        let cells = row.news.iter().flatten().filter(|cell| cell.verdict.is_difference());
        cells.map(distance).fold(None, |most: Option<f64>, d| Some(most.map_or(d, |m| m.max(d))))
    };
    let mut rows: Vec<(f64, &CompareRow)> =
        comparison.rows.iter().filter_map(|row| Some((of_row(row)?, row))).collect();
    rows.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let (mut costs, others): (Vec<&CompareRow>, Vec<&CompareRow>) =
        rows.into_iter().map(|(_, row)| row).partition(|row| row.is_cost());
    costs.extend(others);
    costs
}

/// The rows of common operations that the areas name.
fn common(comparison: &Comparison) -> Vec<(&'static str, &CompareRow)> {
    let of_area = catalog::areas().iter().flat_map(|area| area.summary);
    let found = of_area.filter_map(|common| {
        let is_meant = |row: &&CompareRow| {
            row.metric == common.metric.name
                && common.point.matches(&row.point.case, &row.point.params)
                && row.news.iter().flatten().any(|cell| drawn(cell).is_some())
        };
        Some((common.label, comparison.rows.iter().find(is_meant)?))
    });
    found.collect()
}

/// Sentences about one column: what is worse, better, the same and undecided.
fn column(comparison: &Comparison, at: usize, names: &Names) -> Markup {
    let cells: Vec<(&CompareRow, &CompareCell)> =
        comparison.rows.iter().filter_map(|row| Some((row, row.news.get(at)?.as_ref()?))).collect();
    let with = |is_meant: &dyn Fn(Verdict) -> bool| -> Vec<(&CompareRow, &CompareCell)> {
        let mut found: Vec<_> =
            cells.iter().filter(|(_, cell)| is_meant(cell.verdict)).copied().collect();
        found.sort_by(|(_, a), (_, b)| distance(b).total_cmp(&distance(a)));
        found.sort_by_key(|(row, _)| !row.is_cost());
        found
    };
    let named = |(row, cell): &(&CompareRow, &CompareCell)| {
        let word = cell.verdict.word();
        let ratio = cell.ratio.map(|ratio| if ratio.mid < 1.0 { ratio.inverse() } else { ratio });
        let words = ratio.map_or(word.to_owned(), |ratio| ratio_words(ratio, word, word));
        let colon = if row.metric == measure::TIME.name { ":" } else { "" };
        format!("{}{colon} {words}", names.of_row(row))
    };
    let slowed = slowed_down(comparison, at + 1);
    let slowed = slowed.map_or_else(String::new, |by| format!(", slowed down on request by {by}"));
    let list = |title: &str, class: &str, found: &[(&CompareRow, &CompareCell)]| {
        html! { @if !found.is_empty() { li {
            strong class=(class) { (title) " in " (found.len()) " of " (text::number_of(cells.len(), "figure")) (Text(&slowed)) }
            ": " (Text(&text::listed(found.iter().map(named).collect(), NAMED))) "."
        } } }
    };
    let losses = with(&Verdict::is_loss);
    let gains = with(&Verdict::is_gain);
    let is_judged = cells.iter().any(|(_, cell)| cell.verdict.is_judged());
    let rest = with(&|verdict| !verdict.is_loss() && !verdict.is_gain());
    // Rows without a pair of figures are named by the reason, such as a failure.
    let reason = |cell: &CompareCell| match cell.verdict {
        Verdict::NotComparable if !cell.note.is_empty() => cell.note.clone(),
        verdict => text::capital(verdict.word()),
    };
    let mut rest =
        grouped(rest.iter().map(|(row, cell)| ((cell.verdict, reason(cell)), row.point.area())));
    rest.sort_by_key(|((verdict, _), areas)| (*verdict as u8, Reverse(areas.len())));
    html! {
        ul.findings {
            @if is_judged && losses.is_empty() && gains.is_empty() { li { strong { "No difference is certain" } "." } }
            (list("Slower or worse", "bad", &losses))
            (list("Faster or better", "good", &gains))
            @for ((_, reason), areas) in &rest { li {
                strong { (Text(reason)) ": " (areas.len()) }
                " (" (Text(&by_area(areas))) ")."
            } }
        }
    }
}

/// The share by which the run of this column was slowed down on request.
fn slowed_down(comparison: &Comparison, column: usize) -> Option<&str> {
    let asked = format!("asked {SLOW_DOWN}");
    let difference = comparison.also_differs.iter().find(|difference| difference.key == asked)?;
    let value = difference.values.get(column).filter(|value| *value != "none")?;
    (difference.values.len() == comparison.columns.len()).then_some(value)
}

/// Whether a figure of the area could be compared.
pub(super) fn has_area(comparison: &Comparison, area: &str) -> bool {
    let rows = comparison.rows.iter().filter(|row| row.point.area() == area);
    let mut cells = rows.flat_map(|row| row.news.iter().flatten());
    cells.any(|cell| cell.verdict != Verdict::NotComparable)
}

/// Whether a figure of the column could be compared.
fn has_verdict(comparison: &Comparison, at: usize) -> bool {
    comparison.verdicts(at).iter().any(|verdict| *verdict != Verdict::NotComparable)
}

/// The number of figures in each area: `lock 5, net 3`.
fn by_area(areas: &[&str]) -> String {
    let mut counts = grouped(areas.iter().map(|area| (*area, ())));
    counts.sort_by_key(|(_, figures)| Reverse(figures.len()));
    let words = counts.iter().map(|(area, figures)| format!("{area} {}", figures.len()));
    text::listed(words.collect(), 2 * NAMED)
}

/// The verdicts on the rows that are meant, counted, of all columns.
pub(super) fn counted(comparison: &Comparison, is_meant: impl Fn(&CompareRow) -> bool) -> String {
    let rows = comparison.rows.iter().filter(|row| is_meant(row));
    let verdicts: Vec<Verdict> =
        rows.flat_map(|row| &row.news).flatten().map(|cell| cell.verdict).collect();
    match verdicts.iter().any(|verdict| *verdict != Verdict::NotComparable) {
        true => Verdict::counted(&verdicts),
        false => "no pair of figures".to_owned(),
    }
}

/// Whether ratios are not judged, so that no column is better.
fn is_not_judged(comparison: &Comparison) -> bool {
    let mut cells = comparison.rows.iter().flat_map(|row| row.news.iter().flatten());
    cells.any(|cell| !cell.verdict.is_judged())
}

/// Figures that are not judged, with what would decide them or why they cannot be compared, and verdicts with a reservation,
/// folded.
fn undecided(comparison: &Comparison, names: &Names) -> Markup {
    html! {
        (by_note(comparison, names, "Without a verdict, with what would decide it", |verdict| !verdict.is_decided()))
        (by_note(comparison, names, "Verdicts with a reservation", Verdict::is_decided))
    }
}

/// The figures whose verdict is meant and has a note, by note, those of most figures first, folded.
fn by_note(
    comparison: &Comparison,
    names: &Names,
    title: &str,
    is_meant: impl Fn(Verdict) -> bool,
) -> Markup {
    let is_meant = &is_meant;
    let cells = comparison.rows.iter().flat_map(|row| {
        others(comparison).iter().zip(&row.news).filter_map(move |(column, cell)| {
            let cell = cell.as_ref()?;
            let cell = Some(cell).filter(|cell| is_meant(cell.verdict) && !cell.note.is_empty())?;
            Some((cell.note.as_str(), (names.of_row(row), column)))
        })
    });
    let several = others(comparison).len() > 1;
    let mut by_note = grouped(cells);
    by_note.sort_by_key(|(_, names)| Reverse(names.len()));
    let count: usize = by_note.iter().map(|(_, names)| names.len()).sum();
    html! { @if count > 0 {
        details { summary { (title) ": " (text::number_of(count, "figure")) }
            dl { @for (note, names) in &by_note {
                dt { (Text(note)) " (" (names.len()) ")" }
                dd { (Text(&names.iter().map(|(name, column)| match several {
                    true => format!("{name} ({column})"),
                    false => name.clone(),
                }).collect::<Vec<_>>().join(", "))) }
            } }
        }
    } }
}

fn differences(comparison: &Comparison) -> Markup {
    html! { @if !comparison.also_differs.is_empty() {
        details { summary { "What else differs between the runs: " (text::number_of(comparison.also_differs.len(), "fact")) }
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
        }
    } }
}

/// The ratios of one area: those with the largest differences first.
pub(super) fn area(comparison: &Comparison, area: &str, ids: &mut Ids) -> Markup {
    let with_ratio = |row: &&CompareRow| {
        row.point.area() == area && row.news.iter().flatten().any(|cell| drawn(cell).is_some())
    };
    let mut rows: Vec<&CompareRow> = comparison.rows.iter().filter(with_ratio).collect();
    let farthest = |row: &CompareRow| row.news.iter().flatten().map(distance).fold(0.0, f64::max);
    rows.sort_by(|a, b| farthest(b).total_cmp(&farthest(a)));
    let count = rows.len();
    let others = others(comparison);
    let most = rows_at_most(ROWS_OF_AREA, others);
    let all: Vec<Label> = rows.iter().map(|row| Label::of(&row.point)).collect();
    let shared = match &all[..] {
        // One point with several metrics.
        [first, others @ ..] if others.iter().all(|label| label == first) => first.params.clone(),
        all => labels::shared(all),
    };
    let shown = rows.iter().take(most).map(|row| {
        let label = Label::of(&row.point).without(&shared).short();
        (with_metric(row, &label), bars_of(row, others))
    });
    let mut chart = chart(comparison, &labels::title(area, &shared), shown, ids);
    if count > most {
        chart.notes.push(format!("The largest {most} of {count}: the table below has all."));
    }
    html! { @if count > 0 { div.charts { (chart.figure()) } } }
}

/// The table of all compared figures.
pub(super) fn table(comparison: &Comparison, only: Option<&str>) -> Markup {
    let others = others(comparison);
    let rows =
        comparison.rows.iter().filter(|row| only.is_none_or(|only| only == row.point.area()));
    html! { section id="compared" aria-labelledby="compared-h" {
        h2 id="compared-h" { "All compared figures" }
        (scrolled("Compared figures", html! {
            thead { tr {
                th { "point" } th { "metric" } th.n { (Text(base(comparison))) }
                @for name in others {
                    @let of = if others.len() == 1 { String::new() } else { format!(" of {name}") };
                    th.n { (Text(name)) } th.n { (Text(&format!("ratio{of}"))) }
                    th.n { (Text(&format!("interval{of}"))) } th { (Text(&format!("verdict{of}"))) }
                }
            } }
            tbody { @for row in rows { (table_row(row)) } }
        }))
    } }
}

fn table_row(row: &CompareRow) -> Markup {
    let shown = |Cell { median, low, high, unit }: &Cell| {
        figure(*median, half_width(*median, *low, *high), unit).to_string()
    };
    html! { tr {
        th { (Text(&point_name(&row.point))) } td { (Text(&row.metric)) }
        td { (Text(&row.base.as_ref().map(shown).unwrap_or_default())) }
        @for cell in &row.news { @if let Some(cell) = cell {
            td { (Text(&cell.figure.as_ref().map(shown).unwrap_or_default())) }
            td { @if let Some(ratio) = cell.ratio { (format!("{:.3}", ratio.mid)) } }
            td { (cell.ratio.map(interval).unwrap_or_default()) }
            td class=(verdict_class(cell.verdict)) { (cell.verdict.word()) }
        } @else { td {} td {} td {} td {} } }
    } }
}

/// Names of rows in charts and sentences, without the parameters that all points of an area share.
struct Names<'a> {
    /// The shared parameters of each area, if it has several points.
    shared: Vec<(&'a str, Vec<Param>)>,
}

impl<'a> Names<'a> {
    fn of(comparison: &'a Comparison) -> Self {
        let areas = grouped(comparison.rows.iter().map(|row| (row.point.area(), &row.point)));
        let of_area = |(area, points): (&'a str, Vec<&PointKey>)| {
            let labels: Vec<Label> = points.into_iter().map(Label::of).collect();
            (area, labels::shared(&labels))
        };
        Self { shared: areas.into_iter().map(of_area).collect() }
    }

    /// Name of a row: its point, with the area, and its metric unless that is the time.
    fn of_row(&self, row: &CompareRow) -> String {
        let area = row.point.area();
        let shared = self.shared.iter().find(|(known, _)| *known == area);
        let shared = shared.map_or(&[][..], |(_, shared)| shared);
        let short = Label::of(&row.point).without(shared).short();
        with_metric(row, &format!("{area}/{short}"))
    }

    /// A line for each area whose names lack parameters: `net: names leave out cpus=1, work=none`.
    fn shared_lines(&self) -> Vec<String> {
        let some = self.shared.iter().filter(|(_, shared)| !shared.is_empty());
        let line = |(area, shared): &(&str, Vec<Param>)| {
            let params: Vec<String> =
                shared.iter().map(|(key, value)| format!("{key}={value}")).collect();
            format!("{area}: names leave out {}", params.join(", "))
        };
        some.map(line).collect()
    }
}

/// This name of a row's point, with the metric unless that is the time.
fn with_metric(row: &CompareRow, point: &str) -> String {
    let point = visible(point).into_owned();
    if row.metric == measure::TIME.name { point } else { format!("{point}: {}", row.metric) }
}

fn point_name(point: &PointKey) -> String {
    let label = Label::of(point);
    format!("{}/{}", label.area, label.short())
}

fn bars_of<'a>(row: &CompareRow, others: &'a [String]) -> Vec<RatioBar<'a>> {
    let cells = others.iter().zip(&row.news);
    let bar = |(column, cell): (&'a String, &Option<CompareCell>)| {
        let cell = cell.as_ref()?;
        let floor = if cell.floor < 1.0 { cell.floor } else { 0.0 };
        Some(RatioBar { column, ratio: drawn(cell)?, verdict: cell.verdict, floor })
    };
    cells.filter_map(bar).collect()
}

fn chart<'a>(
    comparison: &Comparison,
    title: &str,
    rows: impl Iterator<Item = (String, Vec<RatioBar<'a>>)>,
    ids: &mut Ids,
) -> Chart {
    let rows = ratio_bars(rows, others(comparison).len());
    let title = format!("{title}: ratio to {}", base(comparison));
    Chart::new(ids.chart(), title, Drawing::Bars(Bars { scale: BarScale::Ratio, rows }))
}

/// The ratio of a cell, if it can be drawn.
fn drawn(cell: &CompareCell) -> Option<Ratio> {
    let is_drawn =
        |r: &Ratio| [r.mid, r.low].iter().all(|v| v.is_finite() && *v > 0.0) && !r.high.is_nan();
    cell.ratio.filter(is_drawn)
}

//! The columns of a comparison by any dimension, such as systems side by side: in which areas and designs each is better and
//! worse, and what their operations make the kernel do.

use analysis::{ColumnStanding, CountRow, Ladder, Overview, Standing, Step, Verdict};
use maud::{Markup, html};

use crate::compare_table::bound;
use crate::html::chart::{BarScale, Bars, Chart, Drawing};
use crate::html::figures::scrolled;
use crate::html::ratios::{PLACES, RatioBar, ratio_bars, verdict_class};
use crate::html::text::{Ids, Text, paragraphs};
use crate::ladder::{self, HOST_CALLS, layer_name, operation, signed, time, verdict_word};
use crate::overview::{
    by_application, legend, name_of, orders, points_words, rank_words, reversals,
};
use crate::quantity::format_per_op;
use crate::text::number_of;

/// Facts about the columns of a comparison as a whole.
#[derive(Debug, Clone, Copy)]
pub struct Standings<'a> {
    /// The standings of the columns by area and by design.
    pub overview: &'a Overview,
    /// Counts per operation that differ between columns.
    pub counts: &'a [CountRow],
    /// Costs that each layer adds, if systems are compared.
    pub ladders: &'a [Ladder],
}

/// The charts of all columns by area and by design, the base first.
pub(super) fn charts(of: &Standings, columns: &[String], ids: &mut Ids) -> Markup {
    let areas: Vec<&Standing> = of.overview.areas.iter().collect();
    let mut charts = vec![chart("Areas", &areas, columns, ids)];
    for (title, designs) in &by_application(&of.overview.designs) {
        charts.push(chart(&format!("Designs of {title}"), designs, columns, ids));
    }
    charts.retain(|chart| !matches!(&chart.drawing, Drawing::Bars(bars) if bars.rows.is_empty()));
    html! {
        div.charts { @for chart in &charts { (chart.figure()) } }
        @let lines = reversals(of.overview, columns);
        @if let Some((first, others)) = lines.split_first() {
            p { (Text(first)) }
            @if !others.is_empty() { ul { @for line in others { li { (Text(line)) } } } }
        }
    }
}

/// The tables behind the charts, folded.
pub(super) fn tables(of: &Standings, columns: &[String]) -> Markup {
    let areas: Vec<&Standing> = of.overview.areas.iter().collect();
    let any = !areas.is_empty() || !of.overview.designs.is_empty();
    html! {
        @if any { details { summary { "Mean ratios by area and by design" }
            (block("Areas", "area", &areas, columns, &[]))
            @for (title, of_title) in &by_application(&of.overview.designs) {
                (block(&format!("Designs of {title}"), "design", of_title, columns, &orders(of.overview, title, columns)))
            }
            p.note { (Text(&legend(columns))) }
        } }
        (layers(of.ladders))
        (counts(of.counts, columns))
    }
}

/// A table of standings, with lines below.
fn block(
    title: &str,
    rows_are: &str,
    standings: &[&Standing],
    columns: &[String],
    lines: &[String],
) -> Markup {
    if standings.is_empty() {
        return html! {};
    }
    let others = columns.get(1..).unwrap_or_default();
    let is_ranked = |standing: &&Standing| standing.ranks.iter().any(Option::is_some);
    let with_ranks = others.len() > 1 && standings.iter().any(is_ranked);
    html! {
        (scrolled(&format!("{title}: mean ratios"), html! {
            thead { tr {
                th scope="col" { (rows_are) }
                @if others.len() > 1 { th scope="col" { "compared" } }
                th.n scope="col" { "ratio" } th.n scope="col" { "interval" } th scope="col" { "verdict" } th.n scope="col" { "points" }
                @if with_ranks { th.n scope="col" { "rank of " (columns.len()) } }
            } }
            tbody { @for standing in standings { @for (at, column) in others.iter().enumerate() { tr {
                th scope="row" { (Text(&name_of(standing))) }
                @if others.len() > 1 { td.words { (Text(column)) } }
                @if let Some(column) = standing.columns.get(at) { (cells(column)) }
                @if with_ranks { td { (Text(&rank_words(standing.ranks.get(at + 1).copied().flatten(), " to "))) } }
            } } } }
        }))
        (paragraphs(lines))
    }
}

fn cells(column: &ColumnStanding) -> Markup {
    let Some(mean) = &column.mean else {
        let verdict = match column.left_out {
            0 => Verdict::NotComparable.word(),
            _ => "left out",
        };
        return html! {
            td {} td {} td.verdict { (verdict) @if let Some(why) = &column.why { span.note { (Text(why)) } } }
            td { (points_words(column)) }
        };
    };
    html! {
        td { (Text(&format!("{:.3}", mean.ratio.mid))) }
        td { (Text(&format!("{:.3} to {}", mean.ratio.low, bound(mean.ratio.high, PLACES)))) }
        td class=(verdict_class(mean.verdict)) { (mean.verdict.word()) }
        td { (points_words(column)) }
    }
}

fn chart(title: &str, standings: &[&Standing], columns: &[String], ids: &mut Ids) -> Chart {
    let others = columns.get(1..).unwrap_or_default();
    let rows = standings.iter().map(|standing| {
        let bars = others.iter().zip(&standing.columns).filter_map(|(column, of_column)| {
            let mean = of_column.mean?;
            Some(RatioBar { column, ratio: mean.ratio, verdict: mean.verdict, floor: 0.0 })
        });
        (name_of(standing), bars.collect())
    });
    let base = columns.first().map_or("the base", String::as_str);
    let bars = Bars { scale: BarScale::Ratio, rows: ratio_bars(rows, others.len()) };
    let title = format!("{title}: mean ratio to {base}");
    Chart::new(ids.chart(), title, Drawing::Bars(bars))
}

/// A table of what each layer between a program and the hardware adds to the cost of its operations, from the hardware outwards.
fn layers(ladders: &[Ladder]) -> Markup {
    let steps = || ladders.iter().flat_map(|ladder| &ladder.steps);
    let with_calls = steps().any(|step| step.host_calls.is_some());
    let row = |step: &Step| {
        html! {
            td.words { (Text(&layer_name(step))) }
            td { (time(step).to_string()) }
            @if let Some(added) = step.adds {
                td { (signed(added).to_string()) }
                td class=(verdict_class(added.verdict)) { (verdict_word(added.verdict)) }
            } @else { td {} td {} }
            @if with_calls { td { (step.host_calls.map(format_per_op).unwrap_or_default()) } }
        }
    };
    html! { @if !ladders.is_empty() {
        details { summary { "What each layer adds: " (number_of(ladders.len(), "operation")) }
            (scrolled("What each layer adds", html! {
                thead { tr {
                    th scope="col" { "operation" } th scope="col" { "layer" } th.n scope="col" { "time" }
                    th.n scope="col" { "adds" } th scope="col" { "verdict" }
                    @if with_calls { th.n scope="col" { "host calls" } }
                } }
                tbody { @for ladder in ladders { @for step in &ladder.steps { tr {
                    th scope="row" { (Text(&operation(ladder))) }
                    (row(step))
                } } } }
            }))
            p.note { (ladder::legend(ladders)) @if with_calls { (HOST_CALLS) } }
        }
    } }
}

/// A table of the counts per operation that differ between columns.
fn counts(rows: &[CountRow], columns: &[String]) -> Markup {
    html! { @if !rows.is_empty() {
        details { summary { "Counts per operation that differ: " (rows.len()) }
            (scrolled("Counts per operation that differ", html! {
                thead { tr {
                    th scope="col" { "point" } th scope="col" { "count" }
                    @for name in columns { th.n scope="col" { (Text(name)) } }
                } }
                tbody { @for row in rows { tr {
                    th scope="row" { (Text(&row.point.to_string())) }
                    td.words { (Text(&row.count.replace('_', " "))) }
                    @for value in &row.columns {
                        td { (value.map(format_per_op).unwrap_or_default()) }
                    }
                } } }
            }))
        }
    } }
}

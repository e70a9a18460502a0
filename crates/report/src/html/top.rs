//! What the page of a run begins with: answers as sentences, and a few large charts.

use analysis::answer::{Answer, DesignFigure, answers};
use catalog::Application;
use maud::{Markup, html};
use results::CaseResult;

use crate::answers;
use crate::html::area::{in_views, named};
use crate::html::chart::{Bar, BarScale, Bars, Chart, Drawing};
use crate::html::families::percentiles;
use crate::html::points::bar;
use crate::html::sweeps::{Most, Named, sweeps};
use crate::html::text::{Ids, Text};
use crate::html::timeline::timelines;
use crate::html::view::View;
use crate::interval::interval_line;
use crate::marks::{few_rounds_line, marks_line, width_line};
use crate::page::Page;
use crate::quantity::factor;
use crate::results_table::closing_line;
use crate::summary::{cost_rows, machine_line, sentences};

/// A page so wide that only the browser wraps sentences.
const PAGE: Page = Page { width: 100, colour: false, unicode: true, this_run: false };

/// Maximum number of sentences that are shown at once.
const SENTENCES: usize = 6;

/// The answers of one run.
pub(super) fn section(view: &View, only: Option<&str>, ids: &mut Ids) -> Markup {
    let results = &view.document.results;
    let areas: Vec<_> = catalog::areas()
        .iter()
        .copied()
        .filter(|area| only.is_none_or(|only| only == area.name))
        .collect();
    let findings = sentences(results, &areas);
    let (first, further) = findings.split_at(findings.len().min(SENTENCES));
    let costs = costs(view, only, ids);
    let closing = closing_line(results, None, &PAGE).replace('\n', " ");
    let lines = [
        Some(closing),
        marks_line(&view.document.run.id, results),
        few_rounds_line(results),
        width_line(results),
        interval_line(results),
    ];
    let mut answers = answers(results, &areas);
    answers.sort_by_key(|answer| answers::sentence(answer).is_none());
    let cards: Vec<Chart> = answers.iter().map(|answer| card(answer, view, ids)).collect();
    html! {
        p.machine { (Text(&machine_line(view.document))) }
        @if !cards.is_empty() {
            div.answers { @for card in &cards { (card.figure()) } }
            p.note { "Coloured: this design may be the fastest. Grey: certainly slower, by so many times. Dashed: too few rounds for an interval. A factor is of neighbouring rounds, so it may be certain where each figure has a wide interval." }
         }
        div.two {
            (costs.figure())
            @if !first.is_empty() { div.block {
                h3 { "What else was found" }
                ul.findings { @for finding in first { li { (Text(finding)) } } }
                @if !further.is_empty() {
                    details { summary { (further.len()) " more findings" }
                        ul.findings { @for finding in further { li { (Text(finding)) } } }
                    }
                }
            } }
            @for chart in of_applications(view, only, ids) { (chart.figure()) }
            div.block {
                h3 { "How good the figures are" }
                @for line in lines.iter().flatten() { p.note { (Text(line.trim())) } }
            }
        }
    }
}

/// An answer with the figures of its designs, the best first: those that may be the fastest are coloured.
fn card(answer: &Answer, view: &View, ids: &mut Ids) -> Chart {
    let title = answers::sentence(answer).unwrap_or_else(|| format!("{}: not decided", answer.of));
    let bar = |design: &DesignFigure| {
        let is_meant =
            |result: &&CaseResult| result.metric == answer.metric && result.label() == design.point;
        let bar = view
            .document
            .results
            .iter()
            .find(is_meant)
            .and_then(|result| bar(result, design.name.to_owned()))?;
        let behind = design.behind.filter(|_| design.is_slower()).map(|ratio| {
            let factor = factor(ratio, false);
            factor.split(" (").next().unwrap_or_default().replace(" times", "×")
        });
        let remark = behind.into_iter().chain([bar.remark.clone()]).collect::<Vec<_>>().join(" ");
        Some(Bar {
            look: if design.is_slower() { 7 } else { 0 },
            row: row_of(view, &bar),
            remark,
            ..bar
        })
    };
    let rows = answer.designs.iter().filter_map(bar).collect();
    let bars = Bars { scale: BarScale::Amount(answer.unit.clone()), rows };
    Chart::new(ids.chart(), title, Drawing::Bars(bars))
}

/// Identifier of the row of a bar's point.
fn row_of(view: &View, bar: &Bar) -> Option<String> {
    let mut points = view.areas.iter().flat_map(|area| &area.points);
    let point = points.find(|point| Some(&point.key) == bar.point.as_ref());
    point.map(|point| point.id.clone())
}

/// Bars of the costs of common operations, the least first.
fn costs(view: &View, only: Option<&str>, ids: &mut Ids) -> Chart {
    let rows = cost_rows(&view.document.results, catalog::areas());
    let rows = rows
        .into_iter()
        .filter(|(_, result)| only.is_none_or(|only| only == result.point().area()));
    let bar = |(row, result): (&catalog::SummaryRow, _)| -> Option<Bar> {
        let bar = bar(result, row.label.to_owned())?;
        Some(Bar { row: row_of(view, &bar), ..bar })
    };
    let mut rows: Vec<Bar> = rows.filter_map(bar).collect();
    rows.sort_by(|a, b| a.value.total_cmp(&b.value));
    let bars = Bars { scale: BarScale::Amount("ns".to_owned()), rows };
    Chart::new(ids.chart(), "Time of common operations", Drawing::Bars(bars))
}

/// Charts of the designs of applications in their first situations, the last areas first: the first one over a parameter, the
/// first one by percentile, and the first time line.
fn of_applications(view: &View, only: Option<&str>, ids: &mut Ids) -> Vec<Chart> {
    let areas = catalog::areas().iter().rev().filter(|area| !area.applications.is_empty());
    let areas = areas.filter(|area| only.is_none_or(|only| only == area.name));
    let mut chosen: [Option<Chart>; 3] = [None, None, None];
    for area in areas {
        let in_view = in_views(std::slice::from_ref(view), area.name);
        let results = named(&in_view);
        let shared = in_view.first().map(|(_, area)| area.shared.as_slice()).unwrap_or_default();
        for application in area.applications {
            let over = || {
                let keys = application.situations.first().map_or(&[][..], |first| first.params);
                let charts = keys.iter().flat_map(|(key, _)| {
                    let most = Most { metrics: 1, charts: 1 };
                    sweeps(
                        &of_designs(application, &results, key),
                        shared,
                        most,
                        &mut Ids::default(),
                    )
                });
                charts.collect::<Vec<Chart>>()
            };
            let exact = of_designs(application, &results, "");
            let found = [over(), percentiles(&exact, shared, &mut Ids::default())];
            for (place, charts) in chosen.iter_mut().zip(found) {
                let mut lines = charts
                    .into_iter()
                    .filter(|chart| chart.lines().is_some_and(|lines| lines.lines.len() > 1));
                *place = place.take().or_else(|| lines.next());
            }
        }
        chosen[2] = chosen[2]
            .take()
            .or_else(|| timelines(&results, &mut Ids::default()).into_iter().next());
    }
    chosen.into_iter().flatten().map(|chart| Chart { id: ids.chart(), ..chart }).collect()
}

/// The results of the application's designs in its first situation, at any value of the parameter `free`.
fn of_designs<'r>(application: &Application, results: &[Named<'r>], free: &str) -> Vec<Named<'r>> {
    let designs =
        || application.designs.iter().flat_map(|design| design.points).flat_map(|points| *points);
    let Some(situation) = application.situations.first() else { return Vec::new() };
    let is_meant = |(_, result): &&Named| {
        let is_equal = |(key, value): &(&str, &str)| {
            *key == free || result.params.get(*key).is_none_or(|own| own == value)
        };
        situation.params.iter().all(is_equal)
            && designs().any(|select| select.matches(&result.case, &result.params))
    };
    results.iter().filter(is_meant).copied().collect()
}

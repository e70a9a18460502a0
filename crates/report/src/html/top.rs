//! What the page of a run begins with: answers as sentences, and a few large charts.

use analysis::answer::{Answer, DesignFigure, answers};
use catalog::Application;
use maud::{Markup, html};
use results::CaseResult;

use crate::answers;
use crate::html::area::{charts, grid, in_views};
use crate::html::chart::{Bar, BarScale, Bars, Chart, Drawing};
use crate::html::points::bar;
use crate::html::sweeps::Most;
use crate::html::text::{Ids, Text};
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
        @if !cards.is_empty() { div.answers { @for card in &cards { (card.figure()) } } }
        div.lead {
            (costs.figure())
            div {
                @if !first.is_empty() { ul.findings { @for finding in first { li { (Text(finding)) } } } }
                @if !further.is_empty() {
                    details { summary { (further.len()) " more findings" }
                        ul.findings { @for finding in further { li { (Text(finding)) } } }
                    }
                }
                @for line in lines.iter().flatten() { p.note { (Text(line.trim())) } }
            }
        }
        (grid(&of_applications(view, only, ids)))
    }
}

/// An answer with the figures of its designs, the best first: those that may be the fastest are coloured.
fn card(answer: &Answer, view: &View, ids: &mut Ids) -> Chart {
    let title = answers::sentence(answer).unwrap_or_else(|| format!("{}: not decided", answer.of));
    let bar = |design: &DesignFigure| {
        let is_meant = |result: &&CaseResult| result.metric == answer.metric && result.label() == design.point;
        let bar = view.document.results.iter().find(is_meant).and_then(|result| bar(result, design.name.to_owned()))?;
        let behind = match design.behind {
            Some(ratio) if design.is_slower() => {
                let factor = factor(ratio, false);
                Some(format!("{} as much", factor.split(" (").next().unwrap_or_default()))
            }
            Some(_) => Some("not certainly slower".to_owned()),
            None => None,
        };
        let marks = bar.remark.clone();
        let remark = behind.into_iter().chain((!marks.is_empty()).then_some(marks)).collect::<Vec<_>>().join(", ");
        Some(Bar { look: if design.is_slower() { 7 } else { 0 }, row: row_of(view, &bar), remark, ..bar })
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
    let rows = rows.into_iter().filter(|(_, result)| only.is_none_or(|only| only == result.point().area()));
    let bar = |(row, result): (&catalog::SummaryRow, _)| -> Option<Bar> {
        let bar = bar(result, row.label.to_owned())?;
        Some(Bar { row: row_of(view, &bar), ..bar })
    };
    let mut rows: Vec<Bar> = rows.filter_map(bar).collect();
    rows.sort_by(|a, b| a.value.total_cmp(&b.value));
    let bars = Bars { scale: BarScale::Amount("ns".to_owned()), rows };
    Chart::new(ids.chart(), "Time of common operations", Drawing::Bars(bars))
}

/// Of the areas whose applications have several designs, the last areas first: the first chart over a parameter, the first one by
/// percentile, and the first time line.
fn of_applications(view: &View, only: Option<&str>, ids: &mut Ids) -> Vec<Chart> {
    let views = std::slice::from_ref(view);
    let areas = catalog::areas().iter().rev().filter(|area| !area.applications.is_empty());
    let areas = areas.filter(|area| only.is_none_or(|only| only == area.name));
    let mut chosen: [Option<Chart>; 3] = [None, None, None];
    for area in areas {
        let most = Most { metrics: 1, charts: 1 };
        for chart in charts(&in_views(views, area.name), area.name, most, ids) {
            let kind = match &chart.drawing {
                Drawing::Bars(_) => continue,
                Drawing::Spans(_) => 2,
                Drawing::Lines(_) if !is_of_designs(&chart, area.applications) => continue,
                Drawing::Lines(lines) => usize::from(lines.is_by_percentile()),
            };
            chosen[kind].get_or_insert(chart);
        }
    }
    chosen.into_iter().flatten().collect()
}

/// Whether the chart shows a point of a design of the applications.
fn is_of_designs(chart: &Chart, applications: &[Application]) -> bool {
    let designs = applications.iter().flat_map(|application| application.designs);
    let selects: Vec<_> = designs.flat_map(|design| design.points).flat_map(|points| *points).collect();
    chart.shows(&|key| selects.iter().any(|select| select.matches(&key.case, &key.params)))
}

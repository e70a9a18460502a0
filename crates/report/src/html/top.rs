//! What the page of a run begins with: answers as sentences, and a few large charts.

use catalog::Application;
use maud::{Markup, html};

use crate::html::area::{charts, grid, in_views};
use crate::html::chart::{Bar, BarScale, Bars, Chart, Drawing};
use crate::html::points::{AreaPoints, bar};
use crate::html::sweeps::Most;
use crate::html::text::{Ids, Text};
use crate::html::view::View;
use crate::interval::interval_line;
use crate::marks::{few_rounds_line, marks_line, width_line};
use crate::page::Page;
use crate::results_table::closing_line;
use crate::summary::{cost_rows, machine_line, sentences};

/// A page so wide that only the browser wraps sentences.
const PAGE: Page = Page { width: 100, colour: false, unicode: true, this_run: false };

/// Maximum number of sentences that are shown at once.
const SENTENCES: usize = 6;

/// Maximum number of charts of lines and time lines.
const CHARTS: usize = 4;

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
    html! {
        p.machine { (Text(&machine_line(view.document))) }
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

/// Bars of the costs of common operations, the least first.
fn costs(view: &View, only: Option<&str>, ids: &mut Ids) -> Chart {
    let rows = cost_rows(&view.document.results, catalog::areas());
    let rows = rows.into_iter().filter(|(_, result)| only.is_none_or(|only| only == result.point().area()));
    let points = || view.areas.iter().flat_map(|area: &AreaPoints| &area.points);
    let bar = |(row, result): (&catalog::SummaryRow, _)| -> Option<Bar> {
        let bar = bar(result, row.label.to_owned())?;
        let point = points().find(|point| Some(&point.key) == bar.point.as_ref());
        Some(Bar { row: point.map(|point| point.id.clone()), ..bar })
    };
    let mut rows: Vec<Bar> = rows.filter_map(bar).collect();
    rows.sort_by(|a, b| a.value.total_cmp(&b.value));
    let bars = Bars { scale: BarScale::Amount("ns".to_owned()), rows };
    Chart::new(ids.chart(), "Time of common operations", Drawing::Bars(bars))
}

/// Charts of the areas whose applications have several designs: the first of each kind of each area, until there are enough.
fn of_applications(view: &View, only: Option<&str>, ids: &mut Ids) -> Vec<Chart> {
    let views = std::slice::from_ref(view);
    let areas = catalog::areas().iter().filter(|area| !area.applications.is_empty());
    let areas = areas.filter(|area| only.is_none_or(|only| only == area.name));
    let mut of_areas: Vec<Vec<Chart>> = areas
        .map(|area| {
            let mut charts = charts(&in_views(views, area.name), area.name, Most { metrics: 1, charts: 1 }, ids);
            charts.retain(|chart| match &chart.drawing {
                Drawing::Bars(_) => false,
                Drawing::Spans(_) => true,
                Drawing::Lines(_) => is_of_designs(chart, area.applications),
            });
            charts
        })
        .collect();
    let mut chosen = Vec::new();
    for nth in 0..CHARTS {
        for charts in &mut of_areas {
            if nth < charts.len() && chosen.len() < CHARTS {
                chosen.push(charts[nth].clone());
            }
        }
    }
    chosen
}

/// Whether the chart shows a point of a design of the applications.
fn is_of_designs(chart: &Chart, applications: &[Application]) -> bool {
    let designs = applications.iter().flat_map(|application| application.designs);
    let selects: Vec<_> = designs.flat_map(|design| design.points).flat_map(|points| *points).collect();
    chart.shows(&|key| selects.iter().any(|select| select.matches(&key.case, &key.params)))
}

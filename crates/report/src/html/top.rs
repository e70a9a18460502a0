//! What the page of a run begins with: answers as sentences, and a few large charts.

use analysis::answer::{Answer, DesignFigure, answers};
use catalog::Application;
use maud::{Markup, html};
use measure::Doubt;
use results::CaseResult;

use crate::answers;
use crate::first_seen::distinct;
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
use crate::text;

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
    let (costs, of_costs) = costs(view, only, ids);
    let closing = closing_line(results, None, &PAGE).replace('\n', " ");
    let lines = [Some(closing), few_rounds_line(results), interval_line(results)];
    let mut answers = answers(results, &areas);
    answers.sort_by_key(|answer| answers::sentence(answer).is_none());
    let cards: Vec<Chart> = answers.iter().map(|answer| card(answer, view, ids)).collect();
    let of_answers = answers.iter().flat_map(|answer| &answer.designs);
    let drawn: Vec<&Doubt> = of_answers.flat_map(|design| &design.doubts).chain(of_costs).collect();
    html! {
        p.machine { (Text(&machine_line(view.document))) }
        p { (Text(&trust(view))) }
        @if !cards.is_empty() {
            div class=(columns(cards.len())) { @for card in &cards { (card.figure()) } }
            p.note { "Coloured: this design may be the fastest. Grey: certainly slower, by so many times. Dashed: too few rounds for an interval. The factor has an interval of its own, from rounds made next to each other, so it may be certain where each figure has a wide interval." }
        }
        @for line in explained(&drawn) { p.note { (Text(&line)) } }
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

/// How far to trust the figures of the run: how many have a mark, how many a wide interval, and whether the run was a quick one.
fn trust(view: &View) -> String {
    let results = &view.document.results;
    let marked = marks_line(&view.document.run.id, results);
    let marked = marked.map_or_else(|| "No figure is doubtful.".to_owned(), |line| line + ".");
    let is_quick = view.document.run.asked.get("size").is_some_and(|size| size == "quick");
    let quick = is_quick.then(|| {
        "A quick run (--quick): less time for each figure than in a default run, so that intervals are wider."
            .to_owned()
    });
    [Some(marked), width_line(results), quick].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The classes of this number of cards: as many columns as leave none empty.
fn columns(cards: usize) -> &'static str {
    match cards {
        1 => "charts one",
        2 => "charts",
        4 => "answers two-wide",
        _ => "answers",
    }
}

/// What the marks of these figures mean, a line for each: `busy: hardly ever quiet: ...`.
fn explained(doubts: &[&Doubt]) -> Vec<String> {
    let line = |doubt: &&Doubt| Some(format!("{}: {doubt}", doubt.mark()?));
    distinct(doubts.iter().filter_map(line))
}

/// An answer with the figures of its designs, the best first: those that may be the fastest are coloured.
fn card(answer: &Answer, view: &View, ids: &mut Ids) -> Chart {
    let title = answers::sentence(answer)
        .unwrap_or_else(|| format!("{}: cannot tell which is the fastest", answer.of));
    let is_bound = answer.designs.first().is_some_and(|best| best.is_bound);
    let bar = |design: &DesignFigure| {
        let is_meant =
            |result: &&CaseResult| result.metric == answer.metric && result.label() == design.point;
        let bar = view
            .document
            .results
            .iter()
            .find(is_meant)
            .and_then(|result| bar(result, name_of(design)))?;
        let behind = design.behind.filter(|_| design.is_slower()).map(|ratio| {
            let factor = factor(ratio, is_bound);
            let short = factor.split(" (").next().unwrap_or_default().replace(" times", "×");
            short.replace("at least ", "≥ ")
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
    let mut chart = Chart::new(ids.chart(), title, Drawing::Bars(bars));
    chart.notes.push(operation(answer));
    if !answer.left_out.is_empty() {
        let names = answer.left_out.iter().map(|name| (*name).to_owned()).collect();
        let names = text::listed(names, usize::MAX);
        chart.notes.push(format!("Measured otherwise, but not at these parameters: {names}."));
    }
    chart
}

/// What one operation of the designs is; what the application does, if they are of several cases.
fn operation(answer: &Answer) -> String {
    let cases = answer.designs.iter().map(|design| design.point.split('{').next());
    match distinct(cases)[..] {
        [Some(only)] => catalog::find(only).map_or(answer.says, |case| case.operation).to_owned(),
        _ => answer.says.to_owned(),
    }
}

/// The name of a design with the one that tables have for it: `event loop (epoll)`.
fn name_of(design: &DesignFigure) -> String {
    let plain = |name: &str| name.replace([' ', '_'], "-").to_lowercase();
    match plain(design.name).contains(&plain(&design.known_as)) {
        true => design.name.to_owned(),
        false => format!("{} ({})", design.name, design.known_as),
    }
}

/// Identifier of the row of a bar's point.
fn row_of(view: &View, bar: &Bar) -> Option<String> {
    let mut points = view.areas.iter().flat_map(|area| &area.points);
    let point = points.find(|point| Some(&point.key) == bar.point.as_ref());
    point.map(|point| point.id.clone())
}

/// Bars of the costs of common operations, the least first, and what makes them doubtful.
fn costs<'v>(view: &'v View, only: Option<&str>, ids: &mut Ids) -> (Chart, Vec<&'v Doubt>) {
    let rows = cost_rows(&view.document.results, catalog::areas());
    let rows = rows
        .into_iter()
        .filter(|(_, result)| only.is_none_or(|only| only == result.point().area()));
    let rows: Vec<(&catalog::SummaryRow, &CaseResult)> = rows.collect();
    let doubts = rows.iter().flat_map(|(_, result)| &result.doubts).collect();
    let bar = |(row, result): (&catalog::SummaryRow, &CaseResult)| -> Option<Bar> {
        let bar = bar(result, row.label.to_owned())?;
        Some(Bar { row: row_of(view, &bar), ..bar })
    };
    let mut rows: Vec<Bar> = rows.into_iter().filter_map(bar).collect();
    rows.sort_by(|a, b| a.value.total_cmp(&b.value));
    let bars = Bars { scale: BarScale::Amount("ns".to_owned()), rows };
    (Chart::new(ids.chart(), "Time of common operations", Drawing::Bars(bars)), doubts)
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
    let Some(situation) = application.situations.first() else { return Vec::new() };
    let designs = || application.designs.iter().flat_map(|design| design.points);
    let is_meant = |(_, result): &&Named| {
        let is_equal = |(key, value): &(&str, &str)| {
            *key == free || result.params.get(*key).is_none_or(|own| own == value)
        };
        situation.params.iter().all(is_equal)
            && designs().any(|select| select.matches(&result.case, &result.params))
    };
    results.iter().filter(is_meant).copied().collect()
}

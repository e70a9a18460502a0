//! The report as one HTML page, which is complete without its script and requests no other file.
//!
//! Each section is a function of the runs; [`report_html`] combines them.

mod area;
mod chart;
mod comparing;
mod facets;
mod families;
mod figures;
mod fleet;
mod history;
mod points;
mod ratios;
mod run;
mod shell;
mod standings;
mod study;
mod sweeps;
mod text;
mod timeline;
mod top;
mod view;

use maud::html;
use results::{CaseResult, PointKey, announcement_of};

use crate::answers::about;
use crate::comparison::Comparison;
use crate::first_seen::distinct;
use crate::html::sweeps::Most;
use crate::html::text::{Ids, Text};
use crate::html::view::View;
use analysis::study::StudyFindings;
pub(crate) use chart::{ScaledPoint, SweepPlot};
pub use fleet::fleet_html;
pub use history::history_html;
pub use standings::Standings;
pub use view::ReportRun;

/// The contents of a report.
#[derive(Debug, Clone, Copy, Default)]
pub struct Report<'a> {
    /// Heading of the page; if `None`, the heading names the runs.
    pub title: Option<&'a str>,
    /// The only area to show; all areas if `None`.
    pub section: Option<&'a str>,
    /// The runs; the first one is the base of a comparison.
    pub runs: &'a [ReportRun<'a>],
    /// The comparison of the other runs with the first, or of the columns of another dimension.
    pub comparison: Option<&'a Comparison>,
    /// Standings of the columns of the comparison as a whole.
    pub standings: Option<Standings<'a>>,
    /// The study that the runs belong to.
    pub study: Option<&'a StudyFindings<'a>>,
}

impl Report<'_> {
    /// Subject of the page, if it has no title.
    fn subject(&self) -> String {
        match (self.study, self.comparison, self.runs) {
            (Some(page), _, _) => format!("study {}", page.study.name),
            (None, Some(comparison), _) if comparison.by == "system" => {
                format!("{} systems side by side", comparison.columns.len())
            }
            (None, Some(comparison), runs) if comparison.by != "run" => match runs {
                [only] => format!("run {} compared by {}", only.document.run.id, comparison.by),
                _ => format!("{} runs compared by {}", runs.len(), comparison.by),
            },
            (None, _, [only]) => format!("run {}", only.document.run.id),
            (None, None, runs) => format!("{} runs", runs.len()),
            (None, Some(_), runs) => format!("{} runs compared", runs.len()),
        }
    }
}

/// The page as HTML: the verdict or the answers, a folded section for each area, all figures, and what they rest on.
pub fn report_html(report: &Report) -> String {
    let mut ids = Ids::default();
    let mut views: Vec<View> = report.runs.iter().map(View::of).collect();
    if views.len() > 1 {
        view::shorten_names(&mut views);
        views.iter_mut().for_each(|view| view.about = format!(", {}", view.name));
    }
    let mut areas =
        distinct(views.iter().flat_map(|view| &view.areas).map(|area| area.name.as_str()));
    areas.retain(|area| report.section.is_none_or(|only| only == *area));
    let title = report.title.map_or_else(|| format!("oscost: {}", report.subject()), str::to_owned);
    let sections = [
        report.study.map(|_| ("study", "Study")),
        report.comparison.map(|_| ("comparison", "Verdict")),
        report.comparison.is_none().then_some(("summary", "Answers")),
        Some(("areas", "Areas")),
        report.comparison.map(|_| ("compared", "Compared figures")),
        Some(("figures", "All figures")),
        Some(("doubts", "Doubtful figures")),
        Some(("machine", "Machine")),
        Some(("method", "Method")),
    ];
    // Areas without a comparison share one line, instead of a section each.
    let is_compared =
        |area: &&str| report.comparison.is_none_or(|it| comparing::has_area(it, area));
    let (compared, apart): (Vec<&str>, Vec<&str>) = areas.iter().copied().partition(is_compared);
    let only = report.section;
    let note = announcement_of(
        if report.comparison.is_some() { "ratios" } else { "figures" },
        report.runs.iter().map(|run| run.document),
    );
    let main = html! {
        @if let Some(page) = report.study { (study::section(page, &mut ids)) }
        @match report.comparison {
            Some(comparison) => (comparing::verdict(comparison, report.standings.as_ref(), &answers_within(comparison, report.runs), &mut ids)),
            None => (shell::section("summary", "Answers", html! { @for view in &views {
                @if views.len() > 1 { h3 { (Text(&view.name)) } }
                (top::section(view, only, &mut ids))
            } })),
        }
        (shell::section("areas", "Areas", html! {
            @for name in &compared {
                (area::section(&views, name, report.comparison, compared.len() == 1, &mut ids))
            }
            @if !apart.is_empty() { p.note { "No pair of figures in: " (Text(&apart.join(", "))) "." } }
        }))
        @if let Some(comparison) = report.comparison { (comparing::table(comparison, only)) }
        (figures::section(&views, only))
        (shell::section("doubts", "Doubtful figures", html! { @for view in &views { (run::doubts(view)) } }))
        (shell::section("machine", "Machine", html! { @for view in &views {
            (run::machine(view))
            div.disturbance { (run::disturbance(view, &mut ids)) }
        } }))
        (shell::section("method", "Method", run::method()))
    };
    let sections: Vec<(&str, &str)> = sections.into_iter().flatten().collect();
    shell::page(&title, &sections, note.as_deref(), &main)
}

/// The answers of the only run about the columns of a comparison within it.
fn answers_within(comparison: &Comparison, runs: &[ReportRun]) -> Vec<String> {
    match runs {
        [only] => about(only.document, &comparison.by, &comparison.columns),
        _ => Vec::new(),
    }
}

/// The first chart with a point of this label or case, as an SVG file; `None` if there is none.
pub fn chart_svg(run: &ReportRun, point: &str) -> Option<String> {
    let views = [View::of(run)];
    let is_meant = |key: &PointKey| key.case == point || key.to_string() == point;
    let meant = run.document.results.iter().map(CaseResult::point).find(is_meant)?;
    // Charts over a parameter come first: they show more than bars.
    let charts = charts(&views, meant.area());
    charts.iter().find(|chart| chart.shows(&is_meant))?.standalone()
}

/// All charts of the run over parameters.
pub(crate) fn sweep_plots(run: &ReportRun) -> Vec<SweepPlot> {
    let views = [View::of(run)];
    let charts = views[0].areas.iter().flat_map(|area| charts(&views, &area.name));
    // Percentiles are no parameter.
    let over = |chart: chart::Chart| {
        let lines = chart.lines().filter(|lines| !lines.is_by_percentile())?;
        lines.as_plot(&chart.title)
    };
    charts.filter_map(over).collect()
}

fn charts(views: &[View], area: &str) -> Vec<chart::Chart> {
    area::charts(&area::in_views(views, area), area, Most::EVERY, &mut Ids::default())
}

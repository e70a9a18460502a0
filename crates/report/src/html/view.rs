//! One run, prepared for the page.

use analysis::Recorded;
use results::Document;

use crate::html::points::{AreaPoints, by_area};
use crate::html::text::Ids;

/// One run of a report.
#[derive(Debug, Clone, Copy)]
pub struct ReportRun<'a> {
    /// Document of the run.
    pub document: &'a Document,
    /// Records of the run's rounds, if they are stored.
    pub recorded: Option<&'a Recorded>,
}

/// A run with its points by area.
pub(super) struct View<'a> {
    /// Name of the run beside other runs.
    pub name: String,
    /// End of captions: the name of the run if there are several.
    pub about: String,
    pub document: &'a Document,
    pub recorded: Option<&'a Recorded>,
    pub areas: Vec<AreaPoints<'a>>,
}

impl<'a> View<'a> {
    pub(super) fn of(run: &ReportRun<'a>) -> View<'a> {
        let ReportRun { document, recorded } = *run;
        let areas = by_area(&document.results, &mut Ids::default());
        View { name: name(document), about: String::new(), document, recorded, areas }
    }
}

/// Names runs by their systems alone, if each was measured on a different one.
pub(super) fn shorten_names(views: &mut [View]) {
    let systems: Option<Vec<String>> =
        views.iter().map(|view| view.document.system().map(str::to_owned)).collect();
    let Some(systems) = systems else { return };
    let is_once = |name: &String| systems.iter().filter(|other| *other == name).count() == 1;
    if systems.iter().all(is_once) {
        views.iter_mut().zip(systems).for_each(|(view, system)| view.name = system);
    }
}

/// Name of the measured system, or the run's tags with its id.
fn name(document: &Document) -> String {
    let run = &document.run;
    if let Some(system) = document.system() {
        return format!("{system} ({})", run.id);
    }
    let tags = run.tags.iter().map(|(key, value)| format!("{key}={value} "));
    format!("{}({})", tags.collect::<String>(), run.id)
}

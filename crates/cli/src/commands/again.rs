//! Measures points of an earlier run again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use analysis::history::HistoryRun;
use command::measure::{FILTERS, best_clock, plan_of, watched};
use command::values::share;
use results::{Document, PointKey, SLOW_DOWN, Store};
use runner::{Options, Request};

/// The options of a run that change its figures, and so are those of a fresh measurement of its points too.
const KEPT: [&str; 3] = [SIZE, SCALE, SLOW_DOWN];
const SIZE: &str = "size";
const SCALE: &str = "scale";

/// The options of a fresh measurement as text by name, to be kept with it.
pub fn asked_for(options: &Options, run: &HistoryRun) -> BTreeMap<String, String> {
    let mut asked = run.summary.asked.clone();
    asked.retain(|name, _| KEPT.contains(&name.as_str()));
    asked.insert(FILTERS.to_owned(), options.filters.join(" "));
    asked
}

/// Options that measure these points, and few others, as the run did.
pub fn options_for(points: &[&PointKey], run: &HistoryRun) -> Options {
    let mut params: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, value) in points.iter().flat_map(|point| &point.params) {
        params.entry(name.clone()).or_default().insert(value.clone());
    }
    let filters: BTreeSet<String> = points.iter().map(|point| point.case.clone()).collect();
    Options {
        filters: filters.into_iter().collect(),
        params: params.into_iter().map(|(name, of)| (name, of.into_iter().collect())).collect(),
        quick: run.summary.asked.get(SIZE).is_some_and(|size| size == "quick"),
        scale: run.summary.asked.get(SCALE).and_then(|scale| scale.parse().ok()),
        slow_down: run.summary.asked.get(SLOW_DOWN).and_then(|slow| share(slow).ok()),
        ..Options::default()
    }
}

/// A run on this system alone; `None` if it was stopped, or could not be stored.
///
/// # Errors
/// If nothing can be measured.
pub fn alone(
    options: &Options,
    asked: BTreeMap<String, String>,
    tags: BTreeMap<String, String>,
    store: &mut Store,
    stop: &AtomicBool,
) -> anyhow::Result<Option<Document>> {
    let (plan, clock) = (plan_of(options)?, best_clock()?);
    let request = Request { plan: &plan, asked, tags, clock: &clock, questions: None };
    let (ended, _) = watched(|watch| runner::begin(request, store, stop, watch))?;
    let is_whole = ended.ending != runner::Ending::Stopped && ended.unsaved.is_none();
    Ok(if is_whole { Some(store.document(&ended.id)?) } else { None })
}

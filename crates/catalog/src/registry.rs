//! The areas of this program, and functions to look up areas and cases.

use std::sync::OnceLock;

use measure::{CaseError, Metric, Params, TIME};
use results::CaseResult;

use crate::worker::Task;
use crate::{Area, Case, Command, Counterpart, Extent, Need, Trials};

static AREAS: OnceLock<&'static [&'static Area]> = OnceLock::new();

/// Makes these the areas of this process, unless it has some: the crates that plan, judge and print name none.
pub fn install(areas: &'static [&'static Area]) {
    let _ = AREAS.set(areas);
}

/// The installed areas, in the order they are listed and shown.
pub fn areas() -> &'static [&'static Area] {
    AREAS.get().copied().unwrap_or_default()
}

/// All operations that Unix and Windows have under different names.
pub fn counterparts() -> impl Iterator<Item = &'static Counterpart> {
    areas().iter().flat_map(|area| area.counterparts)
}

/// The results that follow from several points of a run.
pub fn derived(results: &[CaseResult], seed: u64) -> Vec<CaseResult> {
    let all = areas().iter().flat_map(|area| area.derived);
    all.flat_map(|derive| derive(results, seed)).collect()
}

/// The reason why a point cannot be measured here, found before anything is written; `None` if it can.
pub fn obstacle(case: &str, params: &Params) -> Option<CaseError> {
    let (of_area, _) = case.split_once('/')?;
    area(of_area).and_then(|area| (area.obstacle)(case, params))
}

/// A line for each limit of this machine that would affect the measurements of these points, each given by its case's name and
/// its parameters.
pub fn limits(points: &[(&str, &Params)]) -> Vec<String> {
    areas().iter().flat_map(|area| (area.limits)(points)).collect()
}

/// The commands of all areas, in the order in which they are listed.
pub fn commands() -> impl Iterator<Item = &'static Command> {
    areas().iter().filter_map(|area| area.command.as_ref())
}

/// The task with this name that an area gives to worker processes.
pub fn task(name: &str) -> Option<&'static Task> {
    areas().iter().flat_map(|area| area.tasks).copied().find(|task| task.name == name)
}

/// All cases, in the order they are listed.
pub fn all() -> Vec<&'static Case> {
    areas().iter().flat_map(|area| area.cases.iter().copied()).collect()
}

/// The case named `area/name`.
pub fn find(name: &str) -> Option<&'static Case> {
    let (of_area, name) = name.split_once('/')?;
    area(of_area)?.cases.iter().copied().find(|case| case.name == name)
}

/// Whether a user's filter matches the case `label` (`area/name`). A filter is an area, a case's name with or without its area,
/// or a pattern with `*`.
pub fn matches_filter(filter: &str, label: &str) -> bool {
    let (area, name) = label.split_once('/').unwrap_or(("", label));
    if filter.contains('*') {
        return glob(filter, label) || glob(filter, name);
    }
    filter == label || filter == area || filter == name
}

fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|left| {
            (0..=left.len())
                .filter(|&at| left.is_char_boundary(at))
                .any(|at| glob(rest, &left[at..]))
        }),
    }
}

/// The area with this name.
pub fn area(name: &str) -> Option<&'static Area> {
    areas().iter().copied().find(|area| area.name == name)
}

/// The metric with this name of the case, or the time of its operation.
pub fn metric(case: &str, name: &str) -> Option<&'static Metric> {
    if name == TIME.name {
        return Some(&TIME);
    }
    find(case)?.metrics.iter().find(|metric| metric.name == name)
}

/// The trial settings of a point of the case `name`; `None` if the operation is timed in batches.
pub fn trials_of(name: &str, params: &Params) -> Option<Trials> {
    find(name).and_then(|case| case.trials).filter(|trials| (trials.of)(params))
}

/// Whether different values of the parameter are a separate experiment (`Area::experiments`).
pub fn is_experiment(case: &Case, param: &str) -> bool {
    area(case.area).is_some_and(|area| area.experiments.contains(&param))
}

/// Whether a run of everything of this extent leaves the case out.
pub fn is_beyond(case: &Case, extent: Extent) -> bool {
    let is_in = |cases: &[&str]| cases.contains(&case.label().as_str());
    area(case.area).is_some_and(|area| match extent {
        Extent::Full => false,
        Extent::Ordinary => is_in(area.extended),
        Extent::Quick => is_in(area.extended) || is_in(area.beyond_quick),
    })
}

/// Whether the summary of a run shows the point.
pub fn is_in_summary(case: &str, params: &Params) -> bool {
    let area = case.split_once('/').and_then(|(name, _)| area(name));
    area.is_some_and(|area| area.summary.iter().any(|row| row.point.matches(case, params)))
}

/// The privileges, limits and settings that the case needs, in words.
pub fn needs_of(case: &Case) -> Vec<&'static str> {
    let all = area(case.area).map_or(&[][..], |area| area.needs);
    let concerns = |need: &&Need| need.cases.is_empty() || need.cases.contains(&case.name);
    all.iter().filter(concerns).map(|need| need.what).collect()
}

/// The command that measures the case, where `oscost run` measures it only if it is named.
pub fn only_by(case: &Case) -> Option<&'static str> {
    let of_area = area(case.area).and_then(|area| area.only_by);
    of_area.or_else(|| case.trials.and_then(|trials| trials.only_by))
}

/// Whether a run of this extent measures the point of the case when the user named no parameter.
pub fn includes(case: &Case, params: &Params, extent: Extent) -> bool {
    let of_area = area(case.area).is_none_or(|area| (area.includes)(params, extent));
    of_area && case.trials.is_none_or(|trials| (trials.includes)(params, extent))
}

//! All areas and cases, and what is described of them.

use measure::{Metric, Params, TIME};

use crate::{Area, Case, Extent, Trials};

/// All areas, in the order they are listed and shown.
pub const AREAS: &[&Area] = &[
    &crate::clock::AREA,
    &crate::syscall::AREA,
    &crate::lock::AREA,
    &crate::concurrency::AREA,
    &crate::file::AREA,
    &crate::net::AREA,
    &crate::mail::AREA,
    &crate::scale::AREA,
];

/// All cases, in the order they are listed.
pub fn all() -> Vec<&'static Case> {
    AREAS.iter().flat_map(|area| area.cases.iter().copied()).collect()
}

/// The case of that name, `area/name`.
pub fn find(name: &str) -> Option<&'static Case> {
    let (of_area, name) = name.split_once('/')?;
    area(of_area)?.cases.iter().copied().find(|case| case.name == name)
}

/// The area of that name.
pub fn area(name: &str) -> Option<&'static Area> {
    AREAS.iter().copied().find(|area| area.name == name)
}

/// The metric of that name which the case reports, or the time of its operation.
pub fn metric(case: &str, name: &str) -> Option<&'static Metric> {
    if name == TIME.name {
        return Some(&TIME);
    }
    find(case)?.metrics.iter().find(|metric| metric.name == name)
}

/// How the rounds of the case of that name are trials; `None` for a case whose operation is timed in batches.
pub fn trials_of(name: &str) -> Option<Trials> {
    find(name).and_then(|case| case.trials)
}

/// Whether a run of everything leaves out the case, unless it is a full one.
pub fn is_extended(case: &Case) -> bool {
    area(case.area).is_some_and(|area| area.extended.contains(&case.label().as_str()))
}

/// Whether a run of this extent measures that point of the case, where no parameter was given explicitly.
pub fn includes(case: &Case, params: &Params, extent: Extent) -> bool {
    let of_area = area(case.area).is_none_or(|area| (area.includes)(params, extent));
    of_area && case.trials.is_none_or(|trials| (trials.includes)(params, extent))
}

//! The costs of atomic operations on a cache line that one thread uses, and on one that several CPUs share.

mod add;
mod common;
mod compare_and_swap;
mod fence;
mod handoff;

pub(crate) use common::*;

use measure::Params;

use crate::{Area, Case, Extent};

/// The area.
pub static AREA: Area = Area { includes, ..Area::new("atomic", CASES) };

/// Cases of the area.
const CASES: &[&Case] = &[
    &add::PRIVATE,
    &compare_and_swap::PRIVATE,
    &fence::PRIVATE,
    &add::SHARED,
    &compare_and_swap::SHARED,
    &fence::SHARED,
    &handoff::CASE,
];

/// A quick run has at most two threads.
fn includes(params: &Params, extent: Extent) -> bool {
    extent != Extent::Quick || params.get("workers").is_none_or(|workers| workers == "2")
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_case_gives_samples_and_counts_as_declared() {
        rehearsal::check(super::CASES);
    }
}

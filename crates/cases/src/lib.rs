//! What oscost measures: one small file per case, one folder per area.
//!
//! To add a case, add a file to its area's folder and a line to that folder's list; `CONTRIBUTING.md`
//! shows it with a real one.

mod case;
pub mod clock;
pub mod concurrency;
pub mod file;
pub mod lock;
pub mod mail;
pub mod net;
pub mod order;
pub mod syscall;

use measure::Params;

pub use case::{Case, Extent, Only, Param, Takes, Trials, count_of, length_of, size_of, value_of};

/// All cases, in the order they are listed.
pub fn all() -> Vec<&'static Case> {
    let areas = [
        clock::CASES,
        syscall::CASES,
        lock::CASES,
        concurrency::CASES,
        file::CASES,
        net::CASES,
        mail::CASES,
    ];
    areas.concat()
}

/// The case of that name, `area/name`.
pub fn find(name: &str) -> Option<&'static Case> {
    all().into_iter().find(|case| case.label() == name)
}

/// How the rounds of that case are trials; `None` for a case whose operation is timed in batches.
pub fn trials_of(name: &str) -> Option<Trials> {
    let mut all =
        [concurrency::TRIALS, file::TRIALS, net::TRIALS, mail::TRIALS].into_iter().flatten();
    all.find(|(case, _)| case.label() == name).map(|(_, trials)| *trials)
}

/// Whether a run of this extent has that point of the case, where no parameter was given by hand.
pub fn includes(case: &Case, params: &Params, extent: Extent) -> bool {
    match trials_of(&case.label()) {
        Some(trials) => (trials.includes)(params, extent),
        None => case.area != "lock" || lock::includes(params, extent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_for_contributors_shows_a_real_case() {
        let guide = include_str!("../../../CONTRIBUTING.md");
        assert!(guide.contains(include_str!("syscall/getppid.rs").trim_end()));
    }

    #[test]
    fn every_case_has_a_card_and_a_name_of_its_own() {
        let mut labels = std::collections::BTreeSet::new();
        for case in all() {
            let label = case.label();
            assert!(labels.insert(label.clone()), "{label} twice");
            assert!(case.operation.ends_with('.') && case.operation.len() > 15, "{label}");
            assert!(!case.comparable_to.is_empty(), "{label}");
            for param in case.params {
                assert!(!param.default.is_empty() && !param.full.is_empty(), "{label}");
            }
            assert!(find(&label).is_some_and(|found| std::ptr::eq(found, case)), "{label}");
        }
    }
}

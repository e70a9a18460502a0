//! All results that follow from several points of a run.

use results::CaseResult;

use crate::crossover::crossovers;
use crate::growth::{collapses, growths};
use crate::knee::knees;
use crate::lock_share::lock_shares;
use crate::overtaking::overtakings;
use crate::scaling::scaling_laws;
use crate::spawning::spawn_crossings;
use crate::workers::worker_scaling;

/// The derived results of a run, as results of the same cases: laws fitted over a parameter, which these then lack, and
/// the parameter values from which one alternative is better than another.
pub fn derived(results: &[CaseResult], seed: u64) -> Vec<CaseResult> {
    let all = [
        scaling_laws,
        crossovers,
        spawn_crossings,
        overtakings,
        growths,
        collapses,
        knees,
        worker_scaling,
        lock_shares,
    ];
    all.iter().flat_map(|derive| derive(results, seed)).collect()
}

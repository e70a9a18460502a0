//! Compares runs, and derives results from those of one run: pure functions over results.

mod change;
mod choice;
mod compare;
mod crossover;
mod frequency;
mod multiple;
mod noise;
mod overtaking;
mod ranking;
mod recorded;
mod resample;
mod scaling;
mod scope;
#[cfg(test)]
mod simulated;
mod spawning;
mod spread;
mod verdict;
mod workers;

pub use change::Ratio;
pub use choice::{Answer, Candidate, Choice, Goal, SettledBy, choose};
pub use compare::{Compared, Difference, Settings, also_differs, compare};
pub use crossover::{Crossing, crossing, crossovers};
pub use frequency::{Frequencies, cpu_differences};
pub use multiple::multiple;
pub use noise::NoiseCheck;
pub use overtaking::overtakings;
pub use ranking::{Ranked, Ranking, rank_commands};
pub use recorded::{Moment, Recorded, RoundState, Samples, moments};
pub use scaling::scaling_laws;
pub use spawning::spawn_crossings;
pub use verdict::Verdict;
pub use workers::worker_scaling;

use results::CaseResult;

/// The derived results of a run, as results of the same cases: laws fitted over a parameter, which these then lack, and
/// the parameter values from which one alternative is better than another.
pub fn derived(results: &[CaseResult], seed: u64) -> Vec<CaseResult> {
    let mut derived = scaling_laws(results, seed);
    derived.extend(crossovers(results, seed));
    derived.extend(spawn_crossings(results, seed));
    derived.extend(overtakings(results, seed));
    derived.extend(worker_scaling(results, seed));
    derived
}

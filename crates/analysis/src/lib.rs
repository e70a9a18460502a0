//! Compares runs, and derives results from those of one run: pure functions over results.

mod change;
mod choice;
pub mod claim;
mod columns;
mod compare;
mod counts;
mod crossover;
mod dimension;
mod frequency;
mod growth;
mod judge;
mod knee;
mod ladder;
mod lock_share;
mod mean;
mod multiple;
mod noise;
mod overtaking;
mod overview;
mod param_value;
mod ranking;
mod recorded;
mod resample;
mod scaling;
mod scope;
#[cfg(test)]
mod simulated;
mod spawning;
mod spread;
pub mod study;
mod table;
mod verdict;
mod workers;

pub use change::Ratio;
pub use choice::{Answer, Candidate, Choice, Goal, SettledBy, Within, choose};
pub use columns::{ComparedTable, compare_columns};
pub use compare::{Difference, also_differs, compare};
pub use counts::{CountRow, differing_counts};
pub use crossover::{Crossing, crossing, crossovers};
pub use dimension::{Condition, Dimension, DimensionError, Selection, system_name};
pub use frequency::{Frequencies, cpu_differences};
pub use growth::{collapses, growths};
pub use judge::{Compared, Settings};
pub use knee::{Knee, knee, knees};
pub use ladder::{Added, Ladder, Layer, Step, ladders, layers};
pub use lock_share::lock_shares;
pub use mean::Mean;
pub use multiple::multiple;
pub use noise::NoiseCheck;
pub use overtaking::overtakings;
pub use overview::{ColumnStanding, DesignOrder, Overview, Reversal, Standing, overview};
pub use ranking::{Ranked, Ranking, rank_commands};
pub use recorded::{Moment, Recorded, RoundState, Samples, moments};
pub use scaling::scaling_laws;
pub use spawning::spawn_crossings;
pub use spread::compared_half_width;
pub use table::{Cell, Found, Question, Renaming, Row, Table, TableError, tabulate};
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
    derived.extend(growths(results, seed));
    derived.extend(collapses(results, seed));
    derived.extend(knees(results, seed));
    derived.extend(worker_scaling(results, seed));
    derived.extend(lock_shares(results, seed));
    derived
}

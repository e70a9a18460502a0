//! Compares runs, and derives results from those of one run: pure functions over results.

mod change;
mod choice;
pub mod claim;
mod columns;
mod compare;
mod counts;
mod crossover;
mod derive;
mod derived;
mod detectable;
mod dimension;
mod evidence;
mod frequency;
mod growth;
mod judge;
mod knee;
mod ladder;
mod lock_share;
mod mean;
mod multiple;
mod next_run;
mod overtaking;
mod overview;
mod paired;
mod param_value;
mod ranking;
mod recorded;
mod resample;
mod scale;
mod scaling;
mod scope;
mod spawning;
mod spread;
pub mod study;
mod table;
#[cfg(test)]
mod tests;
mod verdict;
mod workers;

pub use change::Ratio;
pub use choice::{Answer, Candidate, Choice, Goal, SettledBy, Within, choose};
pub use columns::{ComparedTable, compare_columns};
pub use compare::{Difference, also_differs, compare};
pub use counts::{CountRow, differing_counts};
pub use derive::derived;
pub use detectable::{Detectable, detectable, difference};
pub use dimension::{Condition, Dimension, DimensionError, Selection, system_name};
pub use frequency::{Frequencies, cpu_differences};
pub use judge::{Compared, Settings};
pub use knee::{Knee, knee};
pub use ladder::{Added, Ladder, Layer, Step, ladders, layers};
pub use mean::Mean;
pub use multiple::{multiple, ratio};
pub use next_run::{Cause, Coverage, History, Scores, is_same_machine};
pub use overtaking::overtakings;
pub use overview::{ColumnStanding, DesignOrder, Overview, Reversal, Standing, overview};
pub use ranking::{Ranked, Ranking, rank_commands};
pub use recorded::{Moment, Recorded, RoundState, Samples, moments};
pub use spread::compared_half_width;
pub use table::{Cell, Found, Question, Renaming, Row, Table, TableError, tabulate};
pub use verdict::Verdict;

#[cfg(test)]
use tests::simulated;

//! Compares runs, and derives results from the results of one run: pure functions over results.

pub mod answer;
mod change;
pub mod claim;
mod columns;
mod compare;
mod counts;
pub mod crossing;
pub mod derive;
mod detectable;
mod dimension;
mod evidence;
pub mod fleet;
mod frequency;
mod held_back;
pub mod history;
mod judge;
mod ladder;
mod mapped;
mod mean;
mod merged;
mod multiple;
mod next_run;
mod overview;
mod paired;
mod param_value;
mod recorded;
pub mod resample;
mod row_verdicts;
mod scale;
mod scope;
mod setting;
mod spread;
pub mod study;
mod table;
mod verdict;

pub use change::{FLOOR_AT_LEAST, Ratio};
pub use columns::{ComparedTable, announcements, compare_columns};
pub use compare::compare;
pub use counts::{CountRow, differing_counts};
pub use detectable::{Detectable, detectable, difference};
pub use dimension::{Condition, Dimension, DimensionError, Selection, system_name};
pub use frequency::{Frequencies, cpu_differences};
pub use judge::{Compared, Settings};
pub use ladder::{Added, Ladder, Layer, Step, ladders, layers};
pub use mapped::{MapError, mapped};
pub use mean::Mean;
pub use merged::merged;
pub use multiple::{multiple, ratio};
pub use next_run::{Cause, Coverage, History, Scores, is_same_machine};
pub use overview::{ColumnStanding, DesignOrder, Overview, Reversal, Spread, Standing, overview};
pub use platform::machine::Role;
pub use recorded::{Moment, Recorded, RoundState, Samples, moments};
pub use setting::{
    Difference, also_differs, is_of_file_system, nuisances, role_of_fact, role_of_option,
    role_of_tag,
};
pub use spread::{compared_half_width, welch};
pub use table::{Cell, Found, Question, Renaming, Row, Table, TableError, tabulate};
pub use verdict::Verdict;

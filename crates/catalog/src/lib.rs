//! What an area and a case are, and the list of those that this program has.
//!
//! The crate `cases` defines them; the program installs them when it starts.

mod area;
mod case;
mod command;
mod registry;
pub mod worker;

pub use area::{
    Application, Area, Counterpart, Derive, Design, Finding, Need, Select, Situation, SummaryRow,
};
pub use case::{
    APART, Case, Extent, Only, Param, Run, TEMP, Takes, Trials, are_chosen_apart, count_of,
    directory_of, has_no_run, length_of, size_of, spans_cpus, value_of,
};
pub use command::{Arguments, Command, Ending};
pub use registry::{
    all, area, areas, commands, counterparts, derived, find, includes, install, is_beyond,
    is_experiment, is_in_summary, limits, matches_filter, metric, needs_of, obstacle, only_by,
    task, trials_of,
};

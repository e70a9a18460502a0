//! What an area and a case are, and the list of those that this program has.
//!
//! The crate `cases` defines them; the program installs them when it starts.

mod area;
mod case;
mod registry;

pub use area::{
    Application, Area, Counterpart, Derive, Design, Finding, Need, Select, Situation, SummaryRow,
};
pub use case::{
    APART, Case, Extent, Only, Param, Run, Takes, Trials, are_chosen_apart, count_of, has_no_run,
    length_of, size_of, value_of,
};
pub use registry::{
    all, area, areas, counterparts, derived, find, includes, install, is_beyond, is_experiment,
    is_in_summary, matches_filter, metric, needs_of, only_by, trials_of,
};

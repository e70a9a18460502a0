//! Claims: sentences about figures, each judged *holds*, *fails*, *undecided* or *not measurable*.
//!
//! `file` reads a claim file by means of `reading` (TOML into types). `relation` is the grammar of the relations that claims
//! state between figures. `names` compares all names with the cases that oscost has. `found` finds the figures of a side in a
//! run, `selection` pairs those of both sides, `ranks` those of all systems where a claim names ranks, and `quantity` computes
//! the quantity of a relation, with its interval, from `figure`s; `judge` decides.

mod curve;
mod figure;
mod file;
mod found;
mod judge;
mod location;
mod model;
mod names;
mod per_op;
mod quantity;
mod ranked;
mod ranks;
pub(crate) mod reading;
mod region;
mod relation;
mod selection;
mod systems;
mod unit;
mod verdict;

pub use file::ClaimFile;
pub(crate) use file::{WrittenClaim, WrittenSide, claims, side};
pub(crate) use found::figures_of_side;
pub use judge::{compared_points, judge, judge_runs, undecided_points};
pub use location::{FileError, Located, Location};
pub use model::{Claim, Content, Rank, Scope, Side, Statement};
pub use names::check_names;
pub(crate) use names::check_side;
pub use ranks::lacking_points;
pub use relation::{Limit, Quantity, Region, Relation};
pub use selection::is_same_system;
pub(crate) use systems::runs_called;
pub use systems::{
    LackingSystems, NATIVE, SystemName, absent_systems, lacking_systems, systems_called,
};
pub use verdict::{ClaimVerdict, JudgedClaim, JudgedComparison, QuantityInterval, SideFigure};

#[cfg(test)]
mod tests;

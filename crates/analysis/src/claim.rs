//! Claims: sentences about figures, each judged *holds*, *fails*, *undecided* or *not measurable*.
//!
//! `file` reads a claim file (TOML) by means of [`toml_reader`]; `relation` is the grammar of what a claim says of its figures;
//! `names` compares all names with the cases that oscost has. `selection` finds the figures in the runs, `quantity` computes
//! what the relation is about, with its interval, from `figure`s; `judge` decides.

mod curve;
mod figure;
mod file;
mod judge;
mod location;
mod model;
mod names;
mod per_op;
mod quantity;
mod region;
mod relation;
mod selection;
pub mod toml_reader;
mod unit;
mod verdict;

pub(crate) use file::side_of as read_side;
pub use file::{ClaimFile, read_claims};
pub use judge::judge;
pub use location::{FileError, Located, Location};
pub use model::{Claim, Content, Scope, Side, Statement};
pub use names::check_names;
pub(crate) use names::check_side;
pub use relation::{Limit, Quantity, Region, Relation};
pub(crate) use selection::{figures_of_side, is_system};
pub use verdict::{ClaimVerdict, JudgedClaim, JudgedComparison, QuantityInterval, Shown};

#[cfg(test)]
mod tests;

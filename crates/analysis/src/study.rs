//! Studies: published comparisons as data files, with the points that correspond to their figures here.
//!
//! [`Study::parse`] reads a file, [`MeasuredTable::of`] puts figures of runs into the layout of a published table. The claims of
//! a study are those of [`crate::claim`].

mod figures;
mod library;
mod model;
mod parse;
mod sizes;
mod systems;

pub use figures::{CellFigure, CellValue, MeasuredRow, MeasuredTable};
pub use library::{NAMES, TEMPLATE, included};
pub use model::{
    About, Counterpart, Measure, PublishedCell, PublishedRow, PublishedTable, Study, SystemRole,
};
pub use sizes::Size;
pub use systems::name_systems;

#[cfg(test)]
mod tests;

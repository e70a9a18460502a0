//! Studies: published comparisons as data files, with the points that correspond to their figures here.
//!
//! [`Study::parse`] reads a file, and [`MeasuredTable::of`] arranges figures of runs in the layout of a published table.
//! [`crate::claim`] defines the claims of a study.

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

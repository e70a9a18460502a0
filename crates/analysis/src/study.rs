//! Studies: published comparisons as data files, with the points that correspond to their figures here.
//!
//! [`Study::parse`] reads a file, and [`StudyFindings::of`] arranges figures of runs in the layout of the published tables
//! and judges the claims, which [`crate::claim`] defines.

mod figures;
mod findings;
mod library;
mod model;
mod parse;
mod sizes;
mod systems;

pub use figures::{CellFigure, CellFigures, CellValue, MeasuredRow, MeasuredTable};
pub use findings::StudyFindings;
pub use library::{NAMES, TEMPLATE, included};
pub use model::{
    About, Counterpart, Measure, PublishedCell, PublishedRow, PublishedTable, Study, SystemRole,
};
pub use sizes::Size;

#[cfg(test)]
mod tests;

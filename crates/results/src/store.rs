//! The store: every run and its workers' output, in one SQLite file, or in a database that several machines share.
//!
//! Several processes may read and write the store at the same time. A kill loses nothing: each round is in the file's log
//! when [`Store::add_round`] returns.
//!
//! All reading and writing is here, once, over the few operations of [`Engine`]: SQLite is one, and another crate has
//! PostgreSQL.

mod engine;
mod error;
mod figures;
mod journal;
mod location;
mod naming;
mod open;
mod opened;
mod packing;
mod reading;
mod rows;
mod sending;
mod sqlite;
mod thinning;
mod writing;

pub use engine::{Engine, PointRow, Row, Value};
pub use error::StoreError;
pub use figures::{Figures, MetricSeries, RunFigure, StoredPrediction};
pub use journal::Sent;
pub use opened::{Sending, Store};
pub use rows::{Imported, MAX_LINES_BYTES, RoundRow, RunSummary};
pub use thinning::Thinned;

#[cfg(test)]
mod tests;

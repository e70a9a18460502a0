//! The result schema of oscost, the store (SQLite), import and export.

pub mod check;
pub mod document;
pub mod export;
pub mod import;
mod located;
pub mod store;

pub use check::Fault;
pub use document::{
    Better, CaseResult, CoreClock, Cycles, Document, Estimate, FrequencySlope, Outcome, PerOp,
    Reference, RunInfo, SCHEMA, Seen, label, machine_line,
};
pub use export::{to_benchstat, to_csv, to_json};
pub use import::{ImportError, parse_document};
pub use store::{Imported, RoundRow, RunSummary, Store, StoreError};

#[cfg(test)]
mod samples;

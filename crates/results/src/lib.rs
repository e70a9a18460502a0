//! The result schema of oscost, the store (SQLite), import and export.

pub mod document;

pub use document::{
    Better, CaseResult, Document, Estimate, Outcome, PerOp, RunInfo, SCHEMA, Seen, label,
};

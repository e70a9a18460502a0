//! The result schema of oscost, the store (SQLite), import and export.

pub mod check;
pub mod document;
mod emulation;
pub mod export;
pub mod import;
mod object;
pub mod other_tools;
mod point;
mod shape;
pub mod store;

pub use check::{Fault, is_ahead};
pub use measure::Params;

pub use document::{
    CONFIRMS, CaseResult, Direction, Distribution, Document, EMULATED, Estimate, FrequencySlope,
    GROUP, Interval, JOB_TAG, LAUNCHER, LEAST_ROUNDS, MACHINE_ID, MachineFacts, NO_TIME_BEFORE,
    NODE_TAG, NextRun, OTHER_TOOL, Outcome, PLACEMENT, PerOp, Reference, RunInfo, SCHEMA,
    SLOW_DOWN, STOPPED_BEFORE, SYSTEM, Source, machine_line,
};
pub use emulation::{announcement, announcement_of};
pub use export::{
    ABOUT_OTAVA, Extent, OTAVA, TEXT_FORMATS, TextFormat, to_benchstat, to_csv, to_json, to_otava,
};
pub use import::{ImportError, parse_document};
pub use other_tools::{TOOL_FORMATS, ToolError, ToolFormat};
pub use point::{PointKey, label, serialize_label};
pub use store::{
    Figures, Imported, MetricSeries, RoundRow, RunFigure, RunSummary, Store, StoreError,
    StoredPrediction, Thinned,
};

#[cfg(test)]
mod samples;

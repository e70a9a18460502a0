//! Reads files that other benchmarking tools wrote, as runs of these tools.
//!
//! A figure keeps the spread that the tool has: values of processes or repetitions become `round_values`, a tool's own interval
//! becomes that of the estimate, and one number has no interval. Each figure has [`Doubt::OtherTool`], which says so.

mod criterion;
mod figures;
mod format;
mod go;
mod google_benchmark;
mod hyperfine;
mod lmbench;
mod names;
mod number;
mod perf_bench;
mod pyperf;

pub use format::{ToolError, ToolFormat};

/// All tools whose files can be read, in the order of their list in the help.
pub const TOOL_FORMATS: &[ToolFormat] = &[
    hyperfine::FORMAT,
    pyperf::FORMAT,
    criterion::FORMAT,
    go::FORMAT,
    google_benchmark::FORMAT,
    lmbench::FORMAT,
    perf_bench::FORMAT,
];

#[cfg(test)]
mod tests;

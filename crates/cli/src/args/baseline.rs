//! The options that compare a new run with a document.

use std::path::PathBuf;

use clap::Args;
use command::values::share;

use super::gate::Gate;

/// What a new run is compared with, and how.
#[derive(Debug, Args)]
#[command(mut_arg("undecided", |undecided| undecided.requires("fail_above")))]
#[command(mut_arg("junit", |junit| junit.requires("fail_above")))]
#[command(mut_arg("across_machines", |across| across.requires("baseline")))]
#[command(mut_arg("markdown", |markdown| markdown.requires("baseline")))]
pub struct Baseline {
    /// Compare with this document, as `export` writes it: `compare` without a store
    #[arg(long, value_name = "FILE.json", conflicts_with = "on")]
    pub baseline: Option<PathBuf>,
    /// Make --baseline a gate: exit code 1 if a row is certainly worse by more than this share, such as 5%
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true, requires = "baseline")]
    pub fail_above: Option<f64>,
    #[command(flatten)]
    pub gate: Gate,
}

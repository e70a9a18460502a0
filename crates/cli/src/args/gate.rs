//! The options that all gates share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What a gate does, and which files it writes.
#[derive(Debug, Clone, Args)]
pub struct Gate {
    /// What a gate does if something could not be judged: exit code 3, or 0
    #[arg(long, value_name = "EFFECT", value_enum, default_value = "fail")]
    pub undecided: Undecided,
    /// Judge runs of different machines too, or measured with different options or versions of oscost: what that makes of the
    /// figures is then part of the verdicts
    #[arg(long)]
    pub across_machines: bool,
    /// Also write Markdown, for the summary of a job or a comment on a pull request
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Also write JUnit XML, which continuous integration shows as tests
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

/// What a gate does if nothing is worse or fails, but something could not be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Undecided {
    /// Exit code 3
    Fail,
    /// Exit code 0
    Pass,
}

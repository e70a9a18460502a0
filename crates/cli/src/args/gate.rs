//! The option that all gates share.

use clap::{Args, ValueEnum};

/// The exit code for what a gate could not judge.
#[derive(Debug, Clone, Copy, Args)]
pub struct Gate {
    /// What a gate does if something could not be judged: exit code 3, or 0
    #[arg(long, value_name = "EFFECT", value_enum, default_value = "fail")]
    pub undecided: Undecided,
}

/// What a gate does if nothing is worse or fails, but something could not be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Undecided {
    /// Exit code 3
    Fail,
    /// Exit code 0
    Pass,
}

//! Commands of areas.

use std::process::ExitCode;

use clap::{ArgMatches, Args};

/// A command of the program that belongs to an area.
pub struct Command {
    /// Name of the command.
    pub name: &'static str,
    /// Adds the arguments, their help and the command's own help.
    pub arguments: fn(clap::Command) -> clap::Command,
    /// Executes the command.
    pub run: fn(&ArgMatches) -> anyhow::Result<Ending>,
    /// The option with which each run that the command makes is stored: such a run is of some points only, and has no summary.
    pub asked: Option<&'static str>,
}

/// The arguments of an area's command.
pub trait Arguments: Args {
    /// Executes the command.
    ///
    /// # Errors
    /// The reason why the command failed, with the remedy.
    fn run(&self) -> anyhow::Result<Ending>;
}

impl Command {
    /// A command with these arguments, which makes no run.
    pub const fn new<A: Arguments>(name: &'static str) -> Self {
        Self {
            name,
            arguments: A::augment_args,
            run: |matches| A::from_arg_matches(matches)?.run(),
            asked: None,
        }
    }
}

/// The ending of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The command succeeded.
    Done,
    /// A check failed (`compare --fail-above`, `noise`).
    CheckFailed,
    /// Wrong usage: an unknown case, run or file, a damaged import.
    WrongUsage,
    /// Something could not be measured.
    NotMeasured,
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        Self::from(match ending {
            Ending::Done => 0,
            Ending::CheckFailed => 1,
            Ending::WrongUsage => 2,
            Ending::NotMeasured => 3,
        })
    }
}

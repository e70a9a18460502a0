//! `oscost time`.

use std::time::Duration;

use clap::Args;

use super::run::Output;
use super::store::StoreArg;
use super::values::{budget, from_to, time};

/// The key under which the commands that were measured are kept with a run.
pub const COMMANDS: &str = "commands";
/// A command is run no more often than this.
const RUNS_AT_MOST: usize = 100_000;

/// `oscost time`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each COMMAND_LINE is run by the shell, whose start is part of its time; with --no-shell it is split into words, and run \
directly. What follows `--` is one command with its arguments, which is run directly. Several commands are run in turns, \
in an order shuffled anew each time, and compared with the fastest.

Examples:
  oscost time 'grep -r main src' 'rg main src'
  oscost time -- sleep 0.1
  oscost time --prepare 'make clean' 'make -j1' 'make -j2'
  oscost time --no-shell --runs 50 './old input' './new input'")]
pub struct Time {
    /// Command lines to measure
    #[arg(value_name = "COMMAND_LINE", required_unless_present = "command")]
    pub lines: Vec<String>,
    /// A command with its arguments
    #[arg(value_name = "COMMAND", last = true)]
    pub command: Vec<String>,
    /// Run this before each run, off the clock; for each command another if given as often as there are commands
    #[arg(short, long, value_name = "COMMAND_LINE")]
    pub prepare: Vec<String>,
    /// Number of timed runs of each command [default: 10; up to 40 if they differ much and are short]
    #[arg(short, long, value_name = "N", value_parser = from_to::<1, RUNS_AT_MOST>, allow_hyphen_values = true)]
    pub runs: Option<usize>,
    /// Run command lines without a shell
    #[arg(short = 'N', long)]
    pub no_shell: bool,
    /// Also measure commands whose exit code is not 0
    #[arg(short, long)]
    pub ignore_failure: bool,
    /// Show what the commands print, on standard error, instead of discarding it
    #[arg(long)]
    pub show_output: bool,
    /// End a command that takes longer
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true, default_value = "10m")]
    pub time_limit: Duration,
    /// Leave out the untimed run of each command in which its system calls are counted
    #[arg(long)]
    pub no_count: bool,
    /// Time limit for everything, such as 30s or 2m; each command gets one timed run at least [default: none]
    #[arg(long, value_name = "TIME", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<Duration>,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub store: StoreArg,
}

//! `oscost concurrency`.

use std::path::PathBuf;
use std::time::Duration;

use cases::concurrency::list::JOBS_AT_MOST;
use clap::{Args, ValueEnum};

use super::run::Output;
use super::store::StoreArg;
use super::values::{budget, from_to, time};

/// `oscost concurrency`.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
#[command(after_help = "\
A file of jobs has one job per line: its length, the share of that time in which it needs a CPU, and its arrival \
time if not 0. For example, `5ms 30% 20ms` arrives after 20 ms and takes 5 ms: 1.5 ms of CPU time and 3.5 ms of waiting.

A line may also have name=NAME, after=NAME[,NAME...] with the jobs that must be done before this one begins, and \
locked=SHARE, the part of the job in which it holds a lock that all jobs share. The answer then includes the critical \
path, the longest chain of dependent jobs.

Examples:
  oscost concurrency --jobs 40 --length 5ms..80ms --goal turnaround
  oscost concurrency --bound cpu --jobs 8 --locked 10%
  oscost concurrency --from jobs.txt --goal worst --rounds 6
  oscost concurrency --bound cpu --goal foreground --within 1ms")]
pub struct Concurrency {
    /// Number of jobs [default: 40]
    #[arg(long, value_name = "N", value_parser = from_to::<1, JOBS_AT_MOST>, allow_hyphen_values = true, conflicts_with = "from")]
    pub jobs: Option<usize>,
    /// Shortest and longest time that one job takes alone; the others are spaced evenly [default: 5ms..80ms]
    #[arg(long, value_name = "FROM..TO", value_parser = lengths, allow_hyphen_values = true, conflicts_with = "from")]
    pub length: Option<String>,
    /// What the jobs do: `cpu` computes, `wait` sleeps, `mixed:30` computes for 30 % of its time [default: mixed:30]
    #[arg(long, value_name = "KIND", value_parser = bound, allow_hyphen_values = true, conflicts_with = "from")]
    pub bound: Option<String>,
    /// Share of each job, in percent, in which it holds a lock that all jobs share [default: none]
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true, conflicts_with = "from")]
    pub locked: Option<String>,
    /// Read the jobs from this file
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// What to minimise
    #[arg(long, value_enum, default_value = "elapsed")]
    pub goal: Goal,
    /// With `--goal foreground`: name the candidates that keep the delay within this, and the fastest of them
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub within: Option<Duration>,
    /// What CPU-bound work consists of
    #[arg(long, value_enum, default_value = "dependent")]
    pub instructions: Instructions,
    /// Number of trials of each candidate; more trials resolve smaller differences
    #[arg(long, value_name = "N", default_value = "10", value_parser = from_to::<3, 1000>, allow_hyphen_values = true)]
    pub rounds: usize,
    /// Time limit, such as 30s or 2m [default: none]
    #[arg(long, value_name = "TIME", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<Duration>,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub store: StoreArg,
}

/// What to minimise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Goal {
    /// The time until the last job is complete
    Elapsed,
    /// The mean over all jobs of (completion - arrival) / length
    Turnaround,
    /// The largest (completion - arrival) / length of any job
    Worst,
    /// The wake-up delay of another task, of ordinary priority, while the jobs run: 90 % of its wake-ups are later by at most this
    Foreground,
}

/// What CPU-bound work consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Instructions {
    /// Each needs the result of the one before: two hardware threads of a core do nearly twice the work of one
    Dependent,
    /// Eight independent chains, which need the whole core: hardware threads are not taken for cores
    Independent,
}

fn lengths(text: &str) -> Result<String, String> {
    cases::concurrency::list::parse_lengths(text).map(|_| text.to_owned())
}

fn share(text: &str) -> Result<String, String> {
    cases::concurrency::list::parse_share(text).map(|_| text.to_owned())
}

fn bound(text: &str) -> Result<String, String> {
    cases::concurrency::list::parse_bound(text).map(|_| text.to_owned())
}

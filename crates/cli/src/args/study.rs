//! `oscost study`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use command::options::StoreArg;
use command::values::budget;

use super::gate::Gate;
use super::on::OnSystems;

/// `oscost study`.
#[derive(Debug, Args)]
#[command(mut_arg("on", |on| on.requires("study")))]
#[command(after_help = "\
Without a name, the included studies are listed with their durations. A study prints the published tables, the values \
measured here in the same layout, a verdict for each published claim, and the differences in method. Claims that compare \
systems are judged if several systems are measured, or several runs given.

The exit code is 0 if all claims hold, 1 if one fails, and 3 if one is undecided or cannot be measured here \
(--undecided pass: 0).

Examples:
  oscost study
  oscost study locks
  oscost study network --full
  oscost study threads --full --budget 2h
  oscost study timers --on native --on wine=oscost.exe
  oscost study timers --run last --run wine.json
  oscost study --new mine.toml && oscost study ./mine.toml")]
pub struct Study {
    /// An included study, or a file
    #[arg(value_name = "NAME|FILE")]
    pub study: Option<String>,
    /// Measure the original sizes; takes long (`oscost study` lists the durations)
    #[arg(long, requires = "study")]
    pub full: bool,
    /// Measure for at most this long in all, such as 90s or 10m (by default as long as `oscost study` lists, for each system)
    #[arg(long, value_name = "TIME", value_parser = budget, requires = "study", conflicts_with = "runs",
          allow_hyphen_values = true)]
    pub budget: Option<Duration>,
    /// Judge this saved run, with all runs of its group, or JSON file, instead of measuring (may be repeated)
    #[arg(long = "run", value_name = "RUN", requires = "study", conflicts_with = "on")]
    pub runs: Vec<String>,
    #[command(flatten)]
    pub on: OnSystems,
    /// Write a commented study to begin with
    #[arg(long, value_name = "FILE", conflicts_with = "study")]
    pub new: Option<PathBuf>,
    #[command(flatten)]
    pub gate: Gate,
    /// Print the list, or the tables and verdicts, as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArg,
}

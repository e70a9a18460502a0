//! `oscost check`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use command::options::StoreArg;
use command::values::{budget, share};

use super::gate::Gate;
use super::on::OnSystems;

/// `oscost check`.
#[derive(Debug, Args)]
#[command(after_help = "\
A claim file is TOML; docs/claims.md describes it. For example:

  [[claim]]
  name = \"cheap-clock\"
  sentence = \"Reading the clock takes less than 100 ns.\"
  a.case = \"clock/std-instant\"
  relation = \"< 100 ns\"

A run is named by its id, the start of its id, `last`, `last~1` (the run before the last), a tag `key=value`, or a \
JSON file. Points that it lacks are listed with the command that measures them. The exit code is 0 if all claims hold, 1 if one fails, 3 if one is undecided or not measurable (--undecided pass: 0).

Examples:
  oscost check claims.toml
  oscost check claims.toml --on native --on gvisor
  oscost check claims.toml last
  oscost check claims.toml last --measure-missing
  oscost check claims.toml linux.json windows.json --junit claims.xml
  oscost check claims.toml --baseline main.json
  oscost check claims.toml --quick --undecided pass")]
pub struct Check {
    /// The file of claims
    pub file: PathBuf,
    /// Judge these runs, with all runs measured together with them, instead of measuring what the claims need
    #[arg(value_name = "RUN", conflicts_with = "on")]
    pub runs: Vec<String>,
    /// Measure the claims of which the given runs lack points, in a new run; the runs must be of this machine
    #[arg(long, requires = "runs")]
    pub measure_missing: bool,
    #[command(flatten)]
    pub on: OnSystems,
    /// Fewer rounds
    #[arg(long)]
    pub quick: bool,
    /// A point is complete when its interval's half-width is below this share [default: 0.5%; trials and contended
    /// locks: 15%]
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    pub precision: Option<f64>,
    /// Time limit, such as 30s or 2m; each point gets one round at least
    #[arg(long, value_name = "TIME", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<Duration>,
    #[command(flatten)]
    pub gate: Gate,
    /// Print the verdicts as a JSON document
    #[arg(long)]
    pub json: bool,
    /// A document to compare with, as `export` writes it: claims name it as the system `baseline`
    #[arg(long, value_name = "FILE.json")]
    pub baseline: Option<PathBuf>,
    #[command(flatten)]
    pub store: StoreArg,
}

//! `oscost report`.

use std::path::PathBuf;

use analysis::{Condition, Dimension};
use clap::Args;
use command::options::StoreArg;

/// `oscost report`.
#[derive(Debug, Args)]
#[command(after_help = "\
A run is named by its id, the start of its id, `last`, `last~1` (the run before the last), a tag `key=value`, or a \
JSON file. With several runs, the first one is the base that the others are compared with. Of a run that was measured on several \
systems, all systems are shown side by side.

Examples:
  oscost report -o run.html
  oscost report last~1 last -o change.html --title 'Kernel 6.18 against 6.12'
  oscost report last --section net -o net.html
  oscost report last --by arch --at connections=1000 -o designs.html
  oscost report last --study locks -o locks.html
  oscost report --history -o history.html
  oscost report --history syscall lock/futex -o history.html
  oscost report --fleet -o fleet.html")]
pub struct Report {
    /// The runs to show [default: last]; with --history, areas, cases or points [default: all]; with --fleet, a job [default: the
    /// latest]
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// Show the history of all runs in the store, as charts with the predicted range and what changed
    #[arg(long, conflicts_with_all = ["study", "at", "base_value", "section"])]
    pub history: bool,
    /// Show a fleet: the nodes that do not belong, and a map of nodes by figures; of the job that is named in place of runs
    #[arg(long, conflicts_with_all = ["study", "at", "base_value", "section", "history", "by"])]
    pub fleet: bool,
    /// Compare the values of this dimension: system, run, case, a parameter such as arch, or tag.KEY
    #[arg(long, value_name = "DIMENSION", value_parser = Dimension::parse, conflicts_with = "study")]
    pub by: Option<Dimension>,
    /// With --by: compare only results with this value, such as connections=1000 or case=lock; of one name given twice, either
    /// value
    #[arg(long, value_name = "NAME=VALUE", requires = "by", value_parser = Condition::parse)]
    pub at: Vec<Condition>,
    /// With --by: the value that the others are compared with [default: of the first run, or the one with most figures]
    #[arg(long = "base", value_name = "VALUE", requires = "by")]
    pub base_value: Option<String>,
    /// Show this study, judged by the runs: its published figures beside those measured, and a verdict for each claim
    #[arg(long, value_name = "NAME|FILE")]
    pub study: Option<String>,
    /// The file to write
    #[arg(long, short, value_name = "FILE.html")]
    pub output: PathBuf,
    /// The heading of the page
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Show only this area
    #[arg(long, value_name = "AREA")]
    pub section: Option<String>,
    #[command(flatten)]
    pub store: StoreArg,
}

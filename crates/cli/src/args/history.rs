//! `oscost history` and `oscost watch`.

use analysis::history::By;
use clap::Args;
use command::options::StoreArg;
use command::values::{days, share};

/// `oscost history`.
#[derive(Debug, Args)]
#[command(after_help = "\
Runs of one machine, build of oscost and settings make one series; what changed of the kernel, microcode or mitigations is marked. \
Runs within ten minutes count as one visit. A point written in full, or a case with one point, is plotted.

Examples:
  oscost history
  oscost history syscall --all
  oscost history syscall/getppid
  oscost history 'lock/futex{as=threads,workers=2}'
  oscost history lock --by kernel
  oscost history --accept 20261112-020001-4f2a/entries-into-the-kernel/worse \\
    --why 'mitigation of CVE-2026-1'")]
pub struct History {
    /// Areas (`lock`), cases (`lock/futex`), patterns (`lock/sysv*`) or a point [default: all]
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,
    /// Split series by day, kernel, commit (the tag of that name) or tag.KEY
    #[arg(long, value_name = "DIMENSION", value_parser = By::parse)]
    pub by: Option<By>,
    /// List figures without a change too
    #[arg(long)]
    pub all: bool,
    /// Take the runs of several machines, or of several ways of measuring, as one series
    #[arg(long)]
    pub across_machines: bool,
    /// Accept an event: later figures are judged by those after it
    #[arg(long, value_name = "EVENT", requires = "why", conflicts_with_all = ["by", "json", "all"])]
    pub accept: Option<String>,
    /// The reason for which the event is accepted
    #[arg(long, value_name = "TEXT", requires = "accept")]
    pub why: Option<String>,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArg,
}

/// `oscost watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Judges the newest run of the store by the runs before it, for a nightly job. A figure that is worse by more than the limit, and \
beyond the range in which a single run lies, is suspect; in two successive runs, or measured again with --confirm, it is an alarm. \
An alarm lasts until it is mended, or accepted by `oscost history --accept`. The exit code is 1 for an alarm, 3 if nothing \
could be judged, else 0.

Examples:
  oscost run --quick && oscost watch --all --worse-than 5%
  oscost watch syscall lock/futex --worse-than 3% --confirm
  oscost watch syscall --worse-than 2% --confirm --against vm=qemu:vmlinuz-6.12.3")]
pub struct WatchArgs {
    /// Areas (`lock`), cases (`lock/futex`), patterns (`lock/sysv*`) or points to watch
    #[arg(value_name = "POINTS")]
    pub filters: Vec<String>,
    /// Watch all points
    #[arg(long, conflicts_with = "filters")]
    pub all: bool,
    /// The smallest change for the worse that matters
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true, default_value = "3%")]
    pub worse_than: f64,
    /// Measure suspect points again first; if they are worse again, that is an alarm
    #[arg(long)]
    pub confirm: bool,
    /// Compare suspect points, with --confirm, with this system in turns, such as the old kernel in a VM (as `run --on`)
    #[arg(long, value_name = "SYSTEM", requires = "confirm")]
    pub against: Option<String>,
    /// Exit code 3 if the newest run is older than this, such as 2d: a nightly job that no longer runs is no good night
    #[arg(long, value_name = "AGE", value_parser = days)]
    pub max_age: Option<u32>,
    /// Take the runs of several machines, or of several ways of measuring, as one series
    #[arg(long)]
    pub across_machines: bool,
    /// Print the judgements as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArg,
}

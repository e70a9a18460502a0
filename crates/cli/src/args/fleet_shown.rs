//! `oscost fleet show`, `compare` and `check`.

use std::time::Duration;

use clap::Args;
use command::options::StoreArg;
use command::values::{budget, share};

/// Which runs of the store are those of the fleet.
#[derive(Debug, Args)]
pub struct FleetRuns {
    /// The job [default: the latest of the store]
    #[arg(value_name = "JOB")]
    pub job: Option<String>,
    /// All runs of the store that name a node, of all jobs
    #[arg(long, conflicts_with = "job")]
    pub every_job: bool,
    /// Areas (`lock`), cases (`lock/futex`) or patterns (`lock/sysv*`) [default: all]
    #[arg(long, value_name = "FILTER", value_delimiter = ',')]
    pub points: Vec<String>,
    #[command(flatten)]
    pub store: StoreArg,
}

/// `oscost fleet show`.
#[derive(Debug, Args)]
#[command(after_help = "\
A node is named if it is farther from the others than chance allows, for all nodes and kinds of figures together; in 5 % of fleets \
without a difference one is. The best and worst nodes of each kind are listed, and facts and tags that go with differences.

Examples:
  oscost fleet show
  oscost fleet show --points syscall,lock --all
  oscost fleet show --every-job --json
  oscost report --fleet -o fleet.html")]
pub struct FleetShow {
    #[command(flatten)]
    pub of: FleetRuns,
    /// List all nodes
    #[arg(long)]
    pub all: bool,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

/// `oscost fleet compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
The values are compared with that of most nodes; nodes are the unit. Then follows at which level figures vary: rounds, visits, \
boots, nodes, values.

Examples:
  oscost fleet compare --by microcode
  oscost fleet compare --by tag.zone --every-job")]
pub struct FleetCompare {
    #[command(flatten)]
    pub of: FleetRuns,
    /// A fact of `oscost env --json`, such as release, cpu, microcode or mitigations, or tag.KEY
    #[arg(long, value_name = "FACT")]
    pub by: String,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

/// `oscost fleet check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Measures for 20 seconds, stores nothing, and prints one line. The exit code is 0 if the node belongs, 1 if it is worse than the \
others by more than chance and --worse-than, 3 if that could not be told. Fit for Slurm's HealthCheckProgram, a prolog or a probe.

Examples:
  oscost fleet check --self --store postgres://oscost@db/oscost
  oscost fleet check n17
  oscost fleet check --self --worse-than 10% --budget 10s")]
pub struct FleetCheck {
    /// A host as ssh knows it
    #[arg(value_name = "NODE", required_unless_present = "this")]
    pub node: Option<String>,
    /// Check this machine
    #[arg(long = "self", conflicts_with = "node")]
    pub this: bool,
    /// The name of this machine in the fleet [default: its host name]
    #[arg(long, value_name = "NAME", requires = "this")]
    pub name: Option<String>,
    /// The ssh command with its own options
    #[arg(long, value_name = "COMMAND", default_value = "ssh", conflicts_with = "this")]
    pub ssh: String,
    /// A node that is worse by less is no failure
    #[arg(long, value_name = "PERCENT", value_parser = share, default_value = "5%")]
    pub worse_than: f64,
    /// How long to measure
    #[arg(long, value_name = "TIME", value_parser = budget, default_value = "20s")]
    pub budget: Duration,
    /// Compare with the runs of this job [default: the latest of the store]
    #[arg(long, value_name = "JOB")]
    pub job: Option<String>,
    /// Areas (`lock`), cases (`lock/futex`) or patterns (`lock/sysv*`) [default: all that the fleet measured]
    #[arg(long, value_name = "FILTER", value_delimiter = ',')]
    pub points: Vec<String>,
    #[command(flatten)]
    pub store: StoreArg,
}

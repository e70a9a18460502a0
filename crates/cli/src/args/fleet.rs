//! `oscost fleet`: a run on each of many machines.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use command::options::{StoreArg, tag};
use command::values::{budget, from_to};

use super::fleet_shown::{FleetCheck, FleetCompare, FleetShow};
use super::run::Measuring;

/// Options of `fleet`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oscost fleet run --quick --hosts a,b,c
  oscost fleet run syscall --hostfile hosts --at-once 64
  oscost fleet run --quick --slurm 'partition=compute nodes=n[1-400]'
  oscost fleet status
  oscost fleet resume
  oscost fleet show
  oscost fleet check --self")]
pub struct Fleet {
    #[command(subcommand)]
    pub action: FleetAction,
}

/// A command of `fleet`.
#[derive(Debug, Subcommand)]
pub enum FleetAction {
    /// Measure on each node, over OpenSSH or as a Slurm job per node, and save the runs in this store.
    Run(Box<FleetRun>),
    /// One line for each node of a job: state, run, reason and remedy.
    Status(FleetStatus),
    /// End what a job started on its nodes, and nothing else.
    Stop(FleetJob),
    /// Complete a job: nodes that failed, were stopped, or were under way when the coordinator ended.
    Resume(FleetResume),
    /// Which nodes do not belong, the best and the worst, and what goes with differences.
    Show(FleetShow),
    /// Nodes by the values of a fact or tag, and at which level figures vary.
    Compare(FleetCompare),
    /// Whether a node belongs: measures it for 20 seconds, and prints one line.
    Check(FleetCheck),
    /// The part of a job on one node: reads an order from standard input. `fleet run` starts it.
    #[command(hide = true)]
    Node,
}

/// `oscost fleet run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oscost fleet run --quick --hosts a,b,c
  oscost fleet run syscall lock --hostfile hosts --ssh 'ssh -F fleet.conf'
  oscost fleet run --quick --slurm 'partition=compute nodes=n[1-400]'

A line of a host file is a host, then options of `run` for it, as in `n7 --dir /scratch`; # begins a comment.")]
pub struct FleetRun {
    #[command(flatten)]
    pub measuring: Measuring,
    #[command(flatten)]
    pub nodes: FleetNodes,
    #[command(flatten)]
    pub effort: FleetEffort,
    /// Label all runs, as in kernel=patched, besides fleet=JOB and node=NAME (may be repeated)
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = tag)]
    pub tags: Vec<(String, String)>,
    /// oscost for the nodes, a program for Linux [default: $OSCOST_STATIC, or this program]
    #[arg(long, value_name = "FILE")]
    pub binary: Option<PathBuf>,
    /// Print the rows as a JSON document
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArg,
}

/// The nodes, and how commands are started on them.
#[derive(Debug, Args)]
pub struct FleetNodes {
    /// Hosts as ssh knows them, or nodes of Slurm
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', conflicts_with = "hostfile",
          required_unless_present_any = ["hostfile", "slurm"])]
    pub hosts: Vec<String>,
    /// File with a host or node a line
    #[arg(long, value_name = "FILE")]
    pub hostfile: Option<PathBuf>,
    /// One Slurm job for each node: 'partition=P nodes=LIST', also account, constraint, qos and reservation
    /// [default: all nodes of the default partition]
    #[arg(long, value_name = "SETTINGS", num_args = 0..=1, default_missing_value = "")]
    pub slurm: Option<String>,
    /// The ssh command with its own options
    #[arg(long, value_name = "COMMAND", default_value = "ssh", conflicts_with = "slurm")]
    pub ssh: String,
}

/// How many nodes at once, how often and how long each is tried; `resume` keeps what the job had.
#[derive(Debug, Clone, Args)]
pub struct FleetEffort {
    /// Number of nodes at once [default: 32]
    #[arg(long, value_name = "N", value_parser = from_to::<1, 1024>)]
    pub at_once: Option<usize>,
    /// Further attempts at a node for what may succeed later, such as a lost connection [default: 2]
    #[arg(long, value_name = "N", value_parser = from_to::<0, 100>)]
    pub retries: Option<usize>,
    /// Time limit for a node's run [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = budget)]
    pub limit: Option<Duration>,
    /// Time to wait for a node that another job measures or Slurm's queue holds [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = budget)]
    pub wait: Option<Duration>,
}

/// A job by name.
#[derive(Debug, Args)]
pub struct FleetJob {
    /// The job [default: the latest]
    #[arg(value_name = "JOB")]
    pub job: Option<String>,
}

/// `oscost fleet status`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  oscost fleet status")]
pub struct FleetStatus {
    #[command(flatten)]
    pub of: FleetJob,
    /// Print the rows as a JSON document
    #[arg(long)]
    pub json: bool,
}

/// `oscost fleet resume`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  oscost fleet resume")]
pub struct FleetResume {
    #[command(flatten)]
    pub of: FleetJob,
    #[command(flatten)]
    pub effort: FleetEffort,
    /// Print the rows as a JSON document
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArg,
}

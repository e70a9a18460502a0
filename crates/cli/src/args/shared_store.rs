//! Commands of stores that several machines share.

use clap::{Args, Subcommand};
use command::options::StoreArg;

/// `oscost store`.
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Example:\n  oscost store init --store postgres://owner@db.example/perf --writer nodes --reader grafana"
)]
pub enum StoreCommand {
    /// Create the tables, or add those that this version needs, as their owner; let roles use them.
    Init(Init),
}

/// `oscost store init`.
#[derive(Debug, Args)]
#[command(after_help = "\
The database and the roles must exist; docs/store.md has the commands of PostgreSQL. The command can be repeated, such as to let \
another role in.

Example:
  oscost store init --store postgres://owner@db.example/perf --writer nodes --reader grafana")]
pub struct Init {
    /// A role that may add runs, and change its own only (may be repeated)
    #[arg(long = "writer", value_name = "ROLE")]
    pub writers: Vec<String>,
    /// A role that may read (may be repeated)
    #[arg(long = "reader", value_name = "ROLE")]
    pub readers: Vec<String>,
    #[command(flatten)]
    pub store: StoreArg,
}

/// `oscost sync`.
#[derive(Debug, Args)]
#[command(after_help = "\
A run into a shared store is on this machine until the server has all of it. The exit code is 0 if nothing is left here but what \
`run --resume` can continue, else 3.

Example:
  oscost sync --store postgres://node@db.example/perf")]
pub struct Sync {
    #[command(flatten)]
    pub store: StoreArg,
}

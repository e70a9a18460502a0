//! `oscost list` and `oscost env`.

use clap::Args;

/// `oscost list`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oscost list\n  oscost list syscall\n  oscost list --long lock/sysv-sem"
)]
pub struct List {
    /// Areas (`clock`), cases (`lock/futex`), patterns (`lock/pthread*`) or parts of names (`sem`) to list [default: all]
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,
    /// Print the full definition of each case: operation, similar tools, parameters, metrics
    #[arg(long, short)]
    pub long: bool,
    /// Print the list with all definitions as JSON
    #[arg(long)]
    pub json: bool,
}

/// `oscost env`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oscost env\n  oscost run --json > \"$(oscost env --line).json\""
)]
pub struct Env {
    /// Print a short name of the machine without spaces, for file names and logs
    #[arg(long, conflicts_with = "json")]
    pub line: bool,
    /// Print the description as JSON
    #[arg(long)]
    pub json: bool,
}

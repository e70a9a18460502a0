//! Options of all commands that measure on several systems: the systems.

use std::path::PathBuf;

use clap::Args;

/// The systems to measure on.
#[derive(Debug, Clone, Args)]
pub struct OnSystems {
    /// Measure on this system, in turn with the others named: `native`, `gvisor`, `qemu:KERNEL`, a name in systems.toml, or
    /// NAME='COMMAND {oscost} agent' (may be repeated)
    #[arg(long = "on", value_name = "SYSTEM")]
    pub on: Vec<String>,
    /// File that defines systems [default: systems.toml here or in your configuration directory]
    #[arg(long, value_name = "FILE", requires = "on")]
    pub systems: Option<PathBuf>,
}

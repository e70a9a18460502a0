//! `oscost agent`.

use clap::Args;

/// `oscost agent`.
#[derive(Debug, Default, Args)]
#[command(after_help = "\
`oscost run --on SYSTEM` starts it; docs/systems.md has the protocol.

Examples:
  oscost agent
  oscost run --on native --on 'mine=./boot.sh {oscost} agent'")]
pub struct Agent {
    /// Make all rounds in this process instead of starting one for each
    #[arg(long)]
    pub one_process: bool,
    /// Do what a kernel's first process must: mount /proc, /sys, /dev and /tmp, set the loopback interface up, and at the
    /// end turn the machine off. A kernel that starts this program as /init needs no option
    #[arg(long)]
    pub init: bool,
}

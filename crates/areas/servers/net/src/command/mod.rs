//! `oscost net`: runs servers, or generates load on them.

mod args;
mod document;
mod load;
mod serve;
mod taken;

use args::{Net, NetCommand};

use catalog::{Arguments, Command, Ending};

/// The command.
pub const COMMAND: Command = Command::new::<Net>("net");

impl Arguments for Net {
    fn run(&self) -> anyhow::Result<Ending> {
        match &self.command {
            NetCommand::Serve(args) => serve::serve(args),
            NetCommand::Load(args) => load::load(args),
        }
    }
}

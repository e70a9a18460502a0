//! `oscost mail`: delivers a message to a long list, or runs a server that discards mail.

mod args;
mod document;
mod options;
mod progress;
mod send;
mod sink;
mod sink_args;
mod summary;
mod sweep;

use args::{Mail, MailCommand};

use crate::{Arguments, Command, Ending};

/// The command.
pub const COMMAND: Command = Command::new::<Mail>("mail");

impl Arguments for Mail {
    fn run(&self) -> anyhow::Result<Ending> {
        match &self.command {
            MailCommand::Send(args) => match args.sweep {
                Some(range) => sweep::sweep(args, range),
                None => send::send(args),
            },
            MailCommand::Sink(args) => sink::sink(args),
        }
    }
}

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

use args::{Mail, MailCommand, MailSend};
use mailsend::SendError;
use platform::CaseError;

use catalog::{Arguments, Command, Ending};

/// The command.
pub const COMMAND: Command = Command::new::<Mail>("mail");

impl Arguments for Mail {
    fn run(&self) -> anyhow::Result<Ending> {
        match &self.command {
            MailCommand::Send(args) => send_or_sweep(args).map_err(of_delivery),
            MailCommand::Sink(args) => sink::sink(args),
        }
    }
}

fn send_or_sweep(args: &MailSend) -> anyhow::Result<Ending> {
    // Without sockets all mail would be deferred, for days.
    platform::socket::check(false)?;
    match args.sweep {
        Some(range) => sweep::sweep(args, range),
        None => send::send(args),
    }
}

/// Names what the system denies to a delivery as such.
fn of_delivery(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<SendError>() {
        Ok(SendError::System(what, cause)) => CaseError::from_io(what, &cause).into(),
        Ok(other) => other.into(),
        Err(error) => error,
    }
}

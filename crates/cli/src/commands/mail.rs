//! `oscost mail`: delivers a message to a long list, or runs a server that discards mail.

mod document;
mod options;
mod progress;
mod send;
mod sink;
mod summary;
mod sweep;

use crate::args::Mail;
use crate::ending::Ending;

/// Executes a subcommand.
pub fn mail(args: &Mail) -> anyhow::Result<Ending> {
    match args {
        Mail::Send(args) => match args.sweep {
            Some(range) => sweep::sweep(args, range),
            None => send::send(args),
        },
        Mail::Sink(args) => sink::sink(args),
    }
}

//! `oscost mail`: a message to a long list, and the server that throws mail away.

mod document;
mod send;
mod sink;
mod summary;

use crate::args::Mail;
use crate::ending::Ending;

/// Carries out one of its commands.
pub fn mail(args: &Mail) -> anyhow::Result<Ending> {
    match args {
        Mail::Send(args) => send::send(args),
        Mail::Sink(args) => sink::sink(args),
    }
}

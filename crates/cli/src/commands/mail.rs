//! `oscost mail`: a message to a long list.

mod send;
mod summary;

use crate::args::Mail;
use crate::ending::Ending;

/// Carries out one of its commands.
pub fn mail(args: &Mail) -> anyhow::Result<Ending> {
    match args {
        Mail::Send(args) => send::send(args),
    }
}

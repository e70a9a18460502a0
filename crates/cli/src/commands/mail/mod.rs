//! `oscost mail`: a server that throws mail away.

mod sink;

use crate::args::Mail;
use crate::ending::Ending;

/// Carries out one of its commands.
pub fn mail(args: &Mail) -> anyhow::Result<Ending> {
    match args {
        Mail::Sink(args) => sink::sink(args),
    }
}

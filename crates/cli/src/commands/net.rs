//! `oscost net`: runs servers, or generates load on them.

mod document;
mod load;
mod serve;
mod taken;

use crate::args::Net;
use crate::ending::Ending;

/// Executes a subcommand.
pub fn net(args: &Net) -> anyhow::Result<Ending> {
    match args {
        Net::Serve(args) => serve::serve(args),
        Net::Load(args) => load::load(args),
    }
}

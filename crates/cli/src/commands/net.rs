//! `oscost net`: servers, and the load on them.

mod load;

use crate::args::Net;
use crate::ending::Ending;

/// Carries out one of its commands.
pub fn net(args: &Net) -> anyhow::Result<Ending> {
    match args {
        Net::Load(args) => load::load(args),
    }
}

//! `oscost fleet`: a run on each of many machines. Each command is a file in the folder `fleet`.

use command::ending::Ending;

use crate::args::{Fleet, FleetAction};

/// Executes a command of `fleet`.
pub fn fleet(args: &Fleet) -> anyhow::Result<Ending> {
    match &args.action {
        FleetAction::Run(_)
        | FleetAction::Status(_)
        | FleetAction::Stop(_)
        | FleetAction::Resume(_)
        | FleetAction::Node => anyhow::bail!("the coordinator follows in a later commit"),
    }
}

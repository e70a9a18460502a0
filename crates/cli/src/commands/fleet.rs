//! `oscost fleet`: a run on each of many machines. Each command is a file in the folder `fleet`.

mod check;
mod jobs;
mod rows;
mod run;
mod shown;
mod status;

pub use shown::fleet_page;

use std::io::{stdin, stdout};

use anyhow::Context;
use command::ending::Ending;

use crate::args::{Fleet, FleetAction};

/// Executes a command of `fleet`.
pub fn fleet(args: &Fleet) -> anyhow::Result<Ending> {
    match &args.action {
        FleetAction::Run(args) => run::run(args),
        FleetAction::Resume(args) => run::resume(args),
        FleetAction::Status(args) => status::status(args),
        FleetAction::Stop(args) => status::stop(args),
        FleetAction::Show(args) => shown::show(args),
        FleetAction::Compare(args) => shown::compare(args),
        FleetAction::Check(args) => check::check(args),
        FleetAction::Node => {
            ::fleet::serve(&mut stdin().lock(), &mut stdout())
                .context("no order on standard input")?;
            Ok(Ending::Done)
        }
    }
}

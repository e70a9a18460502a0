//! `oscost fleet status` and `oscost fleet stop`.

use command::ending::Ending;
use fleet::State;

use super::jobs::{of_fleet, open};
use super::rows;
use crate::args::{FleetJob, FleetStatus};

/// Prints the rows of a job. A job that is under way is no failure.
pub fn status(args: &FleetStatus) -> anyhow::Result<Ending> {
    let job = open(&args.of)?;
    let rows = job.rows().map_err(of_fleet)?;
    let ending = rows::show(&job, &rows, args.json)?;
    Ok(if job.is_coordinated() { Ending::Done } else { ending })
}

/// Ends what a job started.
pub fn stop(args: &FleetJob) -> anyhow::Result<Ending> {
    let mut job = open(args)?;
    let rows = job.stop().map_err(of_fleet)?;
    let is_ended = rows.iter().all(|row| {
        row.state != State::Failed
            || !row.reason.as_deref().unwrap_or_default().starts_with("it may still run there")
    });
    rows::show(&job, &rows, false)?;
    Ok(if is_ended { Ending::Done } else { Ending::NotMeasured })
}

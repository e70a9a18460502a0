//! The jobs that the user names, and what went wrong with them.

use command::ending::Usage;
use fleet::{FleetError, Job, directory_of_jobs, find_job};
use platform::CaseError;

use crate::args::FleetJob;

/// Opens a job that the user named, or the latest.
pub fn open(named: &FleetJob) -> anyhow::Result<Job> {
    let jobs = directory_of_jobs().map_err(of_fleet)?;
    let directory = find_job(&jobs, named.job.as_deref()).map_err(of_fleet)?;
    Job::open(&directory).map_err(of_fleet)
}

/// The error of a command.
pub fn of_fleet(error: FleetError) -> anyhow::Error {
    match error {
        FleetError::Usage(text) => Usage(text).into(),
        FleetError::Unsupported(text) => CaseError::Unsupported(text).into(),
        file @ FleetError::File { .. } => file.into(),
    }
}

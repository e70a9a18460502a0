//! `oscost worker`, which oscost itself starts.

use command::ending::{Ending, Usage};
use runner::worker::{WorkerError, work};

/// Executes one order.
pub fn worker(task: &str, order: &str) -> anyhow::Result<Ending> {
    match work(task, order) {
        Ok(()) => Ok(Ending::Done),
        Err(WorkerError::Failed(error)) => Err(error.into()),
        Err(error) => Err(Usage(error.to_string()).into()),
    }
}

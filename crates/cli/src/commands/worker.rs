//! `oscost worker`, which oscost itself starts.

use runner::worker::{WorkerError, work};

use crate::ending::{Ending, Usage};

/// Executes one order.
pub fn worker(order: &str) -> anyhow::Result<Ending> {
    match work(order) {
        Ok(()) => Ok(Ending::Done),
        Err(error @ WorkerError::Order(_)) => Err(Usage(error.to_string()).into()),
        Err(WorkerError::Failed(error)) => Err(error.into()),
    }
}

//! The workers of a worker group, and the CPUs that they run on.

use std::time::Duration;

use platform::CaseError;
use platform::cpu::topology::{self, Distance};

/// Maximum number of workers of a group: two per CPU of the largest machines.
pub const WORKERS_AT_MOST: usize = 1024;

/// The workers of one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerGroup {
    /// Number of workers.
    pub workers: usize,
    /// Whether workers are forked processes rather than threads.
    pub processes: bool,
    /// The CPUs of the workers.
    pub place: WorkerPlace,
    /// Minimum time for which several workers take samples; the round's usual time if that is longer.
    pub time: Duration,
}

/// The CPUs that the workers of a worker group run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerPlace {
    /// All workers on one CPU.
    Same,
    /// One worker on each CPU in turn.
    Spread,
    /// CPUs chosen by the scheduler.
    Unpinned,
    /// CPUs at this distance, in turn.
    Apart(Distance),
}

impl WorkerPlace {
    /// The workers' CPUs among `allowed`; the first worker's comes last.
    ///
    /// # Errors
    /// `Unsupported` if no two CPUs are at the requested distance.
    pub fn cpus(self, allowed: &[usize]) -> Result<Vec<usize>, CaseError> {
        match self {
            Self::Same | Self::Spread | Self::Unpinned => Ok(allowed.to_vec()),
            Self::Apart(distance) => {
                let mut cpus = topology::here(allowed).cpus_apart(distance)?;
                cpus.reverse();
                Ok(cpus)
            }
        }
    }
}

impl WorkerGroup {
    /// Whether several workers run on one core.
    pub(super) fn shares_core(&self) -> bool {
        self.workers > 1 && self.place == WorkerPlace::Apart(Distance::Thread)
    }

    /// The CPU of worker `number`; `None` if the worker may move.
    pub(super) fn cpu_of(&self, number: usize, cpus: &[usize]) -> Option<usize> {
        match self.place {
            WorkerPlace::Same => cpus.last().copied(),
            // The order is descending, so that a single worker has the CPU of all other single measurements.
            WorkerPlace::Spread | WorkerPlace::Apart(_) => {
                Some(cpus[cpus.len() - 1 - number % cpus.len()])
            }
            WorkerPlace::Unpinned => None,
        }
    }

    /// Number of CPUs that the group keeps busy.
    pub(super) fn busy(&self, cpus: &[usize]) -> usize {
        match self.place {
            WorkerPlace::Same => 1,
            WorkerPlace::Spread | WorkerPlace::Unpinned | WorkerPlace::Apart(_) => {
                self.workers.min(cpus.len())
            }
        }
    }
}

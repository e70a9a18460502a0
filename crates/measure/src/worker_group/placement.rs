//! The workers of a worker group, and the CPUs that they run on.

use std::time::Duration;

use platform::CaseError;
use platform::topology::{self, Distance};

/// The most workers a worker group may have: two per CPU of the largest machines.
pub const WORKERS_AT_MOST: usize = 1024;

/// The workers of one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerGroup {
    /// Number of workers.
    pub workers: usize,
    /// Whether they are forked processes rather than threads.
    pub processes: bool,
    /// The CPUs that they run on.
    pub place: WorkerPlace,
    /// How long several of them go on in a round of samples, if that is longer than the round's usual time.
    pub time: Duration,
}

/// The CPUs that the workers of a worker group run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerPlace {
    /// All on one CPU.
    Same,
    /// One on each CPU in turn.
    Spread,
    /// Chosen by the scheduler.
    Unpinned,
    /// In turn on CPUs that are this far apart.
    Apart(Distance),
}

impl WorkerPlace {
    /// The CPUs among `allowed` that it uses, the first worker's last.
    ///
    /// # Errors
    /// `Unsupported` with the reason if there are no two CPUs this far apart.
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
    /// Whether several of its workers run on one core.
    pub(super) fn shares_core(&self) -> bool {
        self.workers > 1 && self.place == WorkerPlace::Apart(Distance::Thread)
    }

    /// The CPU of worker `number`; `None` if it may move.
    pub(super) fn cpu_of(&self, number: usize, cpus: &[usize]) -> Option<usize> {
        match self.place {
            WorkerPlace::Same => cpus.last().copied(),
            // From the last down, so that a single worker has the CPU of all other single measurements.
            WorkerPlace::Spread | WorkerPlace::Apart(_) => {
                Some(cpus[cpus.len() - 1 - number % cpus.len()])
            }
            WorkerPlace::Unpinned => None,
        }
    }

    /// Number of CPUs that it keeps busy.
    pub(super) fn busy(&self, cpus: &[usize]) -> usize {
        match self.place {
            WorkerPlace::Same => 1,
            WorkerPlace::Spread | WorkerPlace::Unpinned | WorkerPlace::Apart(_) => {
                self.workers.min(cpus.len())
            }
        }
    }
}

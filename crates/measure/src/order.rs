//! Orders of the coordinator to a worker.

use serde::{Deserialize, Serialize};

use crate::mode::Mode;
use crate::record::Params;
use crate::sentinel::Ratios;
use crate::survey::ClockFacts;
use crate::user_code::UserLibrary;

/// The coordinator's order to a worker; JSON on its command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundOrder {
    /// The case, `area/name`.
    pub case: String,
    /// All parameters of the case.
    pub params: Params,
    /// Whether the case is core-bound: its time does not depend on memory, other CPUs, devices or timers.
    pub core_bound: bool,
    /// The task of the round.
    pub mode: Mode,
    /// The clock to time with.
    pub clock: ClockFacts,
    /// The CPUs the round may use; a case that needs only one stays on the last.
    pub cpus: Vec<usize>,
    /// The sentinel's quiet level on the last of `cpus`, if known to the run.
    pub level: Option<Ratios>,
    /// The time of an iteration of calibrated work, in ns, if known to the run.
    pub ns_per_iteration: Option<f32>,
    /// Number of quiet samples that end a round.
    pub quiet_samples: usize,
    /// Maximum time of sampling, in ms.
    pub limit_ms: u64,
    /// Whether the operation is repeated until it is steady, and its batches follow each other in groups: in systems other than this
    /// one an operation may become cheaper while it is repeated, and dearer again after other work.
    #[serde(default)]
    pub steady: bool,
    /// For how long it is repeated then, in ms, as earlier rounds have shown; 0 to find out.
    #[serde(default)]
    pub approach_ms: u64,
    /// Extra work on the clock, as a share of the operation's time, for tests that a change of that size is found.
    pub slow_down: f64,
    /// Factor for the length of batches and of the warm-up where tasks answer each other, for tests that a figure does not
    /// depend on it.
    pub partner_batches: f64,
    /// The coordinator's pid, if it starts workers directly.
    pub parent: Option<u32>,
    /// Whether the coordinator started the worker itself. Then it keeps the worker's CPUs awake until the worker announces
    /// the measurement, and removes the rounds' remains when the run ends.
    pub is_here: bool,
    /// The user's own code, if the case measures that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserLibrary>,
}

impl RoundOrder {
    /// Whether the worker announces the beginning of the measurement; see [`RoundOrder::is_here`].
    pub fn announces(&self) -> bool {
        self.is_here && self.mode == Mode::Sample
    }
}

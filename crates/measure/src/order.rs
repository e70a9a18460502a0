//! What the coordinator orders a worker to do.

use serde::{Deserialize, Serialize};

use crate::mode::Mode;
use crate::record::Params;
use crate::sentinel::Ratios;
use crate::survey::ClockFacts;
use crate::user_code::UserCode;

/// The coordinator's order to a worker; JSON on its command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundOrder {
    /// `area/name`.
    pub case: String,
    /// All parameters of the case.
    pub params: Params,
    /// Whether the time of an operation is the core's alone: not memory's, that of other CPUs, devices or timers.
    pub core_bound: bool,
    /// What to do.
    pub mode: Mode,
    /// The clock to time with.
    pub clock: ClockFacts,
    /// The CPUs the round may use; a case that needs only one stays on the last.
    pub cpus: Vec<usize>,
    /// The sentinel's quiet level on that CPU, if known to the run.
    pub level: Option<Ratios>,
    /// The time of an iteration of calibrated work, in ns, if known to the run.
    pub ns_per_iteration: Option<f32>,
    /// Quiet samples that make a round.
    pub quiet_samples: usize,
    /// Sampling ends after this time, in ms, in any case.
    pub limit_ms: u64,
    /// Extra work on the clock, as a share of the operation's time: tests that a change of that size is found.
    pub slow_down: f64,
    /// The length of batches and of the warm-up where tasks answer each other, as a multiple of the usual one: tests that a figure
    /// does not depend on it.
    pub partner_batches: f64,
    /// The coordinator's pid, if it starts workers directly.
    pub parent: Option<u32>,
    /// Whether the coordinator started the worker itself: it waits for the worker to say that it comes to its CPUs, which are
    /// kept awake until then, and removes what rounds leave when the run ends.
    pub is_here: bool,
    /// The user's own code, if that is what the case measures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserCode>,
}

impl RoundOrder {
    /// Whether the worker tells when it begins to measure; see [`RoundOrder::is_here`].
    pub fn announces(&self) -> bool {
        self.is_here && self.mode == Mode::Sample
    }
}

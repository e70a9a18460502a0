//! How many nodes at once, how often and how long each is tried.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Limits of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effort {
    /// Number of nodes at once.
    pub at_once: usize,
    /// Further attempts at a node for what may succeed later.
    pub retries: usize,
    /// Time limit for a node's run.
    pub limit: Duration,
    /// Time limit for waiting until a node is free.
    pub wait: Duration,
}

impl Default for Effort {
    fn default() -> Self {
        let (limit, wait) = (Duration::from_secs(3_600), Duration::from_secs(600));
        Self { at_once: 32, retries: 2, limit, wait }
    }
}

//! The coordinator's interface to systems that it starts, and its time limits for them.

use std::io::{Read, Write};
use std::time::Duration;

use platform::process::control_group::HostCounts;
use systems::Placement;

/// A system in which agents are started.
pub trait Starts {
    /// The name that the user sees.
    fn name(&self) -> &str;
    /// The name of the launcher, such as `gvisor`, if it has one.
    fn launcher(&self) -> Option<&str> {
        None
    }
    /// Where the system's helpers run; `None` if it has none and is not confined to one CPU.
    fn placement(&self) -> Option<Placement> {
        None
    }
    /// The CPUs of the host on which the system's processes run if the run has `cpus`.
    fn cpus_of<'a>(&'a self, cpus: &'a [usize]) -> &'a [usize] {
        cpus
    }
    /// The share by which the system's operations are slowed down, to test comparisons.
    fn slow_down(&self) -> f64 {
        0.0
    }
    /// Maximum time from the start to the agent's greeting, if this system has its own limit.
    fn start_timeout(&self) -> Option<Duration> {
        None
    }
    /// Starts an agent in the system, on these CPUs of the host. `counted`: whether to count the system's work on the host,
    /// where possible.
    ///
    /// # Errors
    /// Why the system does not start, in words: what was tried, the cause, the remedy.
    fn start(&self, cpus: &[usize], counted: bool) -> Result<Box<dyn Started>, String>;
}

/// A started agent. Dropping it ends the agent and its system.
pub trait Started: Send {
    /// The agent's standard input; to be taken once.
    fn take_input(&mut self) -> Box<dyn Write + Send>;
    /// The agent's standard output; to be taken once.
    fn take_output(&mut self) -> Box<dyn Read + Send>;
    /// The last line of the agent's standard error; empty if there is none.
    fn last_words(&mut self) -> String;
    /// Whether the system's work on the host can be counted.
    ///
    /// # Errors
    /// The reason why not, in words.
    fn is_counted(&self) -> Result<(), String> {
        Err("this kind of system is not counted".to_owned())
    }
    /// Counts of the system's work on the host since the first call.
    ///
    /// # Errors
    /// The reason why nothing is counted, in words.
    fn host_counts(&mut self) -> Result<HostCounts, String> {
        self.is_counted().map(|()| HostCounts::default())
    }
    /// Ends counting for good, so that the system runs as if it were not counted.
    fn end_counting(&mut self) {}
    /// Ends the system within a limited time.
    fn end(&mut self);
}

/// The coordinator's time limits for an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Maximum time from the start of a system to its agent's greeting.
    pub start: Duration,
    /// Time after the greeting before anything is measured: a sandbox's clocks are slow at first.
    pub warm_up: Duration,
    /// Maximum time for the description of the machine.
    pub examine: Duration,
    /// Maximum time without any message while a round is in progress.
    pub silence: Duration,
    /// Maximum time beyond a round's own time limit while messages arrive.
    pub round: Duration,
    /// Number of successive starts without a round after which a system is given up.
    pub starts: u32,
}

impl Timeouts {
    /// Time limits for an answer that takes no work.
    pub(crate) fn short(&self) -> Self {
        Self { silence: self.silence.min(Duration::from_secs(1)), ..*self }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(90),
            warm_up: Duration::from_secs(1),
            examine: Duration::from_secs(60),
            silence: Duration::from_secs(10),
            round: Duration::from_secs(15),
            starts: 6,
        }
    }
}

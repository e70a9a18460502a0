//! What the coordinator needs of a system that it starts, and how long it waits for it.

use std::io::{Read, Write};
use std::time::Duration;

use platform::control_group::HostCounts;

/// A system in which agents are started.
pub trait Starts {
    /// Its name, as the user sees it.
    fn name(&self) -> &str;
    /// What starts it, such as `gvisor`; `None` if that has no name.
    fn launcher(&self) -> Option<&str> {
        None
    }
    /// The number of CPUs that it can use at most; `None` if it can use all.
    fn cpu_limit(&self) -> Option<usize> {
        None
    }
    /// The share by which its operations are slowed down, to test comparisons.
    fn slow_down(&self) -> f64 {
        0.0
    }
    /// The time from its start to the agent's greeting, if it has a limit of its own.
    fn start_timeout(&self) -> Option<Duration> {
        None
    }
    /// Starts an agent in it, on these CPUs of the host. `counted`: whether what its processes do on the host is to be counted,
    /// as far as that is possible.
    ///
    /// # Errors
    /// Why it does not start, in words: what was tried, the cause, the remedy.
    fn start(&self, cpus: &[usize], counted: bool) -> Result<Box<dyn Started>, String>;
}

/// An agent that was started. Dropping it ends it and its system.
pub trait Started: Send {
    /// Its standard input; to be taken once.
    fn take_input(&mut self) -> Box<dyn Write + Send>;
    /// Its standard output; to be taken once.
    fn take_output(&mut self) -> Box<dyn Read + Send>;
    /// The last line that it has printed on its standard error; empty if there is none.
    fn last_words(&mut self) -> String;
    /// Whether what its processes do on the host can be counted.
    ///
    /// # Errors
    /// Why not, in words.
    fn is_counted(&self) -> Result<(), String> {
        Err("this kind of system is not counted".to_owned())
    }
    /// What all its processes have done on the host since the first call.
    ///
    /// # Errors
    /// Why nothing is counted, in words.
    fn host_counts(&mut self) -> Result<HostCounts, String> {
        self.is_counted().map(|()| HostCounts::default())
    }
    /// Ends counting for good, so that it runs as if it were not counted.
    fn end_counting(&mut self) {}
    /// Ends it within a limited time.
    fn end(&mut self);
}

/// How long a coordinator waits for an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the start of a system to its agent's greeting.
    pub start: Duration,
    /// After the greeting, before anything is measured: a sandbox's clocks are slow at first.
    pub warm_up: Duration,
    /// For the description of the machine.
    pub examine: Duration,
    /// Without any message while a round is in progress.
    pub silence: Duration,
    /// Beyond a round's own time limit, with messages.
    pub round: Duration,
    /// The number of starts in a row without a round after which a system is given up.
    pub starts: u32,
}

impl Timeouts {
    /// With little time for an answer that takes no work.
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

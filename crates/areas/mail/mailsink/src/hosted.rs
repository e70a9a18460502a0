//! Sinks in child processes. A sink answers each line on its standard input with its counters and resource usage, as a line
//! of JSON on its standard output. It ends when its input ends, and so does not outlive its parent.

use std::net::SocketAddr;
use std::process::Command;

use platform::CaseError;
use platform::counters::ProcessCounter;
use platform::process::usage::{ProcessUsage, thread_cpu_time};
use serde::{Deserialize, Serialize};
pub use serving::hosted::tell_refusal;
use serving::hosted::{self, start_reporting};

use crate::counts::Counts;
use crate::serve::Sink;

/// The first line that a sink prints.
#[derive(Debug, Serialize, Deserialize)]
struct Listening {
    listening: Vec<SocketAddr>,
}

/// Counters and resource usage of a sink.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinkReport {
    /// Counters.
    #[serde(flatten)]
    pub counts: Counts,
    /// CPU time, in ns.
    pub cpu_ns: u64,
    /// Voluntary context switches; `None` where unknown.
    pub voluntary_switches: Option<u64>,
    /// Involuntary context switches; `None` where unknown.
    pub involuntary_switches: Option<u64>,
    /// Number of system calls; `None` where they are not counted.
    pub syscalls: Option<u64>,
}

impl SinkReport {
    fn with(counts: Counts, counter: Option<&ProcessCounter>) -> Self {
        let usage = ProcessUsage::now();
        // The CPU time of the reporting thread is no part of serving.
        let cpu = usage.cpu.saturating_sub(thread_cpu_time().unwrap_or_default());
        Self {
            counts,
            cpu_ns: u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX),
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            syscalls: counter.and_then(ProcessCounter::syscalls),
        }
    }
}

/// Runs the sink in the child process: serves, answers each line of standard input, and ends at the end of the input.
/// System calls are counted at `tracepoint`, if permitted.
///
/// # Errors
/// Errors of serving.
pub fn host(sink: Sink, tracepoint: Option<u64>) -> std::io::Result<Counts> {
    let (counting, stop) = (sink.counting(), sink.stop());
    let report = move |counter: Option<&ProcessCounter>| SinkReport::with(counting.read(), counter);
    let listening = Listening { listening: sink.addresses().to_vec() };
    start_reporting(&listening, tracepoint, report, move || stop.request())?;
    sink.serve()
}

/// A sink in a child process. Dropping it stops the sink.
#[derive(Debug)]
pub struct Hosted(hosted::Hosted<Listening, SinkReport>);

impl Hosted {
    /// Starts `command`, which must call [`host`].
    ///
    /// # Errors
    /// If the sink cannot be started or does not listen; the message has its error output.
    pub fn start(command: &mut Command) -> Result<Self, CaseError> {
        hosted::Hosted::start(command, "sink").map(Self)
    }

    /// The addresses at which the sink listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.0.listening().listening
    }

    /// Pid of the sink.
    pub fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// The current counters and resource usage.
    ///
    /// # Errors
    /// `Failed` if the sink has ended.
    pub fn report(&mut self) -> Result<SinkReport, CaseError> {
        self.0.report()
    }

    /// Stops the sink after the messages in progress.
    ///
    /// # Errors
    /// `Failed` if the sink fails, or is killed because it does not end in time.
    pub fn stop(self) -> Result<(), CaseError> {
        self.0.stop()
    }
}

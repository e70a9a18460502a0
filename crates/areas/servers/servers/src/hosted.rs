//! Servers in child processes. A server answers each line on its standard input with its counters and resource usage, as a
//! line of JSON on its standard output. It ends when its input ends, and so does not outlive its parent.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::Ordering;

use platform::CaseError;
use platform::counters::ProcessCounter;
use platform::process::usage::{ProcessUsage, thread_cpu_time};
use serde::{Deserialize, Serialize};
pub use serving::hosted::tell_refusal;
use serving::hosted::{self, start_reporting};

use crate::server::{Counters, Server};

/// The first line that a server prints.
#[derive(Debug, Serialize, Deserialize)]
struct Listening {
    listening: SocketAddr,
}

/// Counters and resource usage of a server and all its processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerReport {
    /// CPU time, in ns.
    pub cpu_ns: u64,
    /// Voluntary context switches; `None` where unknown.
    pub voluntary_switches: Option<u64>,
    /// Involuntary context switches; `None` where unknown.
    pub involuntary_switches: Option<u64>,
    /// Number of system calls; `None` where they are not counted.
    pub syscalls: Option<u64>,
    /// Number of connections closed because the client timed out.
    pub timed_out: u64,
    /// Number of times that no descriptor was left for a connection.
    pub no_descriptor: u64,
    /// Number of times that no memory or buffer was left for a connection.
    pub no_memory: u64,
    /// Number of times that no process or thread could be started for a connection.
    pub no_process: u64,
    /// Number of times that the work for a request failed, except in programs that the server started.
    pub work_failed: u64,
}

impl ServerReport {
    pub(crate) fn with(counters: &Counters, counter: Option<&ProcessCounter>) -> Self {
        let usage = ProcessUsage::of_running_children().plus(ProcessUsage::now());
        // The CPU time of the reporting thread is no part of serving; with many children it is long.
        let cpu = usage.cpu.saturating_sub(thread_cpu_time().unwrap_or_default());
        Self {
            cpu_ns: u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX),
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            syscalls: counter.and_then(ProcessCounter::syscalls),
            timed_out: counters.timed_out.load(Ordering::Relaxed),
            no_descriptor: counters.shortages.no_descriptor.load(Ordering::Relaxed),
            no_memory: counters.shortages.no_memory.load(Ordering::Relaxed),
            no_process: counters.no_process.load(Ordering::Relaxed),
            work_failed: counters.work_failed.load(Ordering::Relaxed),
        }
    }

    /// The difference to an earlier report.
    pub fn since(self, earlier: Self) -> Self {
        let between = |now: Option<u64>, then: Option<u64>| {
            now.zip(then).map(|(now, then)| now.saturating_sub(then))
        };
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            voluntary_switches: between(self.voluntary_switches, earlier.voluntary_switches),
            involuntary_switches: between(self.involuntary_switches, earlier.involuntary_switches),
            syscalls: between(self.syscalls, earlier.syscalls),
            timed_out: self.timed_out - earlier.timed_out,
            no_descriptor: self.no_descriptor - earlier.no_descriptor,
            no_memory: self.no_memory - earlier.no_memory,
            no_process: self.no_process - earlier.no_process,
            work_failed: self.work_failed - earlier.work_failed,
        }
    }
}

/// Runs the server in the child process: serves, answers each line of standard input, and ends at the end of the input.
/// System calls are counted at `tracepoint`, if permitted.
///
/// # Errors
/// Errors of serving.
pub fn host(server: &Server, tracepoint: Option<u64>) -> std::io::Result<()> {
    let (counters, stop, address) = (server.counters(), server.stop(), server.address());
    let report = move |counter: Option<&ProcessCounter>| ServerReport::with(&counters, counter);
    let listening = Listening { listening: address };
    start_reporting(&listening, tracepoint, report, move || stop.request_and_wake(address))?;
    server.serve()
}

/// A server in a child process. Dropping it stops the server.
#[derive(Debug)]
pub struct Hosted(hosted::Hosted<Listening, ServerReport>);

impl Hosted {
    /// Starts `command`, which must call [`host`].
    ///
    /// # Errors
    /// If the server cannot be started or does not listen; the message has its error output.
    pub fn start(command: &mut Command) -> Result<Self, CaseError> {
        hosted::Hosted::start(command, "server").map(Self)
    }

    /// The address at which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.0.listening().listening
    }

    /// Pid of the server.
    pub fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// The current counters and resource usage.
    ///
    /// # Errors
    /// `Failed` if the server has ended.
    pub fn report(&mut self) -> Result<ServerReport, CaseError> {
        self.0.report()
    }

    /// Stops the server, which serves its remaining clients first.
    ///
    /// # Errors
    /// `Failed` if the server fails, or is killed because it does not end in time.
    pub fn stop(self) -> Result<(), CaseError> {
        self.0.stop()
    }

    /// Kills the server without serving its remaining clients.
    ///
    /// # Errors
    /// See [`Hosted::stop`].
    pub fn end_now(self) -> Result<(), CaseError> {
        self.0.end_now()
    }
}

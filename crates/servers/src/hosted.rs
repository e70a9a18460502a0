//! A server in a child process. It answers each line on its standard input with its counters and resource usage, as a line
//! of JSON on its standard output. It ends when its input ends, so it does not outlive its parent.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::Ordering;

use platform::CaseError;
use platform::counters::ProcessCounter;
use platform::usage::{ProcessUsage, thread_cpu_time};
use serde::{Deserialize, Serialize};
use serving::hosted::{self, start_reporting};

use crate::server::{Counters, Server};

/// The first line of a server.
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
    /// System calls; `None` where they are not counted.
    pub syscalls: Option<u64>,
    /// Connections closed because the client timed out.
    pub timed_out: u64,
    /// Times there was no descriptor for a connection.
    pub no_descriptor: u64,
    /// Times there was no memory or buffer for a connection.
    pub no_memory: u64,
    /// Times no process or thread could be started for a connection.
    pub no_process: u64,
    /// Times the work for a request failed, except in programs that the server started.
    pub work_failed: u64,
}

impl ServerReport {
    pub(crate) fn with(counters: &Counters, counter: Option<&ProcessCounter>) -> Self {
        let usage = ProcessUsage::of_running_children().plus(ProcessUsage::now());
        // The reporting thread is no part of serving, and takes a while with many children.
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

/// Runs the server in the child process: serves, answers each line of standard input, and ends when that ends. System
/// calls are counted at `tracepoint`, if one is given and may be used.
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

/// A server in a child process. It is stopped when this is dropped.
#[derive(Debug)]
pub struct Hosted(hosted::Hosted<Listening, ServerReport>);

impl Hosted {
    /// Starts `command`, which must call [`host`].
    ///
    /// # Errors
    /// If it cannot be started or does not listen: with its error output.
    pub fn start(command: &mut Command) -> Result<Self, CaseError> {
        hosted::Hosted::start(command, "server").map(Self)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.listening().listening
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// Its present counters and resource usage.
    ///
    /// # Errors
    /// `Failed` if it has ended.
    pub fn report(&mut self) -> Result<ServerReport, CaseError> {
        self.0.report()
    }

    /// Stops it; it serves its remaining clients first.
    ///
    /// # Errors
    /// `Failed` if it fails, or does not end in time: it is killed then.
    pub fn stop(self) -> Result<(), CaseError> {
        self.0.stop()
    }

    /// Kills it without serving its remaining clients.
    ///
    /// # Errors
    /// See [`Hosted::stop`].
    pub fn end_now(self) -> Result<(), CaseError> {
        self.0.end_now()
    }
}

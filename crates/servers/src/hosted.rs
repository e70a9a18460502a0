//! A server in a process of its own, which tells what it has spent when asked: one line on its standard
//! input, one line of JSON on its standard output. It ends when its input does, so it never outlives
//! who started it.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::Ordering;

use platform::CaseError;
use platform::counters::ProcessCounter;
use platform::usage::{ProcessUsage, thread_cpu_time};
use serde::{Deserialize, Serialize};
use serving::hosted::{self, answer};

use crate::server::{Counters, Server};

/// What a server says first.
#[derive(Debug, Serialize, Deserialize)]
struct Listening {
    listening: SocketAddr,
}

/// What a server and all its processes have spent so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// CPU time, in ns.
    pub cpu_ns: u64,
    /// Times a thread or process gave up its CPU, to wait; `None` where unknown.
    pub voluntary_switches: Option<u64>,
    /// Times the CPU was taken away from one; `None` where unknown.
    pub involuntary_switches: Option<u64>,
    /// System calls; `None` where they are not counted.
    pub syscalls: Option<u64>,
    /// Clients that kept it waiting too long.
    pub timed_out: u64,
    /// Times there was no descriptor for a connection.
    pub no_descriptor: u64,
    /// Times there was no memory or buffer for a connection.
    pub no_memory: u64,
    /// Times no process or thread could be started for a connection.
    pub no_process: u64,
}

impl Spent {
    fn with(counters: &Counters, counter: Option<&ProcessCounter>) -> Self {
        let usage = ProcessUsage::of_running_children().plus(ProcessUsage::now());
        // Telling is no part of serving, and takes a while with many children.
        let cpu = usage.cpu.saturating_sub(thread_cpu_time().unwrap_or_default());
        Self {
            cpu_ns: u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX),
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            syscalls: counter.and_then(ProcessCounter::syscalls),
            timed_out: counters.timed_out.load(Ordering::Relaxed),
            no_descriptor: counters.no_descriptor.load(Ordering::Relaxed),
            no_memory: counters.no_memory.load(Ordering::Relaxed),
            no_process: counters.no_process.load(Ordering::Relaxed),
        }
    }

    /// What was spent since `earlier`.
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
        }
    }
}

/// The server's part: serves, and answers each line of standard input; ends when that does. System calls are
/// counted at `tracepoint`, if one is given and may be used.
///
/// # Errors
/// Those of serving.
pub fn host(server: &Server, tracepoint: Option<u64>) -> std::io::Result<()> {
    let (counters, stop, address) = (server.counters(), server.stop(), server.address());
    let tell = move |counter: Option<&ProcessCounter>| Spent::with(&counters, counter);
    answer(&Listening { listening: address }, tracepoint, tell, move || stop.request(address))?;
    server.serve()
}

/// A server in a process of its own, as who started it sees it. Dropped, it is stopped.
#[derive(Debug)]
pub struct Hosted(hosted::Hosted<Listening, Spent>);

impl Hosted {
    /// Starts `command`, which must call [`host`].
    ///
    /// # Errors
    /// Where it cannot be started, or does not come to listen: with what it said.
    pub fn start(command: &mut Command) -> Result<Self, CaseError> {
        hosted::Hosted::start(command, "server").map(Self)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.listening().listening
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// What it has spent so far.
    ///
    /// # Errors
    /// `Failed` where it has ended.
    pub fn spent(&mut self) -> Result<Spent, CaseError> {
        self.0.told()
    }

    /// Stops it, once its clients are served.
    ///
    /// # Errors
    /// `Failed` where it does not end well, or not in time: it is killed then.
    pub fn stop(self) -> Result<(), CaseError> {
        self.0.stop()
    }

    /// Ends it at once, whoever it still serves.
    ///
    /// # Errors
    /// As of [`Hosted::stop`].
    pub fn end_now(self) -> Result<(), CaseError> {
        self.0.end_now()
    }
}

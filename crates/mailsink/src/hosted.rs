//! A sink in a process of its own, which tells what it has counted and spent when asked: one line on its
//! standard input, one line of JSON on its standard output. It ends when its input does, so it never outlives
//! who started it.

use std::net::SocketAddr;
use std::process::Command;

use platform::Refusal;
use platform::counters::ProcessCounter;
use platform::usage::{ProcessUsage, thread_cpu_time};
use serde::{Deserialize, Serialize};
use serving::hosted::{self, answer};

use super::{Counts, Sink};

/// What a sink says first.
#[derive(Debug, Serialize, Deserialize)]
struct Hears {
    listening: Vec<SocketAddr>,
}

/// What a sink has counted and spent so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// What it has counted.
    #[serde(flatten)]
    pub counts: Counts,
    /// CPU time, in ns.
    pub cpu_ns: u64,
    /// Times it gave up its CPU, to wait; `None` where unknown.
    pub voluntary_switches: Option<u64>,
    /// Times its CPU was taken away; `None` where unknown.
    pub involuntary_switches: Option<u64>,
    /// System calls; `None` where they are not counted.
    pub syscalls: Option<u64>,
}

impl Told {
    fn with(counts: Counts, counter: Option<&ProcessCounter>) -> Self {
        let usage = ProcessUsage::now();
        // Telling is no part of serving.
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

/// The sink's part: serves, and answers each line of standard input; ends when that does. System calls are
/// counted at `tracepoint`, if one is given and may be used.
///
/// # Errors
/// Those of serving.
pub fn host(sink: Sink, tracepoint: Option<u64>) -> std::io::Result<Counts> {
    let (counting, stop) = (sink.counting(), sink.stop());
    let tell = move |counter: Option<&ProcessCounter>| Told::with(counting.read(), counter);
    let hears = Hears { listening: sink.addresses().to_vec() };
    answer(&hears, tracepoint, tell, move || stop.request())?;
    sink.serve()
}

/// A sink in a process of its own, as who started it sees it. Dropped, it is stopped.
#[derive(Debug)]
pub struct Hosted(hosted::Hosted<Hears, Told>);

impl Hosted {
    /// Starts `command`, which must call [`host`].
    ///
    /// # Errors
    /// Where it cannot be started, or does not come to listen: with what it said.
    pub fn start(command: &mut Command) -> Result<Self, Refusal> {
        hosted::Hosted::start(command, "sink").map(Self)
    }

    /// Where it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.0.listening().listening
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// What it has counted and spent so far.
    ///
    /// # Errors
    /// `Failed` where it has ended.
    pub fn told(&mut self) -> Result<Told, Refusal> {
        self.0.told()
    }

    /// Stops it, once the messages under way are taken.
    ///
    /// # Errors
    /// `Failed` where it does not end well, or not in time: it is killed then.
    pub fn stop(self) -> Result<(), Refusal> {
        self.0.stop()
    }
}

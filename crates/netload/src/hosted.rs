//! A server in a process of its own, which tells what it has spent when asked: one line on its standard
//! input, one line of JSON on its standard output. It ends when its input does, so it never outlives
//! who started it.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use platform::Refusal;
use platform::counters::ProcessCounter;
use platform::process::keep_own_descriptors;
use platform::usage::{ProcessUsage, thread_cpu_time};
use serde::{Deserialize, Serialize};

use crate::serve::{Counters, Server};

/// How long a server may take to stop before it is killed.
const STOPS_WITHIN: Duration = Duration::from_secs(15);

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
    let (tell, known) = mpsc::channel();
    let (have_own, has_own) = mpsc::channel();
    // Nobody waits for this thread: a server that cannot go on ends at once.
    std::thread::Builder::new().spawn(move || {
        // Not before it is known what counts: a descriptor opened later would not be ours.
        let counter: Option<ProcessCounter> = known.recv().ok().flatten();
        keep_own_descriptors();
        let _ = have_own.send(());
        for _line in std::io::stdin().lines().map_while(Result::ok) {
            say(&Spent::with(&counters, counter.as_ref()));
        }
        stop.request(address);
    })?;
    // Counted is what this thread does from now on, and those it starts, but not the one above.
    let _ = tell.send(tracepoint.and_then(ProcessCounter::start));
    // A connection accepted before would be open in that thread for ever.
    let _ = has_own.recv();
    say(&Listening { listening: address });
    server.serve()
}

fn say(what: &impl Serialize) {
    let text = serde_json::to_string(what).expect("plain values");
    let mut out = std::io::stdout().lock();
    // Where nobody listens any more, the end of the input follows.
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// A server in a process of its own, as who started it sees it. Dropped, it is stopped.
#[derive(Debug)]
pub struct Hosted {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Hosted {
    /// Starts `command`, which must call [`host`].
    ///
    /// # Errors
    /// Where it cannot be started, or does not come to listen: with what it said.
    pub fn start(command: &mut Command) -> Result<Self, Refusal> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| Refusal::from_io("start the server", &e))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both are pipes");
        };
        let mut output = BufReader::new(output);
        match hear::<Listening>(&mut output) {
            Some(Listening { listening: address }) => {
                Ok(Self { child, input: Some(input), output, address })
            }
            None => {
                drop(input);
                let said = child.wait_with_output().map(|ended| ended.stderr).unwrap_or_default();
                let said = String::from_utf8_lossy(&said);
                Err(Refusal::Failed(format!("the server did not start: {}", said.trim())))
            }
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has spent so far.
    ///
    /// # Errors
    /// `Failed` where it has ended.
    pub fn spent(&mut self) -> Result<Spent, Refusal> {
        let asked = self.input.as_mut().map(|input| input.write_all(b"\n"));
        let told = asked.and_then(Result::ok).and_then(|()| hear(&mut self.output));
        told.ok_or_else(|| {
            let how = match self.child.try_wait() {
                Ok(Some(status)) => status.to_string(),
                _ => "without a word".to_owned(),
            };
            Refusal::Failed(format!("the server ended: {how}"))
        })
    }

    /// Stops it, once its clients are served.
    ///
    /// # Errors
    /// `Failed` where it does not end well, or not in time: it is killed then.
    pub fn stop(mut self) -> Result<(), Refusal> {
        self.end()
    }

    /// Ends it at once, whoever it still serves: those that wait to be accepted may take a second to be told so.
    /// Where its children would outlive that, it is stopped.
    ///
    /// # Errors
    /// As of [`Hosted::stop`].
    pub fn end_now(mut self) -> Result<(), Refusal> {
        if platform::process::children_end_with_parent() {
            let _ = self.child.kill();
            self.input = None;
            return self
                .child
                .wait()
                .map(drop)
                .map_err(|e| Refusal::from_io("wait for the server", &e));
        }
        self.end()
    }

    fn end(&mut self) -> Result<(), Refusal> {
        if self.input.take().is_none() {
            return Ok(());
        }
        let began = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => {
                    return Err(Refusal::Failed(format!("the server ended with {status}")));
                }
                Ok(None) if began.elapsed() < STOPS_WITHIN => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                _ => break,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        Err(Refusal::Failed(format!("the server did not stop within {STOPS_WITHIN:?}: killed")))
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn hear<T: for<'a> Deserialize<'a>>(output: &mut impl BufRead) -> Option<T> {
    let mut line = String::new();
    output.read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

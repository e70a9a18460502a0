//! A sink in a process of its own, which tells what it has counted and spent when asked: one line on its
//! standard input, one line of JSON on its standard output. It ends when its input does, so it never outlives
//! who started it.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use platform::Refusal;
use platform::counters::ProcessCounter;
use platform::process::keep_own_descriptors;
use platform::usage::{ProcessUsage, thread_cpu_time};
use serde::{Deserialize, Serialize};

use super::{Counts, Sink};

/// How long a sink may take to stop before it is killed: longer than it gives its clients.
const STOPS_WITHIN: Duration = Duration::from_secs(15);

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
    let (tell, known) = mpsc::channel();
    let (have_own, has_own) = mpsc::channel();
    // Nobody waits for this thread: a sink that cannot go on ends at once.
    std::thread::Builder::new().spawn(move || {
        // Not before it is known what counts: a descriptor opened later would not be ours.
        let counter: Option<ProcessCounter> = known.recv().ok().flatten();
        keep_own_descriptors();
        let _ = have_own.send(());
        for _line in std::io::stdin().lines().map_while(Result::ok) {
            say(&Told::with(counting.read(), counter.as_ref()));
        }
        stop.request();
    })?;
    // Counted is what this thread does from now on, but not the one above.
    let _ = tell.send(tracepoint.and_then(ProcessCounter::start));
    // A connection accepted before would be open in that thread for ever.
    let _ = has_own.recv();
    say(&Hears { listening: sink.addresses().to_vec() });
    sink.serve()
}

fn say(what: &impl Serialize) {
    let text = serde_json::to_string(what).expect("plain values");
    let mut out = std::io::stdout().lock();
    // Where nobody listens any more, the end of the input follows.
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// A sink in a process of its own, as who started it sees it. Dropped, it is stopped.
#[derive(Debug)]
pub struct Hosted {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    addresses: Vec<SocketAddr>,
}

impl Hosted {
    /// Starts `command`, which must call [`host`].
    ///
    /// # Errors
    /// Where it cannot be started, or does not come to listen: with what it said.
    pub fn start(command: &mut Command) -> Result<Self, Refusal> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| Refusal::from_io("start the sink", &e))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both are pipes");
        };
        let mut output = BufReader::new(output);
        match hear::<Hears>(&mut output) {
            Some(Hears { listening: addresses }) => {
                Ok(Self { child, input: Some(input), output, addresses })
            }
            None => {
                drop(input);
                let said = child.wait_with_output().map(|ended| ended.stderr).unwrap_or_default();
                let said = String::from_utf8_lossy(&said);
                Err(Refusal::Failed(format!("the sink did not start: {}", said.trim())))
            }
        }
    }

    /// Where it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has counted and spent so far.
    ///
    /// # Errors
    /// `Failed` where it has ended.
    pub fn told(&mut self) -> Result<Told, Refusal> {
        let asked = self.input.as_mut().map(|input| input.write_all(b"\n"));
        let told = asked.and_then(Result::ok).and_then(|()| hear(&mut self.output));
        told.ok_or_else(|| {
            let how = match self.child.try_wait() {
                Ok(Some(status)) => status.to_string(),
                _ => "without a word".to_owned(),
            };
            Refusal::Failed(format!("the sink ended: {how}"))
        })
    }

    /// Stops it, once the messages under way are taken.
    ///
    /// # Errors
    /// `Failed` where it does not end well, or not in time: it is killed then.
    pub fn stop(mut self) -> Result<(), Refusal> {
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
                    return Err(Refusal::Failed(format!("the sink ended with {status}")));
                }
                Ok(None) if began.elapsed() < STOPS_WITHIN => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                // It has ended, but whoever waits for all children of this process has heard how.
                Err(_) => return Ok(()),
                _ => break,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        Err(Refusal::Failed(format!("the sink did not stop within {STOPS_WITHIN:?}: killed")))
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

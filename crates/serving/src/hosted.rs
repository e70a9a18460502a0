//! A server in a child process. It answers each line on its standard input with a report, such as its CPU time, as a line
//! of JSON on its standard output. It ends when its input ends, so it does not outlive its parent.

use std::io::{self, BufRead, BufReader, Write};
use std::marker::PhantomData;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use platform::CaseError;
use platform::counters::ProcessCounter;
use platform::process::{children_end_with_parent, keep_own_descriptors};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// How long a server may take to stop before it is killed: longer than the timeout of its clients.
const STOPS_WITHIN: Duration = Duration::from_secs(15);

/// Called by the server before it serves: prints where it listens, and from then on answers each line of standard input
/// with the result of `report`. When standard input ends, it calls `stop`, and exits some time later if the process has
/// not ended. System calls of the calling thread, and of those it starts, are counted at `tracepoint`, if one is given
/// and may be used.
///
/// # Errors
/// If no thread can be started for it.
pub fn start_reporting<R: Serialize>(
    listening: &impl Serialize,
    tracepoint: Option<u64>,
    report: impl Fn(Option<&ProcessCounter>) -> R + Send + 'static,
    stop: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let (counter_tx, counter_rx) = mpsc::channel();
    let (ready_tx, ready_rx) = mpsc::channel();
    // The thread is not joined: a server that cannot continue ends at once.
    std::thread::Builder::new().spawn(move || {
        // First the counter: a descriptor that is opened after the table is unshared would not be in it.
        let counter: Option<ProcessCounter> = counter_rx.recv().ok().flatten();
        keep_own_descriptors();
        let _ = ready_tx.send(());
        for _line in io::stdin().lines().map_while(Result::ok) {
            print_line(&report(counter.as_ref()));
        }
        stop();
        // If its network namespace was removed first, it cannot be woken.
        std::thread::sleep(STOPS_WITHIN);
        std::process::exit(1);
    })?;
    // It counts this thread from now on, and those it starts, but not the one above.
    let _ = counter_tx.send(tracepoint.and_then(ProcessCounter::start));
    // A connection accepted before the table is unshared would stay open in that thread.
    let _ = ready_rx.recv();
    print_line(listening);
    Ok(())
}

fn print_line(value: &impl Serialize) {
    let text = serde_json::to_string(value).expect("plain values");
    let mut out = io::stdout().lock();
    // If the parent has closed the pipe, the end of the input follows.
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// A server in a child process, which prints where it listens as an `L` and reports an `R` on request. It is stopped when
/// this is dropped.
#[derive(Debug)]
pub struct Hosted<L, R> {
    /// Its name in error messages.
    name: &'static str,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    listening: L,
    reports: PhantomData<fn() -> R>,
}

impl<L: DeserializeOwned, R: DeserializeOwned> Hosted<L, R> {
    /// Starts `command`, which must call [`start_reporting`]; errors call it "the `name`".
    ///
    /// # Errors
    /// If it cannot be started or does not listen: with its error output.
    pub fn start(command: &mut Command, name: &'static str) -> Result<Self, CaseError> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|e| CaseError::from_io(&format!("start the {name}"), &e))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both are pipes");
        };
        let mut output = BufReader::new(output);
        match read_line(&mut output) {
            Some(listening) => {
                let (input, reports) = (Some(input), PhantomData);
                Ok(Self { name, child, input, output, listening, reports })
            }
            None => {
                drop(input);
                let errors = child.wait_with_output().map(|ended| ended.stderr).unwrap_or_default();
                let errors = String::from_utf8_lossy(&errors);
                Err(CaseError::Failed(format!("the {name} did not start: {}", errors.trim())))
            }
        }
    }

    /// Its present report.
    ///
    /// # Errors
    /// `Failed` if it has ended.
    pub fn report(&mut self) -> Result<R, CaseError> {
        let requested = self.input.as_mut().map(|input| input.write_all(b"\n"));
        let report = requested.and_then(Result::ok).and_then(|()| read_line(&mut self.output));
        report.ok_or_else(|| {
            let how = match self.child.try_wait() {
                Ok(Some(status)) => status.to_string(),
                _ => "it closed its output".to_owned(),
            };
            CaseError::Failed(format!("the {} ended: {how}", self.name))
        })
    }
}

impl<L, R> Hosted<L, R> {
    /// Where it listens.
    pub fn listening(&self) -> &L {
        &self.listening
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops it; it serves its remaining clients first.
    ///
    /// # Errors
    /// `Failed` if it fails, or does not end in time: it is killed then.
    pub fn stop(mut self) -> Result<(), CaseError> {
        self.end()
    }

    /// Kills it without serving its remaining clients, since draining its accept queue may take seconds. Where its
    /// children would outlive it, it is stopped instead.
    ///
    /// # Errors
    /// See [`Hosted::stop`].
    pub fn end_now(mut self) -> Result<(), CaseError> {
        if children_end_with_parent() {
            let _ = self.child.kill();
            self.input = None;
            let waited = self.child.wait().map(drop);
            return waited
                .map_err(|e| CaseError::from_io(&format!("wait for the {}", self.name), &e));
        }
        self.end()
    }

    fn end(&mut self) -> Result<(), CaseError> {
        if self.input.take().is_none() {
            return Ok(());
        }
        let (name, began) = (self.name, Instant::now());
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => {
                    return Err(CaseError::Failed(format!("the {name} ended with {status}")));
                }
                Ok(None) if began.elapsed() < STOPS_WITHIN => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                // It has ended, and a wait for all children of this process has consumed its status.
                Err(_) => return Ok(()),
                _ => break,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        Err(CaseError::Failed(format!("the {name} did not stop within {STOPS_WITHIN:?}: killed")))
    }
}

impl<L, R> Drop for Hosted<L, R> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn read_line<T: DeserializeOwned>(output: &mut impl BufRead) -> Option<T> {
    let mut line = String::new();
    output.read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

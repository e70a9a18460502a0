//! Servers in child processes. A server answers each line on its standard input with a report, such as its CPU time, as a
//! line of JSON on its standard output. It ends when its input ends, and so does not outlive its parent.

use std::io::{self, BufRead, BufReader, Write};
use std::marker::PhantomData;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use platform::CaseError;
use platform::counters::ProcessCounter;
use platform::process::{children_end_with_parent, keep_own_descriptors};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Time limit for a server to stop, after which it is killed: longer than the timeout of its clients.
const STOPS_WITHIN: Duration = Duration::from_secs(15);

/// Starts reporting; the server calls this before it serves. Prints `listening`, and from then on a thread answers each
/// line of standard input with the result of `report`. At the end of standard input the thread calls `stop`, and exits
/// after some time if the process has not ended. System calls of the calling thread and of threads it starts are counted at
/// `tracepoint`, if permitted.
///
/// # Errors
/// If no thread can be started.
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
        // The counter comes first: a descriptor opened after the table is unshared would not be in it.
        let counter: Option<ProcessCounter> = counter_rx.recv().ok().flatten();
        keep_own_descriptors();
        let _ = ready_tx.send(());
        for _line in io::stdin().lines().map_while(Result::ok) {
            print_line(&report(counter.as_ref()));
        }
        stop();
        // A server of which a process was killed may never end.
        std::thread::sleep(STOPS_WITHIN);
        std::process::exit(1);
    })?;
    // The counter counts this thread and threads that it starts from now on, but not the one above.
    let _ = counter_tx.send(tracepoint.and_then(ProcessCounter::start));
    // The wait is for the unshared table: a connection accepted before would stay open in that thread.
    let _ = ready_rx.recv();
    print_line(listening);
    Ok(())
}

/// Tells the parent why the server cannot serve, before the server ends: [`Hosted::start`] then returns the same error, also
/// an `Unsupported` one.
pub fn tell_refusal(case_error: &CaseError) {
    print_line(case_error);
}

fn print_line(value: &impl Serialize) {
    let text = serde_json::to_string(value).expect("plain values");
    let mut out = io::stdout().lock();
    // An error means that the parent has closed the pipe; the end of the input follows.
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// The first line of a server's output.
#[derive(Deserialize)]
#[serde(untagged)]
enum First<L> {
    Listening(L),
    Refusal(CaseError),
}

/// A server in a child process, which prints where it listens as an `L` and reports an `R` on request. Dropping it stops
/// the server.
#[derive(Debug)]
pub struct Hosted<L, R> {
    /// The server's name in error messages.
    name: &'static str,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    listening: L,
    reports: PhantomData<fn() -> R>,
}

impl<L: DeserializeOwned, R: DeserializeOwned> Hosted<L, R> {
    /// Starts `command`, which must call [`start_reporting`]; errors call the server "the `name`".
    ///
    /// # Errors
    /// If the server cannot be started or does not listen; the message has its error output.
    pub fn start(command: &mut Command, name: &'static str) -> Result<Self, CaseError> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|e| CaseError::from_io(&format!("start the {name}"), &e))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both are pipes");
        };
        let mut output = BufReader::new(output);
        match read_line(&mut output) {
            Some(First::Listening(listening)) => {
                let (input, reports) = (Some(input), PhantomData);
                Ok(Self { name, child, input, output, listening, reports })
            }
            Some(First::Refusal(case_error)) => {
                drop(input);
                let _ = child.wait_with_output();
                Err(case_error)
            }
            None => {
                drop(input);
                let errors = child.wait_with_output().map(|ended| ended.stderr).unwrap_or_default();
                let errors = String::from_utf8_lossy(&errors);
                Err(CaseError::Failed(format!("the {name} did not start: {}", errors.trim())))
            }
        }
    }

    /// The current report.
    ///
    /// # Errors
    /// `Failed` if the server has ended.
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
    /// Where the server listens.
    pub fn listening(&self) -> &L {
        &self.listening
    }

    /// Pid of the server.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops the server, which serves its remaining clients first.
    ///
    /// # Errors
    /// `Failed` if the server fails, or is killed because it does not end in time.
    pub fn stop(mut self) -> Result<(), CaseError> {
        self.end()
    }

    /// Kills the server without serving its remaining clients, since draining its accept queue may take seconds. Where the
    /// server's children would outlive it, stops it instead.
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

//! A server in a process of its own, which tells what it has spent when asked: one line on its standard
//! input, one line of JSON on its standard output. It ends when its input does, so it never outlives
//! who started it.

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

/// How long a server may take to stop before it is killed: longer than it gives its clients.
const STOPS_WITHIN: Duration = Duration::from_secs(15);

/// The server's part, before it serves: says where it listens, and from then on answers each line of standard input
/// with what `tell` gives; when that ends, `stop` is called, and if the process has not ended some time later, it is
/// ended: nobody else would. System calls of the calling thread, and of those it
/// starts, are counted at `tracepoint`, if one is given and may be used.
///
/// # Errors
/// If no thread can be had for it.
pub fn answer<T: Serialize>(
    listening: &impl Serialize,
    tracepoint: Option<u64>,
    tell: impl Fn(Option<&ProcessCounter>) -> T + Send + 'static,
    stop: impl FnOnce() + Send + 'static,
) -> io::Result<()> {
    let (count, known) = mpsc::channel();
    let (have_own, has_own) = mpsc::channel();
    // Nobody waits for this thread: a server that cannot go on ends at once.
    std::thread::Builder::new().spawn(move || {
        // Not before it is known what counts: a descriptor opened later would not be ours.
        let counter: Option<ProcessCounter> = known.recv().ok().flatten();
        keep_own_descriptors();
        let _ = have_own.send(());
        for _line in io::stdin().lines().map_while(Result::ok) {
            say(&tell(counter.as_ref()));
        }
        stop();
        // Where its network went first, it cannot be reached to be stopped.
        std::thread::sleep(STOPS_WITHIN);
        std::process::exit(1);
    })?;
    // Counted is what this thread does from now on, and those it starts, but not the one above.
    let _ = count.send(tracepoint.and_then(ProcessCounter::start));
    // A connection accepted before would be open in that thread for ever.
    let _ = has_own.recv();
    say(listening);
    Ok(())
}

fn say(what: &impl Serialize) {
    let text = serde_json::to_string(what).expect("plain values");
    let mut out = io::stdout().lock();
    // Where nobody listens any more, the end of the input follows.
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// A server in a process of its own, as who started it sees it; it says where it listens by an `L`, and tells a `T` when
/// asked. Dropped, it is stopped.
#[derive(Debug)]
pub struct Hosted<L, T> {
    /// What it is called, for people.
    name: &'static str,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    listening: L,
    tells: PhantomData<fn() -> T>,
}

impl<L: DeserializeOwned, T: DeserializeOwned> Hosted<L, T> {
    /// Starts `command`, which must call [`answer`]; people know it as "the `name`".
    ///
    /// # Errors
    /// Where it cannot be started, or does not come to listen: with what it said.
    pub fn start(command: &mut Command, name: &'static str) -> Result<Self, CaseError> {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|e| CaseError::from_io(&format!("start the {name}"), &e))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both are pipes");
        };
        let mut output = BufReader::new(output);
        match hear(&mut output) {
            Some(listening) => {
                let (input, tells) = (Some(input), PhantomData);
                Ok(Self { name, child, input, output, listening, tells })
            }
            None => {
                drop(input);
                let said = child.wait_with_output().map(|ended| ended.stderr).unwrap_or_default();
                let said = String::from_utf8_lossy(&said);
                Err(CaseError::Failed(format!("the {name} did not start: {}", said.trim())))
            }
        }
    }

    /// What it has told last: now.
    ///
    /// # Errors
    /// `Failed` where it has ended.
    pub fn told(&mut self) -> Result<T, CaseError> {
        let asked = self.input.as_mut().map(|input| input.write_all(b"\n"));
        let told = asked.and_then(Result::ok).and_then(|()| hear(&mut self.output));
        told.ok_or_else(|| {
            let how = match self.child.try_wait() {
                Ok(Some(status)) => status.to_string(),
                _ => "without a word".to_owned(),
            };
            CaseError::Failed(format!("the {} ended: {how}", self.name))
        })
    }
}

impl<L, T> Hosted<L, T> {
    /// Where it listens.
    pub fn listening(&self) -> &L {
        &self.listening
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops it, once its clients are served.
    ///
    /// # Errors
    /// `Failed` where it does not end well, or not in time: it is killed then.
    pub fn stop(mut self) -> Result<(), CaseError> {
        self.end()
    }

    /// Ends it at once, whoever it still serves: those that wait to be accepted may take a second to be told so.
    /// Where its children would outlive that, it is stopped.
    ///
    /// # Errors
    /// As of [`Hosted::stop`].
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
                // It has ended, but whoever waits for all children of this process has heard how.
                Err(_) => return Ok(()),
                _ => break,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        Err(CaseError::Failed(format!("the {name} did not stop within {STOPS_WITHIN:?}: killed")))
    }
}

impl<L, T> Drop for Hosted<L, T> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn hear<T: DeserializeOwned>(output: &mut impl BufRead) -> Option<T> {
    let mut line = String::new();
    output.read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

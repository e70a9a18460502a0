//! Runs a command with its input, lines of output, errors and a watch that may end it.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use platform::incoming::{Incoming, LineSplitter, Next};
use platform::process::{end_group, hosted};

use crate::failure::Failure;
use crate::order::LINE_AT_MOST;

/// Maximum length of the output of a command that prints little: lists of nodes, a path.
pub const SHORT_OUTPUT: u64 = 4 << 20;
/// Maximum number of lines that wait to be handled.
const WAITING_AT_MOST: usize = 4;
/// How much of a command's errors is kept.
const ERRORS_KEPT: usize = 64 << 10;
/// Maximum length of a command's errors, after which it is ended.
const ERRORS_AT_MOST: u64 = 1 << 20;
/// Time between two looks at the watch.
const LOOK: Duration = Duration::from_millis(200);
/// How long output may follow the end of a command.
const AFTER_END: Duration = Duration::from_secs(5);
/// How long errors may follow its end and that of its output: a master connection of OpenSSH, which outlives the command, may keep
/// them open.
const ERRORS_AFTER_END: Duration = Duration::from_secs(2);

/// Why something was not done.
#[derive(Debug)]
pub enum Halt {
    /// It failed.
    Failed(Failure),
    /// The job was stopped.
    Stopped,
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// The end of a command.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// What it wrote to standard error.
    pub errors: String,
}

/// Standard input of a command.
pub enum Input<'a> {
    /// This text.
    Text(&'a str),
    /// This file.
    File(File),
}

/// Runs a command to its end, and calls `line` for each line of its output, which may have `at_most` bytes. The command is killed
/// when `line` fails, when it writes too much, when `watch`, which is called some times a second, says why, and when this process
/// ends.
pub fn exchange(
    mut command: Command,
    input: Input<'_>,
    at_most: u64,
    line: &mut dyn FnMut(&str) -> Result<(), Halt>,
    watch: &mut dyn FnMut() -> Option<Halt>,
) -> Result<Ended, Halt> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| {
        Halt::Failed(Failure::lasting(format!("{name}: {error}"), "install it"))
    };
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let text = match input {
        Input::File(file) => {
            command.stdin(file);
            None
        }
        Input::Text(text) => {
            command.stdin(Stdio::piped());
            Some(text.to_owned())
        }
    };
    let mut child = hosted::spawn(command, &platform::cpu::allowed(), None).map_err(failed)?;
    let followed = follow(&mut child, text, at_most, line, watch, &failed);
    // None has the group's number before its leader is waited for.
    if followed.is_err() && matches!(child.try_wait(), Ok(None)) {
        end_group(child.id());
        // It may have ended by itself.
        let _ = child.kill();
        let _ = child.wait();
    }
    followed
}

/// Follows a command to its end. `failed` makes the failure of a call of the system.
fn follow(
    child: &mut Child,
    text: Option<String>,
    at_most: u64,
    line: &mut dyn FnMut(&str) -> Result<(), Halt>,
    watch: &mut dyn FnMut() -> Option<Halt>,
    failed: &dyn Fn(std::io::Error) -> Halt,
) -> Result<Ended, Halt> {
    if let (Some(mut pipe), Some(text)) = (child.stdin.take(), text) {
        // A command that does not read must not keep this thread; it says why in its errors.
        let write = move || drop(pipe.write_all(text.as_bytes()));
        std::thread::Builder::new().name("input".to_owned()).spawn(write).map_err(failed)?;
    }
    let pipes = (child.stdout.take(), child.stderr.take());
    let (Some(output), Some(errors)) = pipes else {
        return Err(failed(std::io::Error::other("it was started without pipes")));
    };
    let output = lines_of(output, at_most).map_err(failed)?;
    let errors = Errors::of(errors).map_err(failed)?;
    let mut ended: Option<(Option<i32>, Instant)> = None;
    loop {
        let is_closed = match output.next(LOOK) {
            Next::Found(bytes) => {
                line(String::from_utf8_lossy(&bytes).trim_end_matches('\r'))?;
                false
            }
            Next::Nothing => false,
            Next::TooMuch => return Err(endless("output", at_most)),
            Next::End => {
                // The command's end follows that of its output.
                std::thread::sleep(Duration::from_millis(5));
                true
            }
        };
        let has_all_errors = errors.have_ended()?;
        if let Some((code, at)) = ended {
            let is_late = |most: Duration| at.elapsed() > most;
            let is_over = is_closed && (has_all_errors || is_late(ERRORS_AFTER_END));
            if is_over || is_late(AFTER_END) {
                return Ok(Ended { code, errors: errors.text() });
            }
        } else if let Some(status) = child.try_wait().map_err(failed)? {
            ended = Some((status.code(), Instant::now()));
        } else if let Some(halt) = watch() {
            return Err(halt);
        }
    }
}

/// The failure of a command that writes without end.
fn endless(what: &str, at_most: u64) -> Halt {
    let reason = format!("the node sends without end: its {what} has more than {at_most} bytes");
    Failure::lasting(reason, "look at the node, and at what its login shell prints").into()
}

/// The errors of a command, whose beginning is kept.
struct Errors {
    read: Incoming<()>,
    kept: Arc<Mutex<Vec<u8>>>,
}

impl Errors {
    fn of(output: impl Read + Send + 'static) -> std::io::Result<Self> {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let keeps = Arc::clone(&kept);
        let read = Incoming::read(output, ERRORS_AT_MOST, 1, move |part, _| {
            let mut kept = keeps.lock().unwrap_or_else(PoisonError::into_inner);
            let room = ERRORS_KEPT.saturating_sub(kept.len());
            kept.extend_from_slice(&part[..part.len().min(room)]);
            true
        })?;
        Ok(Self { read, kept })
    }

    /// Whether all have arrived.
    fn have_ended(&self) -> Result<bool, Halt> {
        match self.read.next(Duration::ZERO) {
            Next::TooMuch => Err(endless("error output", ERRORS_AT_MOST)),
            next => Ok(next == Next::End),
        }
    }

    fn text(&self) -> String {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}

/// The lines of an output that are not empty, read by a thread.
fn lines_of(
    output: impl Read + Send + 'static,
    at_most: u64,
) -> std::io::Result<Incoming<Vec<u8>>> {
    let mut lines = LineSplitter::new(LINE_AT_MOST);
    Incoming::read(output, at_most, WAITING_AT_MOST, move |part, found| {
        let mut is_wanted = true;
        let mut put = |line: &[u8]| {
            is_wanted = is_wanted && (line.is_empty() || found.put(line.to_vec()));
        };
        lines.push(part, &mut put);
        if part.is_empty() {
            put(lines.rest());
        }
        is_wanted
    })
}

//! Runs a command with its input, lines of output, errors and a watch that may end it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use platform::process::hosted;

use crate::failure::Failure;

/// Maximum length of a line: a document as a JSON text in a JSON text.
const LINE_AT_MOST: u64 = 160 << 20;
/// How much of a command's errors is read.
const ERRORS_AT_MOST: u64 = 64 << 10;
/// Time between two looks at the watch.
const LOOK: Duration = Duration::from_millis(200);
/// How long output may follow the end of a command.
const AFTER_END: Duration = Duration::from_secs(5);

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

/// Runs a command to its end, and calls `line` for each line of its output. The command is killed when `watch`, which is called
/// some times a second, says why; and when this process ends.
pub fn exchange(
    mut command: Command,
    input: Input<'_>,
    errors: &Path,
    line: &mut dyn FnMut(&str),
    watch: &mut dyn FnMut() -> Option<Halt>,
) -> Result<Ended, Halt> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| Failure::lasting(format!("{name}: {error}"), "install it");
    // A file, not a pipe: a master connection of OpenSSH, which outlives the command, may keep it open.
    let file = File::create(errors);
    let file =
        file.map_err(|e| Failure::lasting(format!("{}: {e}", errors.display()), "make room"))?;
    command.stderr(file).stdout(Stdio::piped());
    let text = match input {
        Input::File(file) => {
            command.stdin(file);
            None
        }
        Input::Text(text) => {
            command.stdin(Stdio::piped());
            Some(text)
        }
    };
    let mut child = hosted::spawn(command, &platform::cpu::allowed(), None).map_err(failed)?;
    if let (Some(mut pipe), Some(text)) = (child.stdin.take(), text) {
        // A command that does not read says why in its errors.
        let _ = pipe.write_all(text.as_bytes());
    }
    let lines = lines_of(child.stdout.take());
    let mut ended: Option<(Option<i32>, Instant)> = None;
    loop {
        let is_closed = match lines.recv_timeout(LOOK) {
            Ok(bytes) => {
                line(String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']));
                false
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => {
                // The command's end follows that of its output.
                std::thread::sleep(Duration::from_millis(5));
                true
            }
        };
        if let Some((code, at)) = ended {
            if is_closed || at.elapsed() > AFTER_END {
                return Ok(Ended { code, errors: read_errors(errors) });
            }
        } else if let Some(status) = child.try_wait().map_err(failed)? {
            ended = Some((status.code(), Instant::now()));
        } else if let Some(halt) = watch() {
            // The process may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
            return Err(halt);
        }
    }
}

/// Lines of a command's output, read by a thread; the channel is closed at their end.
fn lines_of(output: Option<ChildStdout>) -> Receiver<Vec<u8>> {
    let (sender, lines) = channel();
    let Some(output) = output else { return lines };
    let read = move || {
        let mut output = BufReader::new(output);
        loop {
            let mut bytes = Vec::new();
            match output.by_ref().take(LINE_AT_MOST).read_until(b'\n', &mut bytes) {
                Ok(1..) if sender.send(bytes).is_ok() => {}
                _ => return,
            }
        }
    };
    // Without the thread the channel is closed: a command without output, which is a failure.
    let _ = std::thread::Builder::new().name("output".to_owned()).spawn(read);
    lines
}

fn read_errors(path: &Path) -> String {
    let mut bytes = Vec::new();
    // Without the file there is nothing to say.
    let _ = File::open(path).and_then(|file| file.take(ERRORS_AT_MOST).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

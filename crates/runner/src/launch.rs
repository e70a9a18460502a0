//! Starts one round in a fresh process and collects what it printed.

use std::io::Read;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use measure::RoundOrder;
use measure::record::{End, Line, OperationCounts, parse_lines};
use measure::round::Mode;
use platform::Refusal;

/// How a worker ended and what it left in writing.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// All that it printed.
    pub text: String,
    /// How the round ended; by the worker's own word if it came to that.
    pub end: RoundEnd,
}

/// How a round ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoundEnd {
    /// By the worker's own word.
    Told(End),
    /// The worker crashed, was killed or went silent; the reason.
    Died(String),
    /// It did not end in time and was killed.
    Hung(String),
}

/// How long after its own limit a worker may still be busy ending.
const GRACE: Duration = Duration::from_secs(12);
/// More than any round prints.
const OUTPUT_AT_MOST: u64 = 16 << 20;

/// Runs one round in a fresh process of this program.
pub fn launch(order: &RoundOrder) -> Result<Report, Refusal> {
    let limit = Duration::from_millis(order.limit_ms) + GRACE;
    let mut command = worker(order)?;
    if order.mode == Mode::CountForTracer {
        return launch_traced(&mut command, limit);
    }
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| Refusal::from_io("starting a worker", &e))?;
    let pid = child.id();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (send, receive) = channel();
    let reader = std::thread::spawn(move || {
        let text = read_all(stdout);
        // The pipe is closed: the worker is done, or dead.
        let _ = send.send(());
        (text, read_all(stderr))
    });
    let hung = receive.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
    if hung {
        // It may have ended this instant: then there is nothing to kill.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|e| Refusal::from_io("waiting for a worker", &e))?;
    let (text, complaint) = reader.join().unwrap_or_default();
    if hung || !status.success() {
        platform::leftovers::sweep(pid);
    }
    let end = if hung {
        RoundEnd::Hung(format!("the worker did not end within {} s", limit.as_secs()))
    } else {
        told(&text, status, &complaint)
    };
    Ok(Report { text, end })
}

/// The untimed pass under a tracer, which adds the system calls to what the worker counted.
fn launch_traced(command: &mut Command, limit: Duration) -> Result<Report, Refusal> {
    let (output, calls) = platform::tracer::count_system_calls(command, limit)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<Line> = parse_lines(&text)
        .into_iter()
        .map(|line| match line {
            Line::Counts(counts) => {
                Line::Counts(OperationCounts { syscalls: Some(calls), ..counts })
            }
            other => other,
        })
        .collect();
    let text: String = lines
        .iter()
        .map(|line| serde_json::to_string(line).expect("a line has only plain values") + "\n")
        .collect();
    let end = told(&text, output.status, &String::from_utf8_lossy(&output.stderr));
    Ok(Report { text, end })
}

fn worker(order: &RoundOrder) -> Result<Command, Refusal> {
    let program =
        std::env::current_exe().map_err(|e| Refusal::from_io("finding this program", &e))?;
    let mut command = Command::new(program);
    let order = serde_json::to_string(order).expect("an order has only plain values");
    command.arg("worker").arg(order).stdin(Stdio::null());
    Ok(command)
}

fn read_all(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        // What could be read counts; why no more came, the exit status tells.
        let _ = pipe.take(OUTPUT_AT_MOST).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn told(text: &str, status: ExitStatus, complaint: &str) -> RoundEnd {
    let end = parse_lines(text).into_iter().find_map(|line| match line {
        Line::End(end) => Some(end),
        _ => None,
    });
    match end {
        Some(end) => RoundEnd::Told(end),
        None => {
            let last_words = complaint.lines().rfind(|line| !line.trim().is_empty());
            let last_words = last_words.map(|line| format!(": {line}")).unwrap_or_default();
            RoundEnd::Died(format!("the worker ended with {status}{last_words}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_said_how_it_ended_is_believed() {
        let status = ExitStatus::default();
        let text = "{\"end\":{\"outcome\":\"unsupported\",\"reason\":\"no\"}}\n";
        assert_eq!(told(text, status, ""), RoundEnd::Told(End::Unsupported("no".into())));
    }

    #[test]
    fn a_worker_that_did_not_is_dead_with_its_last_words() {
        let RoundEnd::Died(reason) = told("{\"ser", ExitStatus::default(), "x\nsemop: oh\n\n")
        else {
            panic!("it has not ended");
        };
        assert!(reason.ends_with(": semop: oh"), "{reason}");
    }
}

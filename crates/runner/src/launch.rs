//! Starts one round in a fresh process and collects its output.

use std::io::{ErrorKind, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::worker::ROUND;
use catalog::worker::worker;
use measure::RoundOrder;
use measure::record::{Line, OperationCounts, parse_lines};
use measure::round::Mode;
use measure::user_code::UserLibrary;
use platform::CaseError;
use platform::counters::tracer::Traced;
use platform::process::inherited::{not_created, not_started};
use serde::{Deserialize, Serialize};

/// The output of a worker, and how its round ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Standard output of the worker.
    pub text: String,
    /// How the round ended, as the worker reported, if it did.
    pub end: RoundEnd,
}

/// How a round ended; stored with the round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoundEnd {
    /// The worker reported the end.
    Reported(#[serde(with = "measure::record::end")] Result<(), CaseError>),
    /// The worker crashed, was killed or ended without a report, for this reason.
    Died(String),
    /// The worker did not end in time and was killed.
    Hung(String),
}

/// Time that a worker may take to end after its time limit.
pub(crate) const GRACE: Duration = Duration::from_secs(12);
/// Time for which a worker may continue after a request to stop; most rounds are shorter.
pub(crate) const LAST_CHANCE: Duration = Duration::from_millis(500);
/// Time for reading what a worker that has ended printed. Processes that left the worker's group may hold the pipes longer.
const READ_WITHIN: Duration = Duration::from_secs(2);
/// The interval at which requests to stop are checked.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Maximum length of a worker's output, in bytes: more than any round prints.
pub(crate) const OUTPUT_AT_MOST: usize = 16 << 20;

/// Functions that are called when a round has reached a phase.
pub struct Phases<'a> {
    /// Called when the round's process begins to measure, or before its start if it does not announce that.
    pub started: &'a dyn Fn(),
    /// Called when the round's process prints no more, and is about to end.
    pub ended: &'a dyn Fn(),
}

impl Phases<'_> {
    /// Does nothing in either phase.
    pub const NONE: Self = Self { started: &|| (), ended: &|| () };
}

/// Runs one round in a fresh process of this program. When `stop` is set, the worker is killed after a moment.
pub fn launch(order: &RoundOrder, stop: &AtomicBool, phases: &Phases) -> Result<Report, CaseError> {
    let limit = limit_of(order);
    if !order.announces() {
        (phases.started)();
    }
    let plainly = |order: &RoundOrder| launch_plainly(&mut command_of(order), limit, stop, phases);
    let mut report = match order.mode {
        Mode::CountForTracer => {
            let traced = launch_traced(&mut command_of(order), limit, stop)?;
            let untraced = RoundOrder { mode: Mode::CountRest, ..order.clone() };
            with_all_but_calls_of(traced, || plainly(&untraced))?
        }
        _ => plainly(order)?,
    };
    if let Some(user) = &order.user {
        report.end = in_users_words(report.end, user);
    }
    Ok(report)
}

fn command_of(order: &RoundOrder) -> Command {
    let mut command = worker(ROUND, order);
    command.stdin(Stdio::null());
    command
}

/// Combines the system calls of a traced round with the other counts of an untraced one, since the stops of a traced thread
/// at each call count as switches. The other counts are unknown if the untraced round fails.
fn with_all_but_calls_of(
    traced: Report,
    untraced: impl FnOnce() -> Result<Report, CaseError>,
) -> Result<Report, CaseError> {
    if traced.end != RoundEnd::Reported(Ok(())) {
        return Ok(traced);
    }
    let counts_in = |lines: &[Line]| {
        lines.iter().find_map(|line| match line {
            Line::Counts(counts) => Some(counts.clone()),
            _ => None,
        })
    };
    let untraced = untraced()?;
    let rest = counts_in(&parse_lines(&untraced.text)).unwrap_or_default();
    let with_rest = |line: Line| match line {
        Line::Counts(counts) => Line::Counts(counts.with_all_but_calls_of(&rest)),
        other => other,
    };
    let lines = parse_lines(&traced.text).into_iter().map(with_rest);
    Ok(Report { text: text_of(lines), end: traced.end })
}

/// The text of lines, as a worker prints them.
fn text_of(lines: impl Iterator<Item = Line>) -> String {
    lines
        .map(|line| serde_json::to_string(&line).expect("a line has only plain values") + "\n")
        .collect()
}

fn limit_of(order: &RoundOrder) -> Duration {
    Duration::from_millis(order.limit_ms) + GRACE
}

/// Names the user's code in the description of the worker's end.
fn in_users_words(end: RoundEnd, user: &UserLibrary) -> RoundEnd {
    match end {
        RoundEnd::Died(reason) => RoundEnd::Died(format!("{}: {reason}", user.path)),
        RoundEnd::Hung(reason) => RoundEnd::Hung(format!("{}: {reason}", user.path)),
        end => end,
    }
}

fn launch_plainly(
    command: &mut Command,
    limit: Duration,
    stop: &AtomicBool,
    phases: &Phases,
) -> Result<Report, CaseError> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) if may_succeed_later(&e) => {
            let end = RoundEnd::Died(format!("starting a worker: {e}"));
            return Ok(Report { text: String::new(), end });
        }
        Err(e) => return Err(not_started("starting a worker", &e)),
    };
    let pid = child.id();
    let pipes = Pipe::read(child.stdout.take()).and_then(|output| {
        let errors = Pipe::read(child.stderr.take())?;
        Ok((output, errors))
    });
    let (output, errors) = pipes.inspect_err(|_| end_now(&mut child))?;
    let (status, hung) = await_end(&mut child, &output, limit, stop, phases)?;
    // Processes that the worker left behind would disturb the next round.
    platform::process::end_group(pid);
    let (mut output, errors) = (output.text(READ_WITHIN), errors.text(READ_WITHIN));
    // The empty line of the announcement is no output.
    if output.starts_with('\n') {
        output.remove(0);
    }
    if hung || !status.success() {
        platform::cleanup::sweep(pid);
    }
    let end = if hung { hung_after(limit) } else { end_of(&output, status, &errors) };
    Ok(Report { text: output, end })
}

/// Whether another worker may be started after this error, such as a shortage of processes or memory, or an internal error
/// of the system; not if the program is missing or may not be executed.
fn may_succeed_later(error: &std::io::Error) -> bool {
    !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied)
}

fn hung_after(limit: Duration) -> RoundEnd {
    RoundEnd::Hung(format!("the worker did not end within {} s", limit.as_secs()))
}

/// A worker's output, if it succeeds within `limit`.
pub fn output_of(command: &mut Command, limit: Duration, stop: &AtomicBool) -> Option<String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let pid = child.id();
    let output = Pipe::read(child.stdout.take()).inspect_err(|_| end_now(&mut child)).ok()?;
    let (status, hung) = await_end(&mut child, &output, limit, stop, &Phases::NONE).ok()?;
    platform::process::end_group(pid);
    let text = output.text(READ_WITHIN);
    (status.success() && !hung).then_some(text)
}

/// Waits for the worker's end, and kills the worker if that takes too long. Also returns whether it was killed.
fn await_end(
    child: &mut Child,
    output: &Pipe,
    limit: Duration,
    stop: &AtomicBool,
    phases: &Phases,
) -> Result<(ExitStatus, bool), CaseError> {
    let failed = |e| CaseError::from_io("waiting for a worker", &e);
    let mut deadline = Instant::now() + limit;
    let (mut stopping, mut said) = (false, false);
    loop {
        let event = output.next_event(LOOK_EVERY);
        if event == PipeEvent::FirstOutput {
            (phases.started)();
            continue;
        }
        // A worker closes its output just before it ends, unless a child process keeps it open.
        let closed = event == PipeEvent::Closed;
        if closed && !said {
            said = true;
            (phases.ended)();
        }
        if let Some(status) = child.try_wait().map_err(failed)? {
            // The worker may end before its closed output is noticed.
            if !said {
                (phases.ended)();
            }
            return Ok((status, false));
        }
        if Instant::now() >= deadline {
            // The worker may have ended in the meantime, so that there is no process to kill.
            let _ = child.kill();
            return Ok((child.wait().map_err(failed)?, true));
        }
        if !stopping && stop.load(Ordering::Relaxed) {
            stopping = true;
            deadline = deadline.min(Instant::now() + LAST_CHANCE);
        }
        if closed {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

/// Kills a worker whose output cannot be read.
fn end_now(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
    platform::cleanup::sweep(child.id());
}

/// A pipe that a thread reads continuously: otherwise a worker would block when the pipe is full.
struct Pipe {
    bytes: Arc<Mutex<Vec<u8>>>,
    /// One message for the first output; disconnected when the pipe is closed.
    events: Receiver<()>,
}

/// An event of a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PipeEvent {
    /// The first output was read; reported once.
    FirstOutput,
    /// The pipe was closed.
    Closed,
    /// There is no new event.
    Nothing,
}

impl Pipe {
    fn read(pipe: Option<impl Read + Send + 'static>) -> Result<Self, CaseError> {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (first, events) = channel();
        let kept = Arc::clone(&bytes);
        let reader = std::thread::Builder::new().spawn(move || {
            if let Some(pipe) = pipe {
                read_all(pipe, &kept, || _ = first.send(()));
            }
            drop(first);
        });
        reader.map_err(|e| not_created("a thread that reads from a worker", &e))?;
        Ok(Self { bytes, events })
    }

    /// Waits for at most `time`.
    fn next_event(&self, time: Duration) -> PipeEvent {
        match self.events.recv_timeout(time) {
            Ok(()) => PipeEvent::FirstOutput,
            Err(RecvTimeoutError::Disconnected) => PipeEvent::Closed,
            Err(RecvTimeoutError::Timeout) => PipeEvent::Nothing,
        }
    }

    /// The text that was read until the pipe was closed, or until `time` is over.
    fn text(&self, time: Duration) -> String {
        while self.next_event(time) == PipeEvent::FirstOutput {}
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Reads to the end, or to the limit of a worker's output; then the closed pipe ends the writer.
fn read_all(mut pipe: impl Read, kept: &Mutex<Vec<u8>>, on_first: impl FnOnce()) {
    let mut on_first = Some(on_first);
    let mut part = vec![0; 64 << 10];
    loop {
        match pipe.read(&mut part) {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            // The exit status reports the cause.
            Ok(0) | Err(_) => return,
            Ok(count) => {
                if let Some(report) = on_first.take() {
                    report();
                }
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&part[..count]);
                if kept.len() > OUTPUT_AT_MOST {
                    return;
                }
            }
        }
    }
}

/// Runs the untimed pass under a tracer, and adds the number of system calls to the worker's counts. It is unknown if the
/// worker leaves no marks between which to count.
fn launch_traced(
    command: &mut Command,
    limit: Duration,
    stop: &AtomicBool,
) -> Result<Report, CaseError> {
    let began = Instant::now();
    let Traced { output, calls } =
        platform::counters::tracer::count_system_calls(command, limit, stop, LAST_CHANCE)?;
    let hung = !output.status.success() && began.elapsed() >= limit;
    if !output.status.success() {
        platform::cleanup::sweep_dead();
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let with_calls = |line: Line| match line {
        Line::Counts(counts) => Line::Counts(OperationCounts {
            syscalls: calls.as_ref().map(|(calls, _)| *calls),
            calls: calls.iter().flat_map(|(_, names)| names.named()).collect(),
            ..counts
        }),
        other => other,
    };
    let text = text_of(parse_lines(&text).into_iter().map(with_calls));
    let end = match hung {
        true => hung_after(limit),
        false => end_of(&text, output.status, &String::from_utf8_lossy(&output.stderr)),
    };
    Ok(Report { text, end })
}

/// How the round ended, by its output.
pub(crate) fn reported_end(text: &str) -> Option<RoundEnd> {
    parse_lines(text).into_iter().find_map(|line| match line {
        Line::End(end) => Some(RoundEnd::Reported(end)),
        _ => None,
    })
}

/// How the round ended, by the worker's output, exit status and error output.
fn end_of(text: &str, status: ExitStatus, errors: &str) -> RoundEnd {
    match reported_end(text) {
        Some(end) => end,
        None => {
            let last_line = errors.lines().rfind(|line| !line.trim().is_empty());
            let last_line = last_line.map(|line| format!(": {}", line.trim())).unwrap_or_default();
            RoundEnd::Died(format!("the worker ended with {status}{last_line}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A single start that failed in Wine with ERROR_INTERNAL_ERROR ended the whole run of a system.
    #[test]
    fn an_error_of_the_system_costs_a_round_and_a_missing_program_ends_the_run() {
        const ERROR_INTERNAL_ERROR: i32 = 1359;
        let internal = std::io::Error::from_raw_os_error(ERROR_INTERNAL_ERROR);
        assert!(may_succeed_later(&internal));
        assert!(may_succeed_later(&ErrorKind::WouldBlock.into()));
        assert!(!may_succeed_later(&ErrorKind::NotFound.into()));
        assert!(!may_succeed_later(&ErrorKind::PermissionDenied.into()));
        let missing = &mut Command::new("/nowhere/oscost");
        let stop = AtomicBool::new(false);
        let limit = Duration::from_secs(1);
        assert!(launch_plainly(missing, limit, &stop, &Phases::NONE).is_err());
    }

    #[test]
    fn the_end_that_a_worker_reports_counts_or_else_its_last_error() {
        let status = ExitStatus::default();
        let text = "{\"end\":{\"outcome\":\"unsupported\",\"reason\":\"no\"}}\n";
        let unsupported = Err(CaseError::Unsupported("no".into()));
        assert_eq!(end_of(text, status, ""), RoundEnd::Reported(unsupported));
        // Without a report it is the last line of its errors.
        let died = end_of("{\"ser", status, "x\nsemop: oh\n\n");
        let RoundEnd::Died(reason) = died else { panic!("it has not ended") };
        assert!(reason.ends_with(": semop: oh"), "{reason}");
    }

    #[test]
    fn how_a_round_ended_is_stored_as_it_always_was() {
        let unsupported = RoundEnd::Reported(Err(CaseError::Unsupported("no".into())));
        for (end, stored) in [
            (RoundEnd::Reported(Ok(())), r#"{"reported":{"outcome":"measured"}}"#),
            (unsupported, r#"{"reported":{"outcome":"unsupported","reason":"no"}}"#),
            (RoundEnd::Died("killed by \"9\"\n".into()), r#"{"died":"killed by \"9\"\n"}"#),
            (RoundEnd::Hung(String::new()), r#"{"hung":""}"#),
        ] {
            assert_eq!(serde_json::to_string(&end).unwrap(), stored);
            assert_eq!(serde_json::from_str::<RoundEnd>(stored).unwrap(), end);
        }
    }

    /// Runs a shell script like a worker; returns its output, and whether it was killed.
    #[cfg(unix)]
    fn shell(script: &str, limit: Duration, stop: bool) -> (String, bool) {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = Pipe::read(child.stdout.take()).unwrap();
        let _errors = Pipe::read(child.stderr.take()).unwrap();
        let stop = AtomicBool::new(stop);
        let (_, hung) = await_end(&mut child, &output, limit, &stop, &Phases::NONE).unwrap();
        (output.text(LAST_CHANCE), hung)
    }

    #[test]
    #[cfg(unix)]
    fn the_phases_of_a_worker_are_reported_once_each_in_their_order() {
        let order = std::cell::RefCell::new(Vec::new());
        let phases = Phases {
            started: &|| order.borrow_mut().push("started"),
            ended: &|| order.borrow_mut().push("ended"),
        };
        for (script, phases_of_it, output) in [
            ("echo; echo said; exec >&-; sleep 0.1", vec!["started", "ended"], "said\n"),
            ("echo; sleep 0.1; echo", vec!["started", "ended"], "\n"),
            ("exec >&-", vec!["ended"], ""),
        ] {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            let (limit, stop) = (Duration::from_secs(60), AtomicBool::new(false));
            let made = launch_plainly(&mut command, limit, &stop, &phases).unwrap();
            assert_eq!((order.take(), made.text.as_str()), (phases_of_it, output), "{script}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn no_worker_holds_up_the_run() {
        let long = Duration::from_secs(60);
        for (script, limit, stop, output, hung) in [
            ("echo all is well", long, false, "all is well\n", false),
            ("head -c 1000000 /dev/zero >&2; echo I wrote", long, false, "I wrote\n", false),
            ("sleep 3 & echo my child goes on", long, false, "my child goes on\n", false),
            ("exec >&-; exec sleep 60", Duration::from_millis(100), false, "", true),
            ("echo so far; exec sleep 60", Duration::from_secs(2), false, "so far\n", true),
            ("exec sleep 60", long, true, "", true),
        ] {
            assert_eq!(shell(script, limit, stop), (output.to_owned(), hung), "{script}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn endless_output_is_cut_off() {
        let (output, hung) = shell("exec cat /dev/zero", Duration::from_secs(60), false);
        assert!(!hung && (OUTPUT_AT_MOST..OUTPUT_AT_MOST * 2).contains(&output.len()));
    }
}

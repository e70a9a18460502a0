//! The coordinator's side of the worker that runs commands.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use measure::CaseError;
use platform::counters::tracer::{Traced, count_system_calls};
use platform::process::inherited::not_created;

use super::order::{Counting, Order, Output, Reply, Settings};
use super::worker::COMMANDS;
use catalog::worker::worker;

/// Interval of checks for requests to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Time beyond all time limits after which the worker itself is taken to hang.
const GRACE: Duration = Duration::from_secs(30);

/// A worker that runs commands. It ends, with what it started, when this is dropped.
pub struct Session<'a> {
    settings: Settings,
    stop: &'a AtomicBool,
    running: Option<Running>,
}

struct Running {
    child: Child,
    orders: ChildStdin,
    replies: Receiver<std::io::Result<String>>,
}

impl<'a> Session<'a> {
    /// A session whose worker starts with the first order.
    pub fn new(
        output: Output,
        input: Option<std::path::PathBuf>,
        counting: Counting,
        stop: &'a AtomicBool,
    ) -> Self {
        let parent = Some(std::process::id());
        Self { settings: Settings { parent, output, input, counting }, stop, running: None }
    }

    /// Makes runs. `None` if this process was requested to stop meanwhile.
    ///
    /// # Errors
    /// If no worker can be started, or it died.
    pub fn execute(&mut self, order: &Order) -> Result<Option<Reply>, CaseError> {
        let result = self.exchange(order);
        if !matches!(result, Ok(Some(_))) {
            self.end();
        }
        result
    }

    fn exchange(&mut self, order: &Order) -> Result<Option<Reply>, CaseError> {
        let running = match &mut self.running {
            Some(running) => running,
            None => self.running.insert(start(&self.settings)?),
        };
        let line = serde_json::to_string(order).expect("an order has only plain values");
        let sent = writeln!(running.orders, "{line}").and_then(|()| running.orders.flush());
        sent.map_err(|_| died(&mut running.child))?;
        let processes = u32::try_from(order.runs).unwrap_or(u32::MAX).saturating_mul(3);
        let limit = Duration::from_millis(order.limit_ms).saturating_mul(processes) + GRACE;
        let began = Instant::now();
        loop {
            match running.replies.recv_timeout(LOOK_EVERY) {
                Ok(Ok(line)) => {
                    let reply = serde_json::from_str(&line);
                    return reply.map(Some).map_err(|e| {
                        CaseError::Failed(format!("the worker's reply cannot be read: {e}"))
                    });
                }
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(died(&mut running.child));
                }
                Err(RecvTimeoutError::Timeout) if self.stop.load(Ordering::Relaxed) => {
                    return Ok(None);
                }
                Err(RecvTimeoutError::Timeout) if began.elapsed() >= limit => {
                    let reason = "the worker that runs commands did not reply";
                    return Err(CaseError::TimedOut(reason.to_owned()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Lets the worker end, which runs nothing.
    fn finish(&mut self) {
        if let Some(Running { mut child, orders, .. }) = self.running.take() {
            drop(orders);
            let _ = child.wait();
        }
    }

    /// Ends the worker, with the commands that it runs.
    fn end(&mut self) {
        if let Some(Running { mut child, orders, .. }) = self.running.take() {
            let pid = child.id();
            drop(orders);
            platform::process::end_group(pid);
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // After an order was not carried out, the worker has been ended.
        self.finish();
    }
}

fn start(settings: &Settings) -> Result<Running, CaseError> {
    let mut command = worker(COMMANDS.name, settings);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().map_err(|e| not_created("a worker", &e))?;
    let (Some(orders), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(CaseError::Failed("the worker has no pipes".to_owned()));
    };
    let (sender, replies) = channel();
    let read = move || {
        for line in BufReader::new(output).lines() {
            if sender.send(line).is_err() {
                return;
            }
        }
    };
    if let Err(e) = std::thread::Builder::new().spawn(read) {
        let _ = child.kill();
        let _ = child.wait();
        return Err(not_created("a thread that reads from a worker", &e));
    }
    Ok(Running { child, orders, replies })
}

/// The error of a worker that ended by itself.
fn died(child: &mut Child) -> CaseError {
    let how = child.wait().map_or_else(|e| e.to_string(), |status| status.to_string());
    CaseError::Failed(format!("the worker that runs commands ended: {how}"))
}

/// System calls of one run of a command under a tracer; `None` if they are not known.
///
/// # Errors
/// If no worker can be traced.
pub fn traced_calls(
    settings: &Settings,
    order: &Order,
    stop: &AtomicBool,
) -> Result<Option<u64>, CaseError> {
    /// Time for which the worker may continue after a request to stop.
    const LAST_CHANCE: Duration = Duration::from_millis(500);
    let settings = Settings { parent: None, counting: Counting::Marks, ..settings.clone() };
    let mut command = worker(COMMANDS.name, &settings);
    let (reader, mut writer) = std::io::pipe()?;
    command.stdin(reader);
    let line = serde_json::to_string(order).expect("an order has only plain values") + "\n";
    // An order may be longer than a pipe holds.
    std::thread::Builder::new().spawn(move || {
        let _ = writer.write_all(line.as_bytes());
    })?;
    let limit = Duration::from_millis(order.limit_ms).saturating_mul(3) + GRACE;
    let Traced { calls, .. } = count_system_calls(&mut command, limit, stop, LAST_CHANCE)?;
    Ok(calls.map(|(calls, _)| calls))
}

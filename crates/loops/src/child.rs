//! A plain loop in a child process, which is ended if it takes too long.

use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use tempfile::TempDir;

use crate::answer::Answer;
use crate::operations;
use crate::run::Ask;
use crate::tasks;

/// Time for a child that is asked to end to remove its files.
const REMOVES_WITHIN: Duration = Duration::from_millis(300);

/// Pid of the child that runs now, with its own process group; 0 if there is none.
static RUNNING: AtomicI32 = AtomicI32::new(0);
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Asks the running child to end, so that its files are removed; no further child is started. For a handler of signals.
pub fn interrupt() {
    INTERRUPTED.store(true, Ordering::SeqCst);
    signal_group(RUNNING.load(Ordering::SeqCst), libc::SIGTERM);
}

/// Whether this process was asked to end.
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// Starts `command` in a separate process group, and returns its standard output when it has ended. A child that takes longer
/// than `limit` is killed with its whole group.
///
/// # Errors
/// An error if the command cannot be started, takes too long, or ends with an exit code that `accepts` rejects.
pub fn output_of(
    command: &mut Command,
    limit: Duration,
    accepts: fn(i32) -> bool,
) -> anyhow::Result<String> {
    ensure!(!is_interrupted(), "interrupted");
    // A pipe that is closed at once serves as /dev/null, which not all systems have.
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.process_group(0).spawn().context("starting a child process")?;
    drop(child.stdin.take());
    RUNNING.store(child.id() as i32, Ordering::SeqCst);
    let output = read_all(&mut child, limit);
    if output.is_err() {
        signal_group(child.id() as i32, libc::SIGTERM);
        std::thread::sleep(REMOVES_WITHIN);
        signal_group(child.id() as i32, libc::SIGKILL);
    }
    let mut reason = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        // Output that is not text is ignored, since it cannot be printed as a reason.
        let _ = stderr.read_to_string(&mut reason);
    }
    let status = child.wait()?;
    tasks::reap();
    RUNNING.store(0, Ordering::SeqCst);
    ensure!(!is_interrupted(), "interrupted");
    let output = output?;
    match status.code() {
        Some(code) if accepts(code) => Ok(output),
        _ => bail!("{status}: {}", why(&reason)),
    }
}

/// The reason in the standard error of a process that failed: the message of a panic, or the last line.
fn why(errors: &str) -> &str {
    let mut lines = errors.lines();
    let of_panic = lines.find(|line| line.contains("panicked at")).and_then(|_| lines.next());
    of_panic.or(errors.lines().last()).unwrap_or_default()
}

/// Reads until the child's standard output is closed.
fn read_all(child: &mut Child, limit: Duration) -> anyhow::Result<String> {
    let mut stdout = child.stdout.take().context("a child without standard output")?;
    let (began, mut text, mut part) = (Instant::now(), Vec::new(), [0; 4096]);
    loop {
        let left = limit.saturating_sub(began.elapsed());
        let mut ready = libc::pollfd { fd: stdout.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `ready` is one such entry.
        let count = unsafe { libc::poll(&mut ready, 1, left.as_millis() as i32) };
        ensure!(count == 1, "has not ended within {} s", limit.as_secs_f64());
        match stdout.read(&mut part)? {
            0 => return Ok(String::from_utf8(text)?),
            got => text.extend_from_slice(&part[..got]),
        }
    }
}

fn signal_group(group: i32, signal: i32) {
    if group > 0 {
        // SAFETY: takes two numbers; if the group has ended meanwhile, the error needs no handling.
        unsafe { libc::kill(-group, signal) };
    }
}

/// Runs a plain loop in a child process, `command` without the arguments that the loop needs, with a new empty folder.
///
/// # Errors
/// An error if the loop fails, or has not ended within `limit`.
pub fn run_in_child(mut command: Command, ask: &Ask, limit: Duration) -> anyhow::Result<Answer> {
    let folder = folder_for(&ask.operation)?;
    let command = ask.put_into(&mut command).current_dir(folder.path());
    let printed = output_of(command, limit, |code| code == 0)?;
    printed.parse().with_context(|| format!("printed {:?}", printed.lines().next()))
}

/// A new folder in the directory that the operation names, or in that for temporary files, or where a system has none, in its root.
fn folder_for(operation: &str) -> anyhow::Result<TempDir> {
    let mut folder = tempfile::Builder::new();
    let folder = folder.prefix("oscost-independent-");
    let params = operations::named(operation).map_or(&[][..], |operation| operation.params);
    match params.iter().find(|(name, _)| *name == "dir") {
        Some((_, parent)) => folder.tempdir_in(parent).context(*parent),
        None => folder.tempdir().or_else(|_| folder.tempdir_in("/")).context("a folder"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_failure_is_one_line() {
        let panic =
            "thread 'main' panicked at a.rs:1:2:\nposix_spawn\nnote: run with `RUST_BACKTRACE=1`\n";
        let lines = ["", "open: No such file\n", "a\nb\n", panic].map(why);
        assert_eq!(lines, ["", "open: No such file", "b", "posix_spawn"]);
    }
}

//! A plain loop in a child process: the bench starts the child and reads its time; the child runs the loop.

use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use crate::linux::calls::{must, pin};
use crate::linux::operation::Operation;
use crate::linux::operations;
use crate::linux::setting::Setting;
use crate::linux::tasks::fork;

/// Time for which operations are timed.
const LENGTH: Duration = Duration::from_millis(500);
/// Time after which a loop is killed.
const ENDS_WITHIN: Duration = Duration::from_secs(20);
/// Time for a child that is asked to end to remove its files.
const REMOVES_WITHIN: Duration = Duration::from_millis(300);

/// Pid of the child that runs now, with its own process group; 0 if there is none.
static RUNNING: AtomicI32 = AtomicI32::new(0);
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Result of a plain loop.
pub struct Plain {
    /// Time of one operation in ns.
    pub ns: f64,
    /// Context switches of the measuring thread per operation.
    pub switches: f64,
}

/// Makes a signal that ends this process first end the running child, so that the child's files are removed.
///
/// # Errors
/// Errors of the system calls.
pub fn end_loops_with_this_process() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        INTERRUPTED.store(true, Ordering::SeqCst);
        signal_group(RUNNING.load(Ordering::SeqCst), libc::SIGTERM);
    })?;
    Ok(())
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
    ensure!(!INTERRUPTED.load(Ordering::SeqCst), "interrupted");
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.process_group(0).spawn().context("starting a child process")?;
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
    RUNNING.store(0, Ordering::SeqCst);
    ensure!(!INTERRUPTED.load(Ordering::SeqCst), "interrupted");
    let output = output?;
    match status.code() {
        Some(code) if accepts(code) => Ok(output),
        _ => bail!("{status}: {}", reason.lines().last().unwrap_or_default()),
    }
}

/// Reads until the child's standard output is closed. Both programs print at their end.
fn read_all(child: &mut Child, limit: Duration) -> anyhow::Result<String> {
    let mut stdout = child.stdout.take().context("a child without standard output")?;
    let mut ready = libc::pollfd { fd: stdout.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: `ready` is one such entry.
    let count = unsafe { libc::poll(&mut ready, 1, limit.as_millis() as i32) };
    ensure!(count == 1, "has not ended within {} s", limit.as_secs());
    let mut text = String::new();
    stdout.read_to_string(&mut text)?;
    Ok(text)
}

fn signal_group(group: i32, signal: i32) {
    if group > 0 {
        // SAFETY: takes two numbers; if the group has ended meanwhile, the error needs no handling.
        unsafe { libc::kill(-group, signal) };
    }
}

/// Runs the plain loop of `operation` in a fresh child process with a separate empty folder.
///
/// # Errors
/// An error if the loop fails or takes too long.
pub fn run_in_child(operation: &Operation, awake: bool) -> anyhow::Result<Plain> {
    let mut folder = tempfile::Builder::new();
    let folder = folder.prefix("oscost-independent-");
    let folder = match operation.params.iter().find(|(name, _)| *name == "dir") {
        Some((_, parent)) => folder.tempdir_in(parent)?,
        None => folder.tempdir()?,
    };
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--plain-loop", &operation.to_string()]).current_dir(folder.path());
    if awake {
        command.arg("--awake");
    }
    let printed = output_of(&mut command, ENDS_WITHIN, |code| code == 0)?;
    let numbers: Vec<f64> =
        printed.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [ns, switches] = numbers[..] else { bail!("printed {printed:?} instead of two numbers") };
    ensure!(ns > 0.0 && ns.is_finite(), "one operation took {ns} ns");
    Ok(Plain { ns, switches })
}

/// Runs in the child process: runs the loop in the working directory, and prints the time of one operation in ns and its context
/// switches. If `awake`, other processes keep all CPUs busy meanwhile: they compute, at the lowest priority.
///
/// # Errors
/// An error if there is no such operation.
pub fn run_here(name: &str, awake: bool) -> anyhow::Result<()> {
    // SAFETY: takes two numbers.
    must("prctl", unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM as libc::c_ulong) });
    let operation = operations::all().find(|operation| operation.to_string() == name);
    let operation = operation.with_context(|| format!("no operation is called {name:?}"))?;
    let setting = Setting::new(LENGTH, std::env::current_dir()?);
    if awake {
        setting.cpus().iter().for_each(|&cpu| keep_awake(cpu));
    }
    let timed = (operation.plain)(&setting);
    ensure!(timed.operations > 0, "no operation was made");
    println!("{} {}", timed.ns(), timed.switches as f64 / timed.operations as f64);
    Ok(())
}

/// Starts a process that computes on this CPU whenever no other thread wants to run there, until this process ends.
fn keep_awake(cpu: usize) {
    fork(|| {
        pin(&[cpu]);
        let lowest = libc::sched_param { sched_priority: 0 };
        // SAFETY: the parameters are valid.
        must("sched_setscheduler", unsafe {
            libc::sched_setscheduler(0, libc::SCHED_IDLE, &lowest)
        });
        loop {
            std::hint::spin_loop();
        }
    });
}

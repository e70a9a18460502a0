//! Worker processes. A worker is this program, started again for a single task.

use std::path::{Path, PathBuf};
use std::process::Command;

use measure::CaseError;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The first argument of a worker; the others are its task and its order as JSON.
pub const WORKER: &str = "worker";

/// A task that an area gives to workers of its own, such as to run a server.
pub struct Task {
    /// Name of the task; no two areas have the same.
    pub name: &'static str,
    /// Carries out an order, which is JSON.
    pub run: fn(&str) -> Result<(), CaseError>,
}

/// The arguments of a worker's process.
pub fn worker_arguments(task: &str, order: &impl Serialize) -> [String; 3] {
    let order = serde_json::to_string(order).expect("an order has only plain values");
    [WORKER.to_owned(), task.to_owned(), order]
}

/// The command that starts a worker.
pub fn worker(task: &str, order: &impl Serialize) -> Command {
    let mut command = worker_without_arguments();
    command.args(worker_arguments(task, order));
    command
}

/// The command that starts a worker, without its arguments. Ctrl-C in a terminal does not reach it.
pub fn worker_without_arguments() -> Command {
    let mut command = Command::new(this_program());
    platform::process::keep_interrupts_from(&mut command);
    command
}

/// The order of a worker.
///
/// # Errors
/// `Failed` if the text is no such order.
pub fn read_order<T: DeserializeOwned>(text: &str) -> Result<T, CaseError> {
    serde_json::from_str(text)
        .map_err(|e| CaseError::Failed(format!("this is not a worker's order: {e}")))
}

/// Restricts this process to these CPUs, if there are any.
///
/// # Errors
/// The error of the system call.
pub fn keep_to(cpus: &[usize]) -> Result<(), CaseError> {
    if cpus.is_empty() { Ok(()) } else { platform::cpu::keep_process_to(cpus) }
}

/// The file of this program. On Linux, `/proc` may be missing, or the file may have been replaced since this process
/// started; `/proc/self/exe` still refers to the running file.
fn this_program() -> PathBuf {
    const SELF: &str = "/proc/self/exe";
    match std::env::current_exe() {
        Ok(path) if path.exists() => path,
        Ok(_) if Path::new(SELF).exists() => SELF.into(),
        _ => std::env::args_os().next().unwrap_or_else(|| "oscost".into()).into(),
    }
}

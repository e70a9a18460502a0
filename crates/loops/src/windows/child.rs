//! A plain loop in a child process. One that takes too long is ended by the coordinator with the system.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::answer::Answer;
use crate::run::Ask;

/// Runs a plain loop in a child process, `command` without the arguments that the loop needs, with a new empty folder.
///
/// # Errors
/// An error if the loop fails.
pub fn run_in_child(mut command: Command, ask: &Ask, _: Duration) -> anyhow::Result<Answer> {
    let folder = tempfile::Builder::new().prefix("oscost-independent-").tempdir()?;
    let output = ask.put_into(&mut command).current_dir(folder.path()).output()?;
    let reason = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}: {}", output.status, reason.trim());
    std::str::from_utf8(&output.stdout)?.parse().context("an answer")
}

//! Running one plain loop in this process.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::answer::Answer;
use crate::operations;
use crate::setting::Setting;
use crate::tasks;

/// A loop that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Name of the operation, as `Operation` displays it.
    pub operation: String,
    /// Time for which operations are timed.
    pub length: Duration,
    /// Time for which operations are repeated before that.
    pub warm_up: Duration,
    /// Whether other processes keep all CPUs busy meanwhile: they compute, at the lowest priority.
    pub awake: bool,
}

impl Ask {
    /// Gives a command that runs a loop in a child process its arguments.
    pub(crate) fn put_into<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let ms = |time: Duration| time.as_millis().to_string();
        command.arg(&self.operation);
        command.args(["--ms", &ms(self.length), "--warm-up-ms", &ms(self.warm_up)]);
        command.args(self.awake.then_some("--awake"))
    }
}

/// Runs a loop in this process, which has one thread, with the working directory as its folder. `program` is the file that
/// operations open. A call that fails ends the process.
///
/// # Errors
/// An error if there is no such operation, or none was made.
pub fn run(ask: &Ask, program: PathBuf) -> anyhow::Result<Answer> {
    tasks::end_with_parent();
    let operation = operations::named(&ask.operation)
        .with_context(|| format!("no operation is called {:?}", ask.operation))?;
    let setting = Setting::new(ask.length, ask.warm_up, std::env::current_dir()?, program);
    if ask.awake {
        tasks::keep_awake(setting.cpus());
    }
    let timed = (operation.plain)(&setting);
    ensure!(timed.operations > 0, "no operation was made");
    Ok(timed.answer())
}

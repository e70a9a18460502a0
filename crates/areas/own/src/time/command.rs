//! The case: one command of the user.

use measure::{CaseError, Params, Round};

use super::metrics;
use catalog::{Case, Param, Trials};

/// Full name of the case.
pub const CASE_NAME: &str = "time/command";
/// The parameter `command`: the command line that the user typed, or the name given to it.
pub const COMMAND: &str = "command";
/// The parameter `prepare`: the command line that runs before each run of the command.
pub const PREPARE: &str = "prepare";
/// The parameter `shell`: the shell that runs the command line.
pub const SHELL: &str = "shell";

/// The case. Its runs are made by `super::timing`, not in rounds of their own process.
pub const CASE: Case = Case {
    operation: "The command from before its process is started until it has ended and been waited for.",
    comparable_to: "hyperfine's time includes the same, but it subtracts the mean time of starting the shell.",
    trials: Some(Trials { counted: true, ..Trials::new(|_| std::time::Duration::from_secs(1)) }),
    params: &[
        Param::new(COMMAND, &["true"]).meaning("the command"),
        Param::new(PREPARE, &["true"])
            .meaning("a command that is run before each run of it, off the clock"),
        Param::new(SHELL, &["none"])
            .meaning("the shell that runs it, which is part of the time")
            .full(&["none", "sh"]),
    ],
    metrics: metrics::COMMAND,
    runs_user_code: true,
    run: only_by_its_command,
    ..Case::new("time", "command")
};

fn only_by_its_command(_params: &Params, _round: &mut Round) -> Result<(), CaseError> {
    Err(CaseError::Unsupported("commands are measured by `oscost time`".to_owned()))
}

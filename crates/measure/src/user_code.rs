//! The user's own code that a round measures, with settings that are no parameters of the case, since they do not
//! distinguish points.

use serde::{Deserialize, Serialize};

/// A function or a command of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UserCode {
    /// A function in a shared library.
    Library(LibraryFile),
    /// A command.
    Command(CommandLine),
}

/// A shared library with a function to measure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryFile {
    /// Absolute path.
    pub path: String,
    /// Checksum of the contents when the run was planned.
    pub checksum: u32,
    /// Maximum memory that the function may use, in bytes.
    pub memory: u64,
}

/// A command to measure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Program and arguments of a command that is run before, off the clock; empty if there is none.
    pub prepare: Vec<String>,
    /// Time limit for both commands together, in ms.
    pub limit_ms: u64,
    /// Whether the commands' output is passed on to standard error instead of discarded.
    pub show_output: bool,
    /// Whether exit codes other than 0 are accepted.
    pub ignore_failure: bool,
    /// Whether the command is run once more, untimed, to count its system calls.
    pub count: bool,
}

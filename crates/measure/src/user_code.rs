//! The user's own code that a round measures, with what is no parameter of its case: it does not tell one measurement from
//! another.

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
    /// Its absolute path.
    pub path: String,
    /// Checksum of its contents when the run was planned.
    pub checksum: u32,
    /// How much memory it may use, in bytes.
    pub memory: u64,
}

/// A command to measure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The program and the arguments of a command to be run before it, off the clock; empty if there is none.
    pub prepare: Vec<String>,
    /// Time limit for both together, in ms.
    pub limit_ms: u64,
    /// Whether their output is passed on to standard error. Otherwise it is discarded.
    pub show_output: bool,
    /// Whether an exit code other than 0 is no failure.
    pub ignore_failure: bool,
    /// Whether it is run once more, untimed, to count its system calls.
    pub count: bool,
}

//! What the coordinator asks of the worker that runs commands, and what it replies; each is a line of JSON.

use std::path::PathBuf;
use std::time::Duration;

use measure::CaseError;
use platform::counters::SyscallCounting;
use platform::process::command::{Exit, Finished};
use serde::{Deserialize, Serialize};

/// Where the output of commands goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Output {
    /// The null device.
    Null,
    /// A pipe, from which it is read and discarded.
    Pipe,
    /// Standard error of this program.
    Inherit,
    /// A file, which is created for each run anew.
    File(PathBuf),
}

/// The settings of a worker: the order on its command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The pid of the coordinator, if it starts the worker directly.
    pub parent: Option<u32>,
    /// Where the commands' output goes.
    pub output: Output,
    /// The file that is the commands' standard input; the null device if `None`.
    pub input: Option<PathBuf>,
    /// How system calls are counted.
    pub counting: Counting,
}

/// How system calls are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counting {
    /// Not at all.
    None,
    /// By the kernel's tracepoint with this number.
    Tracepoint(u64),
    /// By the tracer of this process, for which the command is marked.
    Marks,
}

impl From<Counting> for SyscallCounting {
    fn from(counting: Counting) -> Self {
        match counting {
            Counting::None => Self::None,
            Counting::Tracepoint(id) => Self::Tracepoint(id),
            Counting::Marks => Self::Marks,
        }
    }
}

/// Runs of a command, with what is run before and after each of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Program and arguments.
    pub words: Vec<String>,
    /// Program and arguments of what prepares each run; empty for none.
    pub before: Vec<String>,
    /// Program and arguments of what follows each run; empty for none.
    pub after: Vec<String>,
    /// Number of runs.
    pub runs: usize,
    /// Time limit of each process, in ms.
    pub limit_ms: u64,
    /// Whether the first run that does not end with exit code 0 is the last.
    pub stops_at_failure: bool,
}

/// One run of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Elapsed time in ns.
    pub ns: u64,
    /// How it ended.
    pub exit: Exit,
    /// Whether processes were left behind, and ended.
    pub left: bool,
    /// CPU time in user mode, and in the kernel, in ns.
    pub cpu_ns: Option<[u64; 2]>,
    /// Maximum resident memory in bytes.
    pub max_resident: Option<u64>,
    /// Voluntary and involuntary context switches.
    pub switches: [Option<u64>; 2],
    /// Page faults.
    pub page_faults: Option<u64>,
    /// System calls, if they were counted by this process.
    pub syscalls: Option<u64>,
}

/// The reply to an order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The runs that were made.
    pub runs: Vec<Run>,
    /// Why no further runs were made, besides the last run's own exit.
    #[serde(with = "measure::record::end")]
    pub end: Result<(), CaseError>,
}

impl From<Finished> for Run {
    fn from(finished: Finished) -> Self {
        let ns = |time: Duration| time.as_nanos() as u64;
        Self {
            ns: ns(finished.elapsed),
            exit: finished.exit,
            left: finished.left_processes,
            cpu_ns: finished.user.zip(finished.system).map(|(user, system)| [ns(user), ns(system)]),
            max_resident: finished.max_resident,
            switches: [finished.voluntary_switches, finished.involuntary_switches],
            page_faults: finished.page_faults,
            syscalls: finished.syscalls,
        }
    }
}

impl Run {
    /// Whether it ended with exit code 0.
    pub fn succeeded(&self) -> bool {
        self.exit == Exit::Code(0)
    }
}

/// How a process ended, in words that follow its name.
pub fn in_words(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("ended with exit code {code}"),
        Exit::Signal(signal) => match signal_name(signal) {
            Some(name) => format!("was ended by signal {signal} ({name})"),
            None => format!("was ended by signal {signal}"),
        },
        Exit::TimeLimit => "did not end within --time-limit, and was killed".to_owned(),
    }
}

/// Names of the signals that have the same number on all systems (POSIX, kill(1)), and of memory errors.
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        _ => return None,
    })
}

use std::time::Duration;

use measure::{CaseError, Metric, Params, Round};

/// One measured thing, with its definition card.
pub struct Case {
    /// The family it belongs to, which is also its folder.
    pub area: &'static str,
    /// Its name within the area.
    pub name: &'static str,
    /// One sentence that says what one operation is.
    pub operation: &'static str,
    /// How it relates to look-alikes elsewhere.
    pub comparable_to: &'static str,
    /// Where it exists.
    pub only: Only,
    /// Whether the core's frequency bounds the time of one operation on a CPU of its own: then it is estimated in core
    /// cycles. Not so what waits for memory, other cores, devices or timers, nor what is a trial.
    pub core_bound: bool,
    /// How its rounds are measured where each is one whole trial; `None` where its operation is timed in batches.
    pub trials: Option<Trials>,
    /// Its parameters.
    pub params: &'static [Param],
    /// Its metrics beside the time of one operation.
    pub metrics: &'static [Metric],
    /// Set-up, the operation, tear-down.
    pub run: fn(&Params, &mut Round) -> Result<(), CaseError>,
}

/// Where a case exists; elsewhere it is unsupported for the reason given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    /// On every system.
    Everywhere,
    /// On Linux.
    Linux(&'static str),
    /// On Linux, the BSDs and macOS.
    Unix(&'static str),
    /// On Windows.
    Windows(&'static str),
    /// On x86-64 processors.
    X86_64(&'static str),
}

/// A parameter of a case.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What an ordinary run measures: few, telling values.
    pub default: &'static [&'static str],
    /// What `--full` measures.
    pub full: &'static [&'static str],
    /// What values it takes.
    pub takes: Takes,
}

/// What values a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Its default and full values, and these further words.
    Words(&'static [&'static str]),
    /// Any count from 1 to this.
    Count(u64),
    /// Any duration from 100 ns to an hour, which `--scale` shortens.
    Length,
    /// Any number of bytes from 0 to this, such as 4k.
    Size(u64),
    /// Any number of bytes from 1 to this, such as 256m, or `4xllc`: four times the last-level cache.
    Footprint(u64),
    /// Two CPUs, such as 0-3, or `first-last`: the first and the last that the process may use.
    CpuPair,
    /// A directory by its full path, or a word that stands for one.
    Directory,
}

/// How a case is measured whose rounds are whole trials.
#[derive(Debug, Clone, Copy)]
pub struct Trials {
    /// About how long one takes.
    pub takes: fn(&Params) -> Duration,
    /// The command that asks for it, where a run does not measure it unasked.
    pub only_by: Option<&'static str>,
    /// Whether the untimed pass runs it too: then it calls `Round::count_trial` in it.
    pub counted: bool,
    /// A point gets no more trials than this.
    pub at_most: usize,
    /// Which points a run of this extent has, where no parameter was given by hand.
    pub includes: fn(&Params, Extent) -> bool,
}

/// How much a run measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// `--quick`.
    Quick,
    /// Neither.
    Ordinary,
    /// `--full`.
    Full,
}

impl Trials {
    /// The usual way, about so long.
    pub const fn new(takes: fn(&Params) -> Duration) -> Self {
        fn all(_params: &Params, _extent: Extent) -> bool {
            true
        }
        Self { takes, only_by: None, counted: false, at_most: usize::MAX, includes: all }
    }
}

impl Case {
    /// `area/name`.
    pub fn label(&self) -> String {
        format!("{}/{}", self.area, self.name)
    }

    /// Why this system has no such thing; `None` if it may have it.
    pub fn missing_here(&self) -> Option<&'static str> {
        let (here, reason) = match self.only {
            Only::Everywhere => return None,
            Only::Linux(reason) => (std::env::consts::OS == "linux", reason),
            Only::Unix(reason) => (std::env::consts::FAMILY == "unix", reason),
            Only::Windows(reason) => (std::env::consts::OS == "windows", reason),
            Only::X86_64(reason) => (std::env::consts::ARCH == "x86_64", reason),
        };
        if here { None } else { Some(reason) }
    }
}

/// The value of a parameter.
///
/// # Errors
/// `Failed` if it was not given: the planner gives every parameter a case has.
pub fn value_of<'a>(params: &'a Params, name: &str) -> Result<&'a str, CaseError> {
    let missing = || CaseError::Failed(format!("the parameter {name} is missing"));
    params.get(name).map(String::as_str).ok_or_else(missing)
}

/// The value of a parameter that is a count.
///
/// # Errors
/// `Failed` if it was not given or is not a count.
pub fn count_of(params: &Params, name: &str) -> Result<usize, CaseError> {
    let text = value_of(params, name)?;
    let wrong = |e: &dyn std::fmt::Display| CaseError::Failed(format!("parameter {name}: {e}"));
    let count = measure::count::parse_count(text).map_err(|e| wrong(&e))?;
    usize::try_from(count).map_err(|e| wrong(&e))
}

/// The value of a parameter that is a number of bytes.
///
/// # Errors
/// `Failed` if it was not given or is no such number.
pub fn size_of(params: &Params, name: &str) -> Result<usize, CaseError> {
    count_of(params, name)
}

/// The value of a parameter that is a duration.
///
/// # Errors
/// `Failed` if it was not given or is not a duration.
pub fn length_of(params: &Params, name: &str) -> Result<Duration, CaseError> {
    let text = value_of(params, name)?;
    measure::count::parse_duration(text)
        .map_err(|e| CaseError::Failed(format!("parameter {name}: {e}")))
}

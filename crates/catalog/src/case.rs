use std::path::PathBuf;
use std::time::Duration;

use measure::count::ParseUnitError;
use measure::{CaseError, Metric, Params, Round};

/// A case: one measured operation, with its definition.
pub struct Case {
    /// Name of the area, which is also the name of its folder.
    pub area: &'static str,
    /// Name within the area.
    pub name: &'static str,
    /// What one operation is, in one sentence.
    pub operation: &'static str,
    /// Similar measurements of other tools, and how they differ.
    pub comparable_to: &'static str,
    /// The systems on which the case exists.
    pub only: Only,
    /// Whether the time of one operation on an otherwise idle CPU depends only on the core's frequency; if so, it is
    /// estimated in core cycles. False for operations that wait for memory, other cores, devices or timers, and for
    /// trials.
    pub core_bound: bool,
    /// How trials are measured, if each round is one trial; `None` if the operation is timed in batches.
    pub trials: Option<Trials>,
    /// Parameters of the case.
    pub params: &'static [Param],
    /// Metrics besides the time of one operation.
    pub metrics: &'static [Metric],
    /// Whether each of its points runs other code, which the user gave: nothing learned of one point holds for another.
    pub runs_user_code: bool,
    /// Runs one round: set-up, the operation, tear-down.
    pub run: Run,
}

/// Function that runs one round of a case.
pub type Run = fn(&Params, &mut Round) -> Result<(), CaseError>;

/// The systems on which a case exists, with the reason why it is unsupported on others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    /// Exists on every system.
    Everywhere,
    /// Exists on Linux.
    Linux(&'static str),
    /// Exists on Linux, the BSDs and macOS.
    Unix(&'static str),
    /// Exists on Windows.
    Windows(&'static str),
    /// Exists on x86-64 processors.
    X86_64(&'static str),
}

/// A parameter of a case.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// Name of the parameter.
    pub name: &'static str,
    /// Meaning of the parameter, in words.
    pub meaning: &'static str,
    /// Values that a default run measures: few, and as different as possible.
    pub default: &'static [&'static str],
    /// Values that `--full` measures.
    pub full: &'static [&'static str],
    /// Values that the parameter accepts.
    pub takes: Takes,
}

/// The values that a parameter accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// The default and full values of the parameter, and these further words.
    Words(&'static [&'static str]),
    /// Any count from 1 to this.
    Count(u64),
    /// Any duration from 100 ns to an hour, which `--scale` shortens.
    Length,
    /// Work for each request of a server, such as `cpu:20us`.
    ServerWork,
    /// `none`, the default and full values, these further words, or any duration from 10 ns to 10 ms, such as 9us.
    Work(&'static [&'static str]),
    /// Any number of bytes from 0 to this, such as 4k.
    Size(u64),
    /// Any number of bytes from 1 to this, such as 256m, or `4xllc`: four times the last-level cache.
    Footprint(u64),
    /// Two CPUs, such as 0-3, or `first-last`: the first and the last that the process may use.
    CpuPair,
    /// A directory by its absolute path, or [`TEMP`].
    Directory,
}

/// Values of the parameter `place` that depend on what the CPUs have in common, nearest first: threads of a core, a core's
/// neighbours, CPUs that share their last cache, sockets.
pub const APART: &[&str] = &["smt", "core", "cache", "socket"];

/// Whether the CPUs of a point were chosen by what they have in common.
pub fn are_chosen_apart(params: &Params) -> bool {
    params.get("place").is_some_and(|place| APART.contains(&place.as_str()))
}

/// Whether the tasks of a point with these parameters run on several CPUs, or may do so. False for groups of workers, which have
/// no partner tasks.
pub fn spans_cpus(params: &Params) -> bool {
    let is_apart = params.get("place").is_some_and(|place| place != "same");
    is_apart && !params.contains_key("workers")
}

/// The value of a parameter [`Takes::Directory`] that stands for the system's directory for temporary files.
pub const TEMP: &str = "temp";

/// The directory that a value of a parameter [`Takes::Directory`] names.
pub fn directory_of(value: &str) -> PathBuf {
    if value == TEMP { std::env::temp_dir() } else { PathBuf::from(value) }
}

/// How a case is measured if its rounds are trials.
#[derive(Debug, Clone, Copy)]
pub struct Trials {
    /// The approximate duration of a trial.
    pub takes: fn(&Params) -> Duration,
    /// Whether the rounds of a point are trials; if not, the point is sampled like a case without trials.
    pub of: fn(&Params) -> bool,
    /// The only command that measures the case, if `oscost run` does not.
    pub only_by: Option<&'static str>,
    /// Whether the untimed pass runs the case too, and so calls `Round::count_trial`.
    pub counted: bool,
    /// Whether trials can be counted on the host too: their operations take as long as `Round::times_as_long` says, are as many
    /// as `Round::operations_to_count`, or are repeated by `Round::trials`.
    pub on_host: bool,
    /// The maximum number of trials per point.
    pub at_most: usize,
    /// Number of CPUs that a trial keeps busy on average on an idle machine with this many; `None` if it does not follow from
    /// the parameters.
    pub keeps_busy: fn(&Params, usize) -> Option<f64>,
    /// Whether a run of this extent measures the point when the user named no parameter.
    pub includes: fn(&Params, Extent) -> bool,
}

/// How much a run measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// A run with `--quick`.
    Quick,
    /// A run with neither `--quick` nor `--full`.
    Ordinary,
    /// A run with `--full`.
    Full,
}

impl Trials {
    /// Trials of about this duration, with default settings.
    pub const fn new(takes: fn(&Params) -> Duration) -> Self {
        fn all(_params: &Params, _extent: Extent) -> bool {
            true
        }
        Self {
            takes,
            of: |_| true,
            only_by: None,
            counted: false,
            on_host: false,
            at_most: usize::MAX,
            keeps_busy: |_, _| None,
            includes: all,
        }
    }
}

impl Param {
    /// A parameter that accepts these values only, also with `--full`. [`Param::meaning`] gives its meaning: `Area::new` does not
    /// compile without it.
    pub const fn new(name: &'static str, default: &'static [&'static str]) -> Self {
        Self { name, meaning: "", default, full: default, takes: Takes::Words(&[]) }
    }

    /// The parameter with its meaning.
    pub const fn meaning(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
    }

    /// The parameter with other values that `--full` measures.
    pub const fn full(self, full: &'static [&'static str]) -> Self {
        Self { full, ..self }
    }

    /// The parameter with other values that it accepts.
    pub const fn takes(self, takes: Takes) -> Self {
        Self { takes, ..self }
    }
}

impl Case {
    /// A case with the properties that most have: it exists everywhere, is not core-bound, is timed in batches, and has neither
    /// parameters nor metrics. A case sets `operation`, `comparable_to` and `run` itself; `Area::new` does not compile without
    /// the texts.
    pub const fn new(area: &'static str, name: &'static str) -> Self {
        Self {
            area,
            name,
            operation: "",
            comparable_to: "",
            only: Only::Everywhere,
            core_bound: false,
            trials: None,
            params: &[],
            metrics: &[],
            runs_user_code: false,
            run: has_no_run,
        }
    }

    /// The case, measured on Linux only.
    pub const fn on_linux(self) -> Self {
        Self { only: Only::Linux("measured on Linux only"), ..self }
    }

    /// The case, measured on Unix-like systems only.
    pub const fn on_unix(self) -> Self {
        Self { only: Only::Unix("measured on Unix-like systems only"), ..self }
    }

    /// The case of something that exists on Windows only.
    pub const fn on_windows(self) -> Self {
        Self { only: Only::Windows("exists only on Windows"), ..self }
    }

    /// Full name of the case: `area/name`.
    pub fn label(&self) -> String {
        format!("{}/{}", self.area, self.name)
    }

    /// Whether the operation includes work of a given length of time, which is more cycles on a faster core.
    pub fn works_for_a_time(&self, params: &Params) -> bool {
        self.params.iter().filter(|param| matches!(param.takes, Takes::Work(_))).any(|param| {
            let value = params.get(param.name);
            value.is_some_and(|value| measure::count::parse_duration(value).is_ok())
        })
    }

    /// Why this system does not support the case; `None` if it may support it.
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

/// The `run` of a case that sets no other.
pub fn has_no_run(_: &Params, _: &mut Round) -> Result<(), CaseError> {
    Err(CaseError::Failed("the case has no run".into()))
}

/// The value of a parameter.
///
/// # Errors
/// `Failed` if it is missing; the planner sets every parameter of a case.
pub fn value_of<'a>(params: &'a Params, name: &str) -> Result<&'a str, CaseError> {
    let missing = || CaseError::Failed(format!("the parameter {name} is missing"));
    params.get(name).map(String::as_str).ok_or_else(missing)
}

/// The value of a parameter that is a count.
///
/// # Errors
/// `Failed` if it is missing or not a count.
pub fn count_of(params: &Params, name: &str) -> Result<usize, CaseError> {
    number_of(params, name, measure::count::parse_count)
}

/// The value of a parameter that is a number of bytes.
///
/// # Errors
/// `Failed` if it is missing or not a number of bytes.
pub fn size_of(params: &Params, name: &str) -> Result<usize, CaseError> {
    number_of(params, name, measure::count::parse_size)
}

fn number_of(
    params: &Params,
    name: &str,
    parse: fn(&str) -> Result<u64, ParseUnitError>,
) -> Result<usize, CaseError> {
    let text = value_of(params, name)?;
    let wrong = |e: &dyn std::fmt::Display| CaseError::Failed(format!("parameter {name}: {e}"));
    let number = parse(text).map_err(|e| wrong(&e))?;
    usize::try_from(number).map_err(|e| wrong(&e))
}

/// The value of a parameter that is a duration.
///
/// # Errors
/// `Failed` if it is missing or not a duration.
pub fn length_of(params: &Params, name: &str) -> Result<Duration, CaseError> {
    let text = value_of(params, name)?;
    measure::count::parse_duration(text)
        .map_err(|e| CaseError::Failed(format!("parameter {name}: {e}")))
}

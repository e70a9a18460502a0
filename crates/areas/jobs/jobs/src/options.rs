//! Options of a list of jobs, each with one default value: how the jobs are handled and finished, and what their work is.

use std::time::Duration;

use measure::trial::TrialContext;
use measure::work::{FixedWork, Instructions, Work};
use measure::{CaseError, Params, Round};

use super::job::Job;
use catalog::{Param, Takes};

/// Maximum number of kinds of jobs: each has a handler with its own machine code.
pub const KINDS_AT_MOST: usize = 8;

/// Default values, which also apply to cases that lack the parameter.
pub const USUAL: &[(&str, &str)] = &[
    (FINISHER.name, "none"),
    (KINDS.name, "1"),
    (STAMP.name, "handler"),
    (INSTRUCTIONS.name, "dependent"),
    (FOREGROUND.name, "no"),
];

/// The parameter `finisher`: CPU time of each finisher.
pub const FINISHER: Param = Param::new("finisher", &["none"])
    .meaning(
        "CPU time of the finisher of each job; finishers run one at a time, on the \
         thread that hands out the jobs",
    )
    .takes(Takes::Work(&[]));

/// The parameter `kinds`: number of kinds of jobs.
pub const KINDS: Param = Param::new("kinds", &["1"])
    .meaning(
        "the number of kinds of jobs, each with its own handler: job k is of kind k \
         modulo this number, and its handler is called through an array",
    )
    .takes(Takes::Count(KINDS_AT_MOST as u64));

/// The parameter `stamp`: where the completion time of a job is read.
pub const STAMP: Param = Param::new("stamp", &["handler"])
    .meaning(
        "where the completion time of a job is read: at the end of its handler, or at \
         the beginning of its finisher",
    )
    .takes(Takes::Words(&["finisher"]));

/// The parameter `instructions`: dependent or independent ones in CPU-bound work.
pub const INSTRUCTIONS: Param = Param::new("instructions", &["dependent"])
    .meaning(
        "whether the instructions of CPU-bound work are one dependent chain, which \
         leaves most of a core to its other hardware thread, or eight independent ones, \
         which need all of it",
    )
    .takes(Takes::Words(&["independent"]));

/// The parameter `foreground`: whether a foreground task runs beside the jobs.
pub const FOREGROUND: Param = Param::new("foreground", &["no"])
    .meaning(
        "whether a task of ordinary priority wakes up every 5 ms in the mean while the \
         jobs run, which gives its wake-up delay; short lists are then carried out \
         repeatedly",
    )
    .takes(Takes::Words(&["yes"]));

/// Where the completion time of a job is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stamp {
    /// Read at the end of the job's handler.
    #[default]
    Handler,
    /// Read at the beginning of the job's finisher.
    Finisher,
}

/// How the jobs of a list are handled and finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The number of kinds of jobs; with one, the handler is called directly.
    pub kinds: usize,
    /// Where the completion time of a job is read.
    pub stamp: Stamp,
    /// The work of each finisher.
    pub finisher: FixedWork,
}

impl Default for Options {
    fn default() -> Self {
        Self { kinds: 1, stamp: Stamp::Handler, finisher: FixedWork::default() }
    }
}

impl Options {
    /// The options that the parameters describe; a parameter that a case lacks has its default value.
    ///
    /// # Errors
    /// `Failed` if a parameter has an invalid value.
    pub fn of(params: &Params, work: &Work) -> Result<Self, CaseError> {
        let kinds = value_or_usual(params, KINDS.name).parse();
        let kinds = kinds.ok().filter(|kinds| (1..=KINDS_AT_MOST).contains(kinds));
        let stamp = match value_or_usual(params, STAMP.name) {
            "finisher" => Stamp::Finisher,
            _ => Stamp::Handler,
        };
        let finisher = work.of_length(finisher_length(params)?);
        let kinds =
            kinds.ok_or_else(|| CaseError::Failed(format!("kinds is not 1 to {KINDS_AT_MOST}")))?;
        Ok(Self { kinds, stamp, finisher })
    }
}

/// The length of a finisher; zero for none.
///
/// # Errors
/// `Failed` if the parameter is not a duration.
pub fn finisher_length(params: &Params) -> Result<Duration, CaseError> {
    match value_or_usual(params, FINISHER.name) {
        "none" => Ok(Duration::ZERO),
        length => measure::count::parse_duration(length)
            .map_err(|e| CaseError::Failed(format!("parameter finisher: {e}"))),
    }
}

/// The jobs with their finishers, for the lower bound of their time: a finisher needs a CPU after its job's end.
pub fn with_finishers(jobs: &[Job], finisher: Duration) -> Vec<Job> {
    let with_finisher = |job: &Job| {
        let length = job.length + finisher;
        let cpu_share = (job.cpu() + finisher).as_secs_f64() / length.as_secs_f64();
        Job { length, cpu_share, ..*job }
    };
    match finisher.is_zero() {
        true => jobs.to_vec(),
        false => jobs.iter().map(with_finisher).collect(),
    }
}

/// Calibrated work with the instructions that the parameters describe.
///
/// # Errors
/// Errors of [`TrialContext::work`].
pub fn work_of(
    params: &Params,
    round: &Round,
    context: &mut TrialContext,
) -> Result<Work, CaseError> {
    let instructions = match value_or_usual(params, INSTRUCTIONS.name) {
        "independent" => Instructions::Independent,
        _ => Instructions::Dependent,
    };
    context.work(round)?.of(instructions, context.clock())
}

/// The value of an option, or its default.
pub fn value_or_usual<'a>(params: &'a Params, name: &str) -> &'a str {
    let usual = USUAL.iter().find(|(option, _)| *option == name).map_or("", |(_, usual)| *usual);
    params.get(name).map_or(usual, String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(pairs: &[(&str, &str)]) -> Params {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn a_list_without_options_is_carried_out_as_ever() {
        let work = Work::of_ns_per_iteration(1.0).unwrap();
        assert_eq!(Options::of(&params(&[]), &work), Ok(Options::default()));
        let usual = params(USUAL);
        assert_eq!(Options::of(&usual, &work), Ok(Options::default()));
    }

    #[test]
    fn options_are_read() {
        let work = Work::of_ns_per_iteration(1.0).unwrap();
        let all = [("finisher", "20us"), ("kinds", "3"), ("stamp", "finisher")];
        let options = Options::of(&params(&all), &work).unwrap();
        assert_eq!((options.kinds, options.stamp), (3, Stamp::Finisher));
        assert_eq!(options.finisher, work.of_length(Duration::from_micros(20)));
        for (name, value) in [("kinds", "0"), ("kinds", "9"), ("kinds", "x"), ("finisher", "5")] {
            assert!(Options::of(&params(&[(name, value)]), &work).is_err(), "{name}={value}");
        }
    }

    #[test]
    fn the_ideal_schedule_has_finishers_too() {
        let ms = Duration::from_millis;
        let jobs = vec![Job::new(ms(10), 0.5); 4];
        let longer = with_finishers(&jobs, ms(5));
        assert_eq!(longer[0].length, ms(15));
        // The sum is 4 x (5 + 5) ms of CPU time.
        assert_eq!(super::super::job::ideal(&longer, 1), ms(40));
        assert_eq!(with_finishers(&jobs, Duration::ZERO), jobs);
    }
}

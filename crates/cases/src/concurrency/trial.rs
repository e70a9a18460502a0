//! One trial: a list of jobs carried out by an executor, and the figures that come of it.

use std::time::Duration;

use measure::stats::quantile;
use measure::trial::{Trial, TrialContext};
use measure::{CaseError, Combine, Direction, Params, Round};

use super::executor::Done;
use super::job::{Job, ideal};
use crate::value_of;

/// The metrics of a list of jobs.
pub const METRICS: &[(&str, &str)] = &[
    (
        "turnaround",
        "mean over the jobs of the time from arrival to completion, by the job's length",
    ),
    ("turnaround-p25", "a quarter of the jobs had a turnaround up to this"),
    ("turnaround-p50", "half of the jobs had a turnaround up to this"),
    ("turnaround-p75", "three quarters of the jobs had a turnaround up to this"),
    ("turnaround-worst", "the longest turnaround of any job"),
    ("cpu-use", "CPU time by elapsed time"),
    ("voluntary-switches", "times a thread gave up its CPU, to wait"),
    ("involuntary-switches", "times a thread's CPU was taken away"),
    ("overhead", "elapsed time beyond that of an ideal schedule on these CPUs, as a share of it"),
    ("work-error", "CPU time the jobs took beyond what they were to take, as a share of it"),
];

/// The processors that the parameter `cpus` asks for: one, where single measurements are made, or all.
pub fn stage_of(params: &Params, round: &Round) -> Result<TrialContext, CaseError> {
    let cpus = &round.order().cpus;
    match value_of(params, "cpus")? {
        "one" => TrialContext::new(round, &cpus[cpus.len().saturating_sub(1)..]),
        _ => TrialContext::new(round, cpus),
    }
}

/// Reports what a trial of `jobs` gave, job for job as they were `done`.
pub fn report(round: &mut Round, jobs: &[Job], trial: &Trial<Vec<Done>>, context: &TrialContext) {
    let mut metric = |name, unit, better, value| {
        round.metric(name, unit, better, Combine::Median, value);
    };
    let turnarounds = jobs.iter().zip(&trial.value).map(|(job, done)| {
        done.at.saturating_sub(job.arrival).as_secs_f64() / job.length.as_secs_f64()
    });
    let mut turnarounds: Vec<f64> = turnarounds.collect();
    turnarounds.sort_by(f64::total_cmp);
    let mean = turnarounds.iter().sum::<f64>() / turnarounds.len() as f64;
    metric("turnaround", "x", Direction::Lower, mean);
    for (name, p) in [
        ("turnaround-p25", 0.25),
        ("turnaround-p50", 0.5),
        ("turnaround-p75", 0.75),
        ("turnaround-worst", 1.0),
    ] {
        metric(name, "x", Direction::Lower, quantile(&turnarounds, p));
    }
    let elapsed = trial.elapsed.as_secs_f64();
    metric("cpu-use", "CPUs", Direction::Neither, trial.usage.cpu.as_secs_f64() / elapsed);
    for (name, switches) in [
        ("voluntary-switches", trial.usage.voluntary_switches),
        ("involuntary-switches", trial.usage.involuntary_switches),
    ] {
        if let Some(switches) = switches {
            metric(name, "switches", Direction::Lower, switches as f64);
        }
    }
    let ideal = ideal(jobs, context.cpus().len()).as_secs_f64();
    metric("overhead", "share", Direction::Lower, elapsed / ideal - 1.0);
    if let Some(error) = work_error(jobs, &trial.value) {
        metric("work-error", "share", Direction::Neither, error);
    }
}

/// `None` where no work was asked for, or the system does not tell what it took.
fn work_error(jobs: &[Job], done: &[Done]) -> Option<f64> {
    let asked: Duration = jobs.iter().map(Job::cpu).sum();
    let took = done.iter().map(|done| done.cpu).sum::<Option<Duration>>()?;
    (!asked.is_zero()).then(|| took.as_secs_f64() / asked.as_secs_f64() - 1.0)
}

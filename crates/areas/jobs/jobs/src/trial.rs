//! One trial: an executor carries out a list of jobs, and the trial's metrics are reported.

use std::time::Duration;

use measure::stats::quantile;
use measure::trial::{Trial, TrialContext};
use measure::{CaseError, Params, Round};

use super::executor::Done;
use super::foreground::{ForegroundTask, is_wanted, times};
use super::job::Job;
use super::job_list::JobList;
use super::metrics::{
    CPU_USE, INVOLUNTARY_SWITCHES, OVERHEAD, TURNAROUND, TURNAROUND_P25, TURNAROUND_P50,
    TURNAROUND_P75, TURNAROUND_WORST, VOLUNTARY_SWITCHES, WORK_ERROR,
};
use super::options::{finisher_length, with_finishers};
use catalog::value_of;

/// The CPUs that the parameter `cpus` selects: the one on which single-threaded cases are measured, or all.
///
/// # Errors
/// Errors of [`TrialContext::new`].
pub fn stage_of(params: &Params, round: &Round) -> Result<TrialContext, CaseError> {
    let cpus = &round.order().cpus;
    match value_of(params, "cpus")? {
        "one" => TrialContext::new(round, &cpus[cpus.len().saturating_sub(1)..]),
        _ => TrialContext::new(round, cpus),
    }
}

/// Runs one trial: `carry_out` carries out the jobs in `list` and returns the results in their order. Reports the metrics.
///
/// A short list beside a foreground task is carried out several times; the metrics of the jobs are those of the first time.
/// `takes` is the approximate time of one execution.
///
/// # Errors
/// Errors of `carry_out` and of the foreground task.
pub fn measure(
    params: &Params,
    round: &mut Round,
    context: &TrialContext,
    list: &JobList,
    takes: Duration,
    mut carry_out: impl FnMut() -> Result<Vec<Done>, CaseError>,
) -> Result<(), CaseError> {
    let mut foreground = is_wanted(params).then(ForegroundTask::start).transpose()?;
    let trials = round.trials(context, times(params, takes), || match &mut foreground {
        Some(task) => task.during(&mut carry_out),
        None => carry_out(),
    })?;
    let with_finishers = with_finishers(&list.jobs, finisher_length(params)?);
    let with_finishers = JobList { jobs: with_finishers, ..list.clone() };
    let ideal = with_finishers.limits(context.cpus().len()).at_least;
    report(round, list, &trials[0], ideal);
    let ns = |time: Duration| time.as_nanos() as u64;
    round.timeline(trials[0].value.iter().map(|job| [ns(job.from), ns(job.at)]));
    foreground.map_or(Ok(()), |task| task.report(round))
}

/// Reports the metrics of a trial of the jobs in `list`, whose time under an ideal schedule is at least `ideal`.
fn report(round: &mut Round, list: &JobList, trial: &Trial<Vec<Done>>, ideal: Duration) {
    let jobs = &list.jobs;
    let shortest = jobs.iter().zip(list.soonest()).map(|(job, soonest)| soonest - job.arrival);
    let turnarounds = jobs.iter().zip(shortest).zip(&trial.value).map(|((job, shortest), done)| {
        done.at.saturating_sub(job.arrival).as_secs_f64() / shortest.as_secs_f64()
    });
    let mut turnarounds: Vec<f64> = turnarounds.collect();
    turnarounds.sort_by(f64::total_cmp);
    let mean = turnarounds.iter().sum::<f64>() / turnarounds.len() as f64;
    round.metric(&TURNAROUND, mean);
    for (metric, p) in [
        (&TURNAROUND_P25, 0.25),
        (&TURNAROUND_P50, 0.5),
        (&TURNAROUND_P75, 0.75),
        (&TURNAROUND_WORST, 1.0),
    ] {
        round.metric(metric, quantile(&turnarounds, p));
    }
    let elapsed = trial.elapsed.as_secs_f64();
    round.metric(&CPU_USE, trial.usage.cpu.as_secs_f64() / elapsed);
    let number = |switches: Option<u64>| switches.map(|switches| switches as f64);
    round.metric(&VOLUNTARY_SWITCHES, number(trial.usage.voluntary_switches));
    round.metric(&INVOLUNTARY_SWITCHES, number(trial.usage.involuntary_switches));
    round.metric(&OVERHEAD, elapsed / ideal.as_secs_f64() - 1.0);
    round.metric(&WORK_ERROR, work_error(jobs, &trial.value));
}

/// Value of the metric `work-error`; `None` if the jobs have no work, or the system does not report its CPU time.
fn work_error(jobs: &[Job], done: &[Done]) -> Option<f64> {
    let asked: Duration = jobs.iter().map(Job::cpu).sum();
    let took = done.iter().map(|done| done.cpu).sum::<Option<Duration>>()?;
    (!asked.is_zero()).then(|| took.as_secs_f64() / asked.as_secs_f64() - 1.0)
}

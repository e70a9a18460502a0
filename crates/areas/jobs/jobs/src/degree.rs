use std::time::Duration;

use measure::trial::TrialContext;
use measure::{CaseError, Params};

use super::executor::{DEGREE_AT_MOST, Executor};
use super::job::{Job, ideal};
use super::list::{JOBS_AT_MOST, parse_bound};
use super::metrics;
use super::options::{
    FINISHER, INSTRUCTIONS, KINDS, Options, finisher_length, with_finishers, work_of,
};
use catalog::{Case, Extent, Param, Takes, Trials, count_of, length_of, value_of};

/// Number of times that a trial carries out the list.
const TIMES: usize = 3;

pub const CASE: Case = Case {
    operation: "A list of jobs of equal length carried out by `degree` threads on all CPUs.",
    comparable_to: "The degrees together give the parameters of Amdahl's law and the Universal \
                Scalability Law: the serial share, contention, coherence, and the degree beyond \
                which more threads reduce the rate. sysbench's `cpu` with several `--threads` \
                gives rates at single degrees.",
    trials: Some(Trials { includes, on_host: true, ..Trials::new(takes) }),
    params: &[
        Param::new("kind", &["cpu", "mixed"]).meaning("whether the jobs need a CPU, or also wait"),
        // On two CPUs these are five degrees: up to the number of CPUs, and beyond it, where the fitted laws separate contention
        // from coherence.
        Param::new("degree", &["few..4xcpus"])
            .meaning("how many jobs are under way at once")
            .full(&["1..4xcpus"])
            .takes(Takes::Count(DEGREE_AT_MOST as u64)),
        Param::new("executor", &["threads"])
            .meaning("what carries out the jobs (see concurrency/jobs)")
            .full(&["threads", "pool"])
            .takes(Takes::Words(&[
                "threads-up-front",
                "threads-suspended",
                "threads-finished-at-once",
                "pool",
                "rayon",
            ])),
        // 48 is a multiple of each default degree, so that all threads carry out equally many jobs.
        Param::new("jobs", &["48"])
            .meaning("the number of jobs in the list")
            .full(&["96"])
            .takes(Takes::Count(JOBS_AT_MOST as u64)),
        Param::new("length", &["500us"]).meaning("the length of each job").takes(Takes::Length),
        FINISHER,
        KINDS,
        // Independent instructions show which CPUs are hardware threads of one core.
        Param { full: &["dependent", "independent"], ..INSTRUCTIONS },
    ],
    metrics: metrics::DEGREE,
    run: |params, round| {
        let cpus = round.order().cpus.clone();
        let mut context = TrialContext::new(round, &cpus)?;
        let jobs = jobs_of(params)?;
        let (name, degree) = (value_of(params, "executor")?, count_of(params, "degree")?);
        let executor = Executor::new(name, degree, cpus.len())?;
        let work = work_of(params, round, &mut context)?;
        let (options, clock) = (Options::of(params, &work)?, context.clock());
        let trials =
            round.trials(&context, TIMES, || executor.carry_out(&jobs, &work, clock, &options))?;
        let elapsed: Duration = trials.iter().map(|trial| trial.elapsed).sum();
        let rate = (jobs.len() * trials.len()) as f64 / elapsed.as_secs_f64();
        round.metric(&metrics::RATE, rate);
        Ok(())
    },
    ..Case::new("concurrency", "degree")
};

fn jobs_of(params: &Params) -> Result<Vec<Job>, CaseError> {
    let share = parse_bound(value_of(params, "kind")?).map_err(CaseError::Failed)?;
    let job = Job::new(length_of(params, "length")?, share);
    Ok(vec![job; count_of(params, "jobs")?])
}

/// Whether a run measures the point: independent instructions are measured only for jobs that need a CPU, and only with threads.
pub fn includes(params: &Params, _extent: Extent) -> bool {
    let is = |name: &str, value: &str| params.get(name).is_some_and(|has| has == value);
    !is("instructions", "independent") || (is("kind", "cpu") && is("executor", "threads"))
}

/// Estimated time of a trial on two CPUs.
pub fn takes(params: &Params) -> Duration {
    let jobs = jobs_of(params).unwrap_or_default();
    let jobs = with_finishers(&jobs, finisher_length(params).unwrap_or_default());
    let sum: Duration = jobs.iter().map(|job| job.length).sum();
    let by_degree = sum / count_of(params, "degree").unwrap_or(1).max(1) as u32;
    by_degree.max(ideal(&jobs, 2)) * (TIMES as u32 + 1)
}

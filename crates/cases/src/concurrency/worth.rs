use std::time::Duration;

use measure::trial::Stage;
use measure::{Params, Refusal, Round};

use super::executor::{DEGREE_AT_MOST, Executor, NAMES};
use super::job::Job;
use super::list::JOBS_AT_MOST;
use crate::{Case, Only, Param, Takes, count_of, length_of, value_of};

/// A trial carries out the list so often, or as often as takes so long.
const TIMES_AT_MOST: usize = 20;
const LONG_ENOUGH: Duration = Duration::from_millis(30);

pub const CASE: Case = Case {
    area: "concurrency",
    name: "worth",
    operation: "A list of CPU-bound jobs, all of one length, carried out on all CPUs by an executor.",
    alike: "Against the serial executor the lengths together give the shortest job that is worth a \
            thread, a place in a pool, or a task.",
    only: Only::Everywhere,
    core_bound: false,
    params: &[
        Param {
            name: "executor",
            meaning: "who does the jobs",
            default: &["serial", "threads", "pool", "rayon", "tokio"],
            full: &["serial", "threads", "threads-up-front", "pool", "rayon", "tokio", "processes"],
            takes: Takes::Words(NAMES),
        },
        Param {
            name: "length",
            meaning: "the length of each job",
            default: &["1us", "3us", "10us", "30us", "100us", "300us"],
            full: &[
                "1us", "2us", "5us", "10us", "20us", "50us", "100us", "200us", "500us", "1ms",
                "2ms", "5ms",
            ],
            takes: Takes::Length,
        },
        Param {
            name: "jobs",
            meaning: "how many jobs the list has",
            default: &["64"],
            full: &["64"],
            takes: Takes::Count(JOBS_AT_MOST as u64),
        },
        Param {
            name: "degree",
            meaning: "how many jobs are under way at once, at most",
            default: &["1xcpus"],
            full: &["1xcpus"],
            takes: Takes::Count(DEGREE_AT_MOST as u64),
        },
    ],
    metrics: &[(
        "shortest-job",
        "the shortest job from which on the list is done sooner than serially",
    )],
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), Refusal> {
    let cpus = round.order().cpus.clone();
    let mut stage = Stage::new(round, &cpus)?;
    let (length, count) = (length_of(params, "length")?, count_of(params, "jobs")?);
    let jobs = vec![Job::new(length, 1.0); count];
    let executor =
        Executor::new(value_of(params, "executor")?, count_of(params, "degree")?, cpus.len())?;
    let work = stage.work(round)?;
    let times = times(length, count);
    round.trials(&stage, times, || executor.carry_out(&jobs, &work, stage.clock()))?;
    Ok(())
}

fn times(length: Duration, count: usize) -> usize {
    let serially = length * count as u32;
    let fitting = LONG_ENOUGH.as_nanos() / serially.as_nanos().max(1);
    (fitting as usize).clamp(2, TIMES_AT_MOST)
}

/// Serially, and a thread for each job.
pub fn takes(params: &Params) -> Duration {
    const THREAD: Duration = Duration::from_micros(20);
    let length = length_of(params, "length").unwrap_or_default();
    let count = count_of(params, "jobs").unwrap_or(1);
    (length + THREAD) * (count * (times(length, count) + 1)) as u32
}

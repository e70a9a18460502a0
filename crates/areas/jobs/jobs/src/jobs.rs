use std::time::Duration;

use measure::{CaseError, Params};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::executor::{DEGREE_AT_MOST, Executor, NAMES};
use super::foreground;
use super::job::{Job, ideal};
use super::job_list::JobList;
use super::list::{JOBS_AT_MOST, parse_bound, steps};
use super::metrics;
use super::options::{
    FINISHER, FOREGROUND, INSTRUCTIONS, KINDS, Options, STAMP, finisher_length, with_finishers,
    work_of,
};
use super::trial::{measure, stage_of};
use catalog::{Case, Extent, Param, Takes, Trials, count_of, length_of, value_of};

pub const CASE: Case = Case {
    operation: "A list of jobs carried out, from handing out the first job until the last one is \
                complete; job k of n lasts k times the base length.",
    comparable_to: "Elapsed time and turnaround of serial and concurrent execution, as in a \
                published experiment that `--full` repeats: base lengths of 10 to 2430 ms, one \
                CPU, longest job first, at most 25 jobs at once. A default run has 17 \
                jobs, the shortest of 30 and of 810 us. osbench's `create_threads` measures the \
                creation of idle threads only.",
    trials: Some(Trials { includes, keeps_busy, on_host: true, ..Trials::new(takes) }),
    params: &[
        Param::new("executor", &["serial", "threads", "tokio"])
            .meaning("what carries out the jobs")
            .full(&["serial", "threads"])
            .takes(Takes::Words(NAMES)),
        Param::new("kind", &["cpu", "wait", "mixed"]).meaning(
            "whether the jobs need a CPU, wait, or alternate between both with equal shares",
        ),
        // Turnaround times differ most in a list of many jobs.
        Param::new("jobs", &["17"])
            .meaning("how many jobs the list has")
            .full(&["2", "5", "8", "11", "14", "17"])
            .takes(Takes::Count(JOBS_AT_MOST as u64)),
        // The bases range from about the cost of a thread to many times that. At 2.43 ms the ratios change by only a few percent
        // more, and a trial takes three times as long.
        Param::new("base", &["30us", "810us"])
            .meaning("the length of the shortest job")
            .full(&["10ms", "30ms", "90ms", "270ms", "810ms", "2.43s"])
            .takes(Takes::Length),
        Param::new("order", &["longest"])
            .meaning(
                "the order in which the jobs are handed out, by length; or all of them of equal \
                 length, the mean of the others",
            )
            .takes(Takes::Words(&["shortest", "shuffled", "equal"])),
        CPUS,
        Param::new("degree", &["25"])
            .meaning("the maximum number of jobs in progress at once")
            .takes(Takes::Count(DEGREE_AT_MOST as u64)),
        FINISHER,
        KINDS,
        STAMP,
        INSTRUCTIONS,
        FOREGROUND,
    ],
    metrics: metrics::LIST,
    run: |params, round| {
        let mut context = stage_of(params, round)?;
        let jobs = ordered(jobs_of(params)?, value_of(params, "order")?);
        let list = JobList::independent(jobs);
        let (name, degree) = (value_of(params, "executor")?, count_of(params, "degree")?);
        let executor = Executor::new(name, degree, context.cpus().len())?;
        let work = work_of(params, round, &mut context)?;
        let (options, clock) = (Options::of(params, &work)?, context.clock());
        let takes = takes_once(params, context.cpus().len());
        measure(params, round, &context, &list, takes, || {
            executor.carry_out(&list.jobs, &work, clock, &options)
        })
    },
    ..Case::new("concurrency", "jobs")
};

/// The parameter `cpus`: CPUs on which the jobs run.
pub const CPUS: Param = Param::new("cpus", &["one", "all"])
    .meaning("whether all threads are pinned to one CPU or may use all CPUs")
    .full(&["one"])
    .takes(Takes::Words(&["all"]));

fn jobs_of(params: &Params) -> Result<Vec<Job>, CaseError> {
    let share = parse_bound(value_of(params, "kind")?).map_err(CaseError::Failed)?;
    Ok(steps(count_of(params, "jobs")?, length_of(params, "base")?, share))
}

/// The jobs in the order in which they are handed out. Each process shuffles them differently.
fn ordered(mut shortest_first: Vec<Job>, order: &str) -> Vec<Job> {
    match order {
        "longest" => shortest_first.reverse(),
        "shuffled" => {
            let seed = u64::from(std::process::id());
            shortest_first.shuffle(&mut StdRng::seed_from_u64(seed));
        }
        "equal" => {
            let sum: Duration = shortest_first.iter().map(|job| job.length).sum();
            let mean = sum / shortest_first.len().max(1) as u32;
            shortest_first.iter_mut().for_each(|job| job.length = mean);
        }
        _ => {}
    }
    shortest_first
}

/// Leaves out redundant points: jobs that only wait need no second CPU. A quick run measures only the longer list: of CPU-bound
/// jobs on all CPUs, and of waiting jobs on one.
pub fn includes(params: &Params, extent: Extent) -> bool {
    let is = |name: &str, value: &str| params.get(name).is_some_and(|has| has == value);
    match extent {
        Extent::Full => true,
        Extent::Ordinary => !(is("kind", "wait") && is("cpus", "all")),
        Extent::Quick => {
            is("jobs", "17")
                && (is("kind", "cpu") && is("cpus", "all")
                    || is("kind", "wait") && is("cpus", "one"))
        }
    }
}

/// Estimated time of a trial on two CPUs.
pub fn takes(params: &Params) -> Duration {
    foreground::takes(params, takes_once(params, 2))
}

/// Number of CPUs that jobs which only compute keep busy.
fn keeps_busy(params: &Params, cpus: usize) -> Option<f64> {
    let is = |name: &str, value: &str| params.get(name).is_some_and(|has| has == value);
    if !is("kind", "cpu") || !is("finisher", "none") {
        return None;
    }
    let work: Duration = jobs_of(params).ok()?.iter().map(Job::cpu).sum();
    let took = takes_once(params, cpus);
    (!took.is_zero()).then(|| work.as_secs_f64() / took.as_secs_f64())
}

/// Estimated time of one execution of the list: the sum of all jobs for serial execution, otherwise about the ideal time on
/// `cpus` CPUs.
fn takes_once(params: &Params, cpus: usize) -> Duration {
    let jobs = jobs_of(params).unwrap_or_default();
    let jobs = with_finishers(&jobs, finisher_length(params).unwrap_or_default());
    match (value_of(params, "executor"), value_of(params, "cpus")) {
        (Ok("serial"), _) => jobs.iter().map(|job| job.length).sum(),
        (Ok("tokio-current"), _) | (_, Ok("one")) => ideal(&jobs, 1),
        _ => ideal(&jobs, cpus.min(count_of(params, "degree").unwrap_or(cpus)).max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(pairs: &[(&str, &str)]) -> Params {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn jobs_are_handed_out_in_the_given_order() {
        let list =
            || jobs_of(&params(&[("kind", "cpu"), ("jobs", "17"), ("base", "1ms")])).unwrap();
        let lengths = |order| -> Vec<u128> {
            ordered(list(), order).iter().map(|job| job.length.as_millis()).collect()
        };
        assert_eq!(lengths("shortest"), (1..=17).collect::<Vec<_>>());
        assert_eq!(lengths("longest"), (1..=17).rev().collect::<Vec<_>>());
        let mut shuffled = lengths("shuffled");
        shuffled.sort_unstable();
        assert_eq!(shuffled, (1..=17).collect::<Vec<_>>());
        assert_eq!(lengths("equal"), [9; 17]);
    }

    #[test]
    fn the_duration_of_a_trial_is_estimated() {
        let of = |executor, kind, cpus| {
            let given = [("executor", executor), ("kind", kind), ("cpus", cpus)];
            let list = [("jobs", "3"), ("base", "10ms")];
            takes(&params(&[given.as_slice(), list.as_slice()].concat())).as_millis()
        };
        assert_eq!(of("serial", "cpu", "one"), 60);
        assert_eq!(of("threads", "cpu", "one"), 60);
        assert_eq!(of("threads", "cpu", "all"), 30);
        assert_eq!(of("threads", "wait", "one"), 30);
        assert_eq!(of("serial", "wait", "all"), 60);
    }
}

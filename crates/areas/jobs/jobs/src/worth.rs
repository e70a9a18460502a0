use std::time::Duration;

use measure::Params;
use measure::trial::TrialContext;

use super::executor::{DEGREE_AT_MOST, Executor, NAMES};
use super::job::Job;
use super::list::JOBS_AT_MOST;
use super::metrics;
use super::options::{FINISHER, INSTRUCTIONS, KINDS, Options, finisher_length, work_of};
use catalog::{Case, Extent, Param, Takes, Trials, count_of, length_of, value_of};

/// Maximum number of times that a trial carries out the list.
const TIMES_AT_MOST: usize = 20;
/// Time after which a trial ends before `TIMES_AT_MOST`.
const LONG_ENOUGH: Duration = Duration::from_millis(30);
/// Maximum length of the jobs of a quick run: threads pay off for shorter ones.
const QUICK_LENGTH_AT_MOST: Duration = Duration::from_micros(100);

pub const CASE: Case = Case {
    operation: "A list of CPU-bound jobs of equal length carried out by an executor on all CPUs.",
    comparable_to: "Compared with the serial executor, the lengths together give the shortest job \
                for which a thread, a pool or a task pays off. osbench's `create_threads` measures \
                only the creation of threads.",
    trials: Some(Trials { includes, on_host: true, ..Trials::new(takes) }),
    params: &[
        // Rayon is left out, since its figures are close to the pool's.
        Param::new("executor", &["serial", "threads", "pool", "tokio"])
            .meaning("what carries out the jobs (see concurrency/jobs)")
            .full(&["serial", "threads", "threads-up-front", "pool", "rayon", "tokio", "processes"])
            .takes(Takes::Words(NAMES)),
        // Neighbours are half a decade apart: a pool or rayon overtakes serial execution near the lower end, threads and tokio
        // near the upper one, and a crossing needs a length on both sides.
        Param::new("length", &["1us", "3us", "10us", "30us", "100us", "300us"])
            .meaning("the length of each job")
            .full(&[
                "1us", "2us", "5us", "10us", "20us", "50us", "100us", "200us", "500us", "1ms",
                "2ms", "5ms",
            ])
            .takes(Takes::Length),
        Param::new("jobs", &["64"])
            .meaning("the number of jobs in the list")
            .takes(Takes::Count(JOBS_AT_MOST as u64)),
        Param::new("degree", &["1xcpus"])
            .meaning("the maximum number of jobs in progress at once")
            .takes(Takes::Count(DEGREE_AT_MOST as u64)),
        FINISHER,
        KINDS,
        INSTRUCTIONS,
    ],
    metrics: &[metrics::SHORTEST_JOB],
    run: |params, round| {
        let cpus = round.order().cpus.clone();
        let mut context = TrialContext::new(round, &cpus)?;
        let (length, count) = (length_of(params, "length")?, count_of(params, "jobs")?);
        let jobs = vec![Job::new(length, 1.0); count];
        let executor =
            Executor::new(value_of(params, "executor")?, count_of(params, "degree")?, cpus.len())?;
        let work = work_of(params, round, &mut context)?;
        let options = Options::of(params, &work)?;
        let times = times(length + finisher_length(params)?, count);
        round.trials(&context, times, || executor.carry_out_untimed(&jobs, &work, &options))?;
        Ok(())
    },
    ..Case::new("concurrency", "worth")
};

fn times(length: Duration, count: usize) -> usize {
    let serially = length * count as u32;
    let fitting = LONG_ENOUGH.as_nanos() / serially.as_nanos().max(1);
    (fitting as usize).clamp(2, TIMES_AT_MOST)
}

/// Whether a run of this extent measures this point: a quick run leaves out the longest jobs.
pub fn includes(params: &Params, extent: Extent) -> bool {
    let is_long = length_of(params, "length").is_ok_and(|length| length > QUICK_LENGTH_AT_MOST);
    extent != Extent::Quick || !is_long
}

/// Estimated time of a trial: serial execution, plus the creation of a thread or process for each job if the executor does that.
pub fn takes(params: &Params) -> Duration {
    const THREAD: Duration = Duration::from_micros(20);
    let finisher = finisher_length(params).unwrap_or_default();
    let length = length_of(params, "length").unwrap_or_default() + finisher;
    let count = count_of(params, "jobs").unwrap_or(1);
    let each = match value_of(params, "executor") {
        Ok("serial" | "pool" | "rayon" | "tokio" | "tokio-current") => length,
        _ => length + THREAD,
    };
    each * (count * (times(length, count) + 1)) as u32
}

#[cfg(test)]
mod tests {
    use measure::round::Mode;

    use super::super::job::tests::TIMED;
    use super::super::jobs;
    use super::*;

    fn serially(case: &Case, more: &[(&str, &str)]) {
        let serial = [("executor", "serial"), ("jobs", "5"), ("degree", "1")];
        let params = rehearsal::params(serial.iter().chain(more));
        let order = rehearsal::order(&case.label(), &params, Mode::Sample);
        assert_eq!(rehearsal::round(&order, |round| (case.run)(&params, round)).1, Ok(()));
    }

    #[test]
    fn no_clock_is_read_per_job() {
        serially(&CASE, &[("length", "5us")]);
        assert_eq!(TIMED.get(), 0);
        // A case that reports the turnaround of each job reads a clock.
        let list = [("kind", "cpu"), ("base", "5us"), ("order", "shortest"), ("cpus", "all")];
        serially(&jobs::CASE, &list);
        assert_eq!(TIMED.get(), 5);
    }
}

//! The executors that carry out a list of jobs, and the result of each job.

use std::num::NonZeroUsize;
use std::time::Duration;

use concurrency::{
    ConcurrentExecution, Execution, Failure, Finishers, Handling, InOrder, Pool, Processes, Rayon,
    Schedule, Threads, Tokio,
};
use measure::CaseError;
use measure::time::{Clock, Ticks};
use measure::work::Work;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::job::Job;

/// The maximum number of jobs in progress at once; each may take a thread or a process.
pub const DEGREE_AT_MOST: usize = 1024;

/// The names of all executors, as values of the parameter `executor`.
pub const NAMES: &[&str] = &[
    "serial",
    "threads",
    "threads-up-front",
    "threads-suspended",
    "threads-finished-at-once",
    "pool",
    "rayon",
    "tokio",
    "tokio-current",
    "processes",
];

/// An executor. Threads that outlive a list of jobs already exist.
pub enum Executor {
    /// One job after the other on the calling thread.
    Serial(ConcurrentExecution),
    /// A thread per job, or threads created for each list.
    Threads(ConcurrentExecution),
    /// A pool of persistent threads.
    Pool(Pool),
    /// Rayon's pool.
    Rayon(Rayon),
    /// Tasks on tokio's threads, or on the calling thread.
    Tokio(Tokio),
    /// A process per job.
    Processes(Processes),
}

/// The result of a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Done {
    /// When the job completed, from the start of the list.
    pub at: Duration,
    /// The CPU time of its work; `None` if the system does not report it.
    pub cpu: Option<Duration>,
}

impl Executor {
    /// The executor of that name, for at most `degree` jobs at once on `cpus` CPUs.
    ///
    /// # Errors
    /// `Unsupported` if this system lacks it, `Failed` if its threads cannot be created.
    pub fn new(name: &str, degree: usize, cpus: usize) -> Result<Self, CaseError> {
        let failed = |e: &dyn std::fmt::Display| CaseError::Failed(format!("{name}: {e}"));
        let at_least_one = |n: usize| NonZeroUsize::new(n.clamp(1, DEGREE_AT_MOST)).expect("not 0");
        let degree = at_least_one(degree);
        Ok(match name {
            "serial" => Self::Serial(ConcurrentExecution::new(degree)),
            "threads" => Self::Threads(ConcurrentExecution::new(degree)),
            "threads-up-front" => {
                Self::Threads(ConcurrentExecution::new(degree).threads(Threads::UpFront))
            }
            "threads-suspended" => {
                Self::Threads(ConcurrentExecution::new(degree).threads(Threads::Suspended))
            }
            "threads-finished-at-once" => {
                Self::Threads(ConcurrentExecution::new(degree).finishers(Finishers::AtOnce))
            }
            "pool" => Self::Pool(Pool::new(degree).map_err(|e| failed(&e))?),
            "rayon" => Self::Rayon(Rayon::new(degree).map_err(|e| failed(&e))?),
            "tokio" => Self::Tokio(
                Tokio::multi_thread(degree, at_least_one(cpus)).map_err(|e| failed(&e))?,
            ),
            "tokio-current" => Self::Tokio(Tokio::current_thread(degree).map_err(|e| failed(&e))?),
            "processes" if cfg!(not(unix)) => {
                return Err(CaseError::Unsupported("there is no fork on Windows".into()));
            }
            "processes" => Self::Processes(Processes::new(degree)),
            _ => return Err(CaseError::Failed(format!("there is no executor named {name}"))),
        })
    }

    /// Carries out `jobs`, handed out in this order, and returns their results in the same order. A job
    /// that has not arrived yet occupies its slot while it waits, since all later jobs arrive later still.
    ///
    /// # Errors
    /// `Failed` if a job was not completed.
    pub fn carry_out(
        &self,
        jobs: &[Job],
        work: &Work,
        clock: Clock,
    ) -> Result<Vec<Done>, CaseError> {
        let start = clock.now();
        let handler = |job: &Job| {
            if let Some(early) = until(job.arrival, clock, start) {
                std::thread::sleep(early);
            }
            ended(job.carry_out_timed(work), clock, start)
        };
        let task = |job: Job| -> Handling<'static, (u64, Option<u64>)> {
            let work = *work;
            Box::pin(async move {
                if let Some(early) = until(job.arrival, clock, start) {
                    tokio::time::sleep(early).await;
                }
                ended(job.carry_out_timed_async(&work).await, clock, start)
            })
        };
        let all = self.hand_out(InOrder::new(jobs.len()), jobs, handler, task)?;
        let done = all.into_iter().map(|(at, cpu)| Done {
            at: Duration::from_nanos(at),
            cpu: cpu.map(Duration::from_nanos),
        });
        Ok(done.collect())
    }

    /// Carries out `jobs`, which must all arrive at the start, without reading a clock per job: two
    /// readings take about as long as handing a job to a pool.
    ///
    /// # Errors
    /// `Failed` if a job was not completed, or arrives later.
    pub fn carry_out_untimed(&self, jobs: &[Job], work: &Work) -> Result<(), CaseError> {
        if jobs.iter().any(|job| !job.arrival.is_zero()) {
            return Err(CaseError::Failed("a job with a later arrival needs a clock".into()));
        }
        let task = |job: Job| -> Handling<'static, ()> {
            let work = *work;
            Box::pin(async move { job.carry_out_async(&work).await })
        };
        let schedule = InOrder::new(jobs.len());
        self.hand_out(schedule, jobs, |job| job.carry_out(work), task).map(drop)
    }

    /// Hands out `jobs` as `schedule` decides, to `handler` or, as tasks, to `task`. Returns the results in the order of
    /// `jobs`.
    pub(super) fn hand_out<R, S: Schedule>(
        &self,
        schedule: S,
        jobs: &[Job],
        handler: impl Fn(&Job) -> R + Sync,
        task: impl Fn(Job) -> Handling<'static, R> + Sync,
    ) -> Result<Vec<R>, CaseError>
    where
        R: Send + Clone + Serialize + DeserializeOwned,
    {
        let numbered: Vec<(usize, Job)> = jobs.iter().copied().enumerate().collect();
        let handler = |(_, job): &(usize, Job)| handler(job);
        let mut all: Vec<Option<R>> = vec![None; jobs.len()];
        let mut failure = None;
        let finisher = |(number, _): &(usize, Job), result: Result<R, Failure>| match result {
            Ok(done) => all[*number] = Some(done),
            Err(e) => failure = Some(CaseError::Failed(format!("job {}: {e}", number + 1))),
        };
        match self {
            Self::Serial(serial) if S::IN_ORDER => serial.do_serial(&numbered, handler, finisher),
            Self::Serial(serial) => {
                serial.do_serial(&one_by_one(schedule, &numbered), handler, finisher);
            }
            Self::Threads(threads) => threads.do_scheduled(schedule, &numbered, handler, finisher),
            Self::Pool(pool) => pool.do_scheduled(schedule, &numbered, handler, finisher),
            Self::Rayon(rayon) => rayon.do_scheduled(schedule, &numbered, handler, finisher),
            Self::Processes(processes) => {
                processes.do_scheduled(schedule, &numbered, handler, finisher);
            }
            Self::Tokio(tokio) => {
                let task = |&(_, job): &(usize, Job)| task(job);
                tokio.do_scheduled(schedule, &numbered, task, finisher);
            }
        }
        match failure {
            Some(case_error) => Err(case_error),
            None => all
                .into_iter()
                .collect::<Option<_>>()
                .ok_or_else(|| CaseError::Failed("a job neither completed nor failed".into())),
        }
    }
}

/// The jobs in an order in which they can be carried out one after the other.
fn one_by_one<T: Copy>(mut schedule: impl Schedule, jobs: &[T]) -> Vec<T> {
    let next = || schedule.next().inspect(|&job| schedule.finished(job));
    std::iter::from_fn(next).map(|job| jobs[job]).collect()
}

/// The end of the job and its CPU time, in ns: plain numbers, which another process can send.
pub(super) fn ended(cpu: Option<Duration>, clock: Clock, start: Ticks) -> (u64, Option<u64>) {
    (since(clock, start).as_nanos() as u64, cpu.map(|cpu| cpu.as_nanos() as u64))
}

pub(super) fn since(clock: Clock, start: Ticks) -> Duration {
    Duration::from_nanos(clock.between(start, clock.now()).get() as u64)
}

/// The time left until then; `None` if it has passed: even sleeping for no time yields the CPU.
pub(super) fn until(moment: Duration, clock: Clock, start: Ticks) -> Option<Duration> {
    let left = moment.checked_sub(if moment.is_zero() { moment } else { since(clock, start) })?;
    (!left.is_zero()).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs() -> Vec<Job> {
        let us = Duration::from_micros;
        let mut jobs: Vec<Job> = (1..=6).map(|k| Job::new(us(300 * k), 0.5)).collect();
        jobs[0].arrival = us(3_000);
        jobs
    }

    #[test]
    fn every_executor_does_every_job_and_none_before_it_arrives() {
        let clock = Clock::monotonic();
        let work = Work::calibrate(clock).unwrap();
        for name in NAMES.iter().filter(|name| **name != "processes") {
            let executor = Executor::new(name, 3, 2).unwrap();
            let done = executor.carry_out(&jobs(), &work, clock).unwrap();
            assert_eq!(done.len(), 6, "{name}");
            for (job, done) in jobs().iter().zip(&done) {
                // A wait is never shorter than requested.
                assert!(done.at >= job.arrival + job.length.mul_f64(0.5), "{name}: {done:?}");
                assert_eq!(done.cpu.is_some(), cfg!(unix), "{name}");
            }
            assert!(executor.carry_out_untimed(&jobs(), &work).is_err(), "one arrives later");
            assert_eq!(executor.carry_out_untimed(&jobs()[1..], &work), Ok(()), "{name}");
        }
        assert!(Executor::new("magic", 3, 2).is_err());
    }
}

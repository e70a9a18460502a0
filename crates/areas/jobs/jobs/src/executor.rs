//! The executors that carry out a list of jobs, and the result of each job.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use concurrency::{
    ConcurrentExecution, Execution, Failure, Finishers, Handling, InOrder, KindHandler, Pool,
    Processes, Rayon, Schedule, Threads, Tokio, by_kind,
};
use measure::CaseError;
use measure::time::{Clock, Ticks};
use measure::work::Work;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::job::Job;
use super::job_lock::JobLock;
use super::options::{KINDS_AT_MOST, Options, Stamp};

/// Maximum number of jobs in progress at once; each may take a thread or a process.
pub const DEGREE_AT_MOST: usize = 1024;

/// Names of all executors: the values of the parameter `executor`.
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

/// One instance of `handler` per kind, each with its own machine code: with shared code, the processor would predict the target
/// of every call through the array.
macro_rules! each_kind {
    ($handler:expr) => {
        [
            &of_kind::<0, _, _>($handler),
            &of_kind::<1, _, _>($handler),
            &of_kind::<2, _, _>($handler),
            &of_kind::<3, _, _>($handler),
            &of_kind::<4, _, _>($handler),
            &of_kind::<5, _, _>($handler),
            &of_kind::<6, _, _>($handler),
            &of_kind::<7, _, _>($handler),
        ]
    };
}

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
    /// When the job began, from the start of the list.
    pub from: Duration,
    /// When the job completed, from the start of the list: at the end of its handler, or when its finisher began.
    pub at: Duration,
    /// The CPU time of its work; `None` if the system does not report it.
    pub cpu: Option<Duration>,
}

impl Executor {
    /// Creates the executor with this name, for at most `degree` jobs at once on `cpus` CPUs.
    ///
    /// # Errors
    /// `Unsupported` if this system lacks it, `Failed` if its threads cannot be created.
    pub fn new(name: &str, degree: usize, cpus: usize) -> Result<Self, CaseError> {
        let failed = |e: &dyn std::fmt::Display| CaseError::Failed(format!("{name}: {e}"));
        let at_least_one = |n: usize| NonZeroUsize::new(n.clamp(1, DEGREE_AT_MOST)).expect("not 0");
        let degree = at_least_one(degree);
        let execution = || ConcurrentExecution::new(degree);
        Ok(match name {
            "serial" => Self::Serial(execution()),
            "threads" => Self::Threads(execution()),
            "threads-up-front" => Self::Threads(execution().threads(Threads::UpFront)),
            "threads-suspended" => Self::Threads(execution().threads(Threads::Suspended)),
            "threads-finished-at-once" => Self::Threads(execution().finishers(Finishers::AtOnce)),
            "pool" => Self::Pool(Pool::new(degree).map_err(|e| failed(&e))?),
            "rayon" => Self::Rayon(Rayon::new(degree).map_err(|e| failed(&e))?),
            "tokio" => Self::Tokio(
                Tokio::multi_thread(degree, at_least_one(cpus)).map_err(|e| failed(&e))?,
            ),
            "tokio-current" => Self::Tokio(Tokio::current_thread(degree).map_err(|e| failed(&e))?),
            "processes" if !platform::process::CAN_FORK => {
                return Err(CaseError::Unsupported("there is no fork on Windows".into()));
            }
            "processes" => Self::Processes(Processes::new(degree)),
            _ => return Err(CaseError::Failed(format!("there is no executor named {name}"))),
        })
    }

    /// Carries out `jobs`, handed out in this order, and returns their results in the same order. A job that has not arrived yet
    /// occupies its slot while it waits, since all later jobs arrive even later.
    ///
    /// # Errors
    /// `Failed` if a job was not completed.
    pub fn carry_out(
        &self,
        jobs: &[Job],
        work: &Work,
        clock: Clock,
        options: &Options,
    ) -> Result<Vec<Done>, CaseError> {
        self.carry_out_scheduled(InOrder::new(jobs.len()), None, jobs, work, clock, options)
    }

    /// Carries out `jobs` in the order that `schedule` gives, with the lock if there is one.
    ///
    /// # Errors
    /// `Failed` if a job was not completed.
    pub(super) fn carry_out_scheduled(
        &self,
        schedule: impl Schedule,
        lock: Option<&Arc<JobLock>>,
        jobs: &[Job],
        work: &Work,
        clock: Clock,
        options: &Options,
    ) -> Result<Vec<Done>, CaseError> {
        let start = clock.now();
        let handler = |job: &Job| {
            if let Some(early) = until(job.arrival, clock, start) {
                std::thread::sleep(early);
            }
            let from = clock.now();
            let cpu = match lock.filter(|_| job.locked > 0.0) {
                Some(lock) => lock.carry_out(job, work),
                None => job.carry_out_timed(work),
            };
            ended(from, cpu, clock, start)
        };
        let task = |job: Job| -> Handling<'static, Ended> {
            let (work, lock) = (*work, lock.filter(|_| job.locked > 0.0).cloned());
            Box::pin(async move {
                if let Some(early) = until(job.arrival, clock, start) {
                    tokio::time::sleep(early).await;
                }
                let from = clock.now();
                let cpu = match lock {
                    Some(lock) => lock.carry_out_async(&job, &work).await,
                    None => job.carry_out_timed_async(&work).await,
                };
                ended(from, cpu, clock, start)
            })
        };
        let finish = |([_, at], _): &mut Ended| {
            if options.stamp == Stamp::Finisher {
                *at = since(clock, start).as_nanos() as u64;
            }
            options.finisher.run();
        };
        let all = self.hand_out(schedule, jobs, options.kinds, handler, task, finish)?;
        Ok(all.into_iter().map(Done::from).collect())
    }

    /// Carries out `jobs`, which must all arrive at the start, without reading a clock per job: two clock reads take about as
    /// long as handing a job to a pool.
    ///
    /// # Errors
    /// `Failed` if a job was not completed, or arrives later.
    pub fn carry_out_untimed(
        &self,
        jobs: &[Job],
        work: &Work,
        options: &Options,
    ) -> Result<(), CaseError> {
        if jobs.iter().any(|job| !job.arrival.is_zero()) {
            return Err(CaseError::Failed("a job with a later arrival needs a clock".into()));
        }
        let task = |job: Job| -> Handling<'static, ()> {
            let work = *work;
            Box::pin(async move { job.carry_out_async(&work).await })
        };
        let handler = |job: &Job| job.carry_out(work);
        let finish = |(): &mut ()| options.finisher.run();
        let schedule = InOrder::new(jobs.len());
        self.hand_out(schedule, jobs, options.kinds, handler, task, finish).map(drop)
    }

    /// Hands out `jobs` as `schedule` decides, to `handler` or, as tasks, to `task`, each with the code of its kind. Calls
    /// `finish` for each result on this thread, and returns the results in the order of `jobs`.
    fn hand_out<R, S: Schedule>(
        &self,
        schedule: S,
        jobs: &[Job],
        kinds: usize,
        handler: impl Fn(&Job) -> R + Sync,
        task: impl Fn(Job) -> Handling<'static, R> + Sync,
        mut finish: impl FnMut(&mut R),
    ) -> Result<Vec<R>, CaseError>
    where
        R: Send + Clone + Serialize + DeserializeOwned,
    {
        let numbered: Vec<Numbered> = jobs.iter().copied().enumerate().collect();
        let handler = |(_, job): &Numbered| handler(job);
        let task = |&(_, job): &Numbered| task(job);
        let mut all: Vec<Option<R>> = vec![None; jobs.len()];
        let mut failure = None;
        let finisher = |(number, _): &Numbered, result: Result<R, Failure>| match result {
            Ok(mut done) => {
                finish(&mut done);
                all[*number] = Some(done);
            }
            Err(e) => failure = Some(CaseError::Failed(format!("job {}: {e}", number + 1))),
        };
        debug_assert!(S::IN_ORDER || kinds == 1, "only independent jobs have several kinds");
        // With the constant first, the code of each kind is compiled for lists in their order only.
        if S::IN_ORDER && kinds > 1 {
            let kind_of = |(number, _): &Numbered| number % kinds;
            let handlers: [KindHandler<Numbered, R>; KINDS_AT_MOST] = each_kind!(&handler);
            let tasks: [KindHandler<Numbered, Handling<R>>; KINDS_AT_MOST] = each_kind!(&task);
            let (handler, task) = (by_kind(&handlers, kind_of), by_kind(&tasks, kind_of));
            self.do_scheduled(schedule, &numbered, handler, task, finisher);
        } else {
            self.do_scheduled(schedule, &numbered, handler, task, finisher);
        }
        match failure {
            Some(case_error) => Err(case_error),
            None => all
                .into_iter()
                .collect::<Option<_>>()
                .ok_or_else(|| CaseError::Failed("a job neither completed nor failed".into())),
        }
    }

    fn do_scheduled<S: Schedule, R: Send + Serialize + DeserializeOwned>(
        &self,
        schedule: S,
        jobs: &[Numbered],
        handler: impl Fn(&Numbered) -> R + Sync,
        task: impl Fn(&Numbered) -> Handling<'static, R> + Sync,
        finisher: impl FnMut(&Numbered, Result<R, Failure>),
    ) {
        match self {
            Self::Serial(serial) if S::IN_ORDER => serial.do_serial(jobs, handler, finisher),
            Self::Serial(serial) => {
                serial.do_serial(&one_by_one(schedule, jobs), handler, finisher);
            }
            Self::Threads(threads) => threads.do_scheduled(schedule, jobs, handler, finisher),
            Self::Pool(pool) => pool.do_scheduled(schedule, jobs, handler, finisher),
            Self::Rayon(rayon) => rayon.do_scheduled(schedule, jobs, handler, finisher),
            Self::Processes(processes) => {
                processes.do_scheduled(schedule, jobs, handler, finisher);
            }
            Self::Tokio(tokio) => tokio.do_scheduled(schedule, jobs, |job| task(job), finisher),
        }
    }
}

/// A job with its position in the list.
type Numbered = (usize, Job);

fn of_kind<const KIND: usize, T, R>(
    handler: &(impl Fn(&T) -> R + Sync),
) -> impl Fn(&T) -> R + Sync {
    move |object| {
        std::hint::black_box(KIND);
        handler(object)
    }
}

/// The jobs in an order that serial execution can follow.
fn one_by_one<T: Copy>(mut schedule: impl Schedule, jobs: &[T]) -> Vec<T> {
    let next = || schedule.next().inspect(|&job| schedule.finished(job));
    std::iter::from_fn(next).map(|job| jobs[job]).collect()
}

/// Beginning, end and CPU time of a job in ns, as plain numbers that a child process can send.
type Ended = ([u64; 2], Option<u64>);

fn ended(from: Ticks, cpu: Option<Duration>, clock: Clock, start: Ticks) -> Ended {
    let at = since(clock, start).as_nanos() as u64;
    let from = clock.between(start, from).get() as u64;
    ([from, at], cpu.map(|cpu| cpu.as_nanos() as u64))
}

impl From<Ended> for Done {
    fn from(([from, at], cpu): Ended) -> Self {
        let of = Duration::from_nanos;
        Self { from: of(from), at: of(at), cpu: cpu.map(of) }
    }
}

pub(super) fn since(clock: Clock, start: Ticks) -> Duration {
    Duration::from_nanos(clock.between(start, clock.now()).get() as u64)
}

/// The time left until `moment`; `None` if it has passed, since even sleeping for no time yields the CPU.
pub(super) fn until(moment: Duration, clock: Clock, start: Ticks) -> Option<Duration> {
    let left = moment.checked_sub(if moment.is_zero() { moment } else { since(clock, start) })?;
    (!left.is_zero()).then_some(left)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

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
            let options = Options::default();
            let done = executor.carry_out(&jobs(), &work, clock, &options).unwrap();
            assert_eq!(done.len(), 6, "{name}");
            for (job, done) in jobs().iter().zip(&done) {
                // A wait is never shorter than requested.
                assert!(done.from >= job.arrival, "{name}: {done:?}");
                assert!(done.at >= done.from + job.length.mul_f64(0.5), "{name}: {done:?}");
                assert_eq!(done.cpu.is_some(), cfg!(unix), "{name}");
            }
            let untimed = |jobs: &[Job]| executor.carry_out_untimed(jobs, &work, &options);
            assert!(untimed(&jobs()).is_err(), "one arrives later");
            assert_eq!(untimed(&jobs()[1..]), Ok(()), "{name}");
        }
        assert!(Executor::new("magic", 3, 2).is_err());
    }

    #[test]
    fn every_job_is_handled_once_and_finished_here_with_any_options() {
        let here = std::thread::current().id();
        for name in NAMES.iter().filter(|name| **name != "processes") {
            let executor = Executor::new(name, 2, 2).unwrap();
            for kinds in [1, 3, KINDS_AT_MOST] {
                let handled: Arc<[AtomicUsize; 6]> = Arc::default();
                let also_handled = Arc::clone(&handled);
                let number = |job: &Job| (job.length.as_micros() / 300 - 1) as usize;
                let handle = move |handled: &[AtomicUsize; 6], job: &Job| {
                    handled[number(job)].fetch_add(1, Ordering::SeqCst);
                    number(job)
                };
                let mut finished = Vec::new();
                let all = executor.hand_out(
                    InOrder::new(6),
                    &jobs(),
                    kinds,
                    |job| handle(&handled, job),
                    |job| {
                        let handled = Arc::clone(&also_handled);
                        Box::pin(async move { handle(&handled, &job) })
                    },
                    |number| {
                        assert_eq!(std::thread::current().id(), here, "{name}");
                        finished.push(*number);
                    },
                );
                assert_eq!(all, Ok((0..6).collect()), "{name}");
                let once = |times: &AtomicUsize| times.load(Ordering::SeqCst) == 1;
                assert!(handled.iter().all(once), "{name}");
                finished.sort_unstable();
                assert_eq!(finished, [0, 1, 2, 3, 4, 5], "{name}");
            }
        }
    }

    #[test]
    fn a_stamp_of_the_finisher_is_later_than_the_work_of_others() {
        let clock = Clock::monotonic();
        let work = Work::calibrate(clock).unwrap();
        let pause = Duration::from_millis(5);
        let jobs = vec![Job::new(pause, 0.0); 4];
        let finisher = work.of_length(Duration::from_millis(10));
        let executor = Executor::new("threads", 4, 2).unwrap();
        let last = |stamp| {
            let options = Options { kinds: 1, stamp, finisher };
            let done = executor.carry_out(&jobs, &work, clock, &options).unwrap();
            done.into_iter().map(|done| done.at).max().unwrap()
        };
        // Three other finishers run before the last one begins. The calibration may be wrong by a factor of two where another
        // program has the CPU meanwhile.
        assert!(last(Stamp::Finisher) >= pause + Duration::from_millis(15));
        assert!(last(Stamp::Handler) >= pause);
    }
}

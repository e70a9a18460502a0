//! Lists of jobs that wait for each other, or share a lock.

use std::cmp::Reverse;
use std::iter::from_fn;
use std::sync::Arc;

use concurrency::{Handling, Schedule};
use measure::CaseError;
use measure::time::{Clock, Ticks};
use measure::work::Work;

use super::executor::{Done, Ended, Executor, ended, since, until};
use super::job::Job;
use super::job_list::JobList;
use super::job_lock::JobLock;
use super::options::Options;

impl Executor {
    /// As [`Executor::carry_out`]; no job begins before those that it depends on are done, and jobs hold a lock during
    /// part of their work.
    ///
    /// # Errors
    /// `Failed` if a job was not completed, or two held the lock at the same time; `Unsupported` if the executor's jobs
    /// cannot share a lock.
    pub fn carry_out_list(
        &self,
        list: &JobList,
        work: &Work,
        clock: Clock,
    ) -> Result<Vec<Done>, CaseError> {
        let (jobs, schedule) = (&list.jobs, list.dependencies.schedule());
        match (list.dependencies.are_none(), list.has_lock()) {
            (true, false) => self.carry_out(jobs, work, clock, &Options::default()),
            (false, false) => self.carry_out_locked(None, schedule, jobs, work, clock),
            (_, true) => {
                let lock = Arc::new(JobLock::default());
                let done = self.carry_out_locked(Some(&lock), schedule, jobs, work, clock)?;
                lock.check(jobs)?;
                Ok(done)
            }
        }
    }

    /// Carries out `jobs` as `schedule` hands them out, with the lock, if there is one.
    fn carry_out_locked(
        &self,
        lock: Option<&Arc<JobLock>>,
        schedule: impl Schedule,
        jobs: &[Job],
        work: &Work,
        clock: Clock,
    ) -> Result<Vec<Done>, CaseError> {
        if lock.is_some() && matches!(self, Self::Processes(_)) {
            return Err(CaseError::Unsupported(
                "the lock that jobs share is one of threads; processes cannot share it".into(),
            ));
        }
        let start = clock.now();
        let handler = |job: &Job| {
            await_arrival(job, clock, start);
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
                await_arrival_async(&job, clock, start).await;
                let from = clock.now();
                let cpu = match lock {
                    Some(lock) => lock.carry_out_async(&job, &work).await,
                    None => job.carry_out_timed_async(&work).await,
                };
                ended(from, cpu, clock, start)
            })
        };
        let all = self.hand_out(schedule, jobs, 1, handler, task, |_| ())?;
        Ok(all.into_iter().map(Done::from).collect())
    }
}

/// Carries out the jobs one after the other, always the shortest of those that have arrived and depend on none that is not
/// done. They need no lock. Returns their results in the given order.
pub fn shortest_first(list: &JobList, work: &Work, clock: Clock) -> Vec<Done> {
    let jobs = &list.jobs;
    let mut schedule = list.dependencies.schedule();
    let start = clock.now();
    let mut all = vec![Done::from(([0, 0], None)); jobs.len()];
    let longer = |&number: &usize| Reverse((jobs[number].length, number));
    let mut left: Vec<usize> = from_fn(|| schedule.next()).collect();
    // The shortest job is the last element, where removing it is cheap.
    left.sort_by_key(longer);
    while !left.is_empty() {
        let now = since(clock, start);
        let Some(at) = left.iter().rposition(|&number| jobs[number].arrival <= now) else {
            let next = left.iter().map(|&number| jobs[number].arrival).min().unwrap_or_default();
            std::thread::sleep(until(next, clock, start).unwrap_or_default());
            continue;
        };
        let number = left.remove(at);
        let cpu = jobs[number].carry_out_timed(work);
        all[number] = Done { from: now, at: since(clock, start), cpu };
        schedule.finished(number);
        while let Some(released) = schedule.next() {
            let place = left.partition_point(|other| longer(other) < longer(&released));
            left.insert(place, released);
        }
    }
    all
}

fn await_arrival(job: &Job, clock: Clock, start: Ticks) {
    if let Some(early) = until(job.arrival, clock, start) {
        std::thread::sleep(early);
    }
}

async fn await_arrival_async(job: &Job, clock: Clock, start: Ticks) {
    if let Some(early) = until(job.arrival, clock, start) {
        tokio::time::sleep(early).await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::executor::NAMES;
    use super::*;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    fn work() -> (Work, Clock) {
        (Work::calibrate(Clock::monotonic()).unwrap(), Clock::monotonic())
    }

    /// A diamond of jobs whose order in the list is not that of their dependencies, and one that is independent.
    fn diamond(locked: f64) -> (JobList, Vec<(usize, usize)>) {
        let jobs = (1..=5).map(|k| Job { locked, ..Job::new(us(400 * k), 0.5) }).collect();
        let pairs = vec![(0, 1), (0, 2), (1, 3), (2, 3)];
        (JobList::new(jobs, &pairs).unwrap(), pairs)
    }

    #[test]
    fn every_executor_does_a_job_after_those_that_it_depends_on() {
        let (work, clock) = work();
        for locked in [0.0, 0.4] {
            let (list, pairs) = diamond(locked);
            for name in NAMES.iter().filter(|name| **name != "processes") {
                let executor = Executor::new(name, 3, 2).unwrap();
                let done = executor.carry_out_list(&list, &work, clock).unwrap();
                for &(job, before) in &pairs {
                    // Half of the job is waiting, which is never shorter than requested.
                    let at_least = done[before].at + list.jobs[job].length.mul_f64(0.499);
                    assert!(done[job].at >= at_least, "{name}: {job} after {before}: {done:?}");
                }
                assert!(done.iter().all(|done| done.cpu.is_some() == cfg!(unix)), "{name}");
            }
        }
    }

    #[test]
    fn jobs_hold_the_lock_one_at_a_time_with_every_executor() {
        let (work, clock) = work();
        // They only wait, with the lock held: concurrent executors cannot be faster than one after the other.
        let jobs = vec![Job { locked: 1.0, ..Job::new(us(700), 0.0) }; 6];
        let list = JobList::independent(jobs);
        for name in NAMES.iter().filter(|name| **name != "processes") {
            let executor = Executor::new(name, 6, 2).unwrap();
            let done = executor.carry_out_list(&list, &work, clock).unwrap();
            let last = done.iter().map(|done| done.at).max();
            assert!(last >= Some(us(6 * 700)), "{name}: {done:?}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn processes_cannot_share_the_lock() {
        let (work, clock) = work();
        let executor = Executor::new("processes", 2, 2).unwrap();
        let outcome = executor.carry_out_list(&diamond(0.1).0, &work, clock);
        assert!(matches!(outcome, Err(CaseError::Unsupported(_))), "{outcome:?}");
    }

    #[test]
    fn the_shortest_job_that_can_begin_is_first() {
        let (work, clock) = work();
        let order = |list: &JobList| {
            let done = shortest_first(list, &work, clock);
            let mut order: Vec<usize> = (0..done.len()).collect();
            order.sort_by_key(|&number| done[number].at);
            order
        };
        // Job 3 releases 1 and 2, these the shortest.
        assert_eq!(order(&diamond(0.0).0), [3, 1, 2, 0, 4]);
        let mut late = JobList::independent(diamond(0.0).0.jobs);
        late.jobs[0].arrival = us(3_000);
        let arrived: Vec<usize> = order(&late).into_iter().filter(|&job| job != 0).collect();
        assert_eq!(arrived, [1, 2, 3, 4]);
        // The shortest arrives while others are done already.
        assert_ne!(order(&late)[0], 0);
    }
}

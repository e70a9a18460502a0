//! Lists of jobs that wait for each other, or share a lock.

use std::cmp::Reverse;
use std::iter::from_fn;
use std::sync::Arc;
use std::time::Duration;

use concurrency::Schedule;
use measure::CaseError;
use measure::time::Clock;
use measure::work::Work;

use super::executor::{Done, Executor, since, until};
use super::job_list::JobList;
use super::job_lock::JobLock;
use super::options::Options;

impl Executor {
    /// Carries out the list. No job begins before those that it depends on are done, and jobs hold the lock during part of their
    /// work.
    ///
    /// # Errors
    /// `Failed` if a job was not completed, or two held the lock at the same time; `Unsupported` if the executor's jobs cannot
    /// share a lock.
    pub fn carry_out_list(
        &self,
        list: &JobList,
        work: &Work,
        clock: Clock,
    ) -> Result<Vec<Done>, CaseError> {
        let (jobs, options) = (&list.jobs, Options::default());
        if !list.has_lock() {
            return match list.dependencies.are_none() {
                true => self.carry_out(jobs, work, clock, &options),
                false => {
                    let schedule = list.dependencies.schedule();
                    self.carry_out_scheduled(schedule, None, jobs, work, clock, &options)
                }
            };
        }
        if matches!(self, Self::Processes(_)) {
            return Err(CaseError::Unsupported(
                "the lock that jobs share is one of threads; processes cannot share it".into(),
            ));
        }
        let (lock, schedule) = (Arc::new(JobLock::default()), list.dependencies.schedule());
        let done = self.carry_out_scheduled(schedule, Some(&lock), jobs, work, clock, &options)?;
        lock.check(jobs)?;
        Ok(done)
    }
}

/// Carries out the jobs one after the other: always the shortest of those that have arrived and whose dependencies are done. The
/// jobs need no lock. Returns their results in the given order.
pub fn shortest_first(list: &JobList, work: &Work, clock: Clock) -> Vec<Done> {
    let jobs = &list.jobs;
    let mut schedule = list.dependencies.schedule();
    let start = clock.now();
    let mut all = vec![Done { from: Duration::ZERO, at: Duration::ZERO, cpu: None }; jobs.len()];
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

#[cfg(test)]
mod tests {
    use super::super::executor::NAMES;
    use super::super::job::Job;
    use super::*;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    fn work() -> (Work, Clock) {
        (Work::calibrate(Clock::monotonic()).unwrap(), Clock::monotonic())
    }

    /// Five jobs: four whose dependencies form a diamond in another order than that of the list, and an independent one.
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
        // The jobs only wait, with the lock held: no executor can be faster than serial execution.
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
        // Jobs 1 and 2 can begin after job 3, and job 0, the shortest, after both.
        assert_eq!(order(&diamond(0.0).0), [3, 1, 2, 0, 4]);
        let mut late = JobList::independent(diamond(0.0).0.jobs);
        late.jobs[0].arrival = us(3_000);
        let arrived: Vec<usize> = order(&late).into_iter().filter(|&job| job != 0).collect();
        assert_eq!(arrived, [1, 2, 3, 4]);
        // Job 0, the shortest, arrives when others are done already.
        assert_ne!(order(&late)[0], 0);
    }
}

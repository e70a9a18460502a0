//! Lists of jobs that wait for each other, or share a lock.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use concurrency::Schedule;
use measure::CaseError;
use measure::time::Clock;
use measure::work::Work;

use super::executor::{Done, Executor, since, until};
use super::job::Job;
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
    let mut left = ShortestFirst::new(&list.jobs, list.dependencies.schedule());
    let start = clock.now();
    let mut all =
        vec![Done { from: Duration::ZERO, at: Duration::ZERO, cpu: None }; list.jobs.len()];
    loop {
        let now = since(clock, start);
        let Some(number) = left.take(now) else {
            let Some(arrival) = left.next_arrival() else { return all };
            std::thread::sleep(until(arrival, clock, start).unwrap_or_default());
            continue;
        };
        let cpu = list.jobs[number].carry_out_timed(work);
        all[number] = Done { from: now, at: since(clock, start), cpu };
        left.finished(number);
    }
}

/// The jobs of a list that are left, in the order of the shortest first.
struct ShortestFirst<'a, S> {
    jobs: &'a [Job],
    schedule: S,
    /// Numbers of the jobs whose dependencies are done. The shortest job is the last element, where removing it is cheap.
    free: Vec<usize>,
}

impl<'a, S: Schedule> ShortestFirst<'a, S> {
    fn new(jobs: &'a [Job], schedule: S) -> Self {
        let mut left = Self { jobs, schedule, free: Vec::new() };
        left.release();
        left
    }

    /// When the first of the jobs arrives whose dependencies are done; `None` if all jobs were taken.
    fn next_arrival(&self) -> Option<Duration> {
        self.free.iter().map(|&number| self.jobs[number].arrival).min()
    }

    /// The shortest job that has arrived by `now` and whose dependencies are done.
    fn take(&mut self, now: Duration) -> Option<usize> {
        let at = self.free.iter().rposition(|&number| self.jobs[number].arrival <= now)?;
        Some(self.free.remove(at))
    }

    /// Frees the jobs that waited for no other but this one.
    fn finished(&mut self, number: usize) {
        self.schedule.finished(number);
        self.release();
    }

    fn release(&mut self) {
        let longer = |number: usize| Reverse((self.jobs[number].length, number));
        while let Some(released) = self.schedule.next() {
            let place = self.free.partition_point(|&other| longer(other) < longer(released));
            self.free.insert(place, released);
        }
    }
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
        let order = |list: &JobList, each_takes: Duration| {
            let (mut left, mut now, mut order) = (
                ShortestFirst::new(&list.jobs, list.dependencies.schedule()),
                Duration::ZERO,
                vec![],
            );
            while let Some(arrival) = left.next_arrival() {
                now = now.max(arrival) + each_takes;
                let number = left.take(now).unwrap();
                left.finished(number);
                order.push(number);
            }
            order
        };
        // Jobs 1 and 2 can begin after job 3, and job 0, the shortest, after both.
        assert_eq!(order(&diamond(0.0).0, Duration::ZERO), [3, 1, 2, 0, 4]);
        let mut late = JobList::independent(diamond(0.0).0.jobs);
        late.jobs[0].arrival = us(3_000);
        // Job 0, the shortest, arrives once two others have begun, or before any.
        assert_eq!(order(&late, us(1_400)), [1, 2, 0, 3, 4]);
        assert_eq!(order(&late, us(3_000)), [0, 1, 2, 3, 4]);
        let mut left = ShortestFirst::new(&late.jobs, late.dependencies.schedule());
        assert_eq!((0..4).map(|_| left.take(us(2_999)).unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!((left.take(us(2_999)), left.next_arrival()), (None, Some(us(3_000))));
    }

    #[test]
    fn no_job_begins_before_it_arrives_or_those_that_it_depends_on_are_done() {
        let (work, clock) = work();
        let (mut list, pairs) = diamond(0.0);
        list.jobs[4].arrival = us(20_000);
        let done = shortest_first(&list, &work, clock);
        assert!(done[4].from >= us(20_000), "{done:?}");
        for (job, before) in pairs {
            assert!(done[job].from >= done[before].at, "{job} after {before}: {done:?}");
        }
        for (job, done) in list.jobs.iter().zip(&done) {
            // Half of a job is waiting, which is never shorter than requested.
            assert!(done.at - done.from >= job.length.mul_f64(0.499), "{done:?}");
        }
    }
}

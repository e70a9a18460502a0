//! A list of jobs, some of which may depend on others.

use std::time::Duration;

use concurrency::{Cycle, Dependencies};

use super::job::{Job, busy_until};
use super::limits::Limits;

/// Jobs in the order in which they are handed out, as far as their dependencies allow.
#[derive(Debug, Clone, PartialEq)]
pub struct JobList {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Dependencies between the jobs.
    pub dependencies: Dependencies,
}

impl JobList {
    /// A list of independent jobs.
    pub fn independent(jobs: Vec<Job>) -> Self {
        Self::new(jobs, &[]).expect("without dependencies there is no cycle")
    }

    /// A list of jobs with dependencies: each pair is the position of a job and that of a job that must be done before it.
    ///
    /// # Errors
    /// A cycle, if jobs wait for each other.
    pub fn new(jobs: Vec<Job>, pairs: &[(usize, usize)]) -> Result<Self, Cycle> {
        let dependencies = Dependencies::new(jobs.len(), pairs)?;
        Ok(Self { jobs, dependencies })
    }

    /// The jobs ordered by arrival; jobs that arrive together keep their order.
    pub fn by_arrival(&self) -> Self {
        let mut order: Vec<usize> = (0..self.jobs.len()).collect();
        order.sort_by_key(|&at| self.jobs[at].arrival);
        let mut place_of = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, &at)| place_of[at] = place);
        let of_job = |at: usize| self.dependencies.dependents(at).iter().map(move |&d| (d, at));
        let pairs = (0..order.len()).flat_map(of_job);
        let pairs: Vec<(usize, usize)> =
            pairs.map(|(job, before)| (place_of[job], place_of[before])).collect();
        let jobs = order.iter().map(|&at| self.jobs[at]).collect();
        Self::new(jobs, &pairs).expect("the same graph has no cycle")
    }

    /// Whether any job holds the lock during part of its work.
    pub fn has_lock(&self) -> bool {
        self.jobs.iter().any(|job| job.locked > 0.0)
    }

    /// Earliest time at which each job can be done: after its arrival and after the jobs that it depends on.
    pub fn soonest(&self) -> Vec<Duration> {
        // Each entry begins as the earliest time at which the job can begin.
        let mut soonest: Vec<Duration> = self.jobs.iter().map(|job| job.arrival).collect();
        for at in self.dependencies.order() {
            soonest[at] += self.jobs[at].length;
            for &dependent in self.dependencies.dependents(at) {
                soonest[dependent] = soonest[dependent].max(soonest[at]);
            }
        }
        soonest
    }

    /// Lower bounds of the time of these jobs on `cpus` CPUs.
    pub fn limits(&self, cpus: usize) -> Limits {
        let soonest = self.soonest();
        let begin = || self.jobs.iter().zip(&soonest).map(|(job, &end)| (end - job.length, job));
        let critical_path = soonest.iter().max().copied().unwrap_or_default();
        let work = busy_until(begin().map(|(begin, job)| (begin, job.cpu())), cpus);
        let held = busy_until(begin().map(|(begin, job)| (begin, job.under_lock())), 1);
        let one_by_one = self.dependencies.order().into_iter().map(|at| self.jobs[at]);
        Limits {
            cpus,
            serial: one_by_one.fold(Duration::ZERO, |now, job| now.max(job.arrival) + job.length),
            critical_path,
            lock_held: self.jobs.iter().map(Job::under_lock).sum(),
            at_least: critical_path.max(work).max(held),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::job::ideal;
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn cpu(length: u64) -> Job {
        Job::new(ms(length), 1.0)
    }

    #[test]
    fn a_chain_takes_the_sum_of_its_jobs() {
        // 0 -> 1 -> 3 and 0 -> 2 -> 3: 10 + 40 + 5 ms on the longer way.
        let jobs = vec![cpu(10), cpu(40), cpu(20), cpu(5)];
        let list = JobList::new(jobs, &[(1, 0), (2, 0), (3, 1), (3, 2)]).unwrap();
        assert_eq!(list.soonest(), [ms(10), ms(50), ms(30), ms(55)]);
        let limits = list.limits(2);
        assert_eq!((limits.serial, limits.critical_path), (ms(75), ms(55)));
        assert_eq!((limits.at_least, limits.lock_held), (ms(55), ms(0)));
        assert_eq!(list.limits(1).at_least, ms(75));
        assert!(JobList::new(vec![cpu(1); 2], &[(0, 1), (1, 0)]).is_err());
    }

    #[test]
    fn work_that_can_begin_late_only_counts_from_then_on() {
        // Jobs 1 and 2 need a CPU after job 0, which only waits.
        let jobs = vec![Job::new(ms(100), 0.0), cpu(10), cpu(10)];
        let list = JobList::new(jobs, &[(1, 0), (2, 0)]).unwrap();
        assert_eq!(list.limits(1).at_least, ms(120));
        assert_eq!(list.limits(2).at_least, ms(110));
    }

    #[test]
    fn a_lock_is_held_by_one_job_at_a_time() {
        let jobs = vec![Job { locked: 0.5, ..cpu(20) }; 4];
        let limits = JobList::independent(jobs).limits(8);
        assert_eq!((limits.lock_held, limits.at_least), (ms(40), ms(40)));
    }

    #[test]
    fn without_dependencies_the_limit_is_that_of_independent_jobs() {
        let late = Job { arrival: ms(100), ..cpu(10) };
        for jobs in [vec![], vec![cpu(10); 3], vec![late, cpu(30)], vec![late, late, cpu(5)]] {
            for cpus in 1..4 {
                let limits = JobList::independent(jobs.clone()).limits(cpus);
                assert_eq!(limits.at_least, ideal(&jobs, cpus), "{jobs:?} on {cpus}");
            }
        }
    }

    #[test]
    fn jobs_are_sorted_by_arrival_with_their_dependencies() {
        let at = |arrival, length| Job { arrival: ms(arrival), ..cpu(length) };
        let jobs = vec![at(9, 1), at(0, 2), at(5, 3), at(0, 4)];
        let sorted = JobList::new(jobs, &[(0, 1), (1, 2)]).unwrap().by_arrival();
        let lengths: Vec<u128> = sorted.jobs.iter().map(|job| job.length.as_millis()).collect();
        assert_eq!(lengths, [2, 4, 3, 1]);
        // The job of 2 ms waits for that of 3 ms, and that of 1 ms for that of 2 ms.
        assert_eq!(sorted.dependencies.order(), [1, 2, 0, 3]);
        assert_eq!(sorted.limits(1).serial, ms(11));
    }
}

//! The lock that jobs hold during part of their work.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use measure::CaseError;
use measure::work::Work;

use super::job::{Job, add, timed};

/// A mutex that all jobs of a list share. Jobs on threads use the mutex of the standard library; tasks use tokio's, which may be
/// held while a task waits.
#[derive(Debug, Default)]
pub struct JobLock {
    of_threads: Mutex<()>,
    of_tasks: tokio::sync::Mutex<()>,
    /// Number of times the lock was held. It is read before and written after the locked part of the work, so that an increment
    /// is lost if two jobs hold the lock at the same time.
    held: AtomicU64,
}

/// One part of a job's turn, with or without the lock: first work, then waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    work: Duration,
    wait: Duration,
}

impl JobLock {
    /// Checks that the jobs held the lock once for each of their turns, and never at the same time.
    ///
    /// # Errors
    /// `Failed` if they did not.
    pub fn check(&self, jobs: &[Job]) -> Result<(), CaseError> {
        let locked = jobs.iter().filter(|job| job.locked > 0.0);
        let expected: u64 = locked.map(|job| u64::from(job.turns())).sum();
        match self.held.load(Ordering::SeqCst) {
            held if held == expected => Ok(()),
            held => Err(CaseError::Failed(format!(
                "the lock of the jobs was held {held} times instead of {expected}: not by one job at a time"
            ))),
        }
    }

    /// Carries out the job on the calling thread, with the lock held during part of each turn. Returns the CPU time of
    /// its work, if the system reports it.
    pub fn carry_out(&self, job: &Job, work: &Work) -> Option<Duration> {
        let [free, locked] = parts(job);
        let mut spent = Some(Duration::ZERO);
        for _ in 0..job.turns() {
            free.carry_out(work, &mut spent);
            let _held = self.of_threads.lock().unwrap_or_else(PoisonError::into_inner);
            let before = self.held.load(Ordering::Relaxed);
            locked.carry_out(work, &mut spent);
            self.held.store(before + 1, Ordering::Relaxed);
        }
        spent
    }

    /// Carries out the job as a task that yields to other tasks while it waits for time or for the lock. Returns the CPU time of
    /// its work, if the system reports it.
    pub async fn carry_out_async(&self, job: &Job, work: &Work) -> Option<Duration> {
        let [free, locked] = parts(job);
        let mut spent = Some(Duration::ZERO);
        for _ in 0..job.turns() {
            free.carry_out_async(work, &mut spent).await;
            let _held = self.of_tasks.lock().await;
            let before = self.held.load(Ordering::Relaxed);
            locked.carry_out_async(work, &mut spent).await;
            self.held.store(before + 1, Ordering::Relaxed);
        }
        spent
    }
}

/// Each turn's part without the lock, and its part with the lock.
fn parts(job: &Job) -> [Part; 2] {
    let whole =
        Part { work: job.cpu() / job.turns(), wait: (job.length - job.cpu()) / job.turns() };
    let locked =
        Part { work: whole.work.mul_f64(job.locked), wait: whole.wait.mul_f64(job.locked) };
    let free = Part {
        work: whole.work.saturating_sub(locked.work),
        wait: whole.wait.saturating_sub(locked.wait),
    };
    [free, locked]
}

impl Part {
    fn carry_out(self, work: &Work, spent: &mut Option<Duration>) {
        if !self.work.is_zero() {
            add(spent, timed(work, self.work));
        }
        if !self.wait.is_zero() {
            std::thread::sleep(self.wait);
        }
    }

    async fn carry_out_async(self, work: &Work, spent: &mut Option<Duration>) {
        if !self.work.is_zero() {
            add(spent, timed(work, self.work));
        }
        if !self.wait.is_zero() {
            tokio::time::sleep(self.wait).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use measure::time::Clock;

    use super::*;

    fn job(length_us: u64, cpu_share: f64, locked: f64) -> Job {
        Job { locked, ..Job::new(Duration::from_micros(length_us), cpu_share) }
    }

    #[test]
    fn a_lock_changes_neither_the_work_nor_the_waiting() {
        for job in [job(20_000, 0.3, 0.1), job(1, 1.0, 0.5), job(3_600_000_000, 0.0, 1.0)] {
            let [free, locked] = parts(&job);
            let turns = job.turns();
            // The tolerance allows for divisions that round to nanoseconds.
            let is_about =
                |sum: Duration, of: Duration| sum.abs_diff(of) <= Duration::from_nanos(20);
            assert!(is_about((free.work + locked.work) * turns, job.cpu()), "{job:?}");
            assert!(is_about((free.wait + locked.wait) * turns, job.length - job.cpu()), "{job:?}");
            assert!(is_about((locked.work + locked.wait) * turns, job.under_lock()), "{job:?}");
        }
        // A part shorter than a nanosecond is left out; the rest of the turn remains.
        assert_eq!(parts(&job(1, 1.0, 0.0001))[1].work, Duration::ZERO);
    }

    #[test]
    fn the_lock_is_held_by_one_job_at_a_time() {
        let jobs = vec![job(2_000, 0.0, 0.5); 4];
        let lock = JobLock::default();
        let work = Work::calibrate(Clock::monotonic()).unwrap();
        thread::scope(|scope| {
            jobs.iter().for_each(|job| _ = scope.spawn(|| lock.carry_out(job, &work)));
        });
        assert_eq!(lock.check(&jobs), Ok(()));
        assert_eq!(lock.held.load(Ordering::Relaxed), 8, "two turns of each");
        // Simulates two increments of which one was lost.
        lock.held.fetch_sub(1, Ordering::Relaxed);
        let error = lock.check(&jobs).unwrap_err().to_string();
        assert!(error.contains("7 times instead of 8"), "{error}");
    }
}

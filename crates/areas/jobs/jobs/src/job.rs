//! A job: alternating slices of CPU time and waiting, starting at its arrival.

use std::time::Duration;

use measure::work::Work;

/// Approximate length of one slice of CPU time and one slice of waiting together.
const SLICE: Duration = Duration::from_millis(1);
/// Maximum number of slices of each kind in a job.
const SLICES_AT_MOST: u32 = 10;

/// A job that uses a CPU for a part of its length and waits for the rest, as a program waits for a
/// disk or another machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Job {
    /// Time that the job takes on an idle machine; never zero.
    pub length: Duration,
    /// Share of the length that needs a CPU, 0 to 1.
    pub cpu_share: f64,
    /// Earliest time at which the job can start, from the start of the list.
    pub arrival: Duration,
    /// Share of the length, of work and waiting alike, during which the job holds the lock that all jobs of the list share, 0 to
    /// 1.
    pub locked: f64,
}

/// One slice of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slice {
    /// CPU-bound work of this duration.
    Work(Duration),
    /// Waiting of this duration, without a CPU.
    Wait(Duration),
}

impl Job {
    /// A job that arrives at the start of the list and needs no lock.
    pub fn new(length: Duration, cpu_share: f64) -> Self {
        Self { length, cpu_share, arrival: Duration::ZERO, locked: 0.0 }
    }

    /// The CPU time of the job.
    pub fn cpu(&self) -> Duration {
        self.length.mul_f64(self.cpu_share)
    }

    /// The time for which the job holds the lock.
    pub fn under_lock(&self) -> Duration {
        self.length.mul_f64(self.locked)
    }

    /// The earliest time at which the job can be complete.
    pub fn soonest(&self) -> Duration {
        self.arrival + self.length
    }

    /// The slices of the job in order: work and waiting alternate, work first.
    pub fn slices(&self) -> impl Iterator<Item = Slice> + use<> {
        let cpu = self.cpu();
        let wait = self.length - cpu;
        let mixed = !cpu.is_zero() && !wait.is_zero();
        let turns = if mixed { self.turns() } else { 1 };
        (0..turns).flat_map(move |_| [Slice::Work(cpu / turns), Slice::Wait(wait / turns)]).filter(
            |slice| !matches!(slice, Slice::Work(Duration::ZERO) | Slice::Wait(Duration::ZERO)),
        )
    }

    /// Number of pairs of a slice of work and a slice of waiting.
    pub fn turns(&self) -> u32 {
        let turns = (self.length.as_nanos() / SLICE.as_nanos()) as u32;
        turns.clamp(1, SLICES_AT_MOST)
    }

    /// Carries out the job on the calling thread, without reading a clock.
    pub fn carry_out(&self, work: &Work) {
        for slice in self.slices() {
            match slice {
                Slice::Work(length) => work.run(length),
                Slice::Wait(length) => std::thread::sleep(length),
            }
        }
    }

    /// Carries out the job as a task that yields to other tasks while it waits, without reading a clock.
    pub async fn carry_out_async(&self, work: &Work) {
        for slice in self.slices() {
            match slice {
                Slice::Work(length) => work.run(length),
                Slice::Wait(length) => tokio::time::sleep(length).await,
            }
        }
    }

    /// Carries out the job on the calling thread. Returns the CPU time of its work, if the system reports it.
    pub fn carry_out_timed(&self, work: &Work) -> Option<Duration> {
        let mut spent = Some(Duration::ZERO);
        for slice in self.slices() {
            match slice {
                Slice::Work(length) => add(&mut spent, timed(work, length)),
                Slice::Wait(length) => std::thread::sleep(length),
            }
        }
        spent
    }

    /// Carries out the job as a task that yields to other tasks while it waits. Returns the CPU time of its work, if the system
    /// reports it.
    pub async fn carry_out_timed_async(&self, work: &Work) -> Option<Duration> {
        let mut spent = Some(Duration::ZERO);
        for slice in self.slices() {
            match slice {
                Slice::Work(length) => add(&mut spent, timed(work, length)),
                Slice::Wait(length) => tokio::time::sleep(length).await,
            }
        }
        spent
    }
}

/// Works for `length` and returns the CPU time. The clock is read before and after, never during the work.
pub(super) fn timed(work: &Work, length: Duration) -> Option<Duration> {
    #[cfg(test)]
    tests::TIMED.set(tests::TIMED.get() + 1);
    let before = platform::process::usage::thread_cpu_time();
    work.run(length);
    let after = platform::process::usage::thread_cpu_time();
    after.zip(before).map(|(after, before)| after.saturating_sub(before))
}

/// Adds a CPU time to a sum. The sum is `None` if any part is unknown.
pub(super) fn add(sum: &mut Option<Duration>, more: Option<Duration>) {
    *sum = sum.zip(more).map(|(sum, more)| sum + more);
}

/// A lower bound of the time in which `cpus` CPUs can complete all jobs under any schedule: no job
/// completes earlier than it would alone, and from any moment on the CPUs must do the work of all jobs
/// that arrive later (McNaughton 1959, where all jobs arrive at the start).
pub fn ideal(jobs: &[Job], cpus: usize) -> Duration {
    let alone = jobs.iter().map(Job::soonest).max().unwrap_or_default();
    alone.max(busy_until(jobs.iter().map(|job| (job.arrival, job.cpu())), cpus))
}

/// A lower bound of the time in which `servers`, each of which does one thing at a time, can complete all tasks. A task is given
/// by the earliest time at which it can begin and by its length.
pub(super) fn busy_until(
    tasks: impl Iterator<Item = (Duration, Duration)>,
    servers: usize,
) -> Duration {
    let mut latest_first: Vec<(Duration, Duration)> = tasks.collect();
    latest_first.sort_by_key(|&(begin, _)| std::cmp::Reverse(begin));
    let mut work = Duration::ZERO;
    latest_first.into_iter().fold(Duration::ZERO, |bound, (begin, length)| {
        work += length;
        bound.max(begin + work.div_f64(servers.max(1) as f64))
    })
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// The number of slices of work that this thread has timed.
        pub(in super::super) static TIMED: Cell<usize> = const { Cell::new(0) };
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn slices_alternate_and_make_up_the_job() {
        let slices: Vec<Slice> = Job::new(ms(10), 0.3).slices().collect();
        assert_eq!(slices.len(), 20);
        assert_eq!(slices[0], Slice::Work(Duration::from_micros(300)));
        assert_eq!(slices[1], Slice::Wait(Duration::from_micros(700)));
        let short: Vec<Slice> = Job::new(Duration::from_micros(100), 0.5).slices().collect();
        let half = Duration::from_micros(50);
        assert_eq!(short, [Slice::Work(half), Slice::Wait(half)]);
        assert_eq!(Job::new(ms(90), 1.0).slices().collect::<Vec<_>>(), [Slice::Work(ms(90))]);
        assert_eq!(Job::new(ms(90), 0.0).slices().collect::<Vec<_>>(), [Slice::Wait(ms(90))]);
        assert_eq!(Job::new(ms(900), 0.5).slices().count(), 20);
    }

    #[test]
    fn no_schedule_beats_the_ideal() {
        let cpu = |length| Job::new(ms(length), 1.0);
        for (jobs, cpus, bound) in [
            (vec![], 2, 0),
            (vec![cpu(10), cpu(20), cpu(30)], 1, 60),
            (vec![cpu(10), cpu(20), cpu(30)], 2, 30),
            (vec![cpu(10), cpu(10), cpu(10)], 2, 15),
            (vec![Job::new(ms(10), 0.0), Job::new(ms(20), 0.0)], 1, 20),
            (vec![Job::new(ms(10), 0.5), Job::new(ms(20), 0.5)], 1, 20),
            (vec![Job { arrival: ms(100), ..cpu(10) }, cpu(10)], 1, 110),
            // Two jobs that arrive together share the only CPU from then on.
            (
                vec![Job { arrival: ms(100), ..cpu(10) }, Job { arrival: ms(100), ..cpu(10) }],
                1,
                120,
            ),
        ] {
            assert_eq!(ideal(&jobs, cpus), ms(bound), "{jobs:?} on {cpus}");
        }
    }
}

//! Threads that work at the same time: batches of operations, each thread on its own CPU, or one item of a list each.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::round::PATIENCE;
use crate::time::{Clock, Stopwatch};
use crate::trial::Timed;
use crate::{CaseError, Round};
use platform::cpu::pin_thread;
use platform::process::spawn_scoped;

/// Result of one thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Number of operations.
    pub operations: u64,
    /// Time of these operations.
    pub took: Duration,
}

/// Work of one of the threads.
pub trait Work {
    /// Carries out a batch of operations that takes 10 to 1,000 us; returns their number.
    ///
    /// # Errors
    /// The error of the operation that failed.
    fn batch(&mut self) -> Result<u64, CaseError>;

    /// Checks, off the clock, that all batches had the right effect.
    ///
    /// # Errors
    /// `Implausible` if they had not.
    fn verify(&mut self) -> Result<(), CaseError>;
}

/// CPUs of `workers` threads, from the last down: a single worker has the CPU on which all single-threaded cases are measured.
///
/// # Errors
/// `Unsupported` if this process may use fewer CPUs.
pub fn cpus_of(workers: usize, round: &Round) -> Result<Vec<usize>, CaseError> {
    let all = &round.order().cpus;
    if workers > all.len() {
        let text = format!("needs {workers} CPUs; this process may use {}", all.len());
        return Err(CaseError::Unsupported(text));
    }
    Ok(all.iter().rev().take(workers).copied().collect())
}

/// Starts one thread on each of `cpus`. All begin together, carry out batches for `span`, and give one share each. `prepare` is
/// called in each thread, on its CPU, with its number.
///
/// # Errors
/// `Unsupported` if threads cannot be pinned; otherwise the error of the first thread that failed.
pub fn together<W: Work>(
    clock: Clock,
    cpus: &[usize],
    span: Duration,
    prepare: impl Fn(usize) -> Result<W, CaseError> + Sync,
) -> Result<Vec<Share>, CaseError> {
    let (ready, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let one = |number: usize, cpu: usize| {
        let prepared = pin_thread(cpu).and_then(|()| prepare(number));
        failed.fetch_or(prepared.is_err(), Ordering::AcqRel);
        ready.fetch_add(1, Ordering::AcqRel);
        let mut work = prepared?;
        wait_for(&ready, cpus.len())?;
        if failed.load(Ordering::Acquire) {
            return Ok(None); // another thread has the reason
        }
        let share = repeat(clock, span, &mut work);
        failed.fetch_or(share.is_err(), Ordering::AcqRel);
        let share = share?;
        work.verify()?;
        Ok(Some(share))
    };
    std::thread::scope(|scope| {
        let one = &one;
        let start = |(number, &cpu): (usize, &usize)| {
            let started = spawn_scoped(scope, "a thread", move || one(number, cpu));
            // Counts as ready, so that the threads that did start do not wait for this one.
            started.inspect_err(|_| {
                failed.store(true, Ordering::Release);
                ready.fetch_add(1, Ordering::AcqRel);
            })
        };
        let threads: Vec<_> = cpus.iter().enumerate().map(start).collect();
        let mut shares = Vec::with_capacity(threads.len());
        let mut trouble = None;
        for thread in threads {
            let ended = match thread {
                Ok(thread) => thread
                    .join()
                    .unwrap_or_else(|_| Err(CaseError::Failed("a thread panicked".into()))),
                Err(error) => Err(error),
            };
            match ended {
                Ok(share) => shares.extend(share),
                Err(error) => trouble = trouble.or(Some(error)),
            }
        }
        trouble.map_or(Ok(shares), Err)
    })
}

/// Calls `work` with each item in a separate thread; the threads begin together. Returns the results in the order of the items.
///
/// # Errors
/// The error of the first item whose thread failed; `Failed` if the thread panicked.
pub fn at_once<T: Send, R: Send>(
    items: impl ExactSizeIterator<Item = T>,
    work: impl Fn(T) -> Result<R, CaseError> + Sync,
) -> Result<Vec<R>, CaseError> {
    let (gate, work) = (&Gate::of(items.len()), &work);
    std::thread::scope(|scope| {
        let start = |item| {
            let started = spawn_scoped(scope, "a thread of the trial", move || match gate.pass() {
                true => work(item),
                false => Err(CaseError::Failed("another thread of the trial did not start".into())),
            });
            started.inspect_err(|_| gate.close())
        };
        let threads: Vec<_> = items.map(start).collect();
        if let Some(reason) = threads.iter().find_map(|thread| thread.as_ref().err()) {
            return Err(reason.clone()); // the others end without work
        }
        let panicked = |_| Err(CaseError::Failed("a thread of the trial panicked".into()));
        let ended = threads.into_iter().flatten();
        let ended = ended.map(|thread| thread.join().unwrap_or_else(panicked));
        // Collects twice: the first time joins all threads, also after an error.
        ended.collect::<Vec<_>>().into_iter().collect()
    })
}

/// A barrier at which threads wait for each other, unless one of them could not be started.
struct Gate {
    /// Number of threads that are still expected; `None` if the gate is closed.
    expected: Mutex<Option<usize>>,
    changed: Condvar,
}

impl Gate {
    fn of(threads: usize) -> Self {
        Self { expected: Mutex::new(Some(threads)), changed: Condvar::new() }
    }

    /// Waits until all threads are here; returns whether they are.
    fn pass(&self) -> bool {
        let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        *expected = expected.map(|threads| threads - 1);
        if *expected == Some(0) {
            self.changed.notify_all();
        }
        let is_waiting = |expected: &mut Option<usize>| expected.is_some_and(|threads| threads > 0);
        let passed = self.changed.wait_while(expected, is_waiting);
        passed.unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Lets all threads go on without the one that is missing.
    fn close(&self) {
        *self.expected.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.changed.notify_all();
    }
}

/// Waits until all threads are ready. Threads spin, so that they begin within a microsecond of each other, and yield to those
/// that still have to start.
fn wait_for(ready: &AtomicUsize, all: usize) -> Result<(), CaseError> {
    let watch = Stopwatch::start();
    while ready.load(Ordering::Acquire) < all {
        if watch.elapsed().get() > PATIENCE.as_nanos() as f64 {
            return Err(CaseError::TimedOut("the other threads did not start".into()));
        }
        std::thread::yield_now();
    }
    Ok(())
}

fn repeat(clock: Clock, span: Duration, work: &mut impl Work) -> Result<Share, CaseError> {
    let start = clock.now();
    let mut operations = 0;
    loop {
        operations += work.batch()?;
        let took = clock.between(start, clock.now()).get();
        if took >= span.as_nanos() as f64 {
            return Ok(Share { operations, took: Duration::from_nanos(took as u64) });
        }
    }
}

/// The number of operations of all threads and the sum of their times, whose quotient is the time of one operation in a thread;
/// the value is the operations of all threads per second.
pub fn in_sum(shares: &[Share]) -> Timed<f64> {
    let rates = shares.iter().map(|share| share.operations as f64 / share.took.as_secs_f64());
    Timed {
        value: rates.sum(),
        operations: shares.iter().map(|share| share.operations).sum(),
        took: shares.iter().map(|share| share.took).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sleeper(u64);

    impl Work for Sleeper {
        fn batch(&mut self) -> Result<u64, CaseError> {
            std::thread::sleep(Duration::from_millis(1));
            self.0 += 10;
            Ok(10)
        }

        fn verify(&mut self) -> Result<(), CaseError> {
            if self.0 > 0 { Ok(()) } else { Err(CaseError::Implausible("nothing done".into())) }
        }
    }

    fn clock() -> Clock {
        crate::survey::survey()[0].clock().unwrap()
    }

    #[test]
    fn all_threads_work_for_the_whole_time() {
        let cpus = platform::cpu::allowed();
        let span = Duration::from_millis(5);
        let shares = together(clock(), &cpus, span, |_| Ok(Sleeper(0))).unwrap();
        assert_eq!(shares.len(), cpus.len());
        assert!(shares.iter().all(|share| share.took >= span && share.operations >= 10));
        let sum = in_sum(&shares);
        assert_eq!(sum.operations, shares.iter().map(|share| share.operations).sum::<u64>());
        assert!(sum.took >= span * cpus.len() as u32);
    }

    #[test]
    fn one_that_fails_ends_all() {
        let cpu = platform::cpu::allowed()[0];
        let prepare = |number| match number {
            1 => Err(CaseError::Unsupported("no more memory".into())),
            _ => Ok(Sleeper(0)),
        };
        let refused = together(clock(), &[cpu; 3], Duration::from_millis(1), prepare);
        assert_eq!(refused, Err(CaseError::Unsupported("no more memory".into())));
    }

    #[test]
    fn threads_that_cannot_all_start_do_not_wait_for_each_other() {
        let gate = Gate::of(3);
        std::thread::scope(|scope| {
            let waiting = [scope.spawn(|| gate.pass()), scope.spawn(|| gate.pass())];
            gate.close();
            assert_eq!(waiting.map(|thread| thread.join().unwrap()), [false, false]);
        });
        let sum = at_once(1..5u32, Ok).unwrap().into_iter().sum::<u32>();
        assert_eq!(sum, 10);
    }

    #[test]
    fn the_time_of_an_operation_is_that_of_a_thread_and_the_rate_that_of_all() {
        let share = Share { operations: 100, took: Duration::from_micros(10) };
        let sum = in_sum(&[share; 4]);
        assert_eq!((sum.operations, sum.took), (400, Duration::from_micros(40)));
        assert!((sum.value / 4e7 - 1.0).abs() < 1e-9, "{}", sum.value);
    }
}

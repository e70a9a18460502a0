//! Shared by the cases of locks: the interface of a lock, parameters, metrics, and the measurement of a lock.

use crate::place::PLACE;
use crate::{Extent, Param, Takes, count_of, value_of};
use measure::time::Clock;
use measure::work::Work;
use measure::worker_group::{
    GREATEST_SHARE, LEAST_SHARE, Operations, RATE, Task, WORKERS_AT_MOST, WorkerGroup,
};
use measure::{CaseError, Metric, Params, Round};
use platform::shared::Shared;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::time::Duration;

/// A lock that several workers can use. It is created once, before the workers.
pub trait Lock: Sync {
    /// What one worker needs to use the lock, such as a file descriptor or a guard.
    type Hold;

    /// Creates the worker's part of the lock; called in the worker.
    ///
    /// # Errors
    /// If the system refuses a resource.
    fn join(&self) -> Result<Self::Hold, CaseError>;

    /// Waits until the worker has the lock.
    fn acquire(&self, hold: &mut Self::Hold);

    /// Releases the lock.
    fn release(&self, hold: &mut Self::Hold);

    /// Acquires the lock exclusively. Differs from `acquire` only for locks whose measured operation
    /// admits several workers at once.
    fn acquire_alone(&self, hold: &mut Self::Hold) {
        self.acquire(hold);
    }

    /// Releases a lock acquired by `acquire_alone`.
    fn release_alone(&self, hold: &mut Self::Hold) {
        self.release(hold);
    }
}

/// Parameters of a lock that only threads of one process can share.
pub const THREADS: &[Param] = &[WORKERS, AS_THREADS, WORK, PLACE];
/// Parameters of a lock that processes can share; measured between processes only with `--full`.
pub const THREADS_OR_PROCESSES: &[Param] = &[WORKERS, AS_EITHER_IF_FULL, WORK, PLACE];
/// Parameters of a lock meant for processes; measured between threads and between processes by default.
pub const PROCESSES_TOO: &[Param] = &[WORKERS, AS_EITHER, WORK, PLACE];

pub const WORKERS: Param = Param {
    name: "workers",
    meaning: "the number of workers that acquire and release the lock",
    // Uncontended, contended, and oversubscribed. The numbers between them add little information.
    default: &["1", "2", "2xcpus"],
    full: &["1", "2", "3", "4", "5", "10"],
    takes: Takes::Count(WORKERS_AT_MOST as u64),
};
pub const AS_MEANING: &str = "whether workers are threads of one process, or processes";
pub const AS_THREADS: Param = Param {
    name: "as",
    meaning: AS_MEANING,
    default: &["threads"],
    full: &["threads"],
    takes: Takes::Words(&[]),
};
pub const AS_EITHER_IF_FULL: Param = Param {
    name: "as",
    meaning: AS_MEANING,
    default: &["threads"],
    full: &["threads", "processes"],
    takes: Takes::Words(&[]),
};
pub const AS_EITHER: Param = Param {
    name: "as",
    meaning: AS_MEANING,
    default: &["threads", "processes"],
    full: &["threads", "processes"],
    takes: Takes::Words(&[]),
};
pub const WORK: Param = Param {
    name: "work",
    meaning: "the work done while holding the lock: none, an integer loop of 100 iterations, or \
              calibrated work of 9 us",
    default: &["none"],
    full: &["none", "loop100"],
    takes: Takes::Words(&["9us"]),
};
/// Whether a run of this extent measures this point: a quick run has one worker and two workers, and
/// no larger numbers.
pub fn includes(params: &Params, extent: Extent) -> bool {
    extent != Extent::Quick || count_of(params, "workers").is_ok_and(|workers| workers <= 2)
}

/// The metrics of every lock.
pub const METRICS: &[Metric] = &[RATE, LEAST_SHARE, GREATEST_SHARE];

/// Measures `lock` with the workers that `params` describe.
///
/// # Errors
/// As [`Round::contend`].
pub fn measure<L: Lock>(params: &Params, round: &mut Round, lock: &L) -> Result<(), CaseError> {
    let worker_group = WorkerGroup {
        workers: count_of(params, "workers")?,
        processes: of_processes(params)?,
        place: crate::place::place_of(params)?,
    };
    match value_of(params, "work")? {
        "loop100" => round.contend(&worker_group, &Pairs::<L, 100> { lock }),
        "9us" => {
            let work = Work::calibrate(Clock::monotonic())?;
            round.contend(&worker_group, &LongPairs { lock, work })
        }
        _ => round.contend(&worker_group, &Pairs::<L, 0> { lock }),
    }
}

/// Whether the workers are processes.
///
/// # Errors
/// `Failed` if the parameter `as` is missing.
pub fn of_processes(params: &Params) -> Result<bool, CaseError> {
    Ok(value_of(params, "as")? == "processes")
}

/// Expects no system call where there is only one worker, for a lock that enters the kernel only to wait
/// and to wake.
///
/// # Errors
/// `Failed` if the parameter `workers` is missing.
pub fn expect_no_calls_alone(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    if count_of(params, "workers")? == 1 {
        round.expect_syscalls(0.0);
    }
    Ok(())
}

/// Shared memory, zeroed, for an object that a C library initialises in place and that must not be moved.
pub struct InPlace<T: 'static>(Shared<Opaque<T>>);

pub struct Opaque<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: Rust code never accesses the value; it only passes its address to C functions.
unsafe impl<T> Sync for Opaque<T> {}

impl<T> InPlace<T> {
    pub fn new() -> Result<Self, CaseError> {
        Ok(Self(Shared::new(Opaque(UnsafeCell::new(MaybeUninit::zeroed())))?))
    }

    #[inline(always)]
    pub fn get(&self) -> *mut T {
        self.0.0.get().cast()
    }
}

/// The measured operation: acquires the lock, runs `STEPS` iterations of work, and releases the lock.
pub struct Pairs<'a, L, const STEPS: u32> {
    lock: &'a L,
}

impl<L: Lock, const STEPS: u32> Task<L::Hold> for Pairs<'_, L, STEPS> {
    const OPERATIONS: Operations = Operations::Exclusive;

    fn join(&self, _number: usize) -> Result<L::Hold, CaseError> {
        self.lock.join()
    }

    #[inline(always)]
    fn operate(&self, hold: &mut L::Hold) {
        self.lock.acquire(hold);
        if STEPS > 0 {
            work::<STEPS>();
        }
        self.lock.release(hold);
    }

    fn exclusively(&self, hold: &mut L::Hold, mut inside: impl FnMut()) {
        self.lock.acquire_alone(hold);
        inside();
        self.lock.release_alone(hold);
    }
}

/// The length of calibrated work: that of a published comparison of semaphores.
const LONG_WORK: Duration = Duration::from_micros(9);

/// As [`Pairs`], with calibrated work.
pub struct LongPairs<'a, L> {
    lock: &'a L,
    work: Work,
}

impl<L: Lock> Task<L::Hold> for LongPairs<'_, L> {
    const OPERATIONS: Operations = Operations::Exclusive;

    fn join(&self, _number: usize) -> Result<L::Hold, CaseError> {
        self.lock.join()
    }

    #[inline(always)]
    fn operate(&self, hold: &mut L::Hold) {
        self.lock.acquire(hold);
        self.work.run(LONG_WORK);
        self.lock.release(hold);
    }

    fn exclusively(&self, hold: &mut L::Hold, mut inside: impl FnMut()) {
        self.lock.acquire_alone(hold);
        inside();
        self.lock.release_alone(hold);
    }
}

/// An integer loop in which each iteration depends on the previous one.
#[inline(always)]
pub fn work<const STEPS: u32>() {
    let mut x = std::hint::black_box(1u32);
    for step in 0..STEPS {
        x = x.wrapping_mul(31) ^ step;
    }
    std::hint::black_box(x);
}

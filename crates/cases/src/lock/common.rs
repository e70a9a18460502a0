//! What the cases of locks share: the interface of a lock, parameters, metrics, and how a lock is measured.

use crate::place::PLACE;
use crate::{Extent, Param, Takes, count_of, value_of};
use measure::worker_group::{
    GREATEST_SHARE, LEAST_SHARE, Operations, RATE, Task, WORKERS_AT_MOST, WorkerGroup,
};
use measure::{CaseError, Metric, Params, Round};
use platform::shared::Shared;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

/// A lock that several workers can use. It is made once, before the workers exist.
pub trait Lock: Sync {
    /// What one worker needs to use it, such as a descriptor of its own.
    type Hold;

    /// Makes a worker's own part, in that worker.
    fn join(&self) -> Result<Self::Hold, CaseError>;

    /// Waits until the worker has the lock.
    fn acquire(&self, hold: &mut Self::Hold);

    /// Gives it back.
    fn release(&self, hold: &mut Self::Hold);

    /// As `acquire`, so that no other worker is inside: other than `acquire` only for locks whose
    /// measured operation lets several in.
    fn acquire_alone(&self, hold: &mut Self::Hold) {
        self.acquire(hold);
    }

    /// Ends `acquire_alone`.
    fn release_alone(&self, hold: &mut Self::Hold) {
        self.release(hold);
    }
}

/// Parameters of a lock that only threads of one process can share.
pub const THREADS: &[Param] = &[WORKERS, AS_THREADS, WORK, PLACE];
/// Parameters of a lock that processes can share, measured so only with `--full`.
pub const THREADS_OR_PROCESSES: &[Param] = &[WORKERS, AS_EITHER_IF_FULL, WORK, PLACE];
/// Parameters of a lock made for processes: measured so by default.
pub const PROCESSES_TOO: &[Param] = &[WORKERS, AS_EITHER, WORK, PLACE];

pub const WORKERS: Param = Param {
    name: "workers",
    meaning: "how many workers take turns",
    // Alone, contended, and with more workers than CPUs: between these little changes but the degree.
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
    meaning: "what is done inside: nothing, or an integer loop of 100 steps",
    default: &["none"],
    full: &["none", "loop100"],
    takes: Takes::Words(&[]),
};
/// Which points a run of this extent has: a quick one has a worker alone and two that contend, and leaves
/// out more workers than that.
pub fn includes(params: &Params, extent: Extent) -> bool {
    extent != Extent::Quick || count_of(params, "workers").is_ok_and(|workers| workers <= 2)
}

/// The metrics of every lock.
pub const METRICS: &[Metric] = &[RATE, LEAST_SHARE, GREATEST_SHARE];

/// Measures `lock` with the workers that `params` ask for.
pub fn measure<L: Lock>(params: &Params, round: &mut Round, lock: &L) -> Result<(), CaseError> {
    let worker_group = WorkerGroup {
        workers: count_of(params, "workers")?,
        processes: of_processes(params)?,
        place: crate::place::place_of(params)?,
    };
    match value_of(params, "work")? {
        "loop100" => round.contend(&worker_group, &Pairs::<L, 100> { lock }),
        _ => round.contend(&worker_group, &Pairs::<L, 0> { lock }),
    }
}

/// Whether the workers are processes.
pub fn of_processes(params: &Params) -> Result<bool, CaseError> {
    Ok(value_of(params, "as")? == "processes")
}

/// Expects, where one worker is alone, that a lock which enters the kernel only to wait and to
/// wake never does.
pub fn expect_no_calls_alone(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    if count_of(params, "workers")? == 1 {
        round.expect_syscalls(0.0);
    }
    Ok(())
}

/// Shared memory for what a C library makes in place and must not be moved. Begins as zero bits.
pub struct InPlace<T: 'static>(Shared<Opaque<T>>);

pub struct Opaque<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: all that is done with the value is to pass its address on.
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

/// Acquire, so many steps of work, release.
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

/// An integer loop in which each step waits for the one before.
#[inline(always)]
pub fn work<const STEPS: u32>() {
    let mut x = std::hint::black_box(1u32);
    for step in 0..STEPS {
        x = x.wrapping_mul(31) ^ step;
    }
    std::hint::black_box(x);
}

//! Shared by the cases of locks: the interface of a lock, parameters, metrics, and the measurement of a lock.

use crate::place::PLACE;
use crate::{Case, Extent, Param, Takes, count_of, length_of, value_of};
use measure::metric::joined;
use measure::worker_group::{
    GREATEST_SHARE, HANDOVER_TO_WAITER, LEAST_SHARE, Operations, RATE, Task, WORKERS_AT_MOST,
    WorkerGroup,
};
use measure::{CaseError, Metric, Params, Round, metrics};
use platform::memory::shared::Shared;
use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

/// A lock that several workers can use. It is created once, before the workers.
pub trait Lock: Sync {
    /// State that a worker needs to use the lock, such as a file descriptor or a guard.
    type Hold;

    /// Whether `acquire` admits several workers at once, so that no worker hands the lock over to another.
    const IS_SHARED: bool = false;

    /// Creates the worker's part of the lock; called in the worker.
    ///
    /// # Errors
    /// The error of the system if it refuses a resource.
    fn join(&self) -> Result<Self::Hold, CaseError>;

    /// Waits until the worker has the lock.
    fn acquire(&self, hold: &mut Self::Hold);

    /// Releases the lock.
    fn release(&self, hold: &mut Self::Hold);

    /// The measured operation: acquires the lock, calls `inside`, and releases the lock.
    #[inline(always)]
    fn pair(&self, hold: &mut Self::Hold, inside: impl FnOnce()) {
        self.acquire(hold);
        inside();
        self.release(hold);
    }

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

/// A lock that consists of the functions that acquire and release it, without state in the worker.
impl<A: Fn() + Sync, R: Fn() + Sync> Lock for (A, R) {
    type Hold = ();

    fn join(&self) -> Result<(), CaseError> {
        Ok(())
    }

    #[inline(always)]
    fn acquire(&self, (): &mut ()) {
        (self.0)();
    }

    #[inline(always)]
    fn release(&self, (): &mut ()) {
        (self.1)();
    }
}

/// A lock that a guard releases when dropped. The function acquires the lock and returns the guard.
pub struct ByGuard<A>(pub A);

impl<G, A: Fn() -> G + Sync> Lock for ByGuard<A> {
    /// `MaybeUninit` instead of `Option`, whose check for a guard to drop would take a fifth of the time.
    type Hold = MaybeUninit<G>;

    fn join(&self) -> Result<MaybeUninit<G>, CaseError> {
        Ok(MaybeUninit::uninit())
    }

    #[inline(always)]
    fn acquire(&self, hold: &mut MaybeUninit<G>) {
        hold.write((self.0)());
    }

    #[inline(always)]
    fn release(&self, hold: &mut MaybeUninit<G>) {
        // SAFETY: this worker holds the lock, and acquiring it wrote the guard.
        unsafe { hold.assume_init_drop() };
    }

    /// The guard stays in registers, as in a user's program: in `hold` it would be written to memory and read again, which takes
    /// a tenth of the time of std::sync::Mutex.
    #[inline(always)]
    fn pair(&self, _hold: &mut MaybeUninit<G>, inside: impl FnOnce()) {
        let guard = (self.0)();
        inside();
        drop(guard);
    }
}

/// A case with the definitions that most locks have in common: threads of one process share them, and pairs without contention
/// follow the core's frequency.
pub const fn lock(name: &'static str) -> Case {
    Case { core_bound: true, params: THREADS, metrics: METRICS, ..Case::new("lock", name) }
}

/// Parameters of a lock that only threads of one process can share.
pub const THREADS: &[Param] = &[WORKERS, AS_THREADS, WORK, OUTSIDE, PLACE];
/// Parameters of a lock that processes can share; measured between processes only with `--full`.
pub const THREADS_OR_PROCESSES: &[Param] = &[WORKERS, AS_EITHER_IF_FULL, WORK, OUTSIDE, PLACE];
/// Parameters of a lock meant for processes; measured between threads and between processes by default.
pub const PROCESSES_TOO: &[Param] = &[WORKERS, AS_EITHER, WORK, OUTSIDE, PLACE];
/// Parameters of a lock that only threads can share, with work of several lengths by default.
pub const THREADS_AND_WORK: &[Param] = &[WORKERS, AS_THREADS, WORK_OF_ALL_LENGTHS, OUTSIDE, PLACE];
/// Parameters of a lock meant for processes, with work of several lengths by default.
pub const PROCESSES_TOO_AND_WORK: &[Param] =
    &[WORKERS, AS_EITHER, WORK_OF_ALL_LENGTHS, OUTSIDE, PLACE];

pub const WORKERS: Param = Param::new(
    "workers",
    // The defaults are uncontended, contended and oversubscribed; numbers between them add little information.
    &["1", "2", "2xcpus"],
)
.meaning("the number of workers that acquire and release the lock")
.full(&["1", "2", "3", "4", "5", "10"])
.takes(Takes::Count(WORKERS_AT_MOST as u64));
pub const AS_MEANING: &str = "whether workers are threads of one process, or processes";
pub const AS_THREADS: Param = Param::new("as", &["threads"]).meaning(AS_MEANING);
pub const AS_EITHER_IF_FULL: Param =
    Param::new("as", &["threads"]).meaning(AS_MEANING).full(&["threads", "processes"]);
pub const AS_EITHER: Param = Param::new("as", &["threads", "processes"]).meaning(AS_MEANING);
pub const WORK: Param = Param::new("work", &["none"])
    .meaning(
        "CPU-bound work while holding the lock: none, a calibrated length, or an \
         integer loop of 100 iterations (loop100)",
    )
    .full(&["none", "100ns", "1us", "10us", "100us"])
    .takes(Takes::Work(&["loop100"]));
/// The parameter `work` of locks whose share of the time a default run shows.
pub const WORK_OF_ALL_LENGTHS: Param = Param { default: &["none", "100ns", "1us", "10us"], ..WORK };
pub const OUTSIDE: Param = Param::new("outside", &["none"])
    .meaning(
        "CPU-bound work after each release, without the lock: none, or a calibrated \
         length",
    )
    .takes(Takes::Work(&[]));
/// Whether a run of this extent measures the point. A default run measures processes and work under the lock only with one or two
/// workers, and not both together; a quick run measures at most two workers, without work.
pub fn includes(params: &Params, extent: Extent) -> bool {
    let is_few = count_of(params, "workers").is_ok_and(|workers| workers <= 2);
    let is = |name: &str, value: &str| params.get(name).is_none_or(|own| own == value);
    match extent {
        Extent::Full => true,
        Extent::Ordinary if is_few => is(WORK.name, "none") || is("as", "threads"),
        Extent::Ordinary => is(WORK.name, "none") && is("as", "threads"),
        Extent::Quick => is(WORK.name, "none") && is_few,
    }
}

metrics! {
    /// Metrics of locks alone.
    const OF_LOCKS: [
        LOCK_SHARE = lower("lock-share", "share"),
            "the part of the time that is not work: acquiring the lock, waiting for it and releasing it";
        HANDOVER = lower("handover", "ns"),
            "the time from the end of the work of one holder of the lock to the beginning of the work of the next holder, which may be \
             the same worker, on average";
        MILLION_PAIRS = lower("million-pairs", "ms"),
            "the time in which each worker acquires and releases the lock 1,000,000 times, at the measured rate";
        WORK_FOR_TENTH = lower("work-for-10%", "ns"),
            "the work under the lock from which acquiring it, waiting for it and releasing it take less than 10 % of the time";
        WORK_FOR_HUNDREDTH = lower("work-for-1%", "ns"),
            "the work under the lock from which acquiring it, waiting for it and releasing it take less than 1 % of the time";
    ]
}

/// The metrics of every lock.
pub const METRICS: &[Metric] =
    &joined::<9>(&[&[RATE, LEAST_SHARE, GREATEST_SHARE, HANDOVER_TO_WAITER], OF_LOCKS]);

/// Number of contended pairs with work for which a round is long enough. The first pairs take longer: in the first 15 ms with 9
/// us of work under a pthread mutex, two threads' pairs took 1.15 times as long as in half a second, since the system still
/// adapts to their waits.
const PAIRS_WITH_WORK: u32 = 10_000;
/// Maximum length of a round with work.
const WITH_WORK_AT_MOST: Duration = Duration::from_millis(100);

/// Measures `lock` with the workers that `params` describe.
///
/// # Errors
/// Errors of [`Round::contend`].
pub fn measure<L: Lock>(params: &Params, round: &mut Round, lock: &L) -> Result<(), CaseError> {
    let [inside, outside] = [WORK.name, OUTSIDE.name].map(|name| length_of_work(params, name));
    let (inside, outside) = (inside?, outside?);
    let worker_group = WorkerGroup {
        workers: count_of(params, "workers")?,
        processes: of_processes(params)?,
        place: crate::place::place_of(params)?,
        time: (inside.unwrap_or_default() * PAIRS_WITH_WORK).min(WITH_WORK_AT_MOST),
    };
    match (value_of(params, WORK.name)?, inside, outside) {
        ("loop100", _, None) => {
            let inside = work::<100>;
            return round.contend(&worker_group, &Pairs { lock, inside, outside: || () });
        }
        ("loop100", _, Some(_)) => {
            let reason = "work=loop100 is measured without work outside of the lock";
            return Err(CaseError::Unsupported(reason.to_owned()));
        }
        (_, None, None) => {
            return round.contend(&worker_group, &Pairs { lock, inside: || (), outside: || () });
        }
        _ => {}
    }
    let work = round.work()?;
    let fixed = |length: Option<Duration>| work.of_length(length.unwrap_or_default());
    let (inside, outside) = (fixed(inside), fixed(outside));
    round
        .contend(&worker_group, &Pairs { lock, inside: || inside.run(), outside: || outside.run() })
}

/// The length of work that the parameter `name` gives; `None` without work.
///
/// # Errors
/// `Failed` if the value is no duration.
fn length_of_work(params: &Params, name: &str) -> Result<Option<Duration>, CaseError> {
    match value_of(params, name)? {
        "none" | "loop100" => Ok(None),
        _ => length_of(params, name).map(Some),
    }
}

/// Whether the workers are processes.
///
/// # Errors
/// `Failed` if the parameter `as` is missing.
pub fn of_processes(params: &Params) -> Result<bool, CaseError> {
    Ok(value_of(params, "as")? == "processes")
}

/// Declares that a single worker makes no system call, for a lock that enters the kernel only to wait and to wake.
///
/// # Errors
/// `Failed` if the parameter `workers` is missing.
pub fn expect_no_calls_alone(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    if count_of(params, "workers")? == 1 {
        round.expect_syscalls(0.0);
    }
    Ok(())
}

/// Converts the return value of a pthread function: 0, or an error number.
///
/// # Errors
/// The error with this number.
#[allow(dead_code, reason = "not on every system")]
pub fn succeed(call: &str, error: i32) -> Result<(), CaseError> {
    match error {
        0 => Ok(()),
        _ => Err(CaseError::from_io(call, &io::Error::from_raw_os_error(error))),
    }
}

/// Panic message for a pthread function that must not fail, but returned this error number.
#[allow(dead_code, reason = "not on every system")]
pub fn message(call: &str, error: i32) -> String {
    format!("{call}: {}", io::Error::from_raw_os_error(error))
}

/// Zeroed shared memory for an object that a C library initialises in place and that must not be moved.
#[derive(Clone, Copy)]
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

/// The measured operation: acquires the lock, works, releases the lock, and works again. The kinds of work are types, so that
/// absent work costs no instruction.
pub struct Pairs<'a, L, I, O> {
    lock: &'a L,
    inside: I,
    outside: O,
}

impl<L: Lock, I: Fn() + Sync, O: Fn() + Sync> Task<L::Hold> for Pairs<'_, L, I, O> {
    const OPERATIONS: Operations = Operations::Exclusive;

    fn join(&self, _number: usize) -> Result<L::Hold, CaseError> {
        self.lock.join()
    }

    #[inline(always)]
    fn operate(&self, hold: &mut L::Hold) {
        self.lock.pair(hold, &self.inside);
        (self.outside)();
    }

    fn hands_over(&self) -> bool {
        !L::IS_SHARED
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

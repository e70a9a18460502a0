//! A round with several workers at once, as threads or forked processes, on one shared thing.
//!
//! Each worker keeps to its CPU, runs the sentinel there, and times its own batches while the others
//! keep going: a sample during which the worker group was told to stop is thrown away. What the workers
//! found lies in memory that all share, so that processes and threads are treated alike.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use platform::CaseError;
use platform::counters::{Counts, ThreadCounters};
use platform::cpu::{pin_thread, pin_thread_to_any};
use platform::process::{Child, fork};
use platform::shared::Shared;

use crate::metric::{Metric, Role, TIME};
use crate::oversubscription::{Seen, is_oversubscribed};
use crate::record::{OperationCounts, Series};
use crate::round::{Mode, Round, RoundOrder, Sampler, use_all_cpus};
use crate::sentinel::Reading;
use crate::stats::median;
use crate::time::{Nanoseconds, Stopwatch};

/// Operations of all workers in a second.
pub const RATE: Metric =
    Metric::higher("rate", "pairs/s", "pairs per second of all workers together")
        .with(Role::SameAs(TIME.name));
/// Of the least served worker.
pub const LEAST_SHARE: Metric =
    Metric::higher("least-share", "of fair", "what the least served worker got, in fair shares");
/// Of the best served worker.
pub const GREATEST_SHARE: Metric =
    Metric::lower("greatest-share", "of fair", "what the best served worker got, in fair shares");

/// The most workers a worker group may have: two to each CPU of the largest machines.
pub const WORKERS_AT_MOST: usize = 1024;
/// The most samples a worker keeps.
const SAMPLES_AT_MOST: usize = 256;
/// A batch among several workers: long beside the 2 us in which a worker runs its sentinel and the
/// others have one rival less.
const CONTENDED_BATCH: Nanoseconds = Nanoseconds::new(100_000.0);
/// How long a worker that is ready waits for those that are not, before it starts.
const START_TOGETHER_WITHIN: Nanoseconds = Nanoseconds::new(1_000_000.0);
/// Pairs a worker makes at most in the untimed pass.
const COUNTED_PAIRS: u64 = 10_000;
/// How long sampling goes on beyond its time until each worker has had its first batch: under an
/// unfair lock, or a fair one whose next in line does not run, that can be long.
const FIRST_BATCH_AT_MOST: Duration = Duration::from_secs(3);
/// Times each worker goes inside for the proof of exclusion, unless that takes too long.
const CHECKS_AT_LEAST: u64 = 64;
const CHECKS_AT_MOST: u64 = 100_000;
const LONG_CHECK: Nanoseconds = Nanoseconds::new(200e6);
/// The longest that starting, or ending a batch, may take before the round is given up.
const PATIENCE: Duration = Duration::from_secs(5);

/// How a worker group is made up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerGroup {
    /// How many workers.
    pub workers: usize,
    /// Forked processes rather than threads.
    pub processes: bool,
    /// Where they run.
    pub place: Place,
}

/// Where the workers of a worker group run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// All on one CPU.
    Same,
    /// One on each CPU in turn.
    Spread,
    /// Where the scheduler likes.
    Unpinned,
}

impl WorkerGroup {
    /// The CPU of worker `number`; `None` if it may move.
    fn cpu_of(&self, number: usize, cpus: &[usize]) -> Option<usize> {
        match self.place {
            Place::Same => cpus.last().copied(),
            // From the last down, so that one worker is where single measurements are made.
            Place::Spread => Some(cpus[cpus.len() - 1 - number % cpus.len()]),
            Place::Unpinned => None,
        }
    }

    /// How many CPUs it keeps busy.
    fn busy(&self, cpus: &[usize]) -> usize {
        match self.place {
            Place::Same => 1,
            Place::Spread | Place::Unpinned => self.workers.min(cpus.len()),
        }
    }
}

/// What each worker does. `W` is what one worker holds, made by itself.
pub trait Task<W>: Sync {
    /// Prepares one worker, in its own thread or process.
    fn join(&self) -> Result<W, CaseError>;
    /// The measured operation.
    fn operate(&self, worker: &mut W);
    /// The operation once more, with `inside` where only one worker may be at a time.
    fn exclusively(&self, worker: &mut W, inside: impl FnMut());
}

/// What the worker group is to do now.
mod phase {
    // 0: gather.
    pub const MEASURE: u32 = 1;
    pub const STOP: u32 = 2;
    pub const CHECK: u32 = 3;
    pub const LEAVE: u32 = 4;
}

/// One worker's results. Numbers that are not whole are kept as their bits.
struct Slot {
    samples: [AtomicU32; SAMPLES_AT_MOST],
    readings: [[AtomicU32; 4]; SAMPLES_AT_MOST + 1],
    /// Samples and batch lengths differ while a worker still looks for its batch length; kept are
    /// those of the last length.
    kept: AtomicU32,
    batch: AtomicU64,
    operations: AtomicU64,
    busy_ns: AtomicU64,
    checked: AtomicU64,
    /// System calls, switches (two kinds), faults, instructions, cycles, each plus one; 0: unknown.
    counts: [AtomicU64; 6],
}

/// All that the worker group has in common.
struct SharedState {
    phase: AtomicU32,
    /// How many workers have done the phase before.
    gathered: AtomicU32,
    started: AtomicU32,
    begun: AtomicU32,
    measured: AtomicU32,
    left: AtomicU32,
    /// Counted up without any protection but the lock under test.
    unprotected: AtomicU64,
    /// Number of the worker that could not join, plus one, and the kind of its case error.
    refused: AtomicU32,
    /// One for each worker.
    slots: Shared<[Slot]>,
}

impl Slot {
    const fn empty() -> Self {
        Self {
            samples: [const { AtomicU32::new(0) }; SAMPLES_AT_MOST],
            readings: [const { [const { AtomicU32::new(0) }; 4] }; SAMPLES_AT_MOST + 1],
            kept: AtomicU32::new(0),
            batch: AtomicU64::new(0),
            operations: AtomicU64::new(0),
            busy_ns: AtomicU64::new(0),
            checked: AtomicU64::new(0),
            counts: [const { AtomicU64::new(0) }; 6],
        }
    }
}

impl SharedState {
    fn of(workers: usize) -> Result<Self, CaseError> {
        Ok(Self {
            phase: AtomicU32::new(0),
            gathered: AtomicU32::new(0),
            started: AtomicU32::new(0),
            begun: AtomicU32::new(0),
            measured: AtomicU32::new(0),
            left: AtomicU32::new(0),
            unprotected: AtomicU64::new(0),
            refused: AtomicU32::new(0),
            slots: Shared::list(workers, Slot::empty)?,
        })
    }
}

impl Round<'_> {
    /// Measures `task` with several workers at once: the time of one operation as a worker sees it,
    /// operations per second in all, each worker's share, and that operations exclude each other.
    ///
    /// # Errors
    /// `Failed` where a worker dies, or two were inside at once.
    pub fn contend<W, T: Task<W>>(
        &mut self,
        worker_group: &WorkerGroup,
        task: &T,
    ) -> Result<(), CaseError> {
        let order = self.order().clone();
        if worker_group.workers == 0 || worker_group.workers > WORKERS_AT_MOST {
            let text =
                format!("workers must be 1 to {WORKERS_AT_MOST}, not {}", worker_group.workers);
            return Err(CaseError::Failed(text));
        }
        use_all_cpus(&order);
        // Some locks have a descriptor for each worker.
        platform::limits::raise_descriptors();
        // Closing the last counter of a tracepoint takes Linux 50 ms: no worker's must be that one.
        let _kept_open = ThreadCounters::open(order.mode.counting());
        let state = Shared::new(SharedState::of(worker_group.workers)?)?;
        let worker =
            |number: usize| Worker { number, state: &state, worker_group, order: &order, task };
        let oversubscribed = if worker_group.processes {
            let mut children = Vec::new();
            for number in 0..worker_group.workers {
                children.push(fork(|| worker(number).work().map_or_else(|e| tell(&e), |()| 0))?);
            }
            coordinate(&order, &state, worker_group, &mut children)?
        } else {
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..worker_group.workers)
                    .map(|number| scope.spawn(move || worker(number).work()))
                    .collect();
                let coordinated = coordinate(&order, &state, worker_group, &mut []);
                if coordinated.is_err() {
                    // Let those go that still can; the reason is told below.
                    state.phase.store(phase::LEAVE, Ordering::Release);
                }
                for thread in threads {
                    thread.join().map_err(|_| CaseError::Failed("a worker panicked".into()))??;
                }
                coordinated
            })?
        };
        verify_exclusion(&state)?;
        self.report(&state, worker_group, &order, oversubscribed);
        Ok(())
    }

    fn report(
        &mut self,
        state: &SharedState,
        worker_group: &WorkerGroup,
        order: &RoundOrder,
        oversubscribed: bool,
    ) {
        let slots = &state.slots;
        if order.mode != Mode::Sample {
            let mut sums = OperationCounts::default();
            for slot in slots.iter() {
                sums.add(slot.operations.load(Ordering::Acquire), &slot.counts());
            }
            self.print_counts(sums);
            return;
        }
        if let [alone] = &slots[..] {
            let series = alone.series(worker_group, 0, &order.cpus);
            self.report_rate_alone(&series);
            return self.print_series(series);
        }
        self.report_shares(slots);
        for (number, slot) in slots.iter().enumerate() {
            let series =
                Series { oversubscribed, ..slot.series(worker_group, number, &order.cpus) };
            let rest = slot.rest(&series);
            self.print_series(series);
            rest.into_iter().for_each(|rest| self.print_series(rest));
        }
    }

    /// The rate of a worker alone: of its samples' median, since what another program takes of the
    /// CPU says nothing of the operation.
    fn report_rate_alone(&mut self, series: &Series) {
        if series.samples.is_empty() {
            return;
        }
        let mut samples: Vec<f64> = series.samples.iter().map(|&ns| ns.into()).collect();
        let rate = 1e9 / median(&mut samples);
        self.metric(&RATE, rate);
    }

    /// What the workers made together, and how fairly they shared it. The rate is by the time that a
    /// worker was busy in the mean: so it is the number of workers by the mean time of an operation.
    fn report_shares(&mut self, slots: &[Slot]) {
        let operations: Vec<f64> =
            slots.iter().map(|s| s.operations.load(Ordering::Acquire) as f64).collect();
        let all: f64 = operations.iter().sum::<f64>().max(1.0);
        let busy_ns: u64 = slots.iter().map(|s| s.busy_ns.load(Ordering::Acquire)).sum();
        let mean_busy_ns = busy_ns.max(1) as f64 / slots.len() as f64;
        let rate = all / mean_busy_ns * 1e9;
        self.metric(&RATE, rate);
        let share = |n: f64| n / all * slots.len() as f64;
        let least = operations.iter().copied().fold(f64::INFINITY, f64::min);
        let most = operations.iter().copied().fold(0.0, f64::max);
        self.metric(&LEAST_SHARE, share(least));
        self.metric(&GREATEST_SHARE, share(most));
    }
}

/// Leads the worker group through its phases; says whether other programs were in its way.
fn coordinate(
    order: &RoundOrder,
    state: &SharedState,
    worker_group: &WorkerGroup,
    children: &mut [Child],
) -> Result<bool, CaseError> {
    let all = worker_group.workers as u32;
    wait_for(&state.gathered, all, "gathering", state, children)?;
    let seen_before = look_around(worker_group, order);
    state.phase.store(phase::MEASURE, Ordering::Release);
    if order.mode == Mode::Sample {
        // A worker alone has enough samples sooner.
        let share = if worker_group.workers == 1 { 3 } else { 1 };
        std::thread::sleep(Duration::from_millis(order.limit_ms) / share);
        let _ = wait_until(&state.begun, all, FIRST_BATCH_AT_MOST);
    } else {
        // Counting ends by itself after so many pairs, or when time is up.
        let _ = wait_until(&state.measured, all, Duration::from_millis(order.limit_ms * 4));
    }
    state.phase.store(phase::STOP, Ordering::Release);
    wait_for(&state.measured, all, "the last batch", state, children)?;
    let seen = seen_before.and(look_around(worker_group, order));
    let oversubscribed = is_oversubscribed(worker_group.busy(&order.cpus), seen);
    state.phase.store(phase::CHECK, Ordering::Release);
    std::thread::sleep(Duration::from_millis(1));
    state.phase.store(phase::LEAVE, Ordering::Release);
    wait_for(&state.left, all, "leaving", state, children)?;
    for child in children {
        let watch = Stopwatch::start();
        let ended = loop {
            if let Some(ended) = child.try_wait() {
                break ended;
            }
            if watch.elapsed().get() > PATIENCE.as_nanos() as f64 {
                return Err(CaseError::TimedOut("a worker process did not end".into()));
            }
            std::thread::sleep(Duration::from_micros(100));
        };
        ended
            .map_err(|how| CaseError::Interrupted(format!("a worker process ended with {how}")))?;
    }
    Ok(oversubscribed)
}

/// Who else wants to run, if that is a question: of a worker alone each sample tells by itself.
fn look_around(worker_group: &WorkerGroup, order: &RoundOrder) -> Seen {
    if worker_group.workers == 1 || order.mode != Mode::Sample {
        Seen::default()
    } else {
        Seen::now()
    }
}

fn wait_until(count: &AtomicU32, all: u32, limit: Duration) -> bool {
    let watch = Stopwatch::start();
    while count.load(Ordering::Acquire) < all {
        if watch.elapsed().get() > limit.as_nanos() as f64 {
            return false;
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    true
}

fn wait_for(
    count: &AtomicU32,
    all: u32,
    what: &str,
    state: &SharedState,
    children: &mut [Child],
) -> Result<(), CaseError> {
    let watch = Stopwatch::start();
    while count.load(Ordering::Acquire) < all {
        if state.refused.load(Ordering::Acquire) > 0 {
            return Err(CaseError::Failed("a worker could not join".into()));
        }
        // A child that ended in order has counted itself before.
        for child in children.iter_mut() {
            if let Some(Err(how)) = child.try_wait() {
                return Err(CaseError::Interrupted(format!("a worker process ended with {how}")));
            }
        }
        if watch.elapsed().get() > PATIENCE.as_nanos() as f64 {
            return Err(CaseError::TimedOut(format!("{what} took over {} s", PATIENCE.as_secs())));
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    Ok(())
}

/// A worker process's last word: what went wrong, where its parent's user sees it.
fn tell(case_error: &CaseError) -> i32 {
    eprintln!("oscost worker: {case_error}");
    1
}

/// Fails the round if the counter that only the lock protects is not the number of times it was
/// counted up.
fn verify_exclusion(state: &SharedState) -> Result<(), CaseError> {
    let slots = &state.slots;
    let checked: u64 = slots.iter().map(|s| s.checked.load(Ordering::Acquire)).sum();
    let counted = state.unprotected.load(Ordering::Acquire);
    if counted == checked {
        return Ok(());
    }
    Err(CaseError::Failed(format!(
        "mutual exclusion is broken: {checked} times inside, and a counter there reached {counted}"
    )))
}

impl Slot {
    fn series(&self, worker_group: &WorkerGroup, number: usize, cpus: &[usize]) -> Series {
        let kept = self.kept.load(Ordering::Acquire) as usize;
        let contended = worker_group.workers > 1;
        let readings = if contended { 2 } else { kept + 1 };
        let float = |bits: &AtomicU32| f32::from_bits(bits.load(Ordering::Acquire));
        Series {
            cpu: worker_group.cpu_of(number, cpus),
            busy: worker_group.busy(cpus),
            batch: self.batch.load(Ordering::Acquire),
            samples: self.samples[..kept].iter().map(float).collect(),
            readings: self.readings[..readings]
                .iter()
                .map(|kept| {
                    Reading::from(
                        kept.each_ref().map(|part| Some(float(part)).filter(|ns| !ns.is_nan())),
                    )
                })
                .collect(),
            contended,
            ..Series::default()
        }
    }

    /// What a worker among others did beside the kept batches, as one sample: the batches while it
    /// looked for their length, and the one in which all were told to stop. With it, the samples have
    /// all operations and all time that the rate has.
    fn rest(&self, kept: &Series) -> Option<Series> {
        let batches = kept.samples.len() as u64;
        let operations = self.operations.load(Ordering::Acquire);
        let operations = operations.checked_sub(kept.batch * batches).filter(|&n| n > 0)?;
        let kept_ns: f64 = kept.samples.iter().map(|&ns| f64::from(ns) * kept.batch as f64).sum();
        let ns = (self.busy_ns.load(Ordering::Acquire) as f64 - kept_ns).max(0.0);
        let sample = (ns / operations as f64) as f32;
        Some(Series { batch: operations, samples: vec![sample], ..kept.clone() })
    }

    fn keep(&self, series: &Series) {
        let kept = series.samples.len().min(SAMPLES_AT_MOST);
        for (place, sample) in self.samples.iter().zip(&series.samples) {
            place.store(sample.to_bits(), Ordering::Release);
        }
        for (place, reading) in self.readings.iter().zip(&series.readings) {
            for (part, ns) in place.iter().zip(<[Option<f32>; 4]>::from(*reading)) {
                part.store(ns.unwrap_or(f32::NAN).to_bits(), Ordering::Release);
            }
        }
        self.batch.store(series.batch, Ordering::Release);
        self.kept.store(kept as u32, Ordering::Release);
    }

    fn keep_counts(&self, counts: &Counts) {
        let known = [
            counts.syscalls,
            counts.voluntary_switches,
            counts.involuntary_switches,
            counts.page_faults,
            counts.instructions,
            counts.cycles,
        ];
        for (place, count) in self.counts.iter().zip(known) {
            place.store(count.map_or(0, |n| n + 1), Ordering::Release);
        }
    }

    fn counts(&self) -> Counts {
        let known = |at: usize| self.counts[at].load(Ordering::Acquire).checked_sub(1);
        Counts {
            syscalls: known(0),
            voluntary_switches: known(1),
            involuntary_switches: known(2),
            page_faults: known(3),
            instructions: known(4),
            cycles: known(5),
        }
    }
}

/// One member of the worker group.
struct Worker<'a, T> {
    number: usize,
    state: &'a SharedState,
    worker_group: &'a WorkerGroup,
    order: &'a RoundOrder,
    task: &'a T,
}

impl<T> Worker<'_, T> {
    fn slot(&self) -> &Slot {
        &self.state.slots[self.number]
    }

    fn phase(&self) -> u32 {
        self.state.phase.load(Ordering::Acquire)
    }

    /// Waits for a phase asleep: a thread that keeps yielding takes time from those that still work.
    fn wait_for_phase(&self, phase: u32) {
        while self.phase() < phase {
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    fn work<W>(&self) -> Result<(), CaseError>
    where
        T: Task<W>,
    {
        let joined = self.take_place().and_then(|()| self.task.join());
        let mut own = joined.inspect_err(|_| {
            self.state.refused.store(self.number as u32 + 1, Ordering::Release);
        })?;
        let mut sampler = Sampler::new(
            self.order,
            self.worker_group.cpu_of(self.number, &self.order.cpus),
            self.worker_group.busy(&self.order.cpus),
        )?;
        if self.worker_group.workers > 1 {
            sampler.contend(CONTENDED_BATCH);
        }
        self.state.gathered.fetch_add(1, Ordering::AcqRel);
        self.wait_for_phase(phase::MEASURE);
        self.start_together();
        if self.order.mode == Mode::Sample {
            self.sample(&mut sampler, || self.task.operate(&mut own))?;
        } else {
            self.count(|| self.task.operate(&mut own));
        }
        self.state.measured.fetch_add(1, Ordering::AcqRel);
        self.wait_for_phase(phase::CHECK);
        self.check(&mut own);
        self.state.left.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Workers wake one after the other: whoever is first waits, for a moment, for the rest, so that
    /// all meet from the first operation on.
    fn start_together(&self) {
        self.state.started.fetch_add(1, Ordering::AcqRel);
        let watch = Stopwatch::start();
        while self.state.started.load(Ordering::Acquire) < self.worker_group.workers as u32
            && watch.elapsed() < START_TOGETHER_WITHIN
        {
            std::thread::yield_now();
        }
    }

    fn take_place(&self) -> Result<(), CaseError> {
        match self.worker_group.cpu_of(self.number, &self.order.cpus) {
            Some(cpu) => pin_thread(cpu),
            None => pin_thread_to_any(&self.order.cpus).or(Ok(())),
        }
    }

    /// Times batches until told to stop. Among others the batch grows to its length meanwhile, so that a lock
    /// under which one pair can take milliseconds is not asked for thousands at once; where it
    /// becomes so dear only later, the last batch is cut short.
    fn sample(&self, sampler: &mut Sampler, mut operate: impl FnMut()) -> Result<(), CaseError> {
        let contended = self.worker_group.workers > 1;
        let left_out = Cell::new(0);
        let mut operate_in_time = || {
            if contended && self.phase() >= phase::STOP {
                left_out.set(left_out.get() + 1);
            } else {
                operate();
            }
        };
        if !contended {
            sampler.calibrate(&mut operate_in_time)?;
        }
        let (mut operations, mut busy_ns) = (0u64, 0.0);
        let mut shorter = None;
        loop {
            sampler.sample(&mut operate_in_time);
            let (batch, took) = sampler.last_batch();
            let done = batch.saturating_sub(left_out.get());
            if operations == 0 {
                self.state.begun.fetch_add(1, Ordering::AcqRel);
            }
            if done > 0 {
                (operations, busy_ns) = (operations + done, busy_ns + took.get());
            }
            if self.phase() >= phase::STOP {
                sampler.end_with(done);
                break;
            }
            // Among others a batch may have been long only because it had to wait.
            if contended && sampler.falls_short(took) {
                shorter = Some(sampler.take_series());
                sampler.grow_batch(took)?;
            }
        }
        // Who did not get to a batch of full length has the one before.
        let full = Some(sampler.take_series()).filter(|series| !series.samples.is_empty());
        self.slot().keep(&full.or(shorter).unwrap_or_default());
        self.slot().operations.store(operations, Ordering::Release);
        self.slot().busy_ns.store(busy_ns as u64, Ordering::Release);
        Ok(())
    }

    fn count(&self, mut operate: impl FnMut()) {
        for _ in 0..3 {
            operate();
        }
        let mut counters = ThreadCounters::open(self.order.mode.counting());
        let mut operations = 0;
        counters.start();
        while operations == 0 || (operations < COUNTED_PAIRS && self.phase() < phase::STOP) {
            operate();
            operations += 1;
        }
        self.slot().keep_counts(&counters.stop());
        self.slot().operations.store(operations, Ordering::Release);
    }

    /// Counts up, inside, a counter that nothing else protects, slowly enough that a second worker
    /// inside would be noticed: between its load and its store lies work, and now and then a sleep.
    fn check<W>(&self, own: &mut W)
    where
        T: Task<W>,
    {
        let counter = &self.state.unprotected;
        let mut times = 0u64;
        let watch = Stopwatch::start();
        let enough =
            |times| times >= CHECKS_AT_LEAST || (times > 0 && watch.elapsed() >= LONG_CHECK);
        while times < CHECKS_AT_MOST && !(enough(times) && self.phase() >= phase::LEAVE) {
            self.task.exclusively(own, || {
                let seen = counter.load(Ordering::Relaxed);
                if times % 16 == 7 {
                    std::thread::sleep(Duration::from_micros(10));
                }
                for step in 0..20 {
                    std::hint::black_box(step);
                }
                counter.store(seen + 1, Ordering::Relaxed);
            });
            times += 1;
        }
        self.slot().checked.store(times, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::estimate::{JudgedRound, Levels};
    use crate::record::{Line, MetricValue, parse_lines};
    use crate::round::tests::order;

    /// A lock under which an operation takes so long, by how many its worker has done.
    struct Slowing {
        lock: Mutex<()>,
        takes: fn(u32) -> Duration,
    }

    impl Task<u32> for Slowing {
        fn join(&self) -> Result<u32, CaseError> {
            Ok(0)
        }

        fn operate(&self, done: &mut u32) {
            let _held = self.lock.lock().unwrap();
            *done += 1;
            std::thread::sleep((self.takes)(*done));
        }

        fn exclusively(&self, _done: &mut u32, mut inside: impl FnMut()) {
            let _held = self.lock.lock().unwrap();
            inside();
        }
    }

    fn contend(workers: usize, takes: fn(u32) -> Duration) -> (Vec<Series>, Vec<MetricValue>) {
        let order = RoundOrder { limit_ms: 30, ..order(Mode::Sample) };
        let mut out = Vec::new();
        let worker_group = WorkerGroup { workers, processes: false, place: Place::Unpinned };
        let task = Slowing { lock: Mutex::new(()), takes };
        Round::new(&order, &mut out).contend(&worker_group, &task).unwrap();
        let (mut series, mut metrics) = (Vec::new(), Vec::new());
        for line in parse_lines(std::str::from_utf8(&out).unwrap()) {
            match line {
                Line::Series(line) => series.push(line),
                Line::Metric(line) => metrics.push(line),
                other => panic!("{other:?}"),
            }
        }
        (series, metrics)
    }

    #[test]
    fn the_time_of_an_operation_by_the_rate_is_the_number_of_workers() {
        // Some are still under way when all are told to stop, and take far longer than all before.
        let takes: [fn(u32) -> Duration; 2] = [
            |done| Duration::from_micros(if done < 50 { 20 } else { 40_000 }),
            |done| Duration::from_micros(10 * u64::from(done)),
        ];
        for takes in takes {
            for workers in [2, 3] {
                let (series, metrics) = contend(workers, takes);
                let mean_ns = JudgedRound::of(&series, &Levels::default()).contended_mean.unwrap();
                assert_eq!(metrics[0].name, "rate");
                let product = mean_ns / 1e9 * metrics[0].value;
                let off = (product / workers as f64 - 1.0).abs();
                assert!(off < 1e-3, "{workers} workers, product {product}: {series:?}");
            }
        }
    }

    #[test]
    fn far_more_workers_than_64_are_all_measured() {
        let workers = 200;
        let (series, metrics) = contend(workers, |_| Duration::ZERO);
        assert!(series.len() >= workers, "{} series", series.len());
        assert!(series.iter().all(|series| series.contended && !series.samples.is_empty()));
        assert!(metrics.iter().any(|metric| metric.name == "least-share" && metric.value > 0.0));
        let worker_group =
            |workers| WorkerGroup { workers, processes: false, place: Place::Unpinned };
        let (order, mut out) = (order(Mode::Sample), Vec::new());
        let task = Slowing { lock: Mutex::new(()), takes: |_| Duration::ZERO };
        for workers in [0, WORKERS_AT_MOST + 1] {
            let refused = Round::new(&order, &mut out).contend(&worker_group(workers), &task);
            assert!(matches!(refused, Err(CaseError::Failed(_))), "{refused:?}");
        }
    }
}

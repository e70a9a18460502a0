//! One worker of a group: a thread or a process.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::Duration;

use platform::CaseError;
use platform::counters::ThreadCounters;
use platform::cpu::{pin_thread, pin_thread_to_any};

use super::hand_over::{HandOvers, WAITED};
use super::placement::WorkerGroup;
use super::state::{SharedState, Slot, phase};
use crate::record::Repeated;
use crate::round::{Mode, RoundOrder};
use crate::sampler::Sampler;
use crate::time::{Clock, Nanoseconds, Stopwatch, Ticks};
use crate::work::align_code;

/// Time of a batch among several workers: long compared with the 2 us in which a worker runs its sentinel and does not
/// contend.
const CONTENDED_BATCH: Nanoseconds = Nanoseconds::new(100_000.0);
/// Maximum time that a ready worker waits for the others before it starts.
const START_TOGETHER_WITHIN: Nanoseconds = Nanoseconds::new(1_000_000.0);
/// Maximum number of pairs that a worker makes in the untimed pass.
const COUNTED_PAIRS: u64 = 10_000;
/// Minimum number of increments by each worker in the test of exclusion, unless that takes too long.
const CHECKS_AT_LEAST: u64 = 64;
const CHECKS_AT_MOST: u64 = 100_000;
const LONG_CHECK: Nanoseconds = Nanoseconds::new(200e6);

/// How the operations of several workers relate to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operations {
    /// Only one worker may be inside at a time, which is verified.
    Exclusive,
    /// Workers may be inside at the same time.
    Parallel,
}

/// The work of each worker. `W` is the state of one worker, which the worker makes itself.
pub trait Task<W>: Sync {
    /// How the operations relate to each other.
    const OPERATIONS: Operations;

    /// Prepares worker `number`, counted from 0, in its own thread or process.
    fn join(&self, number: usize) -> Result<W, CaseError>;
    /// The measured operation.
    fn operate(&self, worker: &mut W);
    /// Whether hand-overs from one worker to the next are timed too, for exclusive operations whose workers wait.
    fn hands_over(&self) -> bool {
        false
    }
    /// Carries out the operation, and calls `inside` where only one worker may be at a time. Required of exclusive
    /// operations, for the test of exclusion.
    fn exclusively(&self, _worker: &mut W, _inside: impl FnMut()) {}
}

/// One member of the worker group.
pub(super) struct Worker<'a, T> {
    pub number: usize,
    pub state: &'a SharedState,
    pub worker_group: &'a WorkerGroup,
    pub order: &'a RoundOrder,
    pub task: &'a T,
    /// Whether hand-overs are timed.
    pub hands_over: bool,
}

impl<T> Worker<'_, T> {
    fn slot(&self) -> &Slot {
        &self.state.slots[self.number]
    }

    fn phase(&self) -> u32 {
        self.state.phase.load(Ordering::Acquire)
    }

    /// Sleeps until a phase begins: a yielding thread would take CPU time from workers that still work.
    fn wait_for_phase(&self, phase: u32) {
        while self.phase() < phase {
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Takes part in the round. The coordinator learns the reason if that fails.
    pub fn work<W>(&self) -> Result<(), CaseError>
    where
        T: Task<W>,
    {
        self.take_part().inspect_err(|reason| self.state.failure.report(reason))
    }

    /// Joins, measures or counts, and tests exclusion, in the phases of the coordinator.
    fn take_part<W>(&self) -> Result<(), CaseError>
    where
        T: Task<W>,
    {
        self.pin()?;
        let mut own = self.task.join(self.number)?;
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
        if self.hands_over {
            self.wait_for_phase(phase::HAND_OVER);
            self.hand_over(&mut own);
            self.state.handed_over.fetch_add(1, Ordering::AcqRel);
        }
        self.wait_for_phase(phase::CHECK);
        // The test's length varies, which would spoil the difference of two rounds that the coordinator counts.
        if T::OPERATIONS == Operations::Exclusive && !self.order.mode.is_counted_outside() {
            self.check(&mut own);
        }
        self.state.left.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Waits briefly for the other workers, which wake up one after the other, so that all contend from the first operation
    /// on.
    fn start_together(&self) {
        self.state.started.fetch_add(1, Ordering::AcqRel);
        let watch = Stopwatch::start();
        while self.state.started.load(Ordering::Acquire) < self.worker_group.workers as u32
            && watch.elapsed() < START_TOGETHER_WITHIN
        {
            std::thread::yield_now();
        }
    }

    fn pin(&self) -> Result<(), CaseError> {
        match self.worker_group.cpu_of(self.number, &self.order.cpus) {
            Some(cpu) => pin_thread(cpu),
            None => pin_thread_to_any(&self.order.cpus).or(Ok(())),
        }
    }

    /// Times batches until the phase `STOP`. Among several workers the batch grows to its length meanwhile, since a pair
    /// can take milliseconds under some locks; if pairs become that slow only later, the last batch is cut short.
    fn sample(&self, sampler: &mut Sampler, mut operate: impl FnMut()) -> Result<(), CaseError> {
        let contended = self.worker_group.workers > 1;
        let left_out = Cell::new(0);
        let mut operate_in_time = |n: u64| {
            align_code();
            for _ in 0..n {
                if contended && self.phase() >= phase::STOP {
                    left_out.set(left_out.get() + 1);
                } else {
                    operate();
                }
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
            // A batch among several workers may have been long only because it had to wait.
            if contended && sampler.falls_short(took) {
                shorter = Some(sampler.take_series());
                sampler.grow_batch(took)?;
            }
        }
        // A worker without a batch of full length keeps the shorter ones.
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
        let mut repeated = |batch| (0..batch).for_each(|_| operate());
        let goes_on = || self.phase() < phase::STOP;
        if let Some(Repeated { operations, us }) =
            self.order.mode.repeat(&mut repeated, false, goes_on)
        {
            self.slot().operations.store(operations, Ordering::Release);
            self.slot().busy_ns.store(us * 1_000, Ordering::Release);
            return;
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

    /// Increments a counter that only the lock protects, so slowly that a second worker inside would be detected: between
    /// load and store there is work, and in every 16th increment a sleep.
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

impl<T> Worker<'_, T> {
    /// Takes turns with the others until there are enough hand-overs, or the phase ends.
    fn hand_over<W>(&self, own: &mut W)
    where
        T: Task<W>,
    {
        let hand_overs = &self.state.hand_overs;
        let clock = HandOvers::clock();
        while self.goes_on() {
            let since = clock.now();
            self.slot().waits_since.store(since.0.max(1), Ordering::Release);
            self.task.exclusively(own, || {
                hand_overs.acquire(self.number, since, clock.now());
                self.slot().waits_since.store(0, Ordering::Release);
                while self.goes_on() && !self.another_has_waited(clock) {
                    std::thread::yield_now();
                }
                hand_overs.release(self.number);
            });
            while self.goes_on() && hand_overs.is_released_by(self.number) {
                std::thread::yield_now();
            }
        }
    }

    fn goes_on(&self) -> bool {
        let made = self.state.hand_overs.made.load(Ordering::Acquire);
        made < HandOvers::ENOUGH && self.phase() == phase::HAND_OVER
    }

    fn another_has_waited(&self, clock: Clock) -> bool {
        let now = clock.now();
        let mut since =
            self.state.slots.iter().map(|slot| slot.waits_since.load(Ordering::Acquire));
        since.any(|since| since > 0 && clock.between(Ticks(since), now) >= WAITED)
    }
}

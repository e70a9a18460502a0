//! Takes the samples of a round: batches of operations between readings of the sentinel.

use std::time::Duration;

use platform::CaseError;
use platform::counters::involuntary_switches;

use crate::approach::Approach;
use crate::order::RoundOrder;
use crate::record::Series;
use crate::sentinel::{Ratios, Reading, Sentinel};
use crate::survey::{ClockFacts, cost_of};
use crate::time::{Clock, Nanoseconds, Stopwatch};
use crate::work::{finish_instructions, turn};

/// Minimum time of an operation: a shorter one did not happen.
const CHEAPEST_OPERATION: Nanoseconds = Nanoseconds::new(0.05);
/// Duration of the warm-up. In a fresh process the first operations take another time until caches, predictors and the
/// kernel's free lists have adapted: up to 0.6 ms on an AMD EPYC, and up to 2 ms where tasks answer each other. Rounds are
/// shorter on a quieter machine, so without a warm-up a figure would depend on neighbours.
pub(crate) const WARM_UP: Nanoseconds = Nanoseconds::new(1e6);
pub(crate) const WARM_UP_BEYOND_CORE: Nanoseconds = Nanoseconds::new(3e6);
/// Duration of the warm-up of tasks that answer each other, and minimum time of their batches. The scheduler preempts a
/// task that has used more CPU time than its partner as soon as it wakes the partner, and the sentinel between every two
/// trips would make the measuring task such a one. In batches of this length the tasks are scheduled like those of a
/// program that does nothing else, which holds for a new pair only after hundreds of trips.
pub(crate) const WARM_UP_OF_PARTNERS: Nanoseconds = Nanoseconds::new(10e6);
const BATCH_OF_PARTNERS: Nanoseconds = Nanoseconds::new(3e6);
/// Time of operations off the clock between the sentinel and a group of samples.
const AFTER_SENTINEL: Nanoseconds = Nanoseconds::new(2e6);

/// Takes samples on the calling thread.
pub(crate) struct Sampler {
    clock: Clock,
    clock_cost: Nanoseconds,
    target: Nanoseconds,
    sentinel: Sentinel,
    level: Ratios,
    before: Reading,
    warm_up: Nanoseconds,
    pub(crate) shares_cpu: bool,
    slow_down: f64,
    partner_batches: f64,
    extra_turns: u64,
    pub(crate) series: Series,
}

impl Sampler {
    pub(crate) fn new(
        order: &RoundOrder,
        cpu: Option<usize>,
        busy: usize,
    ) -> Result<Self, CaseError> {
        let clock = order.clock.clock().ok_or_else(|| {
            CaseError::Unsupported(format!("no clock named {} here", order.clock.name))
        })?;
        let cost = cost_of(clock);
        let facts = ClockFacts { cost, ..order.clock.clone() };
        let sentinel = Sentinel::new(clock, &order.clock);
        // The first readings of a fresh process warm up the sentinel; low ones of the rest are the quiet level until the
        // run has one.
        let readings: Vec<Reading> = (0..32).map(|_| sentinel.read()).skip(8).collect();
        let found = Reading::low_of(&readings).ratios();
        let level = order.level.filter(|_| busy == 1).unwrap_or(found);
        let before = sentinel.read();
        Ok(Self {
            clock,
            clock_cost: cost,
            target: facts.shortest_batch(),
            sentinel,
            level,
            before,
            shares_cpu: false,
            warm_up: if order.core_bound { WARM_UP } else { WARM_UP_BEYOND_CORE },
            slow_down: order.slow_down,
            partner_batches: order.partner_batches,
            extra_turns: 0,
            series: Series {
                cpu,
                busy,
                batch: 1,
                beyond_core: !order.core_bound,
                ..Series::default()
            },
        })
    }

    /// Makes batches and the warm-up long enough for tasks that answer each other.
    pub(crate) fn expect_partners(&mut self) {
        let times = |usual: Nanoseconds| Nanoseconds::new(usual.get() * self.partner_batches);
        self.target = Nanoseconds::new(self.target.get().max(times(BATCH_OF_PARTNERS).get()));
        self.warm_up = times(WARM_UP_OF_PARTNERS);
    }

    /// Makes batches take at least `target`, and the sentinel run only before and after all of them.
    pub(crate) fn contend(&mut self, target: Nanoseconds) {
        self.target = Nanoseconds::new(target.get().max(self.target.get()));
        self.series.contended = true;
        self.sentinel.settle();
        self.before = self.sentinel.read_steadily();
    }

    /// Repeats the operation from the process's first one on until it is steady, or for the `known` time if that is not 0, and makes
    /// batches long enough for the clock. From here on samples are taken in groups.
    pub(crate) fn approach(
        &mut self,
        known: Duration,
        operations: &mut dyn FnMut(u64),
    ) -> Result<Approach, CaseError> {
        let (mut approach, mut done) = (Approach::default(), 0);
        let watch = Stopwatch::start();
        let known = Nanoseconds::new(known.as_nanos() as f64);
        let is_over = |approach: &Approach| match known.get() > 0.0 {
            true => approach.has_taken(known),
            false => approach.is_over(),
        };
        while !is_over(&approach) {
            let next = approach.next();
            operations(next);
            done += next;
            approach.note(watch.elapsed(), done);
        }
        self.series.grouped = true;
        self.warm_up = Nanoseconds::new(0.0);
        // A batch that is somewhat too short grows.
        let batch = approach.latest_time().map_or(1.0, |time| self.target.get() / time);
        self.series.batch = (batch as u64).max(1);
        self.calibrate(operations)?;
        Ok(approach)
    }

    /// Takes the samples of a group, which follow each other; the sentinel runs before and after them. Its work is forgotten by the
    /// system in operations off the clock.
    pub(crate) fn group(&mut self, count: usize, operations: &mut dyn FnMut(u64)) -> Series {
        self.before = self.sentinel.read();
        let watch = Stopwatch::start();
        while watch.elapsed() < AFTER_SENTINEL {
            self.batch(operations);
        }
        for _ in 0..count {
            let switches = involuntary_switches();
            let took = self.batch(operations);
            self.push(took);
            if !self.shares_cpu && involuntary_switches() > switches {
                self.series.preempted.push(self.series.samples.len() as u32 - 1);
            }
        }
        self.take_series()
    }

    /// Determines a batch length at which the clock's share is small enough, and warms up the operation.
    pub(crate) fn calibrate(&mut self, operations: &mut dyn FnMut(u64)) -> Result<(), CaseError> {
        let watch = Stopwatch::start();
        loop {
            let took = self.batch(operations);
            if took < self.target {
                self.grow_batch(took)?;
                continue;
            }
            // The minimum of a few is the time of an undisturbed batch.
            let few = (0..4).map(|_| self.batch(operations).get());
            let least = Nanoseconds::new(few.fold(f64::INFINITY, f64::min));
            if least < self.target {
                self.grow_batch(least)?;
                continue;
            }
            // The share is of the final batch: growing it afterwards would make the share smaller.
            if self.slow_down > 0.0 {
                self.extra_turns = self.turns_that_take(least.get() * self.slow_down);
            }
            break;
        }
        while watch.elapsed() < self.warm_up {
            self.batch(operations);
        }
        self.before = self.sentinel.read();
        Ok(())
    }

    /// Makes the batch longer, after one that took `took`, less than the target.
    pub(crate) fn grow_batch(&mut self, took: Nanoseconds) -> Result<(), CaseError> {
        let wanted = self.target.get() / took.get().max(1.0) * 1.05;
        // Steps are small while workers contend: the first operations may have been uncontended.
        let factor = wanted.clamp(1.05, if self.series.contended { 2.0 } else { 10.0 });
        self.series.batch = (self.series.batch as f64 * factor).ceil() as u64;
        let least_time = self.series.batch as f64 / factor * CHEAPEST_OPERATION.get();
        if self.series.batch > 1 << 20 && took.get() < least_time {
            return Err(CaseError::Implausible(format!(
                "{} operations took {:.0} ns: they did not happen",
                self.series.batch,
                took.get()
            )));
        }
        Ok(())
    }

    /// Runs one batch; returns its time without the clock's cost.
    pub(crate) fn batch(&self, operations: &mut dyn FnMut(u64)) -> Nanoseconds {
        let n = self.series.batch;
        let start = self.clock.now();
        operations(n);
        if self.extra_turns > 0 {
            // Without this the processor would execute some extra turns beside the last operations.
            finish_instructions();
            turn(self.extra_turns);
        }
        let end = self.clock.now();
        let took = self.clock.between(start, end).get() - self.clock_cost.get();
        Nanoseconds::new(took.max(0.0))
    }

    /// Takes one sample: an operation off the clock to reload what the sentinel evicted from caches, a batch, and the
    /// sentinel. Returns whether the sample was quiet.
    pub(crate) fn sample(&mut self, operations: &mut dyn FnMut(u64)) -> bool {
        if self.series.contended {
            let took = self.batch(operations);
            self.push(took);
            return true;
        }
        let switches = involuntary_switches();
        operations(1);
        let took = self.batch(operations);
        let after = self.sentinel.read();
        let preempted = !self.shares_cpu && involuntary_switches() > switches;
        self.push(took);
        let at = self.series.samples.len() - 1;
        if preempted {
            self.series.preempted.push(at as u32);
        }
        self.series.readings.push(rounded(after));
        self.before = after;
        self.series.is_quiet(at, &self.level)
    }

    /// The planned number of operations of the last batch, and its time.
    pub(crate) fn last_batch(&self) -> (u64, Nanoseconds) {
        let batch = self.series.batch;
        let sample = self.series.samples.last().copied().unwrap_or(0.0);
        (batch, Nanoseconds::new(f64::from(sample) * batch as f64))
    }

    /// Discards the last sample, which was cut short when the workers were stopped; the only sample is kept instead, as a
    /// batch of the `done` operations.
    pub(crate) fn end_with(&mut self, done: u64) {
        let series = &mut self.series;
        if series.samples.len() > 1 || done == 0 {
            series.samples.pop();
            if !series.contended {
                series.readings.pop();
            }
        } else if let [only] = &mut series.samples[..] {
            *only *= series.batch as f32 / done as f32;
            series.batch = done;
        }
    }

    /// Whether batches among several workers must grow after one of `took`: only if it took less than half of the target,
    /// since batches differ.
    pub(crate) fn falls_short(&self, took: Nanoseconds) -> bool {
        took.get() < self.target.get() * 0.5
    }

    /// The sentinel's quiet level.
    pub(crate) fn level(&self) -> &Ratios {
        &self.level
    }

    fn push(&mut self, took: Nanoseconds) {
        let series = &mut self.series;
        if series.samples.is_empty() {
            series.readings.push(rounded(self.before));
        }
        series.samples.push((took.get() / series.batch as f64) as f32);
    }

    /// The samples since the last call.
    pub(crate) fn take_series(&mut self) -> Series {
        if self.series.contended && !self.series.samples.is_empty() {
            self.series.readings.push(rounded(self.sentinel.read_steadily()));
        }
        if self.series.grouped && !self.series.samples.is_empty() {
            self.series.readings.push(rounded(self.sentinel.read()));
        }
        let next = Series {
            cpu: self.series.cpu,
            busy: self.series.busy,
            batch: self.series.batch,
            contended: self.series.contended,
            grouped: self.series.grouped,
            beyond_core: self.series.beyond_core,
            ..Series::default()
        };
        std::mem::replace(&mut self.series, next)
    }

    fn turns_that_take(&self, ns: f64) -> u64 {
        const TRIAL: u64 = 20_000;
        let trial = || {
            let start = self.clock.now();
            turn(TRIAL);
            self.clock.between(start, self.clock.now()).get()
        };
        let least = (0..5).map(|_| trial()).fold(f64::INFINITY, f64::min);
        (ns / (least / TRIAL as f64)).round().max(1.0) as u64
    }
}

/// A reading, rounded for storage to halves of a nanosecond: about the grain of clocks, and a twentieth of a percent. Hundredths would
/// take a fifth more of a store.
fn rounded(reading: Reading) -> Reading {
    let to_halves = |ns: f32| (ns * 2.0).round() / 2.0;
    Reading {
        chain: to_halves(reading.chain),
        alu: to_halves(reading.alu),
        chase: to_halves(reading.chase),
    }
}

/// A time in ns, rounded for storage: to 0.01 ns, from 100,000 ns on to 1 ns.
pub(crate) fn to_hundredths(ns: f32) -> f32 {
    if ns < 100_000.0 { (ns * 100.0).round() / 100.0 } else { ns.round() }
}

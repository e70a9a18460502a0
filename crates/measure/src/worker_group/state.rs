//! The memory that the workers of a group share, whether they are threads or processes.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use platform::CaseError;
use platform::counters::Counts;
use platform::counters::system_calls::CallCounts;
use platform::memory::shared::Shared;
use platform::process::failure::FirstFailure;

use super::hand_over::HandOvers;
use super::placement::WorkerGroup;
use crate::record::Series;
use crate::round::RoundOrder;
use crate::sentinel::Reading;

/// Maximum number of samples that a worker stores.
const SAMPLES_AT_MOST: usize = 256;

/// The phases of a round with a worker group.
pub(super) mod phase {
    // In phase 0 the workers join.
    /// Operations are timed or counted.
    pub const MEASURE: u32 = 1;
    /// The last batch ends.
    pub const STOP: u32 = 2;
    /// Hand-overs are timed.
    pub const HAND_OVER: u32 = 3;
    /// The last hand-over ends.
    pub const HANDED_OVER: u32 = 4;
    /// Mutual exclusion is tested.
    pub const CHECK: u32 = 5;
    /// The workers end.
    pub const LEAVE: u32 = 6;
}

/// One worker's results. Floating-point numbers are stored as their bits.
pub(super) struct Slot {
    samples: [AtomicU32; SAMPLES_AT_MOST],
    readings: [[AtomicU32; 3]; SAMPLES_AT_MOST + 1],
    /// Number of samples. Only those of the final batch length are stored: the batch may grow at the beginning.
    kept: AtomicU32,
    batch: AtomicU64,
    pub operations: AtomicU64,
    pub busy_ns: AtomicU64,
    /// When the worker began to wait in the phase of hand-overs, in ticks of [`HandOvers::clock`]; 0 while it does not
    /// wait.
    pub waits_since: AtomicU64,
    pub checked: AtomicU64,
    /// Counts plus one, 0 if unknown: system calls, voluntary and involuntary switches, faults, instructions, cycles.
    counts: [AtomicU64; 6],
    /// Numbers of system calls with their counts.
    calls: [[AtomicU64; 2]; 16],
}

/// The memory that coordinator and workers share.
pub(super) struct SharedState {
    pub phase: AtomicU32,
    /// Number of workers that have joined. The next fields count workers that have come to the start, finished their first
    /// batch, finished measuring, made their last hand-over, and left.
    pub gathered: AtomicU32,
    pub started: AtomicU32,
    pub begun: AtomicU32,
    pub measured: AtomicU32,
    pub handed_over: AtomicU32,
    pub left: AtomicU32,
    /// The timed hand-overs.
    pub hand_overs: HandOvers,
    /// A counter that only the lock under test protects.
    pub unprotected: AtomicU64,
    /// Why the first worker that failed did.
    pub failure: FirstFailure,
    /// One slot for each worker.
    pub slots: Shared<[Slot]>,
}

impl Slot {
    const fn empty() -> Self {
        Self {
            samples: [const { AtomicU32::new(0) }; SAMPLES_AT_MOST],
            readings: [const { [const { AtomicU32::new(0) }; 3] }; SAMPLES_AT_MOST + 1],
            kept: AtomicU32::new(0),
            batch: AtomicU64::new(0),
            operations: AtomicU64::new(0),
            busy_ns: AtomicU64::new(0),
            waits_since: AtomicU64::new(0),
            checked: AtomicU64::new(0),
            counts: [const { AtomicU64::new(0) }; 6],
            calls: [const { [const { AtomicU64::new(0) }; 2] }; 16],
        }
    }
}

impl SharedState {
    pub fn of(workers: usize) -> Result<Self, CaseError> {
        Ok(Self {
            phase: AtomicU32::new(0),
            gathered: AtomicU32::new(0),
            started: AtomicU32::new(0),
            begun: AtomicU32::new(0),
            measured: AtomicU32::new(0),
            handed_over: AtomicU32::new(0),
            left: AtomicU32::new(0),
            hand_overs: HandOvers::default(),
            unprotected: AtomicU64::new(0),
            failure: FirstFailure::none(),
            slots: Shared::list(workers, Slot::empty)?,
        })
    }
}

impl Slot {
    /// The stored samples of worker `number`.
    pub fn series(&self, worker_group: &WorkerGroup, number: usize, order: &RoundOrder) -> Series {
        let kept = self.kept.load(Ordering::Acquire) as usize;
        let contended = worker_group.workers > 1;
        let readings = if contended { 2 } else { kept + 1 };
        let float = |bits: &AtomicU32| f32::from_bits(bits.load(Ordering::Acquire));
        Series {
            cpu: worker_group.cpu_of(number, &order.cpus),
            busy: worker_group.busy(&order.cpus),
            batch: self.batch.load(Ordering::Acquire),
            samples: self.samples[..kept].iter().map(float).collect(),
            readings: self.readings[..readings]
                .iter()
                .map(|kept| Reading::from(kept.each_ref().map(float)))
                .collect(),
            contended,
            beyond_core: !order.core_bound,
            shares_core: worker_group.shares_core(),
            ..Series::default()
        }
    }

    /// One sample of the operations outside of the stored batches: the batches while their length grew, and the one in
    /// which the workers were stopped. With this sample the series covers all operations and all time of the rate.
    pub fn rest(&self, kept: &Series) -> Option<Series> {
        let batches = kept.samples.len() as u64;
        let operations = self.operations.load(Ordering::Acquire);
        let operations = operations.checked_sub(kept.batch * batches).filter(|&n| n > 0)?;
        let kept_ns: f64 = kept.samples.iter().map(|&ns| f64::from(ns) * kept.batch as f64).sum();
        let ns = (self.busy_ns.load(Ordering::Acquire) as f64 - kept_ns).max(0.0);
        let sample = (ns / operations as f64) as f32;
        Some(Series { batch: operations, samples: vec![sample], ..kept.clone() })
    }

    /// Stores samples and readings.
    pub fn keep(&self, series: &Series) {
        let kept = series.samples.len().min(SAMPLES_AT_MOST);
        for (stored, sample) in self.samples.iter().zip(&series.samples) {
            stored.store(sample.to_bits(), Ordering::Release);
        }
        for (stored, reading) in self.readings.iter().zip(&series.readings) {
            for (part, ns) in stored.iter().zip(<[f32; 3]>::from(*reading)) {
                part.store(ns.to_bits(), Ordering::Release);
            }
        }
        self.batch.store(series.batch, Ordering::Release);
        self.kept.store(kept as u32, Ordering::Release);
    }

    /// Stores the counts of the untimed pass.
    pub fn keep_counts(&self, counts: &Counts) {
        let known = [
            counts.syscalls,
            counts.voluntary_switches,
            counts.involuntary_switches,
            counts.page_faults,
            counts.instructions,
            counts.cycles,
        ];
        for (stored, count) in self.counts.iter().zip(known) {
            stored.store(count.map_or(0, |n| n + 1), Ordering::Release);
        }
        for (stored, (number, count)) in self.calls.iter().zip(counts.calls.pairs()) {
            stored[0].store(number.into(), Ordering::Release);
            stored[1].store(count, Ordering::Release);
        }
    }

    /// The counts of the untimed pass.
    pub fn counts(&self) -> Counts {
        let known = |at: usize| self.counts[at].load(Ordering::Acquire).checked_sub(1);
        let mut calls = CallCounts::default();
        for [number, count] in &self.calls {
            calls.add(number.load(Ordering::Acquire) as u32, count.load(Ordering::Acquire));
        }
        Counts {
            syscalls: known(0),
            calls,
            voluntary_switches: known(1),
            involuntary_switches: known(2),
            page_faults: known(3),
            instructions: known(4),
            cycles: known(5),
        }
    }
}

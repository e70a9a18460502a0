//! A round with several workers at once, as threads or forked processes, on one shared object.
//!
//! Each worker keeps to its CPU, runs the sentinel there, and times its own batches while the others continue. A batch
//! that is in progress when the worker group is stopped ends early. The workers' results are in memory shared by all,
//! so that processes and threads use the same code.
//!
//! `placement` defines the CPUs of the workers, `state` is the shared memory, `worker` what one worker does, and
//! `coordinator` takes all of them through the phases of the round.

mod coordinator;
mod placement;
mod state;
mod worker;

use std::sync::atomic::Ordering;

use platform::CaseError;
use platform::counters::ThreadCounters;
use platform::process::fork;
use platform::shared::Shared;

pub use placement::{Place, WORKERS_AT_MOST, WorkerGroup};
pub use worker::Task;

use coordinator::{coordinate, verify_exclusion};
use state::{SharedState, Slot, phase};
use worker::Worker;

use crate::metric::{Metric, Role, TIME};
use crate::record::{OperationCounts, Series};
use crate::round::{Mode, Round, RoundOrder, use_all_cpus};
use crate::stats::median;

/// Operations per second of all workers together.
pub const RATE: Metric =
    Metric::higher("rate", "pairs/s", "pairs per second of all workers together")
        .with(Role::SameAs(TIME.name));
/// The share of the least served worker.
pub const LEAST_SHARE: Metric = Metric::higher(
    "least-share",
    "of fair",
    "operations of the least served worker, relative to a fair share",
);
/// The share of the best served worker.
pub const GREATEST_SHARE: Metric = Metric::lower(
    "greatest-share",
    "of fair",
    "operations of the best served worker, relative to a fair share",
);

impl Round<'_> {
    /// Measures `task` with several workers at once: the time of one operation as seen by a worker, operations per
    /// second in all, each worker's share, and that operations exclude each other.
    ///
    /// # Errors
    /// `Failed` if a worker dies, or if two were inside at once.
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
        // Some locks have a descriptor per worker.
        platform::limits::raise_descriptors();
        // Closing the last counter of a tracepoint takes Linux 50 ms: it must not be a worker's.
        let _kept_open = ThreadCounters::open(order.mode.counting());
        let state = Shared::new(SharedState::of(worker_group.workers)?)?;
        let worker =
            |number: usize| Worker { number, state: &state, worker_group, order: &order, task };
        let oversubscribed = if worker_group.processes {
            let mut children = Vec::new();
            for number in 0..worker_group.workers {
                children
                    .push(fork(|| worker(number).work().map_or_else(|e| exit_code(&e), |()| 0))?);
            }
            coordinate(&order, &state, worker_group, &mut children)?
        } else {
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..worker_group.workers)
                    .map(|number| scope.spawn(move || worker(number).work()))
                    .collect();
                let coordinated = coordinate(&order, &state, worker_group, &mut []);
                if coordinated.is_err() {
                    // Release the workers that can still continue; the reason is returned below.
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

    /// The rate of a single worker: from the median of its samples, because CPU time used by another program is not part
    /// of the operation.
    fn report_rate_alone(&mut self, series: &Series) {
        if series.samples.is_empty() {
            return;
        }
        let mut samples: Vec<f64> = series.samples.iter().map(|&ns| ns.into()).collect();
        let rate = 1e9 / median(&mut samples);
        self.metric(&RATE, rate);
    }

    /// The rate of all workers together, and how fairly it was shared. The rate is the number of operations divided by
    /// the mean time that a worker was busy, so it is the number of workers divided by the mean time of an operation.
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

/// The exit code of a worker process that failed; the reason goes to stderr, where the user sees it.
fn exit_code(case_error: &CaseError) -> i32 {
    eprintln!("oscost worker: {case_error}");
    1
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use super::*;
    use crate::estimate::{JudgedRound, Levels};
    use crate::record::{Line, MetricValue, parse_lines};
    use crate::round::tests::order;

    /// A lock under which an operation takes a time that depends on how many its worker has done.
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
        // Some operations are still in progress when the workers are stopped, and take far longer than all before.
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

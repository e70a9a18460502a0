//! Rounds with several workers at once, threads or forked processes, which take turns with one shared object, such as a
//! lock, or carry out the same operation in parallel.
//!
//! Each worker stays on its CPU, runs the sentinel there, and times its own batches while the others continue. A batch that
//! is in progress when the group is stopped ends early. The workers' results are in shared memory, so that processes and
//! threads use the same code.
//!
//! `placement` chooses the workers' CPUs, `state` is the shared memory, `worker` is the work of one worker, `hand_over`
//! times hand-overs from one worker to another, and `coordinator` takes all workers through the phases of the round.

mod coordinator;
mod hand_over;
mod placement;
mod state;
mod worker;

use std::sync::atomic::Ordering;

use platform::CaseError;
use platform::counters::ThreadCounters;
use platform::memory::shared::Shared;
use platform::process::{fork, spawn_scoped};

pub use placement::{WORKERS_AT_MOST, WorkerGroup, WorkerPlace};
pub use worker::{Operations, Task};

use coordinator::{coordinate, verify_exclusion};
use state::{SharedState, Slot, phase};
use worker::Worker;

use crate::doubt::Doubt;
use crate::metric::{Role, TIME};
use crate::metrics;
use crate::oversubscription::{OtherPrograms, is_oversubscribed};
use crate::record::{OperationCounts, Repeated, Series};
use crate::round::{Mode, Round, RoundOrder, use_all_cpus};
use crate::stats::median;

metrics! {
    RATE = higher("rate", "pairs/s").with(Role::SameAs(TIME.name)),
        "pairs per second of all workers together";
    PARALLEL_RATE = higher("rate", "op/s").with(Role::SameAs(TIME.name)),
        "operations per second of all workers together";
    WORKER_RATE = higher("worker-rate", "op/s").with(Role::SameAs(TIME.name)),
        "operations per second of one worker, on average";
    LEAST_SHARE = higher("least-share", "of fair"),
        "operations of the least served worker, relative to a fair share";
    GREATEST_SHARE = lower("greatest-share", "of fair"),
        "operations of the best served worker, relative to a fair share";
    HANDOVER_TO_WAITER = lower("handover-to-waiter", "ns"),
        "the time from the beginning of a release until another worker, which has waited for 20 us or longer, has acquired the lock; \
         if that worker sleeps, waking it is included";
}

impl Round<'_> {
    /// Measures `task` with several workers at once: the time of one operation as seen by a worker, operations per second
    /// of all workers, the workers' shares, and the time of a hand-over if the task has hand-overs. Verifies that exclusive
    /// operations exclude each other.
    ///
    /// # Errors
    /// `Interrupted` if a worker process dies; `Failed` if a worker fails, or if two were inside at once; `Unsupported` if
    /// no CPUs are at the requested distance.
    pub fn contend<W, T: Task<W>>(
        &mut self,
        worker_group: &WorkerGroup,
        task: &T,
    ) -> Result<(), CaseError> {
        let mut order = self.order().clone();
        if worker_group.workers == 0 || worker_group.workers > WORKERS_AT_MOST {
            let text =
                format!("workers must be 1 to {WORKERS_AT_MOST}, not {}", worker_group.workers);
            return Err(CaseError::Failed(text));
        }
        use_all_cpus(&order);
        order.cpus = worker_group.place.cpus(&order.cpus)?;
        // Some locks have a descriptor for each worker.
        platform::process::limits::raise_descriptors();
        // Linux takes 50 ms to close the last counter of a tracepoint, which must not be a worker's.
        let _kept_open = ThreadCounters::open(order.mode.counting());
        let state = Shared::new(SharedState::of(worker_group.workers)?)?;
        let hands_over =
            order.mode == Mode::Sample && worker_group.workers > 1 && task.hands_over();
        let worker = |number: usize| Worker {
            number,
            state: &state,
            worker_group,
            order: &order,
            task,
            hands_over,
        };
        self.announce();
        let seen_before = other_threads(worker_group, &order);
        if worker_group.processes {
            let mut children = Vec::new();
            for number in 0..worker_group.workers {
                children
                    .push(fork(|| worker(number).work().map_or_else(|e| exit_code(&e), |()| 0))?);
            }
            coordinate(&order, &state, worker_group, &mut children, hands_over)?;
        } else {
            std::thread::scope(|scope| {
                let start = |number| {
                    spawn_scoped(scope, "a worker thread", move || worker(number).work())
                        .inspect_err(|reason| state.failure.report(reason))
                };
                let threads: Vec<_> = (0..worker_group.workers).map(start).collect();
                let coordinated = coordinate(&order, &state, worker_group, &mut [], hands_over);
                if coordinated.is_err() {
                    // The workers that can still continue are released; the reason is returned below.
                    state.phase.store(phase::LEAVE, Ordering::Release);
                }
                for thread in threads {
                    thread?.join().map_err(|_| CaseError::Failed("a worker panicked".into()))??;
                }
                coordinated
            })?;
        }
        let seen = seen_before.and(other_threads(worker_group, &order));
        let oversubscribed = is_oversubscribed(worker_group.busy(&order.cpus), seen);
        if T::OPERATIONS == Operations::Exclusive {
            verify_exclusion(&state)?;
        }
        self.report(&state, worker_group, &order, oversubscribed, T::OPERATIONS);
        if hands_over {
            self.report_hand_overs(&state);
        }
        Ok(())
    }

    fn report_hand_overs(&mut self, state: &SharedState) {
        match state.hand_overs.median() {
            Some(time) => self.metric(&HANDOVER_TO_WAITER, time.get()),
            None => self.doubt(Doubt::NoHandOver),
        }
    }

    fn report(
        &mut self,
        state: &SharedState,
        worker_group: &WorkerGroup,
        order: &RoundOrder,
        oversubscribed: bool,
        operations: Operations,
    ) {
        let slots = &state.slots;
        if order.mode.is_counted_outside() {
            let operations = slots.iter().map(|slot| slot.operations.load(Ordering::Acquire)).sum();
            let busy = slots.iter().map(|slot| slot.busy_ns.load(Ordering::Acquire)).max();
            return self.print_repeated(Repeated { operations, us: busy.unwrap_or(0) / 1_000 });
        }
        if order.mode != Mode::Sample {
            let mut sums = OperationCounts::default();
            for slot in slots.iter() {
                let calls = slot.operations.load(Ordering::Acquire);
                sums.add(calls * self.operations_in_a_call(), &slot.counts());
            }
            self.print_counts(sums);
            return;
        }
        if let [alone] = &slots[..] {
            let series = alone.series(worker_group, 0, order);
            self.report_rate_alone(&series, operations);
            return self.print_series(series);
        }
        self.report_shares(slots, operations);
        for (number, slot) in slots.iter().enumerate() {
            let series = Series { oversubscribed, ..slot.series(worker_group, number, order) };
            let rest = slot.rest(&series);
            self.print_series(series);
            rest.into_iter().for_each(|rest| self.print_series(rest));
        }
    }

    /// Reports the rate of a single worker, from the median of its samples: CPU time used by another program is not part of
    /// the operation.
    fn report_rate_alone(&mut self, series: &Series, operations: Operations) {
        if series.samples.is_empty() {
            return;
        }
        let mut samples: Vec<f64> = series.samples.iter().map(|&ns| ns.into()).collect();
        let rate = 1e9 / median(&mut samples);
        self.report_rate(rate, 1, operations);
    }

    /// Reports the rate at which all workers together called the operation.
    fn report_rate(&mut self, calls: f64, workers: usize, operations: Operations) {
        let rate = calls * self.operations_in_a_call() as f64;
        match operations {
            Operations::Exclusive => self.metric(&RATE, rate),
            Operations::Parallel => {
                self.metric(&PARALLEL_RATE, rate);
                self.metric(&WORKER_RATE, rate / workers as f64);
            }
        }
    }

    /// Reports the rate of all workers together, and the least and greatest share. The rate is the number of operations
    /// divided by the mean busy time of a worker, which is the number of workers divided by the mean time of an operation.
    fn report_shares(&mut self, slots: &[Slot], operations: Operations) {
        let calls: Vec<f64> =
            slots.iter().map(|s| s.operations.load(Ordering::Acquire) as f64).collect();
        let all: f64 = calls.iter().sum::<f64>().max(1.0);
        let busy_ns: u64 = slots.iter().map(|s| s.busy_ns.load(Ordering::Acquire)).sum();
        let mean_busy_ns = busy_ns.max(1) as f64 / slots.len() as f64;
        self.report_rate(all / mean_busy_ns * 1e9, slots.len(), operations);
        let share = |n: f64| n / all * slots.len() as f64;
        let least = calls.iter().copied().fold(f64::INFINITY, f64::min);
        let most = calls.iter().copied().fold(0.0, f64::max);
        self.metric(&LEAST_SHARE, share(least));
        self.metric(&GREATEST_SHARE, share(most));
    }
}

/// Prints the reason of a worker process's failure to stderr; returns its exit code.
fn exit_code(case_error: &CaseError) -> i32 {
    eprintln!("oscost worker: {case_error}");
    1
}

/// The runnable threads of other programs. Not read for a single worker, whose samples are classified one by one.
fn other_threads(worker_group: &WorkerGroup, order: &RoundOrder) -> OtherPrograms {
    if worker_group.workers == 1 || order.mode != Mode::Sample {
        OtherPrograms::default()
    } else {
        OtherPrograms::now()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use super::*;
    use crate::estimate::{JudgedRound, Levels};
    use crate::record::{Line, MetricValue};
    use crate::round::tests::{lines, order};

    /// Threads that contend for a moment.
    pub(crate) fn threads(workers: usize, place: WorkerPlace) -> WorkerGroup {
        WorkerGroup { workers, processes: false, place, time: Duration::ZERO }
    }

    /// A lock whose operations take a time that depends on the number of operations that the worker has done.
    struct Slowing {
        lock: Mutex<()>,
        takes: fn(u32) -> Duration,
    }

    impl Task<u32> for Slowing {
        const OPERATIONS: Operations = Operations::Exclusive;

        fn join(&self, _number: usize) -> Result<u32, CaseError> {
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
        let task = Slowing { lock: Mutex::new(()), takes };
        let worker_group = threads(workers, WorkerPlace::Unpinned);
        let (lines, ended) = lines(&order, |round| round.contend(&worker_group, &task));
        ended.unwrap();
        let (mut series, mut metrics) = (Vec::new(), Vec::new());
        for line in lines {
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
        // Operations still in progress when the workers are stopped take far longer than all before.
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

    /// A call of four operations that takes some time.
    struct Naps;

    impl Task<usize> for Naps {
        const OPERATIONS: Operations = Operations::Parallel;

        fn join(&self, number: usize) -> Result<usize, CaseError> {
            Ok(number)
        }

        fn operate(&self, _number: &mut usize) {
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    #[test]
    fn parallel_operations_have_a_rate_of_all_and_of_one_worker() {
        for workers in [1, 3] {
            let order = RoundOrder { limit_ms: 30, ..order(Mode::Sample) };
            let (lines, ended) = lines(&order, |round| {
                round.operations_per_call(4);
                round.contend(&threads(workers, WorkerPlace::Spread), &Naps)
            });
            ended.unwrap();
            let rate = |name: &str| {
                let metric = lines.iter().find_map(|line| match line {
                    Line::Metric(metric) if metric.name == name => Some(metric),
                    _ => None,
                });
                let metric = metric.unwrap_or_else(|| panic!("no {name} in {lines:?}"));
                assert_eq!(metric.unit, "op/s");
                metric.value
            };
            let (all, each) = (rate("rate"), rate("worker-rate"));
            assert!((all / each - workers as f64).abs() < 1e-9, "{all} {each}");
            // No nap is shorter than requested.
            assert!(each > 0.0 && each <= 4.0 / 100e-6, "{each}");
            let series = lines.iter().filter_map(|line| match line {
                Line::Series(series) => Some(series),
                _ => None,
            });
            assert!(series.flat_map(|s| &s.samples).all(|&ns| ns >= 25_000.0), "{lines:?}");
        }
    }

    #[test]
    fn far_more_workers_than_64_are_all_measured() {
        let workers = 200;
        let (series, metrics) = contend(workers, |_| Duration::ZERO);
        assert!(series.len() >= workers, "{} series", series.len());
        assert!(series.iter().all(|series| series.contended && !series.samples.is_empty()));
        assert!(metrics.iter().any(|metric| metric.name == "least-share" && metric.value > 0.0));
        let task = Slowing { lock: Mutex::new(()), takes: |_| Duration::ZERO };
        for workers in [0, WORKERS_AT_MOST + 1] {
            let worker_group = threads(workers, WorkerPlace::Unpinned);
            let contend = |round: &mut Round| round.contend(&worker_group, &task);
            let (_, refused) = lines(&order(Mode::Sample), contend);
            assert!(matches!(refused, Err(CaseError::Failed(_))), "{refused:?}");
        }
    }
}

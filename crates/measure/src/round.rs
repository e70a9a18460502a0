//! One round: a fresh process that takes samples of one case, or counts its system calls, switches and faults.

use std::io::Write;
use std::time::Duration;

use platform::CaseError;
use platform::counters::ThreadCounters;
use platform::cpu::{pin_thread, pin_thread_to_any};
use platform::machine::environment::Environment;

use crate::doubt::Doubt;
use crate::metric::Metric;
use crate::record::{Line, MetricValue, OperationCounts, Repeated, RoundEnvironment, Series};
use crate::sampler::{Sampler, WARM_UP_OF_PARTNERS, to_hundredths};
use crate::stats::median;
use crate::time::{Nanoseconds, Stopwatch};
use crate::work::{Work, align_code};

pub use crate::mode::Mode;
pub use crate::order::RoundOrder;

/// Maximum time of a round with partners, as a multiple of other rounds' limit.
const ROUND_OF_PARTNERS: f64 = 2.0;
/// Maximum time to wait for another task of the round, which other programs may keep from running for seconds. The runner waits two
/// seconds longer for a worker, so that the worker can report the reason.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// Number of samples in one line of output.
const CHUNK: usize = 64;
/// Number of samples in a group.
const GROUP: usize = 8;
/// How long the beginnings of [`BEGINNING`] are, in ns.
const BEGINNING_NS: [f64; 2] = [1e6, 10e6];

crate::metrics! {
    /// How an operation begins in a fresh process, in systems where that differs from its steady state.
    pub const BEGINNING: [
        FIRST_1MS = neutral("first-1ms", "ns/op"),
            "the mean time of an operation in a fresh process's first millisecond of it, or of the first one if that takes longer";
        FIRST_10MS = neutral("first-10ms", "ns/op"),
            "the mean time of an operation in a fresh process's first 10 ms of it, or of the first one if that takes longer";
        STEADY_AFTER = neutral("steady-after", "ns"),
            "the time from a fresh process's first operation until the operation takes the time that it goes on to take";
    ]
}

/// Number of operations of the untimed pass, and the maximum time they may take.
const COUNTED_OPERATIONS: u64 = 200;
const COUNTING_LIMIT: Nanoseconds = Nanoseconds::new(100e6);

/// The current round: a case calls [`Round::time`] with its operation, between its own set-up and tear-down.
pub struct Round<'a> {
    order: &'a RoundOrder,
    out: &'a mut dyn Write,
    expected: OperationCounts,
    operations_per_call: u64,
    /// Whether preemption is part of the operation.
    shares_cpu: bool,
    /// Whether other tasks take part in each operation.
    has_partners: bool,
    /// Times of one operation in ns, of all samples so far.
    samples: Vec<f64>,
    /// The time of an iteration of calibrated work in ns, as this round measured it; printed with the next series.
    calibrated: Option<f32>,
    /// A watch from the round's beginning, and the system's counters at that time; only if samples are taken.
    began: Option<(Stopwatch, Environment)>,
}

impl<'a> Round<'a> {
    /// Begins a round as ordered, which prints to `out`. Pins the calling thread to the CPU of single measurements until
    /// [`Round::end`], where possible, so that the case's data is in that CPU's caches.
    pub fn new(order: &'a RoundOrder, out: &'a mut dyn Write) -> Self {
        let _ = order.cpus.last().map(|&cpu| pin_thread(cpu));
        let samples = order.mode == Mode::Sample;
        let began = samples.then(|| (Stopwatch::start(), Environment::now(&order.cpus)));
        let expected = OperationCounts::default();
        Self {
            order,
            out,
            expected,
            operations_per_call: 1,
            shares_cpu: false,
            has_partners: false,
            samples: Vec::new(),
            calibrated: None,
            began,
        }
    }

    /// The order.
    pub fn order(&self) -> &RoundOrder {
        self.order
    }

    /// Declares how many system calls one operation must make; a count that differs makes the figure implausible.
    pub fn expect_syscalls(&mut self, per_operation: f64) {
        self.expected.expected_syscalls = Some(per_operation);
    }

    /// Declares the minimum number of context switches of this thread in one operation; fewer make the figure implausible.
    pub fn expect_switches(&mut self, per_operation: f64) {
        self.expected.expected_switches = Some(per_operation);
    }

    /// Declares the minimum number of page faults of this thread in one operation; fewer make the figure implausible. Windows
    /// does not count those of a thread.
    pub fn expect_faults(&mut self, per_operation: f64) {
        self.expected.expected_faults = platform::IS_UNIX.then_some(per_operation);
    }

    /// The median time of one operation in the samples taken so far, disturbed ones included; `None` before the first
    /// sample and in the untimed pass. Cases compute a bandwidth from it.
    pub fn median_time(&self) -> Option<Nanoseconds> {
        let mut samples = self.samples.clone();
        (!samples.is_empty()).then(|| Nanoseconds::new(median(&mut samples)))
    }

    /// Declares that one call of the closure given to [`Round::time`] does this many operations.
    pub fn operations_per_call(&mut self, operations: u64) {
        self.operations_per_call = operations;
    }

    /// Declares that other tasks take part in each operation, and makes batches and warm-up long enough for the scheduler
    /// to treat all tasks alike. If they may `share` this thread's CPU, preemption is no disturbance.
    pub fn has_partners(&mut self, share: bool) {
        self.has_partners = true;
        self.shares_cpu = share;
    }

    pub(crate) fn operations_in_a_call(&self) -> u64 {
        self.operations_per_call
    }

    /// Measures `operation` on one CPU, in batches between readings of the sentinel.
    ///
    /// # Errors
    /// `Implausible` if the time is too short for the operation to have happened.
    pub fn time(&mut self, operation: impl FnMut()) -> Result<(), CaseError> {
        self.time_on(self.order.cpus.last().copied(), operation)
    }

    /// Measures `operation` like [`Round::time`], on `cpu`; `None` for no particular CPU.
    ///
    /// # Errors
    /// See [`Round::time`].
    pub fn time_on(
        &mut self,
        cpu: Option<usize>,
        operation: impl FnMut(),
    ) -> Result<(), CaseError> {
        self.sample(prepared_on(cpu), &mut repeated(operation))
    }

    /// Measures like [`Round::time`] a closure that carries out the given number of operations. An operation that is no
    /// inlinable function costs about 1 ns for its call, which is here paid once a batch.
    ///
    /// # Errors
    /// See [`Round::time`].
    pub fn time_batches(&mut self, mut operations: impl FnMut(u64)) -> Result<(), CaseError> {
        self.sample(prepared_on(self.order.cpus.last().copied()), &mut operations)
    }

    /// Measures `operation` like [`Round::time`], on the CPUs of the round that the scheduler chooses.
    ///
    /// # Errors
    /// See [`Round::time`].
    pub fn time_unpinned(&mut self, operation: impl FnMut()) -> Result<(), CaseError> {
        use_all_cpus(self.order);
        self.sample(None, &mut repeated(operation))
    }

    /// Tells the coordinator by an empty line that the measurement begins, so that its threads leave the CPUs that they
    /// kept awake.
    pub(crate) fn announce(&mut self) {
        if self.order.announces() {
            // Printing the results shows whether the coordinator is still there.
            let _ = self.out.write_all(b"\n").and_then(|()| self.out.flush());
        }
    }

    /// Takes the samples. Only the loop over the operations is compiled for each operation: it is called once a batch.
    fn sample(
        &mut self,
        cpu: Option<usize>,
        operations: &mut dyn FnMut(u64),
    ) -> Result<(), CaseError> {
        if self.order.mode != Mode::Sample {
            return self.count(operations);
        }
        self.announce();
        let mut sampler = Sampler::new(self.order, cpu, 1)?;
        sampler.shares_cpu = self.shares_cpu;
        let mut limit = Duration::from_millis(self.order.limit_ms).as_nanos() as f64;
        if self.has_partners {
            sampler.expect_partners();
            limit *= ROUND_OF_PARTNERS;
        }
        if self.order.steady {
            return self.sample_steadily(sampler, limit, operations);
        }
        sampler.calibrate(operations)?;
        let watch = Stopwatch::start();
        let mut quiet = 0;
        while quiet < self.order.quiet_samples && watch.elapsed().get() < limit {
            quiet += usize::from(sampler.sample(operations));
            if sampler.series.samples.len() >= CHUNK {
                self.print_series(sampler.take_series());
            }
        }
        self.print_series(sampler.take_series());
        Ok(())
    }

    /// Takes the samples in groups, once the operation is steady, and reports how it began.
    fn sample_steadily(
        &mut self,
        mut sampler: Sampler,
        limit: f64,
        operations: &mut dyn FnMut(u64),
    ) -> Result<(), CaseError> {
        let known = Duration::from_millis(self.order.approach_ms);
        let approach = sampler.approach(known, operations)?;
        let per_call = self.operations_per_call as f64;
        for (metric, span) in [FIRST_1MS, FIRST_10MS].iter().zip(BEGINNING_NS) {
            let mean = approach.first(Nanoseconds::new(span));
            self.metric(metric, mean.map(|mean| mean / per_call));
        }
        match known.is_zero().then(|| approach.is_steady()) {
            Some(true) => self.metric(&STEADY_AFTER, approach.steady_after().map(Nanoseconds::get)),
            Some(false) => self.doubt(Doubt::NotSteady),
            None => {}
        }
        let watch = Stopwatch::start();
        let mut quiet = 0;
        while quiet < self.order.quiet_samples && watch.elapsed().get() < limit {
            let series = sampler.group(GROUP, operations);
            quiet += (0..series.samples.len())
                .filter(|&at| series.is_quiet(at, sampler.level()))
                .count();
            self.print_series(series);
        }
        Ok(())
    }

    /// Reports a metric other than the time of one operation, if `value` is given. Does nothing in the untimed pass.
    pub fn metric(&mut self, metric: &Metric, value: impl Into<Option<f64>>) {
        if let Some(value) = value.into()
            && self.order.mode == Mode::Sample
        {
            let Metric { name, unit, better, combine, .. } = *metric;
            let (name, unit) = (name.to_owned(), unit.to_owned());
            self.print(&Line::Metric(MetricValue { name, unit, better, combine, value }));
        }
    }

    /// Adds a reason to doubt the figures of this round, which becomes a doubt of the point if most of its rounds have it.
    /// Does nothing in the untimed pass.
    pub fn doubt(&mut self, why: Doubt) {
        if self.order.mode == Mode::Sample {
            self.print(&Line::Doubt(why));
        }
    }

    /// Prints the outcome of the round, and lets the thread use all CPUs of the round again.
    pub fn end(mut self, result: Result<(), CaseError>) {
        if let Some((watch, before)) = self.began {
            let counted = Environment::now(&self.order.cpus).since(before);
            let elapsed = watch.elapsed().get() / 1e9;
            self.print(&Line::Environment(environment_of(
                elapsed,
                self.order.cpus.len(),
                &counted,
            )));
        }
        self.print(&Line::End(result));
        use_all_cpus(self.order);
    }

    fn count(&mut self, operations: &mut dyn FnMut(u64)) -> Result<(), CaseError> {
        // The first few operations may include one-time work.
        operations(3);
        if let Some(repeated) = self.order.mode.repeat(operations, self.order.steady, || true) {
            self.print_repeated(repeated);
            return Ok(());
        }
        let mut counters = ThreadCounters::open(self.order.mode.counting());
        let warm_up = Stopwatch::start();
        while self.has_partners && warm_up.elapsed() < WARM_UP_OF_PARTNERS {
            operations(1);
        }
        let one = Stopwatch::start();
        operations(1);
        let affordable = (COUNTING_LIMIT.get() / one.stop().get().max(1.0)) as u64;
        let calls = affordable.clamp(1, COUNTED_OPERATIONS);
        counters.start();
        operations(calls);
        let counts = counters.stop();
        let mut sums = OperationCounts::default();
        sums.add(calls * self.operations_per_call, &counts);
        self.print_counts(sums);
        Ok(())
    }

    /// Prints the number of operations of a round that the coordinator counts.
    pub(crate) fn print_repeated(&mut self, repeated: Repeated) {
        let operations = repeated.operations * self.operations_per_call;
        self.print(&Line::Repeated(Repeated { operations, ..repeated }));
    }

    pub(crate) fn print_counts(&mut self, mut sums: OperationCounts) {
        sums.expected_syscalls = self.expected.expected_syscalls;
        sums.expected_switches = self.expected.expected_switches;
        sums.expected_faults = self.expected.expected_faults;
        self.print(&Line::Counts(sums));
    }

    /// Work of a known length, at the speed determined by the run, else calibrated now on the current CPU.
    ///
    /// # Errors
    /// See [`Work::calibrate`]; `Unsupported` without the clock of the run.
    pub fn work(&mut self) -> Result<Work, CaseError> {
        let known = self.order.ns_per_iteration;
        if let (Some(ns), true) = (known, self.order.mode != Mode::Sample) {
            return Work::of_ns_per_iteration(ns.into());
        }
        let clock = self.order.clock.clock().ok_or_else(|| {
            CaseError::Unsupported(format!("no clock named {} here", self.order.clock.name))
        })?;
        let found = Work::calibrate(clock)?;
        self.calibrated = Some(found.ns_per_iteration() as f32);
        known.map_or(Ok(found), |ns| Work::of_ns_per_iteration(ns.into()))
    }

    pub(crate) fn print_series(&mut self, mut series: Series) {
        if series.samples.is_empty() {
            return;
        }
        series.ns_per_iteration = series.ns_per_iteration.or(self.calibrated.take());
        series.batch *= self.operations_per_call;
        for sample in &mut series.samples {
            *sample = to_hundredths(*sample / self.operations_per_call as f32);
            self.samples.push(f64::from(*sample));
        }
        self.print(&Line::Series(series));
    }

    pub(crate) fn print(&mut self, line: &Line) {
        let text = serde_json::to_string(line).expect("a line has only plain values");
        // An error means that the coordinator has closed the pipe: nothing is left to do.
        if writeln!(self.out, "{text}").and_then(|()| self.out.flush()).is_err() {
            std::process::exit(1);
        }
    }
}

/// The CPU, if the calling thread can be pinned to it. In debug builds, asserts that the thread was already there when it
/// prepared the measurement.
fn prepared_on(cpu: Option<usize>) -> Option<usize> {
    let before = if cfg!(debug_assertions) { platform::cpu::allowed_to_thread() } else { None };
    let pinned = cpu.filter(|&cpu| pin_thread(cpu).is_ok());
    if let (Some(before), Some(cpu)) = (before, pinned) {
        assert_eq!(before, [cpu], "what is measured was prepared on other CPUs");
    }
    pinned
}

/// A closure that carries out `operation` the given number of times.
fn repeated(mut operation: impl FnMut()) -> impl FnMut(u64) {
    move |n| {
        align_code();
        for _ in 0..n {
            operation();
        }
    }
}

fn environment_of(elapsed: f64, cpus: usize, counted: &Environment) -> RoundEnvironment {
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    RoundEnvironment {
        elapsed,
        cpus,
        steal: seconds(counted.steal),
        throttled: seconds(counted.throttled),
        cpu_pressure: seconds(counted.cpu_pressure),
        io_pressure: seconds(counted.io_pressure),
        memory_pressure: seconds(counted.memory_pressure),
        interrupts: counted.interrupts,
    }
}

/// Lets the calling thread use all CPUs of the round again.
pub fn use_all_cpus(order: &RoundOrder) {
    // Where threads cannot be pinned, there is nothing to undo.
    let _ = pin_thread_to_any(&order.cpus);
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;
    #[cfg(unix)]
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use super::*;
    use crate::record::{Params, parse_lines};
    use crate::sampler::{WARM_UP, WARM_UP_BEYOND_CORE};
    use crate::survey::survey;
    use crate::work::turn;

    pub(crate) fn order(mode: Mode) -> RoundOrder {
        RoundOrder {
            case: "test/x".into(),
            params: Params::new(),
            core_bound: true,
            mode,
            clock: survey().remove(0),
            cpus: platform::cpu::allowed(),
            level: None,
            ns_per_iteration: None,
            quiet_samples: 10,
            limit_ms: 2_000,
            slow_down: 0.0,
            steady: false,
            approach_ms: 0,
            partner_batches: 1.0,
            parent: None,
            is_here: false,
            user: None,
        }
    }

    /// What a round prints, and the result of `run`.
    pub(crate) fn lines<T>(
        order: &RoundOrder,
        run: impl FnOnce(&mut Round) -> T,
    ) -> (Vec<Line>, T) {
        let mut out = Vec::new();
        let result = run(&mut Round::new(order, &mut out));
        (parse_lines(std::str::from_utf8(&out).unwrap()), result)
    }

    /// The worker's CPU was idle for the 3 ms that a worker needs to start on another one, and resumed beside a neighbour.
    #[test]
    fn a_worker_beside_its_coordinator_tells_when_it_begins_to_measure() {
        for (is_here, mode, announced) in [
            (true, Mode::Sample, true),
            (false, Mode::Sample, false),
            (true, Mode::CountRest, false),
        ] {
            let mut out = Vec::new();
            let order = RoundOrder { is_here, ..order(mode) };
            Round::new(&order, &mut out).time(|| turn(100)).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text.starts_with("\n{"), announced, "{mode:?}: {text}");
            assert!(!parse_lines(&text).is_empty());
        }
    }

    #[test]
    fn every_sample_has_a_reading_on_both_sides() {
        let mut calls = 0u64;
        let (lines, result) = lines(&order(Mode::Sample), |round| {
            round.time(|| {
                calls += 1;
                platform::cpu::null_call();
            })
        });
        assert_eq!(result, Ok(()));
        let mut timed = 0;
        for line in lines {
            let Line::Series(series) = line else { panic!("{line:?}") };
            assert_eq!(series.readings.len(), series.samples.len() + 1);
            assert!(series.samples.iter().all(|&ns| ns > 0.0));
            timed += series.batch * series.samples.len() as u64;
        }
        assert!(timed >= 10 && calls > timed, "{calls} calls, {timed} of them timed");
    }

    /// Times differed by up to 27 % between builds, by the place of an operation's loop within a cache line.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_loop_over_an_operation_lies_at_the_same_place_of_a_cache_line_whatever_is_before_it() {
        /// Position of an operation's code in its cache line. Each `N` makes another function, of another length.
        fn place<const N: usize>() -> usize {
            let place = Cell::new(0);
            let mut operations = repeated(|| {
                let here: usize;
                // SAFETY: takes the address of the next instruction, and does nothing `N` times.
                unsafe {
                    std::arch::asm!("lea {here}, [rip]", ".skip {n}, 0x90", here = out(reg) here, n = const N)
                };
                place.set(here % 64);
            });
            let operations: &mut dyn FnMut(u64) = std::hint::black_box(&mut operations);
            operations(1);
            place.get()
        }
        let places = [place::<1>(), place::<20>(), place::<40>(), place::<60>(), place::<80>()];
        assert!(places.iter().all(|&place| place == places[0]), "{places:?}");
    }

    /// In some rounds the woken task preempted the sender: these took 12 % less time and had no quiet sample, so that they
    /// continued until their samples outnumbered those of the others.
    #[cfg(unix)]
    #[test]
    fn preemption_is_no_disturbance_where_tasks_share_the_cpu() {
        let order = order(Mode::Sample);
        let cpu = *order.cpus.last().unwrap();
        let preempted = |shares_cpu: bool| {
            let stop = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    pin_thread(cpu).unwrap();
                    while !stop.load(Relaxed) {
                        turn(1_000);
                    }
                });
                let (lines, result) = lines(&order, |round| {
                    if shares_cpu {
                        round.has_partners(true);
                    }
                    // The batch is longer than the time slice of one of two busy threads.
                    round.time(|| turn(20_000_000))
                });
                stop.store(true, Relaxed);
                assert_eq!(result, Ok(()));
                let of_line = |line: &Line| match line {
                    Line::Series(series) => series.preempted.len(),
                    _ => 0,
                };
                lines.iter().map(of_line).sum::<usize>()
            })
        };
        assert!(preempted(false) > 0);
        assert_eq!(preempted(true), 0);
    }

    /// A chain of loads through 4 MiB took 33 to 114 ns a load instead of 16 where the data was in another CPU's caches.
    #[cfg(debug_assertions)]
    #[test]
    fn what_is_prepared_on_another_cpu_is_not_measured() {
        let order = order(Mode::Sample);
        let from = |cpus: &[usize]| {
            std::panic::catch_unwind(|| {
                lines(&order, |round| {
                    pin_thread_to_any(cpus)?;
                    round.time(|| turn(100))
                })
            })
        };
        assert!(from(&order.cpus[order.cpus.len() - 1..]).is_ok_and(|(_, result)| result.is_ok()));
        if order.cpus.len() > 1 && platform::cpu::allowed_to_thread().is_some() {
            assert!(from(&order.cpus).is_err());
        }
    }

    /// Allocations among many live ones took 58 % longer in the first 0.3 ms of a round.
    #[test]
    fn an_operation_is_repeated_until_it_is_steady_before_the_first_sample() {
        for (core_bound, has_partners, warm_up) in [
            (true, false, WARM_UP),
            (false, false, WARM_UP_BEYOND_CORE),
            (false, true, WARM_UP_OF_PARTNERS),
        ] {
            let clock = Stopwatch::start();
            let mut began = Vec::new();
            let order = RoundOrder { core_bound, ..order(Mode::Sample) };
            let (lines, result) = lines(&order, |round| {
                if has_partners {
                    round.has_partners(false);
                }
                round.time(|| {
                    began.push(clock.elapsed().get());
                    turn(20_000);
                })
            });
            assert_eq!(result, Ok(()));
            let sampled = |line: &Line| match line {
                Line::Series(series) => series.samples.len() * (series.batch as usize + 1),
                _ => 0,
            };
            // Each sample is a batch, preceded by an operation off the clock.
            let first = began.len() - lines.iter().map(sampled).sum::<usize>();
            assert!(began[first] - began[0] >= warm_up.get(), "{first} of {}", began.len());
        }
    }

    /// Calls of some sandboxes become cheap only after tens of milliseconds, and dear again after other work.
    #[test]
    fn a_steady_round_begins_when_the_operation_is_and_reports_how_it_began() {
        let clock = Stopwatch::start();
        let (dear, cheap) = (60_000, 6_000);
        let order = RoundOrder { steady: true, quiet_samples: 8, ..order(Mode::Sample) };
        let mut last = 0.0;
        let (lines, result) = lines(&order, |round| {
            round.time(|| {
                let now = clock.elapsed().get();
                // Other work between two operations makes the second dear.
                turn(if now < 60e6 || now - last > 60e3 { dear } else { cheap });
                last = clock.elapsed().get();
            })
        });
        assert_eq!(result, Ok(()));
        let series: Vec<&Series> = lines
            .iter()
            .filter_map(|line| match line {
                Line::Series(series) => Some(series),
                _ => None,
            })
            .collect();
        assert!(!series.is_empty());
        for one in &series {
            assert!(
                one.grouped && one.readings.len() == 2 && one.samples.len() == GROUP,
                "{one:?}"
            );
        }
        let first: Vec<f64> = lines
            .iter()
            .filter_map(|line| match line {
                Line::Metric(metric) if metric.name != STEADY_AFTER.name => Some(metric.value),
                _ => None,
            })
            .collect();
        let mut samples: Vec<f64> =
            series.iter().flat_map(|one| &one.samples).map(|&ns| ns.into()).collect();
        let steady = median(&mut samples);
        // The chain has the same number of turns in all.
        assert!(
            first.len() == 2 && first.iter().all(|&first| first > 4.0 * steady),
            "{first:?} {steady}"
        );
    }

    #[test]
    fn an_unpinned_operation_may_run_on_every_cpu_of_the_round() {
        let order = order(Mode::Sample);
        let mut allowed = Vec::new();
        let (lines, result) = lines(&order, |round| {
            round.time(platform::cpu::null_call)?;
            round.time_unpinned(|| {
                allowed = platform::cpu::allowed();
            })
        });
        assert_eq!(result, Ok(()));
        assert_eq!(allowed, order.cpus);
        let Some(Line::Series(series)) = lines.last() else { panic!("{lines:?}") };
        assert_eq!(series.cpu, None);
    }

    #[test]
    fn an_operation_that_does_not_happen_is_implausible() {
        let (_, result) = lines(&order(Mode::Sample), |round| round.time(|| {}));
        assert!(matches!(result, Err(CaseError::Implausible(_))), "{result:?}");
    }

    #[test]
    fn a_call_of_eight_operations_is_divided_by_eight() {
        let (lines, _) = lines(&order(Mode::CountRest), |round| {
            round.operations_per_call(8);
            round.expect_syscalls(0.125);
            round.time(|| {})
        });
        let [Line::Counts(counts)] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(counts.operations % 8, 0);
        assert_eq!(counts.expected_syscalls, Some(0.125));
    }

    #[test]
    fn the_sentinel_makes_no_calls() {
        let of_core = order(Mode::Sample);
        let beyond = RoundOrder { core_bound: false, ..order(Mode::Sample) };
        for order in [&of_core, &beyond] {
            let (lines, _) = lines(order, |round| round.time(platform::cpu::null_call));
            assert!(!lines.is_empty());
            for line in lines {
                let Line::Series(series) = line else { panic!("{line:?}") };
                assert_eq!(series.beyond_core, !order.core_bound);
            }
        }
    }

    #[test]
    fn a_metric_is_printed_only_while_sampling() {
        let report = |round: &mut Round| round.metric(&Metric::lower("step", "ns", "a step"), 1.0);
        assert_eq!(lines(&order(Mode::Sample), report).0.len(), 1);
        assert_eq!(lines(&order(Mode::CountRest), report).0.len(), 0);
    }
}

//! One round: a fresh process that takes samples of one case, or counts its system calls, switches and faults.

use std::io::Write;
use std::time::Duration;

use platform::CaseError;
use platform::counters::{ThreadCounters, involuntary_switches};
use platform::cpu::{pin_thread, pin_thread_to_any};
use platform::environment::Environment;
use serde::{Deserialize, Serialize};

use crate::doubt::Doubt;
use crate::metric::Metric;
use crate::record::{
    Line, MetricValue, OperationCounts, Params, Repeated, RoundEnvironment, Series,
};
use crate::sentinel::{Ratios, Reading, Sentinel};
use crate::stats::median;
use crate::survey::{ClockFacts, cost_of};
use crate::time::{Clock, Nanoseconds, Stopwatch};
use crate::user_code::UserCode;
use crate::work::{Work, align_code, finish_instructions, turn};

pub use crate::mode::Mode;

/// No measured operation is shorter: less means that it did not happen.
const CHEAPEST_OPERATION: Nanoseconds = Nanoseconds::new(0.05);
/// How long an operation is repeated before the first sample. In a fresh process the first ones take another time, until caches,
/// predictors and the kernel's free lists have adapted: up to 0.6 ms on an AMD EPYC, and up to 2 ms where tasks answer each other.
/// Rounds are the shorter, the quieter the machine is, so that without this a figure would depend on its neighbours.
const WARM_UP: Nanoseconds = Nanoseconds::new(1e6);
const WARM_UP_BEYOND_CORE: Nanoseconds = Nanoseconds::new(3e6);
/// The same and the least time of a batch where tasks answer each other. The scheduler preempts a task that has used more of the
/// CPU than its partner as soon as it wakes the partner: that is what the sentinel makes of the measuring task if it runs between
/// every two trips. Within batches of this length the tasks are scheduled as those of a program that does nothing else; and a
/// pair of tasks that was made just now is not, for its first hundreds of trips.
const WARM_UP_OF_PARTNERS: Nanoseconds = Nanoseconds::new(10e6);
const BATCH_OF_PARTNERS: Nanoseconds = Nanoseconds::new(3e6);
/// How many times as long as others such a round may take.
const ROUND_OF_PARTNERS: f64 = 2.0;
/// Samples in one line of output.
const CHUNK: usize = 64;
/// Operations of the untimed pass, and the time they may take at most.
const COUNTED_OPERATIONS: u64 = 200;
const COUNTING_LIMIT: Nanoseconds = Nanoseconds::new(100e6);

/// The coordinator's order to a worker; JSON on its command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundOrder {
    /// `area/name`.
    pub case: String,
    /// All parameters of the case.
    pub params: Params,
    /// Whether the time of an operation is the core's alone: not memory's, that of other CPUs, devices or timers.
    pub core_bound: bool,
    /// What to do.
    pub mode: Mode,
    /// The clock to time with.
    pub clock: ClockFacts,
    /// The CPUs the round may use; a case that needs only one stays on the last.
    pub cpus: Vec<usize>,
    /// The sentinel's quiet level on that CPU, if known to the run.
    pub level: Option<Ratios>,
    /// The time of an iteration of calibrated work, in ns, if known to the run.
    pub ns_per_iteration: Option<f32>,
    /// Quiet samples that make a round.
    pub quiet_samples: usize,
    /// Sampling ends after this time, in ms, in any case.
    pub limit_ms: u64,
    /// Extra work on the clock, as a share of the operation's time: tests that a change of that size is found.
    pub slow_down: f64,
    /// The coordinator's pid, if it starts workers directly.
    pub parent: Option<u32>,
    /// Whether the coordinator started the worker itself: it waits for the worker to say that it comes to its CPUs, which are
    /// kept awake until then, and removes what rounds leave when the run ends.
    pub is_here: bool,
    /// The user's own code, if that is what the case measures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserCode>,
}

impl RoundOrder {
    /// Whether the worker tells when it begins to measure; see [`RoundOrder::is_here`].
    pub fn announces(&self) -> bool {
        self.is_here && self.mode == Mode::Sample
    }
}

/// The current round: a case calls [`Round::time`] with its operation, between its own set-up and tear-down.
pub struct Round<'a> {
    order: &'a RoundOrder,
    out: &'a mut dyn Write,
    expected: OperationCounts,
    operations_per_call: u64,
    /// Whether being preempted is part of the operation.
    shares_cpu: bool,
    /// Whether other tasks take part in each operation.
    has_partners: bool,
    /// Times of one operation, in ns, of the samples so far.
    samples: Vec<f64>,
    /// The time of an iteration of calibrated work, in ns, as this round has found it; printed with the next series.
    calibrated: Option<f32>,
    /// When the round began, and the system's counters at that time; only if samples are taken.
    began: Option<(Stopwatch, Environment)>,
}

impl<'a> Round<'a> {
    /// A round as ordered, printing to `out`. The calling thread is on the CPU of single measurements from now on, where threads
    /// can be pinned, until [`Round::end`]: what a case prepares is in the caches near that CPU, and not near the one where
    /// the worker was started.
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

    /// Declares how many context switches of this thread one operation makes at least; fewer make the figure implausible.
    pub fn expect_switches(&mut self, per_operation: f64) {
        self.expected.expected_switches = Some(per_operation);
    }

    /// Declares how many page faults of this thread one operation takes at least; fewer make the figure implausible.
    pub fn expect_faults(&mut self, per_operation: f64) {
        self.expected.expected_faults = Some(per_operation);
    }

    /// The median time of one operation in the samples taken so far, disturbed ones included; `None` before the first and
    /// in the untimed pass. From it a case computes a bandwidth.
    pub fn median_time(&self) -> Option<Nanoseconds> {
        let mut samples = self.samples.clone();
        (!samples.is_empty()).then(|| Nanoseconds::new(median(&mut samples)))
    }

    /// Declares that one call of the closure given to [`Round::time`] does this many operations.
    pub fn operations_per_call(&mut self, operations: u64) {
        self.operations_per_call = operations;
    }

    /// Declares that other tasks take part in each operation: batches and warm-up are long enough for the scheduler to treat all
    /// of them alike. If they may `share` this thread's CPU, that it is preempted by them is no disturbance.
    pub fn has_partners(&mut self, share: bool) {
        self.has_partners = true;
        self.shares_cpu = share;
    }

    pub(crate) fn operations_in_a_call(&self) -> u64 {
        self.operations_per_call
    }

    /// Measures `operation`, on one CPU: in batches, between readings of the sentinel.
    ///
    /// # Errors
    /// `Implausible` if the time is too short for the operation to have happened.
    pub fn time(&mut self, operation: impl FnMut()) -> Result<(), CaseError> {
        self.time_on(self.order.cpus.last().copied(), operation)
    }

    /// As [`Round::time`], on a CPU of the case's choice; `None` where there is none to choose.
    ///
    /// # Errors
    /// As [`Round::time`].
    pub fn time_on(
        &mut self,
        cpu: Option<usize>,
        operation: impl FnMut(),
    ) -> Result<(), CaseError> {
        self.sample(prepared_on(cpu), &mut repeated(operation))
    }

    /// As [`Round::time`], of a closure that carries out the given number of operations: a call of a function that cannot be
    /// inlined takes about 1 ns, which is then paid once a batch.
    ///
    /// # Errors
    /// As [`Round::time`].
    pub fn time_batches(&mut self, mut operations: impl FnMut(u64)) -> Result<(), CaseError> {
        self.sample(prepared_on(self.order.cpus.last().copied()), &mut operations)
    }

    /// As [`Round::time`], on whichever CPUs of the round the scheduler chooses.
    ///
    /// # Errors
    /// As [`Round::time`].
    pub fn time_unpinned(&mut self, operation: impl FnMut()) -> Result<(), CaseError> {
        use_all_cpus(self.order);
        self.sample(None, &mut repeated(operation))
    }

    /// Tells the coordinator that the measurement begins, by an empty line: what kept its CPUs awake is to leave them.
    pub(crate) fn announce(&mut self) {
        if self.order.announces() {
            // Whether it is still there shows when results are printed.
            let _ = self.out.write_all(b"\n").and_then(|()| self.out.flush());
        }
    }

    /// The loop over the operations is the only code that is compiled for each of them: it is called once a batch.
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
            sampler.target = Nanoseconds::new(sampler.target.get().max(BATCH_OF_PARTNERS.get()));
            sampler.warm_up = WARM_UP_OF_PARTNERS;
            limit *= ROUND_OF_PARTNERS;
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

    /// Reports a metric other than the time of one operation, if it has a value. Does nothing in the untimed pass.
    pub fn metric(&mut self, metric: &Metric, value: impl Into<Option<f64>>) {
        if let Some(value) = value.into()
            && self.order.mode == Mode::Sample
        {
            let Metric { name, unit, better, combine, .. } = *metric;
            let (name, unit) = (name.to_owned(), unit.to_owned());
            self.print(&Line::Metric(MetricValue { name, unit, better, combine, value }));
        }
    }

    /// Adds a reason to doubt the figures of this round: it becomes a doubt of the point if most of its rounds have it. Does
    /// nothing in the untimed pass.
    pub fn doubt(&mut self, why: Doubt) {
        if self.order.mode == Mode::Sample {
            self.print(&Line::Doubt(why));
        }
    }

    /// Prints the outcome of the round. The thread may use all its CPUs again.
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
        // The first few may include one-time work.
        operations(3);
        if let Some(repeated) = self.order.mode.repeat(operations, || true) {
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

    /// Prints the operations of a round that is counted outside.
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

    /// Work of a known length: at the speed determined by the run, else calibrated now, on the current CPU.
    ///
    /// # Errors
    /// As [`Work::calibrate`]; `Unsupported` without the clock of the run.
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
        // The coordinator has closed the pipe: nothing is left to do.
        if writeln!(self.out, "{text}").and_then(|()| self.out.flush()).is_err() {
            std::process::exit(1);
        }
    }
}

/// The CPU, if the calling thread can be pinned to it. Whatever was prepared for the measurement was prepared there.
fn prepared_on(cpu: Option<usize>) -> Option<usize> {
    let before = cfg!(debug_assertions).then(platform::cpu::allowed);
    let pinned = cpu.filter(|&cpu| pin_thread(cpu).is_ok());
    if let (Some(before), Some(cpu)) = (before, pinned) {
        assert_eq!(before, [cpu], "what is measured was prepared on other CPUs");
    }
    pinned
}

/// The operation as a closure that carries it out the given number of times.
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

/// A time in ns as stored: to 0.01 ns, or seven digits.
fn to_hundredths(ns: f32) -> f32 {
    if ns < 100_000.0 { (ns * 100.0).round() / 100.0 } else { ns.round() }
}

/// A reading as stored.
fn rounded(reading: Reading) -> Reading {
    Reading {
        chain: to_hundredths(reading.chain),
        alu: to_hundredths(reading.alu),
        chase: to_hundredths(reading.chase),
    }
}

/// Takes samples on the calling thread.
pub(crate) struct Sampler {
    clock: Clock,
    clock_cost: Nanoseconds,
    target: Nanoseconds,
    sentinel: Sentinel,
    level: Ratios,
    before: Reading,
    warm_up: Nanoseconds,
    shares_cpu: bool,
    slow_down: f64,
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
        // The first readings of a fresh process are its warm-up; low ones of the rest are the quiet level until the run
        // has one.
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

    /// Makes batches take at least this long, and the sentinel run only before and after all of them.
    pub(crate) fn contend(&mut self, target: Nanoseconds) {
        self.target = Nanoseconds::new(target.get().max(self.target.get()));
        self.series.contended = true;
        self.sentinel.settle();
        self.before = self.sentinel.read_steadily();
    }

    /// Determines the length of a batch at which the clock's share is small enough, and repeats the operation until it is steady.
    pub(crate) fn calibrate(&mut self, operations: &mut dyn FnMut(u64)) -> Result<(), CaseError> {
        let watch = Stopwatch::start();
        loop {
            let took = self.batch(operations);
            if took < self.target {
                self.grow_batch(took)?;
                continue;
            }
            // The least of a few is the time of an undisturbed batch.
            let few = (0..4).map(|_| self.batch(operations).get());
            let least = Nanoseconds::new(few.fold(f64::INFINITY, f64::min));
            if least < self.target {
                self.grow_batch(least)?;
                continue;
            }
            // Of the batch as it now is: growing it afterwards would make the injected share smaller.
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

    /// Makes the batch longer, after one that took less than the target.
    pub(crate) fn grow_batch(&mut self, took: Nanoseconds) -> Result<(), CaseError> {
        let wanted = self.target.get() / took.get().max(1.0) * 1.05;
        // In small steps while workers contend: the first operations may have been uncontended.
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

    /// Runs one batch on the clock; the clock's cost is subtracted.
    pub(crate) fn batch(&self, operations: &mut dyn FnMut(u64)) -> Nanoseconds {
        let n = self.series.batch;
        let start = self.clock.now();
        operations(n);
        if self.extra_turns > 0 {
            // Otherwise it would execute a part of them beside the last operations.
            finish_instructions();
            turn(self.extra_turns);
        }
        let end = self.clock.now();
        let took = self.clock.between(start, end).get() - self.clock_cost.get();
        Nanoseconds::new(took.max(0.0))
    }

    /// Takes one sample: one operation off the clock to reload what the sentinel evicted, a batch, the sentinel.
    /// Returns whether it was quiet.
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

    /// The intended number of operations of the last batch, and its time.
    pub(crate) fn last_batch(&self) -> (u64, Nanoseconds) {
        let batch = self.series.batch;
        let sample = self.series.samples.last().copied().unwrap_or(0.0);
        (batch, Nanoseconds::new(f64::from(sample) * batch as f64))
    }

    /// Discards the last sample, during which the workers were stopped; if it is the only one, it is kept for the
    /// `done` operations of its time.
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

    /// Whether batches among several workers must grow after one that took this time: batches differ, so only if it
    /// took less than half of the target.
    pub(crate) fn falls_short(&self, took: Nanoseconds) -> bool {
        took.get() < self.target.get() * 0.5
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
        let next = Series {
            cpu: self.series.cpu,
            busy: self.series.busy,
            batch: self.series.batch,
            contended: self.series.contended,
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

/// Lets the calling thread use all CPUs of the round again.
pub fn use_all_cpus(order: &RoundOrder) {
    // If threads cannot be pinned there is nothing to undo.
    let _ = pin_thread_to_any(&order.cpus);
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;
    #[cfg(unix)]
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use super::*;
    use crate::record::parse_lines;
    use crate::survey::survey;

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
            parent: None,
            is_here: false,
            user: None,
        }
    }

    fn lines(
        order: &RoundOrder,
        run: impl FnOnce(&mut Round) -> Result<(), CaseError>,
    ) -> (Vec<Line>, Result<(), CaseError>) {
        let mut out = Vec::new();
        let result = run(&mut Round::new(order, &mut out));
        (parse_lines(std::str::from_utf8(&out).unwrap()), result)
    }

    /// The CPU was idle for the 3 ms in which a worker starts on another one, and came back beside a neighbour.
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

    /// Where the loop over an operation of a few cycles lay made up to 27 % between builds.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_loop_over_an_operation_lies_at_the_same_place_of_a_cache_line_whatever_is_before_it() {
        /// Where the code of an operation lies in its line. For each `N` it is another function, of another length.
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

    /// The task that a message woke up preempted the sender in some rounds: these took 12 % less time and had no quiet sample, so that
    /// they went on until their samples outnumbered those of the others.
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
                    // Longer than the scheduler lets one of two busy threads run.
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

    /// A chain of loads through 4 MiB took 33 to 114 ns a load instead of 16 where another CPU's caches had it.
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
        if order.cpus.len() > 1 {
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
            // Each sample is a batch, and an operation off the clock before it.
            let first = began.len() - lines.iter().map(sampled).sum::<usize>();
            assert!(began[first] - began[0] >= warm_up.get(), "{first} of {}", began.len());
        }
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
        let report = |round: &mut Round| {
            round.metric(&Metric::lower("step", "ns", "a step"), 1.0);
            Ok(())
        };
        assert_eq!(lines(&order(Mode::Sample), report).0.len(), 1);
        assert_eq!(lines(&order(Mode::CountRest), report).0.len(), 0);
    }
}

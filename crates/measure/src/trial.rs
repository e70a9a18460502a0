//! Rounds that are trials: a trial carries out one whole thing, such as a list of jobs or a server under load. The sentinel
//! runs before and after a trial.

use std::time::Duration;

use platform::CaseError;
use platform::counters::{Counts, ThreadCounters};
use platform::cpu::{keep_process_to, pin_thread, pin_thread_to_any};
use platform::process::usage::{ProcessUsage, busy_time};

use crate::oversubscription::{OtherPrograms, is_oversubscribed, taken_by_others};
use crate::record::{Line, OperationCounts, Repeated, Series};
use crate::round::{Mode, Round};
use crate::sentinel::{Reading, Sentinel};
use crate::time::Clock;
use crate::work::Work;

/// Maximum number of jobs of a trial whose times are recorded: a chart has no room for more.
const TIMELINE_JOBS_AT_MOST: usize = 64;

/// Number of operations of a trial while the coordinator counts on the host.
const ON_HOST: usize = 1_000;
/// Time for which a trial of one operation is repeated while the coordinator counts on the host.
const ON_HOST_FOR: Duration = Duration::from_millis(30);

/// The CPUs of a trial, and a clock to time it with.
pub struct TrialContext {
    clock: Clock,
    cpus: Vec<usize>,
    sentinel: Sentinel,
    work: Option<Work>,
}

impl TrialContext {
    /// Pins this process to `cpus`, which must not be empty.
    ///
    /// # Errors
    /// If the process cannot be pinned to the only CPU, or the order's clock does not exist.
    pub fn new(round: &Round, cpus: &[usize]) -> Result<Self, CaseError> {
        let facts = &round.order().clock;
        let clock = facts
            .clock()
            .ok_or_else(|| CaseError::Unsupported(format!("no clock named {} here", facts.name)))?;
        // The first call may sleep to find out what the system counts, and an idle core is slower.
        let _ = ProcessUsage::now();
        let kept = keep_process_to(cpus);
        if cpus.len() == 1 {
            kept?; // with several CPUs an error is ignored: the process may already run on all of them
        }
        let sentinel = Sentinel::new(clock, facts);
        Ok(Self { clock, cpus: cpus.to_vec(), sentinel, work: None })
    }

    /// The clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The CPUs of the trial.
    pub fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// Work of a known length, at the speed determined by the run, else calibrated now.
    ///
    /// # Errors
    /// See [`Work::calibrate`].
    pub fn work(&mut self, round: &Round) -> Result<Work, CaseError> {
        let found = Work::calibrate(self.clock)?;
        self.work = Some(found);
        round.order().ns_per_iteration.map_or(Ok(found), |ns| Work::of_ns_per_iteration(ns.into()))
    }

    /// Reads the sentinel on each of the CPUs.
    fn readings(&self) -> Vec<Reading> {
        let readings = self.cpus.iter().map(|&cpu| {
            // Where threads cannot be pinned, the readings are of the current CPU.
            let _ = pin_thread(cpu);
            self.sentinel.settle();
            self.sentinel.read_steadily()
        });
        let readings = readings.collect();
        let _ = pin_thread_to_any(&self.cpus);
        readings
    }
}

/// The measurements of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial<T> {
    /// Result.
    pub value: T,
    /// Elapsed time.
    pub elapsed: Duration,
    /// Resource usage of this process during the trial.
    pub usage: ProcessUsage,
}

/// The result of a trial of many operations that measures itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timed<T> {
    /// Further results.
    pub value: T,
    /// Number of operations.
    pub operations: u64,
    /// Time of the operations, without the work between them.
    pub took: Duration,
}

impl Round<'_> {
    /// Whether the round is an untimed pass, in which a trial must be short and call [`Round::count_trial`].
    pub fn is_counting(&self) -> bool {
        self.order().mode != Mode::Sample
    }

    /// Factor for the length of the trial's operations: 1, except in some of the rounds that the coordinator counts.
    pub fn times_as_long(&self) -> u32 {
        match self.order().mode {
            Mode::Lengthened(times) => times,
            _ => 1,
        }
    }

    /// The number of operations of a trial in the untimed pass, at most `most`: `usual`, but more while the coordinator
    /// counts on the host, since it also counts the worker's start.
    pub fn operations_to_count(&self, usual: usize, most: usize) -> usize {
        match self.order().mode {
            Mode::Lengthened(times) => ON_HOST.min(most) * times as usize,
            _ => usual.min(most),
        }
    }

    /// Runs `work`, which is `operations` operations on this thread, and reports their system calls, switches and faults.
    /// For the untimed pass.
    ///
    /// # Errors
    /// Errors of the work.
    pub fn count_trial(
        &mut self,
        operations: u64,
        work: impl FnOnce() -> Result<(), CaseError>,
    ) -> Result<(), CaseError> {
        let mut counters = ThreadCounters::open(self.order().mode.counting());
        counters.start();
        let done = work();
        let counts = counters.stop();
        done.map(|()| self.report_counts(operations, &[counts]))
    }

    /// Runs `operation` `operations` times, each with a result of `prepare`, and reports the system calls, switches and
    /// faults of the operations alone. For the untimed pass.
    ///
    /// # Errors
    /// Errors of the operation.
    pub fn count_each<T>(
        &mut self,
        operations: u64,
        mut prepare: impl FnMut() -> T,
        mut operation: impl FnMut(T) -> Result<(), CaseError>,
    ) -> Result<(), CaseError> {
        let mut counts = Vec::new();
        for _ in 0..operations {
            if self.order().mode.is_counted_outside() {
                // Counters would make system calls of their own.
                operation(prepare())?;
                continue;
            }
            let mut counters = ThreadCounters::open(self.order().mode.counting());
            let prepared = prepare();
            counters.start();
            let done = operation(prepared);
            counts.push(counters.stop());
            done?;
        }
        self.report_counts(operations, &counts);
        Ok(())
    }

    /// Reports the counts of the threads or processes that shared the operations; while the coordinator counts on the host,
    /// only the number of operations. For the untimed pass.
    pub fn report_counts(&mut self, operations: u64, counts: &[Counts]) {
        if self.order().mode.is_counted_outside() {
            return self.print_repeated(Repeated { operations, us: 0 });
        }
        let mut sums = OperationCounts::default();
        for counts in counts {
            sums.add(operations, counts);
        }
        sums.operations = operations;
        self.print_counts(sums);
    }

    /// Runs one trial that measures the number and the time of its operations. Reports the time of one operation, or while
    /// the coordinator counts on the host, their number. The trial must end its threads and processes, which would be taken
    /// for other programs.
    ///
    /// # Errors
    /// Errors of the trial.
    pub fn trial_of<T>(
        &mut self,
        context: &TrialContext,
        trial: impl FnOnce() -> Result<Timed<T>, CaseError>,
    ) -> Result<Trial<T>, CaseError> {
        self.announce();
        let (before, seen_before) = (context.readings(), OtherPrograms::now());
        let usage = ProcessUsage::now();
        let timed = trial()?;
        let usage = ProcessUsage::now().since(usage);
        let oversubscribed =
            is_oversubscribed(context.cpus.len(), seen_before.and(OtherPrograms::now()));
        let trial = Trial { value: timed.value, elapsed: timed.took, usage };
        if self.order().mode.is_counted_outside() {
            self.print_repeated(Repeated { operations: timed.operations, us: 0 });
            return Ok(trial);
        }
        let batch = timed.operations.max(1);
        self.print_trials(
            context,
            std::slice::from_ref(&trial),
            batch,
            [before, context.readings()],
            oversubscribed,
        );
        Ok(trial)
    }

    /// Runs a trial of one operation `times` times (at least once), and reports and returns all of them. Several trials are
    /// preceded by an untimed one. While the coordinator counts on the host, the trial is repeated for about 30 ms, and
    /// only the first one is returned.
    ///
    /// # Errors
    /// Errors of the trial.
    pub fn trials<T>(
        &mut self,
        context: &TrialContext,
        times: usize,
        mut trial: impl FnMut() -> Result<T, CaseError>,
    ) -> Result<Vec<Trial<T>>, CaseError> {
        let mut one = || -> Result<Trial<T>, CaseError> {
            let (usage, start) = (ProcessUsage::now(), context.clock.now());
            let value = trial()?;
            let elapsed = context.clock.between(start, context.clock.now());
            let usage = ProcessUsage::now().since(usage);
            Ok(Trial { value, elapsed: Duration::from_nanos(elapsed.get() as u64), usage })
        };
        if self.order().mode.is_counted_outside() {
            let first = one()?;
            let fitting = ON_HOST_FOR.as_nanos() / first.elapsed.as_nanos().max(1);
            let operations = self.operations_to_count(1, fitting.max(1) as usize);
            (1..operations).try_for_each(|_| one().map(drop))?;
            self.print_repeated(Repeated { operations: operations as u64, us: 0 });
            return Ok(vec![first]);
        }
        if times > 1 {
            one()?;
        }
        self.announce();
        let (before, seen_before) = (context.readings(), OtherPrograms::now());
        let (usage, busy) = (ProcessUsage::now(), busy_time(&context.cpus));
        let mut all = Vec::with_capacity(times);
        for _ in 0..times.max(1) {
            all.push(one()?);
        }
        let elapsed: Duration = all.iter().map(|trial| trial.elapsed).sum();
        let own = ProcessUsage::now().since(usage).cpu;
        let all_busy =
            busy_time(&context.cpus).zip(busy).map(|(now, then)| now.saturating_sub(then));
        let taken = all_busy.and_then(|busy| taken_by_others(busy, own, elapsed));
        let oversubscribed = is_oversubscribed(
            context.cpus.len(),
            seen_before.and(OtherPrograms { taken, ..OtherPrograms::now() }),
        );
        self.print_trials(context, &all, 1, [before, context.readings()], oversubscribed);
        Ok(all)
    }

    /// Reports the beginning and end of each job of a trial, in ns from the beginning of the trial, in the order of the
    /// list; only the first ones of a long list. Does nothing in the untimed pass.
    pub fn timeline(&mut self, jobs: impl Iterator<Item = [u64; 2]>) {
        if self.order().mode == Mode::Sample {
            self.print(&Line::Timeline(jobs.take(TIMELINE_JOBS_AT_MOST).collect()));
        }
    }

    /// Prints one series for each CPU: all must have been quiet.
    fn print_trials<T>(
        &mut self,
        context: &TrialContext,
        all: &[Trial<T>],
        batch: u64,
        [before, after]: [Vec<Reading>; 2],
        oversubscribed: bool,
    ) {
        if self.order().mode != Mode::Sample {
            return;
        }
        let of_one = |trial: &Trial<T>| (trial.elapsed.as_nanos() as f64 / batch as f64) as f32;
        let samples: Vec<f32> = all.iter().map(of_one).collect();
        for (at, &cpu) in context.cpus.iter().enumerate() {
            self.print(&Line::Series(Series {
                cpu: Some(cpu),
                busy: context.cpus.len(),
                batch,
                samples: samples.clone(),
                readings: vec![before[at], after[at]],
                contended: true,
                beyond_core: !self.order().core_bound,
                oversubscribed,
                ns_per_iteration: context
                    .work
                    .map(|work| work.ns_per_iteration() as f32)
                    .filter(|_| at == 0),
                ..Series::default()
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doubt::Doubt;
    use crate::round::tests::{lines, order};

    #[test]
    fn a_trial_reports_its_time_and_the_sentinel_of_each_cpu() {
        let order = order(Mode::Sample);
        let mut carried_out = 0;
        let nap = Duration::from_millis(2);
        let trial = || {
            carried_out += 1;
            std::thread::sleep(nap);
            Ok(carried_out)
        };
        let (lines, all) = lines(&order, |round| {
            let context = TrialContext::new(round, &order.cpus).unwrap();
            round.trials(&context, 3, trial).unwrap()
        });
        // The first trial, with the value 1, is not timed.
        assert_eq!(all.iter().map(|trial| trial.value).collect::<Vec<_>>(), [2, 3, 4]);
        assert!(all.iter().all(|trial| trial.elapsed >= nap));
        assert_eq!(lines.len(), order.cpus.len());
        for (line, &cpu) in lines.iter().zip(&order.cpus) {
            let Line::Series(series) = line else { panic!("{line:?}") };
            assert_eq!((series.cpu, series.samples.len()), (Some(cpu), 3));
            assert_eq!(series.readings.len(), 2);
            assert!(series.samples.iter().all(|&ns| ns >= 2e6));
        }
    }

    /// What a trial prints that makes this number of operations in 3 us, longer where the coordinator counts.
    fn lines_of_trial(mode: Mode, operations: u64) -> Vec<Line> {
        let order = order(mode);
        let (lines, ()) = lines(&order, |round| {
            let context = TrialContext::new(round, &order.cpus[..1]).unwrap();
            let operations = operations * u64::from(round.times_as_long());
            let took = Duration::from_micros(3);
            round
                .trial_of(&context, || Ok(Timed { value: (), operations, took }))
                .map(drop)
                .unwrap();
        });
        lines
    }

    #[test]
    fn a_trial_of_many_operations_reports_the_time_of_one() {
        let lines = lines_of_trial(Mode::Sample, 1_000);
        let [Line::Series(series)] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!((series.batch, &series.samples[..]), (1_000, &[3.0][..]));
    }

    #[test]
    fn a_long_list_has_the_times_of_its_first_jobs() {
        let list = (0..100).map(|job| [job, job + 2]);
        let (lines, ()) = lines(&order(Mode::Sample), |round| round.timeline(list));
        let [Line::Timeline(jobs)] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!((jobs.len(), jobs[63]), (TIMELINE_JOBS_AT_MOST, [63, 65]));
    }

    #[test]
    fn a_trial_that_is_counted_outside_reports_its_operations() {
        let (lines, ()) = lines(&order(Mode::Lengthened(3)), |round| {
            assert!(round.is_counting());
            let operations = 40 * u64::from(round.times_as_long());
            round.report_counts(operations, &[Counts::default()]);
        });
        assert_eq!(lines, [Line::Repeated(Repeated { operations: 120, us: 0 })]);
    }

    #[test]
    fn lists_are_repeated_while_they_are_counted_outside() {
        let repeated = |times, nap: Duration| {
            let order = order(Mode::Lengthened(times));
            let mut carried_out = 0;
            let trial = || {
                std::thread::sleep(nap);
                carried_out += 1;
                Ok(())
            };
            let (lines, all) = lines(&order, |round| {
                let context = TrialContext::new(round, &order.cpus).unwrap();
                round.trials(&context, 3, trial).unwrap()
            });
            assert_eq!(all.len(), 1);
            assert_eq!(lines, [Line::Repeated(Repeated { operations: carried_out, us: 0 })]);
            carried_out
        };
        // A busy machine has time for fewer.
        assert!(repeated(1, Duration::from_millis(5)) <= 6);
        assert!(repeated(2, Duration::from_millis(1)) > 1);
        let long = ON_HOST_FOR + Duration::from_millis(1);
        assert_eq!([1, 2].map(|times| repeated(times, long)), [1, 2]);
    }

    #[test]
    fn a_trial_of_many_operations_reports_their_number_while_it_is_counted_outside() {
        let lines = lines_of_trial(Mode::Lengthened(2), 30);
        assert_eq!(lines, [Line::Repeated(Repeated { operations: 60, us: 0 })]);
    }

    #[test]
    fn more_operations_are_counted_on_the_host_and_twice_as_many_in_a_longer_trial() {
        let counted =
            |mode, most| Round::new(&order(mode), &mut Vec::new()).operations_to_count(100, most);
        assert_eq!((counted(Mode::CountRest, 5_000), counted(Mode::CountRest, 60)), (100, 60));
        let pairs = [5_000, 60].map(|most| [1, 2].map(|n| counted(Mode::Lengthened(n), most)));
        assert_eq!(pairs, [[ON_HOST, 2 * ON_HOST], [60, 120]]);
    }

    #[test]
    fn the_untimed_pass_counts_by_operation() {
        let mut prepared = 0;
        let prepare = || {
            prepared += 1;
            std::thread::sleep(Duration::from_millis(1));
            prepared
        };
        let is_prepared = |number| {
            (1..=3).contains(&number).then_some(()).ok_or(CaseError::Failed(String::new()))
        };
        let (lines, ()) = lines(&order(Mode::CountRest), |round| {
            assert!(round.is_counting());
            round.count_trial(7, || Ok(())).unwrap();
            let counts = Counts { syscalls: Some(40), ..Counts::default() };
            round.report_counts(10, &[counts, counts]);
            round.doubt(Doubt::SharedCpu);
            round.timeline([[0, 1]].into_iter());
            round.count_each(3, prepare, is_prepared).unwrap();
        });
        let [Line::Counts(own), Line::Counts(others), Line::Counts(each)] = &lines[..] else {
            panic!("{lines:?}")
        };
        assert!(each.operations == 3 && each.voluntary_switches.unwrap_or(0) < 3, "{each:?}");
        assert_eq!((own.operations, others.operations, others.syscalls), (7, 10, Some(80)));
    }
}

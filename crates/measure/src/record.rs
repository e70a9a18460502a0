//! What a worker prints: JSON Lines, one object a line, so that what came before a crash is kept.

use std::collections::BTreeMap;

use platform::CaseError;
use serde::{Deserialize, Serialize};

use crate::cycles::UNIT;
use crate::sentinel::{Ratios, Reading};

/// What may be taken of a trial's CPU time, as a share.
const TAKEN_SHARE: f64 = 0.03;

/// A case's parameters by name.
pub type Params = BTreeMap<String, String>;

/// One line of a worker's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    /// Samples that one thread took, one after the other.
    Series(Series),
    /// A figure that is not a time of one operation.
    Metric(MetricValue),
    /// What the operations of the untimed pass made the kernel do.
    Counts(OperationCounts),
    /// What the system counted during the round that may have disturbed it.
    Environment(RoundEnvironment),
    /// A reason to distrust the figures of this round, in words without numbers: those of its other rounds
    /// are to be the same.
    Doubt(String),
    /// The round is over; absent if the worker died.
    End(End),
}

/// Consecutive samples of one measuring thread.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Series {
    /// The CPU it was kept on; `None` if it was not.
    pub cpu: Option<usize>,
    /// How many CPUs the case kept busy.
    pub busy: usize,
    /// Operations in a batch.
    pub batch: u64,
    /// Time of one operation, in ns, the clock's cost already taken off.
    pub samples: Vec<f32>,
    /// The sentinel before the first sample, between each two, and after the last. Among several workers only
    /// before the first and after the last: in between it would tell of them.
    pub readings: Vec<Reading>,
    /// Whether other workers contended meanwhile. Then the round is one trial: its value is the time
    /// of all samples by their operations, not their median.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub contended: bool,
    /// Whether so many other programs wanted to run before or after that they must have taken CPUs
    /// from the workers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub oversubscribed: bool,
    /// What a turn of calibrated work took just before, in ns, where the case does such work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns_per_iteration: Option<f32>,
    /// Numbers of the samples during which our CPU was taken away from us.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preempted: Vec<u32>,
}

impl Series {
    /// Whether sample `at` was undisturbed, and our CPU was not taken away meanwhile.
    pub fn is_quiet(&self, at: usize, level: &Ratios) -> bool {
        self.is_undisturbed(at, level) && !self.is_preempted(at)
    }

    /// Whether the sentinel on both sides of sample `at` was quiet, at the same frequency, and no crowd in the way.
    /// Among several workers, and in trials, the frequency may change: their time is that of the clock on the wall.
    pub fn is_undisturbed(&self, at: usize, level: &Ratios) -> bool {
        let Some([before, after]) = self.around(at) else { return false };
        !self.oversubscribed
            && before.ratios().are_quiet(level)
            && after.ratios().are_quiet(level)
            && (self.contended || before.has_frequency_of(after))
    }

    /// The sentinel on both sides of sample `at`.
    fn around(&self, at: usize) -> Option<[&Reading; 2]> {
        Some(match self.contended {
            true => [self.readings.first()?, self.readings.last()?],
            false => [self.readings.get(at)?, self.readings.get(at + 1)?],
        })
    }

    /// The time of one operation in sample `at` as a number of dependent multiplications, which does not change
    /// with the core's frequency; `None` where the sentinel has no reading on both sides.
    pub fn in_multiplications(&self, at: usize) -> Option<f64> {
        let [before, after] = self.around(at)?;
        let chain = (f64::from(before.chain) + f64::from(after.chain)) / 2.0;
        let is_reading = before.chain > 0.0 && after.chain > 0.0;
        is_reading.then(|| f64::from(self.samples[at]) / chain * UNIT)
    }

    /// Whether our CPU was taken away during sample `at`.
    pub fn is_preempted(&self, at: usize) -> bool {
        self.preempted.contains(&(at as u32))
    }

    /// How long sample `at` and the sentinel after it took together, in ns.
    pub fn span(&self, at: usize) -> f64 {
        let after = self.readings.get(at + 1).filter(|_| !self.contended);
        let sentinel = after.map_or(0.0, |reading| reading.total().get());
        f64::from(self.samples[at]) * self.batch as f64 + sentinel
    }
}

/// A named figure of one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricValue {
    /// Its name, as in the case's card.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Which direction is better.
    pub better: Direction,
    /// How the rounds' values become one.
    pub combine: Combine,
    /// The value.
    pub value: f64,
}

/// Which direction of a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// A cost.
    Lower,
    /// A rate or share.
    Higher,
    /// A property.
    Neither,
}

/// How the values that rounds give for a metric become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Combine {
    /// The median, with an interval.
    Median,
    /// The least ever seen.
    Least,
    /// The sum: something that should never happen, counted.
    Sum,
}

/// Sums over all operations of the untimed pass; `None` where this system cannot count.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct OperationCounts {
    /// How many operations were done.
    pub operations: u64,
    /// How many system calls each must make, where the case knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_syscalls: Option<f64>,
    /// System calls.
    pub syscalls: Option<u64>,
    /// Voluntary context switches.
    pub voluntary_switches: Option<u64>,
    /// Involuntary context switches.
    pub involuntary_switches: Option<u64>,
    /// Page faults.
    pub page_faults: Option<u64>,
    /// Instructions.
    pub instructions: Option<u64>,
    /// CPU cycles.
    pub cycles: Option<u64>,
}

impl OperationCounts {
    /// Adds what another thread counted.
    pub fn add(&mut self, operations: u64, counts: &platform::counters::Counts) {
        let sum = |to: &mut Option<u64>, more: Option<u64>| {
            *to = if self.operations == 0 { more } else { to.zip(more).map(|(a, b)| a + b) };
        };
        sum(&mut self.syscalls, counts.syscalls);
        sum(&mut self.voluntary_switches, counts.voluntary_switches);
        sum(&mut self.involuntary_switches, counts.involuntary_switches);
        sum(&mut self.page_faults, counts.page_faults);
        sum(&mut self.instructions, counts.instructions);
        sum(&mut self.cycles, counts.cycles);
        self.operations += operations;
    }
}

/// What the system counted from the beginning of a round to its end, in seconds; absent where it does not say.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct RoundEnvironment {
    /// How long the round took.
    pub elapsed: f64,
    /// How many CPUs it may have used.
    pub cpus: usize,
    /// Time in which the hypervisor ran others while our CPUs had work to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
    /// Time in which our control group waited because its CPU quota was used up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<f64>,
    /// Time in which some thread waited for a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_pressure: Option<f64>,
    /// Time in which some thread waited for input or output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_pressure: Option<f64>,
    /// Time in which some thread waited for memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_pressure: Option<f64>,
    /// Interrupts on all CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<u64>,
}

impl RoundEnvironment {
    /// Whether the hypervisor or our own quota took so much time that a trial cannot count. Pressure and interrupts
    /// do not decide it: what is measured causes both itself.
    pub fn took_cpu_time(&self) -> bool {
        /// Steal is counted in steps of 10 ms: one of them is no share of a shorter round.
        const STEAL_STEPS: f64 = 0.02;
        let allowed = self.elapsed * self.cpus.max(1) as f64 * TAKEN_SHARE;
        self.steal.is_some_and(|taken| taken > allowed.max(STEAL_STEPS))
            || self.throttled.is_some_and(|taken| taken > allowed)
    }
}

/// How a round ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome", content = "reason")]
pub enum End {
    /// All went well.
    Measured,
    /// This system has no such thing.
    Unsupported(String),
    /// It went wrong.
    Failed(String),
    /// Part of it was killed from outside: worth another try.
    Interrupted(String),
    /// The figure cannot be true.
    Implausible(String),
    /// It did not end in time.
    TimedOut(String),
}

impl From<Result<(), CaseError>> for End {
    fn from(result: Result<(), CaseError>) -> Self {
        match result {
            Ok(()) => Self::Measured,
            Err(CaseError::Unsupported(reason)) => Self::Unsupported(reason),
            Err(CaseError::Failed(reason)) => Self::Failed(reason),
            Err(CaseError::Interrupted(reason)) => Self::Interrupted(reason),
            Err(CaseError::Implausible(reason)) => Self::Implausible(reason),
            Err(CaseError::TimedOut(reason)) => Self::TimedOut(reason),
        }
    }
}

/// Reads what a worker printed. Lines that are damaged (cut off by a crash) are passed over: what
/// cannot be read is not counted, and a round without its [`Line::End`] is not complete.
pub fn parse_lines(text: &str) -> Vec<Line> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_before_a_crash_is_kept() {
        let metric = Line::Metric(MetricValue {
            name: "step".into(),
            unit: "ns".into(),
            better: Direction::Lower,
            combine: Combine::Least,
            value: 1.0,
        });
        let end = Line::End(End::Unsupported("no".into()));
        let text = format!(
            "{}\n{}\n{{\"series\":{{\"cpu\":1,\"bu",
            serde_json::to_string(&metric).unwrap(),
            serde_json::to_string(&end).unwrap()
        );
        assert_eq!(parse_lines(&text), vec![metric, end]);
    }

    #[test]
    fn a_sample_is_quiet_by_its_neighbours_never_by_itself() {
        let quiet = Reading { chain: 800.0, alu: 560.0, chase: 761.0, calls: Some(681.0) };
        let loud = Reading { alu: 700.0, ..quiet };
        let series = Series {
            busy: 1,
            batch: 10,
            samples: vec![1.0, 9_999.0, 1.0, 1.0],
            readings: vec![quiet, quiet, quiet, loud, quiet],
            preempted: vec![0],
            ..Series::default()
        };
        let level = quiet.ratios();
        let oversubscribed = Series { oversubscribed: true, ..series.clone() };
        assert!((0..4).all(|at| !oversubscribed.is_quiet(at, &level)));
        let seen: Vec<bool> = (0..4).map(|at| series.is_quiet(at, &level)).collect();
        assert_eq!(seen, [false, true, false, false]);
    }

    #[test]
    fn stolen_and_throttled_time_spoils_a_trial() {
        let round = RoundEnvironment { elapsed: 1.0, cpus: 2, ..Default::default() };
        let stolen = |time: f64| RoundEnvironment { steal: Some(time), ..round };
        let throttled = |time: f64| RoundEnvironment { throttled: Some(time), ..round };
        assert!(!round.took_cpu_time());
        for (environment, spoilt) in [
            (stolen(0.05), false),
            (stolen(0.07), true),
            (throttled(0.05), false),
            (throttled(0.07), true),
            // One step of the steal counter in a round of 15 ms says little; waiting for a quota does.
            (RoundEnvironment { elapsed: 0.015, ..stolen(0.01) }, false),
            (RoundEnvironment { elapsed: 0.015, ..throttled(0.01) }, true),
        ] {
            assert_eq!(environment.took_cpu_time(), spoilt, "{environment:?}");
        }
    }

    #[test]
    fn a_time_in_multiplications_is_the_same_at_every_frequency() {
        let reading = Reading { chain: 800.0, alu: 560.0, chase: 761.0, calls: None };
        let slower = Reading { chain: 880.0, alu: 616.0, chase: 837.1, calls: None };
        let changing = Series {
            busy: 1,
            batch: 10,
            samples: vec![80.0, 84.0, 88.0],
            readings: vec![reading, reading, slower, slower],
            ..Series::default()
        };
        for at in 0..3 {
            assert!((changing.in_multiplications(at).unwrap() - 100.0).abs() < 1e-4, "{at}");
        }
        let level = reading.ratios();
        let quiet: Vec<bool> = (0..3).map(|at| changing.is_quiet(at, &level)).collect();
        assert_eq!(quiet, [true, false, true], "the frequency changed during the second");
        let trial = Series { contended: true, samples: vec![84.0], ..changing };
        assert!(trial.is_quiet(0, &level));
    }
}

//! The output of a worker: JSON Lines, one object per line, so that the lines before a crash are kept.

use std::collections::BTreeMap;

use platform::CaseError;
use platform::process::control_group::HostCounts;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use strum::IntoStaticStr;

use crate::cycles::UNIT;
use crate::doubt::Doubt;
use crate::sentinel::{Ratios, Reading, TOLERANCE, TOLERANCE_BEYOND_CORE};

/// Maximum share of a trial's CPU time that may be stolen or throttled.
const TAKEN_SHARE: f64 = 0.03;

/// A case's parameters by name.
pub type Params = BTreeMap<String, String>;

/// One line of a worker's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    /// Consecutive samples of one thread.
    Series(Series),
    /// A metric other than the time of one operation.
    Metric(MetricValue),
    /// The counts of the untimed pass.
    Counts(OperationCounts),
    /// The operations of a round during which the coordinator counted on the host.
    Repeated(Repeated),
    /// The host's counts of the system's processes during the round; added by the coordinator.
    Host(HostCounts),
    /// Possible disturbances counted by the system during the round.
    Environment(RoundEnvironment),
    /// Number of the system's start, from 1, that preceded the round; added by a coordinator that measures several starts.
    Boot(u32),
    /// A reason to doubt the figures of this round.
    Doubt(Doubt),
    /// Beginning and end of each job of a trial, in ns from the beginning of the trial, in the order of the list.
    Timeline(Vec<[u64; 2]>),
    /// The outcome of the round; absent if the worker died.
    End(#[serde(with = "end")] Result<(), CaseError>),
}

/// Consecutive samples of one measuring thread.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Series {
    /// The CPU that the thread was pinned to, if any.
    pub cpu: Option<usize>,
    /// The number of CPUs that the case kept busy.
    pub busy: usize,
    /// Operations in a batch.
    pub batch: u64,
    /// Time of one operation, in ns, without the clock's cost.
    pub samples: Vec<f32>,
    /// The sentinel's readings before the first sample, between samples, and after the last; with several workers only
    /// before the first and after the last, since in between it would detect the other workers; so it does in a group.
    pub readings: Vec<Reading>,
    /// Whether the samples followed each other, without the sentinel between them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grouped: bool,
    /// Whether other workers contended at the same time. Such a round is one trial, whose value is the time of all samples
    /// divided by their operations.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub contended: bool,
    /// Whether the operation depends on more than the core, so that its time is less precise and the sentinel is allowed
    /// more tolerance.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beyond_core: bool,
    /// Whether other workers ran on hardware threads of the same core, which also slows the sentinel.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shares_core: bool,
    /// Whether so many other threads were runnable before or after that they must have taken CPUs from the workers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub oversubscribed: bool,
    /// The time of an iteration of calibrated work, in ns, measured just before the series, if the case does such work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns_per_iteration: Option<f32>,
    /// Indexes of the samples during which the thread was preempted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preempted: Vec<u32>,
}

impl Series {
    /// Whether sample `at` was undisturbed, and the thread was not preempted during it.
    pub fn is_quiet(&self, at: usize, level: &Ratios) -> bool {
        self.is_undisturbed(at, level) && !self.is_preempted(at)
    }

    /// Whether the sentinel was quiet on both sides of sample `at`, at the same frequency, and the CPUs were not
    /// oversubscribed. The frequency may change with several workers and in trials, which use wall-clock time.
    pub fn is_undisturbed(&self, at: usize, level: &Ratios) -> bool {
        let Some([before, after]) = self.around(at) else { return false };
        let tolerance = if self.beyond_core { TOLERANCE_BEYOND_CORE } else { TOLERANCE };
        !self.oversubscribed
            && before.ratios().are_within(tolerance, level)
            && after.ratios().are_within(tolerance, level)
            && (self.contended || before.has_frequency_of(after))
    }

    /// Whether the core's frequency in reading `at` equals that of the reading before or after it. Always true for trials,
    /// whose readings are far apart.
    pub fn has_steady_chain(&self, at: usize) -> bool {
        let agrees = |other: Option<usize>| {
            let other = other.and_then(|other| self.readings.get(other));
            other.is_some_and(|other| self.readings[at].has_frequency_of(other))
        };
        self.contended || agrees(at.checked_sub(1)) || agrees(Some(at + 1))
    }

    /// The sentinel's readings on both sides of sample `at`.
    pub(crate) fn around(&self, at: usize) -> Option<[&Reading; 2]> {
        Some(match self.contended || self.grouped {
            true => [self.readings.first()?, self.readings.last()?],
            false => [self.readings.get(at)?, self.readings.get(at + 1)?],
        })
    }

    /// The time of one operation in sample `at` as a number of dependent multiplications, which does not change with
    /// the core's frequency; `None` if the sentinel has no reading on one side.
    pub fn in_multiplications(&self, at: usize) -> Option<f64> {
        let [before, after] = self.around(at)?;
        let chain = (f64::from(before.chain) + f64::from(after.chain)) / 2.0;
        let is_reading = before.chain > 0.0 && after.chain > 0.0;
        is_reading.then(|| f64::from(self.samples[at]) / chain * UNIT)
    }

    /// Whether the thread was preempted during sample `at`.
    pub fn is_preempted(&self, at: usize) -> bool {
        self.preempted.contains(&(at as u32))
    }

    /// The time of sample `at` and the sentinel after it together, in ns.
    pub fn span(&self, at: usize) -> f64 {
        let after = self.readings.get(at + 1).filter(|_| !self.contended && !self.grouped);
        // The chain is a difference of two times, negative if only the shorter one was interrupted.
        let sentinel = after.map_or(0.0, |reading| reading.total().get().max(0.0));
        f64::from(self.samples[at]) * self.batch as f64 + sentinel
    }
}

/// A metric's value in one round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricValue {
    /// Name, as in the case's definition.
    pub name: String,
    /// Unit.
    pub unit: String,
    /// Which direction is better.
    pub better: Direction,
    /// How the rounds' values are combined.
    pub combine: Combine,
    /// The value.
    pub value: f64,
}

/// Which direction of a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Direction {
    /// A cost.
    Lower,
    /// A rate or share.
    Higher,
    /// A property.
    Neither,
}

impl Direction {
    /// The direction's word in documents and exports.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// How the values of a metric from several rounds are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Combine {
    /// The median, with an interval.
    Median,
    /// The minimum.
    Least,
    /// The sum, for events that should never happen.
    Sum,
}

/// Sums over all operations of the untimed pass; `None` if this system cannot count them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OperationCounts {
    /// Number of operations.
    pub operations: u64,
    /// System calls that each operation must make, if the case declares it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_syscalls: Option<f64>,
    /// Minimum context switches of each operation, if the case declares it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_switches: Option<f64>,
    /// Minimum page faults of each operation, if the case declares it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_faults: Option<f64>,
    /// System calls.
    pub syscalls: Option<u64>,
    /// System calls by name; empty where only their number is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<String, u64>,
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
    /// All context switches, including involuntary ones: when a task wakes another on its own CPU, the scheduler may switch
    /// at once, which the operation causes but the system counts as involuntary.
    pub fn switches(&self) -> Option<u64> {
        self.voluntary_switches.map(|own| own + self.involuntary_switches.unwrap_or(0))
    }

    /// These system calls with the other counts of `other`, in proportion to the operations.
    pub fn with_all_but_calls_of(self, other: &Self) -> Self {
        let here = |count: Option<u64>| {
            let share = self.operations as f64 / other.operations.max(1) as f64;
            count.map(|count| (count as f64 * share).round() as u64)
        };
        Self {
            voluntary_switches: here(other.voluntary_switches),
            involuntary_switches: here(other.involuntary_switches),
            page_faults: here(other.page_faults),
            instructions: here(other.instructions),
            cycles: here(other.cycles),
            ..self
        }
    }

    /// Adds the counts of another thread.
    pub fn add(&mut self, operations: u64, counts: &platform::counters::Counts) {
        let sum = |to: &mut Option<u64>, more: Option<u64>| {
            *to = if self.operations == 0 { more } else { to.zip(more).map(|(a, b)| a + b) };
        };
        sum(&mut self.syscalls, counts.syscalls);
        for (name, count) in counts.calls.named() {
            *self.calls.entry(name).or_default() += count;
        }
        sum(&mut self.voluntary_switches, counts.voluntary_switches);
        sum(&mut self.involuntary_switches, counts.involuntary_switches);
        sum(&mut self.page_faults, counts.page_faults);
        sum(&mut self.instructions, counts.instructions);
        sum(&mut self.cycles, counts.cycles);
        self.operations += operations;
    }
}

/// Operations that were carried out without being timed or counted one by one.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Repeated {
    /// Number of operations; 0 for a round that was only busy.
    pub operations: u64,
    /// Duration of the operations, in us.
    pub us: u64,
}

/// Differences of the system's counters over a round, with times in seconds; absent if not available.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct RoundEnvironment {
    /// Elapsed time of the round.
    pub elapsed: f64,
    /// Number of CPUs that the round may have used.
    pub cpus: usize,
    /// Steal time: time in which the hypervisor ran others while these CPUs had work to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
    /// Time in which this process's control group waited because its CPU quota was used up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<f64>,
    /// Time in which some thread waited for a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_pressure: Option<f64>,
    /// Time in which some thread waited for I/O.
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
    /// Whether steal time or throttling exceeds the share at which a trial is discarded. Pressure and interrupts are
    /// ignored, because the measured operation causes both itself.
    pub fn took_cpu_time(&self) -> bool {
        /// Minimum steal time that counts, in s: a single step of 10 ms says little about a short round.
        const STEAL_STEPS: f64 = 0.02;
        let allowed = self.elapsed * self.cpus.max(1) as f64 * TAKEN_SHARE;
        self.steal.is_some_and(|taken| taken > allowed.max(STEAL_STEPS))
            || self.throttled.is_some_and(|taken| taken > allowed)
    }
}

/// Serializes the end of a round as an object: its outcome, `measured` or the error's, and the error's reason.
pub mod end {
    use super::*;

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum EndFields {
        Error(CaseError),
        Measured { outcome: Measured },
    }

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Measured {
        Measured,
    }

    /// Serializes the outcome.
    ///
    /// # Errors
    /// Errors of the serializer.
    pub fn serialize<S: Serializer>(
        end: &Result<(), CaseError>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match end {
            Ok(()) => EndFields::Measured { outcome: Measured::Measured }.serialize(serializer),
            Err(error) => error.serialize(serializer),
        }
    }

    /// Deserializes the outcome.
    ///
    /// # Errors
    /// If the object is neither `measured` nor an error.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Result<(), CaseError>, D::Error> {
        Ok(match EndFields::deserialize(deserializer)? {
            EndFields::Measured { .. } => Ok(()),
            EndFields::Error(error) => Err(error),
        })
    }
}

/// Parses a worker's output. Damaged lines, truncated by a crash, are skipped; a round without [`Line::End`] is incomplete.
pub fn parse_lines(text: &str) -> Vec<Line> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_before_a_crash_is_kept() {
        let metric = Line::Metric(MetricValue {
            name: "step".into(),
            unit: "ns".into(),
            better: Direction::Lower,
            combine: Combine::Least,
            value: 1.0,
        });
        let end = Line::End(Err(CaseError::Unsupported("no".into())));
        let text = format!(
            "{}\n{}\n{{\"series\":{{\"cpu\":1,\"bu",
            serde_json::to_string(&metric).unwrap(),
            serde_json::to_string(&end).unwrap()
        );
        assert_eq!(parse_lines(&text), vec![metric, end]);
    }

    #[test]
    fn the_end_of_a_round_reads_as_it_always_did() {
        for (text, end) in [
            (r#"{"end":{"outcome":"measured"}}"#, Ok(())),
            (
                r#"{"end":{"outcome":"timed-out","reason":"slow"}}"#,
                Err(CaseError::TimedOut("slow".into())),
            ),
            (
                r#"{"end":{"outcome":"unsupported","reason":"no"}}"#,
                Err(CaseError::Unsupported("no".into())),
            ),
        ] {
            assert_eq!(parse_lines(text), [Line::End(end.clone())], "{text}");
            assert_eq!(serde_json::to_string(&Line::End(end)).unwrap(), text);
        }
        assert_eq!(parse_lines(r#"{"end":{"outcome":"other","reason":"?"}}"#), []);
    }

    #[test]
    fn a_sample_is_quiet_by_its_neighbours_never_by_itself() {
        let quiet = Reading { chain: 800.0, alu: 560.0, chase: 761.0 };
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
    fn what_depends_on_more_than_the_core_is_judged_less_strictly() {
        let quiet = Reading { chain: 800.0, alu: 560.0, chase: 761.0 };
        let after = |share: f32| Series {
            samples: vec![1.0],
            readings: vec![quiet, Reading { alu: quiet.alu * (1.0 + share), ..quiet }],
            ..Series::default()
        };
        for (share, in_core, beyond_core) in
            [(0.02, true, true), (0.04, false, true), (0.06, false, false)]
        {
            let series = after(share);
            assert_eq!(series.is_quiet(0, &quiet.ratios()), in_core, "{share}");
            let series = Series { beyond_core: true, ..series };
            assert_eq!(series.is_quiet(0, &quiet.ratios()), beyond_core, "{share}");
        }
    }

    #[test]
    fn a_negative_reading_takes_no_time() {
        let quiet = Reading { chain: 800.0, alu: 560.0, chase: 761.0 };
        let interrupted = Reading { chain: -5e6, ..quiet };
        let series = Series {
            busy: 1,
            batch: 10,
            samples: vec![2.0, 2.0],
            readings: vec![quiet, interrupted, quiet],
            ..Series::default()
        };
        assert_eq!(series.span(0), 20.0);
        assert_eq!(series.span(1), 20.0 + 2121.0);
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
            // One step of the steal counter says little about a round of 15 ms; throttling says enough.
            (RoundEnvironment { elapsed: 0.015, ..stolen(0.01) }, false),
            (RoundEnvironment { elapsed: 0.015, ..throttled(0.01) }, true),
        ] {
            assert_eq!(environment.took_cpu_time(), spoilt, "{environment:?}");
        }
    }

    #[test]
    fn a_time_in_multiplications_is_the_same_at_every_frequency() {
        let reading = Reading { chain: 800.0, alu: 560.0, chase: 761.0 };
        let slower = Reading { chain: 880.0, alu: 616.0, chase: 837.1 };
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

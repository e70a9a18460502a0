//! The document that other programs read: one run, its machine, and its results.
//!
//! A field is never renamed or given another meaning within a schema number; see `docs/results.md`.

use std::collections::BTreeMap;

pub use measure::Direction;
pub use measure::stats::Interval;
use measure::stats::{LEVEL, is_open, open_above, open_below};
use measure::{CaseError, Doubt, Metric};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::object::unique_keys;
use crate::point::{PointKey, label};

/// The schema number this build reads and writes.
pub const SCHEMA: u32 = 1;
/// The key of the machine's fact that names the measured system.
pub const SYSTEM: &str = "system";
/// The key of the machine's fact with the CPUs of the measured system's helpers, where it has some.
pub const PLACEMENT: &str = "placement";
/// The key of the machine's fact that names the system's launcher, such as `gvisor`; only for one of several systems.
pub const LAUNCHER: &str = "launcher";
/// The reason of a point of which no round was begun before the user stopped the run.
pub const STOPPED_BEFORE: &str = "the run was stopped before its first round";
/// The reason of a point of which no round was begun before the time was up.
pub const NO_TIME_BEFORE: &str = "the time allowed was up before its first round";
/// The key of the machine's fact that its processor is emulated or its clock is not real, so that its times are not
/// compared with others'. Absent otherwise.
pub const EMULATED: &str = "emulated";
/// The key of the machine's fact that another tool measured the run, with that tool and its version if known. Absent for runs
/// of oscost.
pub const OTHER_TOOL: &str = "other_tool";
/// The key of the fact that tells machines of one kind apart: a hash of the id that the system gave the machine.
pub const MACHINE_ID: &str = "machine_id";
/// The tag that names the job of a fleet in which a run was measured.
pub const JOB_TAG: &str = "fleet";
/// The tag that names the node of a fleet on which a run was measured.
pub const NODE_TAG: &str = "node";
/// The tag of a run that measured suspect points of another run again. It is evidence about that run, and no visit of its own.
pub const CONFIRMS: &str = "confirms";
/// The run option with the id of the run's group: the id of the first run of the same invocation, which measures one run on
/// each of its systems.
pub const GROUP: &str = "group";
/// The run option with the share by which each operation was slowed down on request: `10%`.
pub const SLOW_DOWN: &str = "slow-down";

/// One run as it is exported, imported and shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Always [`SCHEMA`] in what this build writes.
    pub schema: u32,
    /// The identity of the run.
    pub run: RunInfo,
    /// Facts about the machine: key to a string, number or `"unknown"`, in the order of `oscost env`.
    pub machine: MachineFacts,
    /// One entry for each metric of each case with its parameters.
    pub results: Vec<CaseResult>,
}

/// The identity of a run and its options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Short unique name, such as `20261121-203655-4f2a`: date, time (UTC) and four random hex digits.
    pub id: String,
    /// Start, as RFC 3339 in UTC.
    pub started: String,
    /// End, as RFC 3339 in UTC; absent while the run is unfinished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<String>,
    /// Seed of the shuffled order of rounds and of the bootstrap.
    pub seed: u64,
    /// Version of oscost that measured.
    pub oscost: String,
    /// The user's labels (`--tag key=value`).
    #[serde(default, deserialize_with = "unique_keys")]
    pub tags: BTreeMap<String, String>,
    /// Options of the run as text: filters, precision, budget and the like.
    #[serde(default, deserialize_with = "unique_keys")]
    pub asked: BTreeMap<String, String>,
    /// The core's frequency in GHz while points were sampled: the median over rounds, to which times in nanoseconds refer,
    /// with the 5 and 95 % quantiles. Absent if not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_clock_ghz: Option<Interval>,
    /// Time spent in the rounds of each area, in seconds.
    #[serde(deserialize_with = "unique_keys")]
    pub area_seconds: BTreeMap<String, f64>,
}

/// Minimum number of rounds in both runs for a reported difference. With fewer, chance puts all rounds of one run in one
/// steady state of the operation and all of the other's in another with a probability of 2^-9 or more.
pub const LEAST_ROUNDS: usize = 6;

/// One metric of one case with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    /// The case, `area/name`.
    pub case: String,
    /// The case's parameters, by name.
    #[serde(default, deserialize_with = "unique_keys")]
    pub params: BTreeMap<String, String>,
    /// Name of the metric: `time` for the cost of one operation; the case defines other names.
    pub metric: String,
    /// Unit, such as `ns/op`, `ns`, `pairs/s`, `share`, `steps`.
    pub unit: String,
    /// Which direction is better.
    pub better: Direction,
    /// How the measurement ended.
    pub outcome: Outcome,
    /// The reason why the outcome is not `measured`; present exactly in that case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The figure with its interval; present exactly if the outcome is `measured`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// The expected range of the figure in another run on this machine, as known when the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_run: Option<NextRun>,
    /// The mean over runs of this machine with its interval, as known when the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub this_machine: Option<Interval>,
    /// The estimate in core cycles per operation, which do not change with the core's frequency. Only for the times of
    /// core-bound cases, if the core's cycles could be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<Interval>,
    /// The dependence of the time on the core's frequency, if that varied enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_slope: Option<FrequencySlope>,
    /// The CPUs that the measuring threads were pinned to, ascending; empty if they were not pinned. Only for sampled metrics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<usize>,
    /// The distribution of all samples, quiet or disturbed, as an application would have seen it. Only for sampled metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Distribution>,
    /// Share (0 to 1) of the measuring time that was quiet. Only for sampled metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_share: Option<f64>,
    /// Lower and upper quartile of the quiet samples, in the result's unit: far apart if the operation has several
    /// steady modes. Only for sampled metrics, and not if several workers contend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_quartiles: Option<[f64; 2]>,
    /// Whether there were too few quiet rounds, so that the estimate includes disturbed samples.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disturbed: bool,
    /// Number of rounds (fresh processes) of the estimate.
    #[serde(default)]
    pub rounds: u32,
    /// Number of samples in `seen`.
    #[serde(default)]
    pub samples: u64,
    /// Whether the requested precision was reached before time was up. Only for sampled metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converged: Option<bool>,
    /// System calls, switches and faults per operation, from the untimed pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_op: Option<PerOp>,
    /// The sentinel's readings around the quiet samples: the machine's own speed. Only for sampled metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
    /// Reasons to doubt the figure; may be empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
    /// Each round's value, in the order of measurement; comparisons are computed from these values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub round_values: Vec<f64>,
    /// Start of the round of each of `round_values`, in ms since 1970 by the wall clock; of a pair of rounds, of which the
    /// faster counts, the start of the first. Empty if unknown. Figures of one run, or of systems in turn, are compared by
    /// neighbouring rounds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub round_starts_ms: Vec<i64>,
    /// The values of all rounds from all of their samples, if some rounds were disturbed and the estimate is of the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub all_round_values: Vec<f64>,
    /// Start of the round of each of `all_round_values`, as in `round_starts_ms`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub all_round_starts_ms: Vec<i64>,
    /// Beginning and end of each job of the trial whose time is nearest to the estimate, in ns from the trial's beginning,
    /// in the order in which the jobs were handed out. Only for the times of lists of jobs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<[u64; 2]>,
}

/// A machine's description: facts by name.
pub type MachineFacts = serde_json::Map<String, serde_json::Value>;

/// How a measurement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Outcome {
    /// The result has a figure.
    Measured,
    /// The system or sandbox does not support the case.
    Unsupported,
    /// An error occurred, such as a crashed worker or broken mutual exclusion.
    Failed,
    /// The measurement did not end in time.
    TimedOut,
    /// The time is below the resolution of the clock, or the operation did not happen.
    Implausible,
}

impl Outcome {
    /// The outcome of a case that ended with `error`.
    pub fn of(error: &CaseError) -> Self {
        match error {
            CaseError::Unsupported(_) => Outcome::Unsupported,
            CaseError::Failed(_) | CaseError::Interrupted(_) => Outcome::Failed,
            CaseError::Implausible(_) => Outcome::Implausible,
            CaseError::TimedOut(_) => Outcome::TimedOut,
        }
    }

    /// The outcome's word in documents: `measured`, `unsupported`, `failed`, `timed-out` or `implausible`.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// A figure with its confidence interval, in the result's unit. With fewer than
/// [`ROUNDS_FOR_INTERVAL`](measure::stats::ROUNDS_FOR_INTERVAL) rounds the ends are infinite, and absent in a document.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Median over rounds of each round's median of quiet samples.
    pub median: f64,
    /// Lower end of the interval.
    #[serde(default = "open_below", skip_serializing_if = "is_open")]
    pub low: f64,
    /// Upper end of the interval.
    #[serde(default = "open_above", skip_serializing_if = "is_open")]
    pub high: f64,
    /// Confidence level of the interval, such as 0.95.
    pub level: f64,
}

impl Estimate {
    /// An estimate at the usual confidence level.
    pub fn of(figure: Interval) -> Self {
        let Interval { median, low, high } = figure;
        Self { median, low, high, level: LEVEL }
    }

    /// Whether there is evidence for the interval.
    pub fn has_interval(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }
}

/// The expected range of the figure of another run on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NextRun {
    /// Lower end of the range, in the result's unit.
    pub low: f64,
    /// Upper end of the range.
    pub high: f64,
    /// The probability that the figure lies within the range.
    pub level: f64,
    /// The standard deviation of single runs' figures from different visits (the reproducibility standard deviation of ISO
    /// 5725, on one machine): a share, or in the result's unit for figures that may be 0 or negative. It excludes this run,
    /// so that a difference that is tested against it does not inflate it.
    pub deviation: f64,
    /// The degrees of freedom of `deviation`.
    pub degrees: f64,
    /// Number of visits that `deviation` is computed from, this one included: runs within ten minutes are one visit, until
    /// they prove independent.
    pub visits: u32,
    /// Number of boots of these visits.
    pub boots: u32,
    /// Number of days (UTC) of these visits.
    pub days: u32,
    /// The evidence for `deviation`.
    pub source: Source,
}

/// The evidence for the differences between visits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Several visits of this machine.
    Visits,
    /// Recordings of other machines with the same kind of processor: this is the first visit here.
    Processor,
    /// The widest of all recordings: this is the first visit here, and no recording has the same kind of processor.
    AnyProcessor,
}

/// The dependence of a case's time on the core's frequency: the slope of the logarithm of the time over the logarithm of
/// the core's cycle time, across rounds. 1: bound by the core; 0: independent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FrequencySlope {
    /// The slope's value.
    pub slope: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    /// Whether the estimate of a case that is not core-bound was adjusted by the slope to the run's median frequency.
    pub adjusted: bool,
}

/// Distribution of all samples, in the result's unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Distribution {
    pub min: f64,
    pub p5: f64,
    pub p25: f64,
    pub p50: f64,
    pub p75: f64,
    pub p95: f64,
    pub p99: f64,
    pub mean: f64,
}

/// Trimmed means of the readings of the sentinel's reference computations, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// Independent integer chains.
    pub alu: f64,
    /// Dependent loads within the first-level cache.
    pub chase: f64,
    /// A chain of dependent multiplications, by which the core's cycles are counted.
    pub chain: f64,
}

/// Counts per operation; `None` if this system cannot count it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct PerOp {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syscalls: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voluntary_switches: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub involuntary_switches: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_faults: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<f64>,
    /// System calls of all processes of the system on the host, the coordinator's kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_syscalls: Option<f64>,
    /// Context switches of the system's processes on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_switches: Option<f64>,
    /// Context switches on the host that stopped a traced process (ptrace(2)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_ptrace_stops: Option<f64>,
    /// System calls by name; empty where only their number is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "unique_keys")]
    pub calls: BTreeMap<String, f64>,
}

impl PerOp {
    /// Names of counts, as metrics have them.
    pub const SYSCALLS: &str = "syscalls";
    /// See [`Self::voluntary_switches`].
    pub const VOLUNTARY_SWITCHES: &str = "voluntary-switches";
    /// See [`Self::involuntary_switches`].
    pub const INVOLUNTARY_SWITCHES: &str = "involuntary-switches";
    /// See [`Self::page_faults`].
    pub const PAGE_FAULTS: &str = "page-faults";
}

impl Document {
    /// The name of the measured system (`--on NAME`), if it was one of several, or was named.
    pub fn system(&self) -> Option<&str> {
        self.machine.get(SYSTEM).and_then(|name| name.as_str())
    }

    /// Where the measured system's helpers run, in words; `None` if it has none.
    pub fn placement(&self) -> Option<&str> {
        self.machine.get(PLACEMENT).and_then(|placement| placement.as_str())
    }

    /// The reason why the times of this run are not compared with those of real processors, such as emulation; `None` if
    /// they are.
    pub fn emulated(&self) -> Option<&str> {
        match self.machine.get(EMULATED)? {
            serde_json::Value::Bool(true) => Some("its processor is emulated"),
            serde_json::Value::String(reason) => {
                Some(reason.as_str()).filter(|text| !["", "no", "none", "unknown"].contains(text))
            }
            _ => None,
        }
    }

    /// The other tool that measured the run, with its version if known: `hyperfine`, `pyperf 2.11.0`; `None` for a run of
    /// oscost.
    pub fn other_tool(&self) -> Option<&str> {
        self.machine.get(OTHER_TOOL)?.as_str().filter(|tool| !tool.is_empty())
    }

    /// The machine in one line: `Linux 6.1.0 x86_64, AMD EPYC 7B13, 2 CPUs`, without unknown facts.
    pub fn machine_line(&self) -> String {
        machine_line(&self.machine)
    }
}

impl CaseResult {
    /// A result like [`CaseResult::blank`], for a `metric` that a case describes.
    pub fn of(case: &str, params: BTreeMap<String, String>, metric: &Metric) -> Self {
        Self::blank(case, params, metric.name, metric.unit, metric.better)
    }

    /// A result with its identity only: the outcome is `measured`, and the figure is still missing.
    pub fn blank(
        case: &str,
        params: BTreeMap<String, String>,
        metric: &str,
        unit: &str,
        better: Direction,
    ) -> Self {
        Self {
            case: case.to_owned(),
            params,
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            better,
            outcome: Outcome::Measured,
            reason: None,
            estimate: None,
            next_run: None,
            this_machine: None,
            cycles: None,
            frequency_slope: None,
            cpus: Vec::new(),
            seen: None,
            quiet_share: None,
            quiet_quartiles: None,
            disturbed: false,
            rounds: 0,
            samples: 0,
            converged: None,
            per_op: None,
            reference: None,
            doubts: Vec::new(),
            round_values: Vec::new(),
            round_starts_ms: Vec::new(),
            all_round_values: Vec::new(),
            all_round_starts_ms: Vec::new(),
            timeline: Vec::new(),
        }
    }

    /// Whether the result has a figure with an interval; one of too few rounds has none, and no statement is made of it.
    pub fn has_interval(&self) -> bool {
        self.estimate.is_some_and(|estimate| estimate.has_interval())
    }

    /// The figure of a measured result with the interval that tables show: that of the next run if it is known, else of this
    /// run.
    pub fn figure(&self) -> Option<Estimate> {
        let estimate = self.estimate.filter(|_| self.outcome == Outcome::Measured)?;
        let Some(next) = self.next_run.filter(|_| estimate.low < estimate.high) else {
            return Some(estimate);
        };
        let Estimate { median, .. } = estimate;
        Some(Estimate {
            median,
            low: next.low.min(median),
            high: next.high.max(median),
            level: next.level,
        })
    }

    /// Whether any round of the point was begun before the run ended.
    pub fn was_begun(&self) -> bool {
        let reason = self.reason.as_deref().unwrap_or_default();
        !(self.outcome == Outcome::TimedOut && [STOPPED_BEFORE, NO_TIME_BEFORE].contains(&reason))
    }

    /// Core cycles per ns, the factor that converts `round_values` into cycles. `None` without cycles.
    pub fn cycles_per_ns(&self) -> Option<f64> {
        let (cycles, estimate) = (self.cycles?, self.estimate?);
        Some(cycles.median / estimate.median)
    }

    /// The case with its parameters.
    pub fn point(&self) -> PointKey {
        PointKey { case: self.case.clone(), params: self.params.clone() }
    }

    /// The sentences of the result's doubts.
    pub fn doubts_in_words(&self) -> String {
        self.doubts.iter().map(Doubt::to_string).collect::<Vec<_>>().join("; ")
    }

    /// The case with its parameters in the usual notation: `lock/sysv-sem{as=threads,workers=4}`.
    pub fn label(&self) -> String {
        label(&self.case, &self.params)
    }
}

/// A machine's description in one line, without the facts that are unknown.
pub fn machine_line(machine: &serde_json::Map<String, serde_json::Value>) -> String {
    let fact = |key: &str| match machine.get(key) {
        Some(serde_json::Value::String(text)) if text != "unknown" => Some(text.clone()),
        Some(serde_json::Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let system: Vec<String> = ["os", "release", "arch"].into_iter().filter_map(fact).collect();
    let cpus = fact("cpus").map(|cpus| match cpus.as_str() {
        "1" => "1 CPU".to_owned(),
        _ => format!("{cpus} CPUs"),
    });
    let parts = [Some(system.join(" ")), fact("cpu"), cpus, fact(PLACEMENT)];
    let known: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    known.join(", ")
}

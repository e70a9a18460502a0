//! Computes the figures of a point from its evidence: time, cycles, metrics, and doubts.

use std::collections::{BTreeMap, BTreeSet};

use measure::cycles::{Latency, UNIT};
use measure::estimate::{ChainTimes, JudgedRound, Levels, Sample, Unit, distribution};
use measure::frequency::{Slope, TimeAndChain};
use measure::paths::{FAST_PATH, SLOW_PATH, SLOW_SHARE, TwoPaths};
use measure::record::{Combine, MetricValue, OperationCounts, Series};
use measure::round::BEGINNING;
use measure::stats::{
    Interval, ROUNDS_FOR_INTERVAL, RoundValue, faster_of_pairs, interval_of, median, quantile,
    trimmed_mean,
};
use measure::{Direction, Doubt, Metric, TIME};
use results::{
    CaseResult, Distribution, Estimate, FrequencySlope, Outcome, PerOp, Reference, STOPPED_BEFORE,
};

use crate::evidence::{Evidence, Round};
use crate::plan::Plan;

/// Minimum quiet share of a figure that is not doubtful.
const QUIET_SHARE_AT_LEAST: f64 = 0.01;
/// Minimum number of rounds with quiet samples; with fewer, all samples are used.
const QUIET_ROUNDS_AT_LEAST: usize = 3;
/// Maximum relative distance of the quartiles of quiet samples of a single mode.
const ONE_MODE: f64 = 0.05;
/// Slopes of a case that is declared core-bound; a figure with another slope is doubtful.
const CORE_BOUND_SLOPES: std::ops::RangeInclusive<f64> = 0.7..=1.3;

/// Facts about the core from the whole run, which the figures of all points depend on.
pub struct Core<'a> {
    levels: &'a Levels,
    latency: &'a Latency,
    chain: Option<ChainTimes>,
    slopes: BTreeMap<String, Slope>,
    clock_step_ns: f64,
}

impl<'a> Core<'a> {
    /// Facts without the dependence of the cases on the frequency.
    pub fn of(levels: &'a Levels, latency: &'a Latency) -> Self {
        Self {
            levels,
            latency,
            chain: levels.chain_times(),
            slopes: BTreeMap::new(),
            clock_step_ns: 0.0,
        }
    }

    /// Adds the step of the clock, in ns.
    pub fn with_clock_step(self, clock_step_ns: f64) -> Self {
        Self { clock_step_ns, ..self }
    }

    /// Adds the dependence of each case on the frequency, from the rounds of all points.
    pub fn with_slopes(
        levels: &'a Levels,
        latency: &'a Latency,
        all: &[Evidence],
        seed: u64,
    ) -> Self {
        let mut by_kind: BTreeMap<String, Vec<Vec<TimeAndChain>>> = BTreeMap::new();
        for evidence in all.iter().filter(|evidence| !evidence.keeps_wall_time()) {
            let rounds = evidence.judged(levels);
            let known = rounds.iter().filter_map(|round| time_and_chain(round, seed));
            by_kind.entry(evidence.point.kind()).or_default().push(known.collect());
        }
        let fitted = by_kind
            .into_iter()
            .filter_map(|(kind, points)| Slope::fit(&points, seed).map(|slope| (kind, slope)));
        Self { slopes: fitted.collect(), ..Self::of(levels, latency) }
    }

    /// The core's frequency during the run; `None` if cycles could not be counted.
    pub fn clock(&self) -> Option<Interval> {
        let chain = self.chain?;
        Some(Interval {
            low: self.latency.ghz(chain.high)?,
            median: self.latency.ghz(chain.median)?,
            high: self.latency.ghz(chain.low)?,
        })
    }

    /// The core's cycles in a nanosecond, at the run's median frequency; `None` if cycles could not be counted.
    fn cycles_per_ns(&self) -> Option<f64> {
        Some(f64::from(self.latency.cycles()?) / self.multiplication_ns()?)
    }

    /// The time of one multiplication at the run's median frequency, in ns.
    fn multiplication_ns(&self) -> Option<f64> {
        self.chain.map(|chain| chain.median / UNIT)
    }
}

/// The quiet value of a round in wall-clock time, and the core's speed during the round.
fn time_and_chain(round: &JudgedRound, seed: u64) -> Option<TimeAndChain> {
    let time = round.quiet_value(Unit::Nanoseconds, seed)?.value;
    Some(TimeAndChain { time, chain: round.chain_ns? })
}

/// The values whose median is the figure: one for each round, or for core-bound points the faster of each two. With several
/// starts of a system, one for each start: rounds of one start are not independent of each other.
fn observations<'a>(
    rounds: impl Iterator<Item = (RoundValue, &'a Round)>,
    in_pairs: bool,
    plan: &Plan,
) -> Vec<RoundValue> {
    let paired = |rounds: Vec<RoundValue>| if in_pairs { faster_of_pairs(rounds) } else { rounds };
    if plan.boots.is_none() {
        return paired(rounds.map(|(value, made)| value.begun_at(made.unix_ms)).collect());
    }
    let mut boots: BTreeMap<Option<u32>, Vec<RoundValue>> = BTreeMap::new();
    for (value, made) in rounds {
        boots.entry(made.boot).or_default().push(value);
    }
    let median_of = |rounds| RoundValue::exact(median(&mut numbers(&paired(rounds))));
    boots.into_values().map(median_of).collect()
}

/// The samples from which a round's value is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Samples {
    Quiet,
    All,
}

impl Samples {
    fn value(self, round: &JudgedRound, unit: Unit, seed: u64) -> Option<RoundValue> {
        match self {
            Self::Quiet => round.quiet_value(unit, seed),
            Self::All => round.plain_value(unit, seed),
        }
    }
}

impl Evidence {
    /// All results of this point, from the evidence so far.
    pub fn results(&self, plan: &Plan, core: &Core) -> Vec<CaseResult> {
        let mut time = self.blank(TIME.name, TIME.unit, TIME.better);
        if let Some((outcome, reason)) = self.ending.clone() {
            (time.outcome, time.reason) = (outcome, Some(reason));
            return vec![time];
        }
        if self.rounds.is_empty() {
            let (outcome, reason) = self
                .last_trouble
                .clone()
                .unwrap_or_else(|| (Outcome::TimedOut, STOPPED_BEFORE.into()));
            (time.outcome, time.reason) = (outcome, Some(reason));
            return vec![time];
        }
        self.fill_time(&mut time, plan, core);
        let mut all = vec![time];
        all.extend(self.metrics(plan, core.levels));
        all.extend(self.paths(plan, core.levels));
        all
    }

    /// The two levels of the operation's time, if it has two in a system where paths of different lengths may lead to the kernel.
    fn paths(&self, plan: &Plan, levels: &Levels) -> Vec<CaseResult> {
        if !self.stays_steady() {
            return Vec::new();
        }
        let rounds: Vec<Vec<f64>> = self.judged(levels).into_iter().map(samples_of).collect();
        let Some(two) = TwoPaths::of(rounds.concat()) else { return Vec::new() };
        let split = |samples: &Vec<f64>| -> [Vec<f64>; 2] {
            let (fast, slow) = samples.iter().partition(|sample| **sample < two.threshold());
            [fast, slow]
        };
        let parts: Vec<[Vec<f64>; 2]> = rounds.iter().map(split).collect();
        let level = |part: &Vec<f64>| (!part.is_empty()).then(|| median(&mut part.clone()));
        let shares = |[fast, slow]: &[Vec<f64>; 2]| {
            let all = fast.len() + slow.len();
            (all > 0).then(|| slow.len() as f64 / all as f64)
        };
        let fast = parts.iter().map(|[fast, _]| level(fast)).collect();
        let slow = parts.iter().map(|[_, slow]| level(slow)).collect();
        let mut slow_share = self.by_round(&SLOW_SHARE, parts.iter().map(shares).collect(), plan);
        // Where each process keeps to one path, the median of their shares says less than the mean.
        slow_share.estimate = Some(Estimate::of(mean_of_shares(&slow_share.round_values)));
        let on_path = |result: CaseResult, is_fast: bool| {
            let host = self.host.on_path(is_fast, two.threshold());
            let per_op = host.syscalls.is_some().then(|| PerOp {
                host_syscalls: host.syscalls,
                host_switches: host.switches,
                host_ptrace_stops: host.ptrace_stops,
                ..PerOp::default()
            });
            CaseResult { per_op, ..result }
        };
        vec![
            on_path(self.by_round(&FAST_PATH, fast, plan), true),
            on_path(self.by_round(&SLOW_PATH, slow, plan), false),
            slow_share,
        ]
    }

    /// The result of a metric with a value of each round, if it has one.
    fn by_round(&self, metric: &Metric, values: Vec<Option<f64>>, plan: &Plan) -> CaseResult {
        let of_round = |(value, made): (Option<f64>, &Round)| {
            Some(RoundValue::exact(value?).begun_at(made.unix_ms))
        };
        let values: Vec<RoundValue> =
            values.into_iter().zip(&self.rounds).filter_map(of_round).collect();
        let mut result = self.blank(metric.name, metric.unit, metric.better);
        result.estimate = Some(Estimate::of(interval_of(&values, plan.seed)));
        result.rounds = values.len() as u32;
        (result.round_values, result.round_starts_ms) = (numbers(&values), starts(&values));
        result
    }

    fn blank(&self, metric: &str, unit: &str, better: Direction) -> CaseResult {
        let (case, params) = (&self.point.case, self.point.params.clone());
        CaseResult::blank(case, params, metric, unit, better)
    }

    fn fill_time(&self, result: &mut CaseResult, plan: &Plan, core: &Core) {
        let judged = self.judged(core.levels);
        let quiet_ns: f64 = judged.iter().map(|j| j.quiet_ns).sum();
        let all_ns: f64 = judged.iter().map(|j| j.all_ns).sum();
        let quiet_share = if all_ns > 0.0 { quiet_ns / all_ns } else { 0.0 };
        let quiet_rounds = judged.iter().filter(|j| j.is_enough()).count();
        result.disturbed = quiet_rounds < QUIET_ROUNDS_AT_LEAST;
        // One or two rounds that were all quiet are too few, but not disturbed.
        if result.disturbed && quiet_rounds < judged.len() {
            result.doubts.push(Doubt::Disturbed);
        } else if quiet_share < QUIET_SHARE_AT_LEAST {
            result.doubts.push(Doubt::SeldomQuiet);
        }
        result.doubts.extend(self.given_up.clone());
        result.doubts.extend(self.own_doubts());
        let of = if result.disturbed { Samples::All } else { Samples::Quiet };
        let unit = self.unit_of(&judged, of, core);
        let values = self.values(&judged, of, unit, plan, core);
        let is_counted = unit == Unit::Multiplications;
        if let Some(slope) = self.slope(core) {
            let adjusted = !is_counted && !slope.may_be_zero();
            result.frequency_slope = Some(frequency_slope(slope, adjusted));
            result.doubts.extend(core_bound_doubt(slope).filter(|_| is_counted));
        }
        if plan.boots.is_some_and(|boots| values.len() < boots) {
            result.doubts.push(Doubt::FewStarts);
        }
        if values.is_empty() {
            result.outcome = Outcome::Failed;
            result.reason = Some("its rounds gave no samples that can be read".into());
            return;
        }
        let interval =
            interval_of(&values, plan.seed).at_least(resolution(&self.rounds, core) / 2.0);
        // Three rounds have a valid, if wide, interval; fewer have none, unless the user wants no more.
        let wanted = match plan.boots {
            Some(_) => 0,
            None if self.of_trials => plan.trials_of(&self.point).min(ROUNDS_FOR_INTERVAL),
            None => ROUNDS_FOR_INTERVAL,
        };
        if values.len() < wanted {
            result.doubts.push(Doubt::FewRounds);
        }
        if interval.median <= 0.0 {
            result.outcome = Outcome::Implausible;
            result.reason = Some("below what the clock can tell".into());
            return;
        }
        result.reference = reference(&judged);
        result.quiet_quartiles = self.quiet_quartiles(&judged, core);
        let accepted = self.accepted_precision(plan);
        let several_modes =
            result.quiet_quartiles.is_some_and(|[lower, upper]| upper > lower * (1.0 + ONE_MODE));
        // If the rounds agree in spite of several modes, the next run will too. Rounds of tasks on several CPUs need agree
        // only within the accepted precision. In pairs the faster round counts, and so the fastest mode.
        let agreeing = if self.scatters() { accepted } else { accepted.min(ONE_MODE) };
        let rounds_agree = interval.half_width() <= agreeing;
        // An interval that contains the modes shows them already.
        let contains_modes = result
            .quiet_quartiles
            .is_some_and(|[lower, upper]| interval.low <= lower && upper <= interval.high);
        if several_modes && !rounds_agree && !contains_modes && !self.is_paired() {
            result.doubts.push(Doubt::SeveralModes);
        }
        result.estimate = Some(Estimate::of(interval));
        let cycles_per_ns = core.cycles_per_ns().filter(|_| is_counted);
        result.cycles = cycles_per_ns.map(|per_ns| interval.scaled(per_ns));
        result.quiet_share = Some(quiet_share);
        result.rounds = values.len() as u32;
        result.cpus = self.cpus();
        result.converged = Some(interval.half_width() <= accepted);
        result.per_op = self.per_op();
        result.round_values = numbers(&values);
        result.round_starts_ms = starts(&values);
        if of == Samples::Quiet && !judged.iter().all(JudgedRound::is_enough) {
            let unit = self.unit_of(&judged, Samples::All, core);
            let all = self.values(&judged, Samples::All, unit, plan, core);
            (result.all_round_values, result.all_round_starts_ms) = (numbers(&all), starts(&all));
        }
        result.timeline = self.timeline(interval.median);
        fill_seen(result, judged);
    }

    /// The dependence of the time on the core's frequency, if the figure may be adjusted for it.
    fn slope<'c>(&self, core: &'c Core) -> Option<&'c Slope> {
        core.slopes.get(&self.point.kind()).filter(|_| !self.keeps_wall_time())
    }

    /// The unit of the rounds' values: multiplications only where these were counted.
    fn unit_of(&self, judged: &[JudgedRound], samples: Samples, core: &Core) -> Unit {
        let is_counted = core.chain.is_some()
            && judged.iter().any(|round| samples.value(round, self.unit(), 0).is_some());
        if is_counted { self.unit() } else { Unit::Nanoseconds }
    }

    /// The values in ns of the rounds that have such samples: from multiplications at the run's median frequency, or of
    /// wall-clock time.
    fn values(
        &self,
        judged: &[JudgedRound],
        samples: Samples,
        unit: Unit,
        plan: &Plan,
        core: &Core,
    ) -> Vec<RoundValue> {
        let follows = self.slope(core).filter(|slope| !slope.may_be_zero());
        let factor = |round: &JudgedRound| match (unit, follows, round.chain_ns, core.chain) {
            (Unit::Multiplications, ..) => core.multiplication_ns().unwrap_or(1.0),
            (_, Some(slope), Some(from), Some(to)) => slope.adjust(1.0, from, to.median),
            _ => 1.0,
        };
        let rounds =
            judged.iter().zip(&self.rounds).enumerate().filter_map(|(n, (round, made))| {
                let value = samples.value(round, unit, plan.seed ^ n as u64)?;
                Some((value.scaled(factor(round)), made))
            });
        observations(rounds, self.is_paired(), plan)
    }

    /// The quartiles of all quiet samples, in the result's unit; `None` if workers contended, since their samples are not
    /// times of single operations.
    fn quiet_quartiles(&self, judged: &[JudgedRound], core: &Core) -> Option<[f64; 2]> {
        if judged.iter().any(|j| j.contended_mean.is_some()) {
            return None;
        }
        let in_ns = |sample: &Sample| match (self.unit(), core.multiplication_ns()) {
            (Unit::Multiplications, Some(ns)) => sample.multiplications.map(|number| number * ns),
            _ => Some(sample.ns),
        };
        let mut samples: Vec<f64> =
            judged.iter().flat_map(|j| &j.quiet).filter_map(in_ns).collect();
        samples.sort_unstable_by(f64::total_cmp);
        (!samples.is_empty()).then(|| [quantile(&samples, 0.25), quantile(&samples, 0.75)])
    }

    /// Counts of one operation in the kernel, and on the host if the system is not the coordinator's.
    fn per_op(&self) -> Option<PerOp> {
        let host = self.host.per_op();
        let own = self.counts.as_ref().map(per_op);
        (own.is_some() || host.syscalls.is_some()).then(|| PerOp {
            host_syscalls: host.syscalls,
            host_switches: host.switches,
            host_ptrace_stops: host.ptrace_stops,
            ..own.unwrap_or_default()
        })
    }

    /// The CPUs that the threads of the rounds were pinned to.
    fn cpus(&self) -> Vec<usize> {
        let series = self.rounds.iter().flat_map(|round| &round.series);
        let cpus: BTreeSet<usize> = series.filter_map(|series| series.cpu).collect();
        cpus.into_iter().collect()
    }

    /// Beginnings and ends of the jobs of one trial: of the one whose time is nearest to `median`.
    fn timeline(&self, median: f64) -> Vec<[u64; 2]> {
        let distance = |round: &Round| {
            let time = round.series.first().and_then(|series| series.samples.first());
            time.map_or(f64::INFINITY, |time| (f64::from(*time) - median).abs())
        };
        let with_jobs = self.rounds.iter().filter(|round| !round.timeline.is_empty());
        let nearest = with_jobs.min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest.map(|round| round.timeline.clone()).unwrap_or_default()
    }

    /// The doubts that more than half of the rounds reported.
    fn own_doubts(&self) -> Vec<Doubt> {
        let mut usual: Vec<Doubt> = Vec::new();
        for doubt in self.rounds.iter().flat_map(|round| &round.doubts) {
            let rounds = self.rounds.iter().filter(|round| round.doubts.contains(doubt)).count();
            // Only the first rounds find out whether the operation becomes steady.
            let of = match doubt {
                Doubt::NotSteady => {
                    self.rounds.iter().filter(|round| round.steady_after().is_some()).count()
                }
                _ => self.rounds.len(),
            };
            if rounds * 2 > of && !usual.contains(doubt) {
                usual.push(doubt.clone());
            }
        }
        usual
    }

    /// The metrics other than the time, in the order in which the case reported them.
    fn metrics(&self, plan: &Plan, levels: &Levels) -> Vec<CaseResult> {
        let judged = self.judged(levels);
        let quiet = judged.iter().map(JudgedRound::is_enough);
        let mut names: Vec<&MetricValue> = Vec::new();
        let mut values: BTreeMap<&str, Vec<(f64, bool, &Round)>> = BTreeMap::new();
        for (round, quiet) in self.rounds.iter().zip(quiet) {
            for metric in round.metrics.iter().filter(|metric| self.tells(metric)) {
                if !values.contains_key(metric.name.as_str()) {
                    names.push(metric);
                }
                values.entry(&metric.name).or_default().push((metric.value, quiet, round));
            }
        }
        let of = |metric: &MetricValue| self.combined(metric, &values[metric.name.as_str()], plan);
        names.into_iter().map(of).collect()
    }

    /// Whether a metric tells something: how an operation begins only does where it goes on otherwise.
    fn tells(&self, metric: &MetricValue) -> bool {
        self.stays_steady() || !BEGINNING.iter().any(|beginning| beginning.name == metric.name)
    }

    /// Combines the values of one metric, each given with whether its round was quiet. A median uses quiet rounds only, a
    /// minimum or sum all rounds.
    fn combined(
        &self,
        metric: &MetricValue,
        values: &[(f64, bool, &Round)],
        plan: &Plan,
    ) -> CaseResult {
        let mut result = self.blank(&metric.name, &metric.unit, metric.better);
        let all = values.iter().map(|(value, ..)| *value);
        let interval = match metric.combine {
            Combine::Median => {
                let observed = |of: Samples| {
                    let used = values.iter().filter(|(_, quiet, _)| of == Samples::All || *quiet);
                    let rounds = used.map(|(value, _, made)| (RoundValue::exact(*value), *made));
                    observations(rounds, false, plan)
                };
                let quiet = values.iter().filter(|(_, quiet, _)| *quiet).count();
                result.disturbed = quiet < QUIET_ROUNDS_AT_LEAST;
                let of = if result.disturbed { Samples::All } else { Samples::Quiet };
                let rounds = observed(of);
                result.round_values = numbers(&rounds);
                result.round_starts_ms = starts(&rounds);
                if of == Samples::Quiet && quiet < values.len() {
                    let all = observed(Samples::All);
                    (result.all_round_values, result.all_round_starts_ms) =
                        (numbers(&all), starts(&all));
                }
                interval_of(&rounds, plan.seed)
            }
            // A minimum or a sum over all rounds is a fact, not an estimate.
            Combine::Least => fact(all.fold(f64::INFINITY, f64::min)),
            Combine::Sum => fact(all.sum()),
        };
        result.rounds = match result.round_values.len() {
            0 => values.len() as u32,
            used => used as u32,
        };
        result.estimate = Some(Estimate::of(interval));
        result
    }
}

/// The samples of a round in ns: the quiet ones, or all if none was.
fn samples_of(round: JudgedRound) -> Vec<f64> {
    let samples = if round.quiet.is_empty() { round.all } else { round.quiet };
    samples.into_iter().map(|sample| sample.ns).collect()
}

/// The mean of shares, with an interval of twice its standard error on both sides.
fn mean_of_shares(shares: &[f64]) -> Interval {
    let count = shares.len().max(1) as f64;
    let mean = shares.iter().sum::<f64>() / count;
    if shares.len() < ROUNDS_FOR_INTERVAL {
        return Interval::open(mean);
    }
    let squares: f64 = shares.iter().map(|share| (share - mean).powi(2)).sum();
    let error = (squares / (count - 1.0).max(1.0) / count).sqrt();
    Interval {
        low: (mean - 2.0 * error).max(0.0),
        median: mean,
        high: (mean + 2.0 * error).min(1.0),
    }
}

/// Adds the distribution that an application would have seen: all samples, in wall-clock time.
fn fill_seen(result: &mut CaseResult, judged: Vec<JudgedRound>) {
    let mut all: Vec<f64> = judged.into_iter().flat_map(|j| j.all).map(|s| s.ns).collect();
    result.samples = all.len() as u64;
    result.seen = distribution(&mut all).map(|[min, p5, p25, p50, p75, p95, p99, mean]| {
        Distribution { min, p5, p25, p50, p75, p95, p99, mean }
    });
}

/// The difference of an operation's time, in ns, that a step of the clock makes in a round; no two rounds can agree more
/// closely.
fn resolution(rounds: &[Round], core: &Core) -> f64 {
    let operations = |round: &Round| {
        let timed = |series: &Series| match series.contended {
            true => series.batch * series.samples.len() as u64,
            false => series.batch,
        };
        round.series.iter().map(timed).max()
    };
    let fewest = rounds.iter().filter_map(operations).min().unwrap_or(1).max(1);
    core.clock_step_ns / fewest as f64
}

fn frequency_slope(slope: &Slope, adjusted: bool) -> FrequencySlope {
    FrequencySlope { slope: slope.slope, low: slope.low, high: slope.high, adjusted }
}

/// A doubt if the slope contradicts the declaration of a core-bound case.
fn core_bound_doubt(slope: &Slope) -> Option<Doubt> {
    let apart = slope.high < *CORE_BOUND_SLOPES.start() || slope.low > *CORE_BOUND_SLOPES.end();
    apart.then_some(Doubt::NotCoreBound)
}

/// Trimmed means of the sentinel's readings around the quiet samples.
fn reference(judged: &[JudgedRound]) -> Option<Reference> {
    let readings: Vec<_> = judged.iter().flat_map(|j| &j.readings).collect();
    let middle_of = |part: &dyn Fn(&measure::sentinel::Reading) -> f32| {
        trimmed_mean(&mut readings.iter().map(|r| f64::from(part(r))).collect::<Vec<_>>())
    };
    (!readings.is_empty()).then(|| Reference {
        alu: middle_of(&|r| r.alu),
        chase: middle_of(&|r| r.chase),
        chain: middle_of(&|r| r.chain),
    })
}

fn numbers(rounds: &[RoundValue]) -> Vec<f64> {
    rounds.iter().map(|round| round.value).collect()
}

/// The beginnings of the rounds; empty for several starts of a system.
fn starts(rounds: &[RoundValue]) -> Vec<i64> {
    rounds.iter().filter_map(|round| round.began_ms).collect()
}

fn fact(value: f64) -> Interval {
    Interval { median: value, low: value, high: value }
}

fn per_op(counts: &OperationCounts) -> PerOp {
    let each = |count: Option<u64>| count.map(|n| n as f64 / counts.operations as f64);
    PerOp {
        syscalls: each(counts.syscalls),
        voluntary_switches: each(counts.voluntary_switches),
        involuntary_switches: each(counts.involuntary_switches),
        page_faults: each(counts.page_faults),
        instructions: each(counts.instructions),
        cycles: each(counts.cycles),
        calls: counts
            .calls
            .iter()
            .map(|(name, &count)| (name.clone(), count as f64 / counts.operations as f64))
            .collect(),
        ..PerOp::default()
    }
}

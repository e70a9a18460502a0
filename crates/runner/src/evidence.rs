//! Evidence from the rounds of one point, and whether it needs more rounds.

use std::time::Duration;

use measure::Doubt;
use measure::estimate::{JudgedRound, Levels, Unit};
use measure::record::{Line, MetricValue, OperationCounts, RoundEnvironment, Series, parse_lines};
use measure::round::{FIRST_10MS, Mode, STEADY_AFTER};
use measure::stats::{RoundValue, median};
use platform::CaseError;
use results::{Outcome, RoundRow};

use crate::host_evidence::HostEvidence;
use crate::launch::RoundEnd;
use crate::plan::{Plan, Point, STEADY_ROUNDS};
use crate::schedule::{Cost, PointState, RunTime, Wanted, is_precise};
use crate::stored_round::Began;

/// Number of consecutive crashes after which a point is given up.
const CRASHES_AT_MOST: u32 = 3;
/// Number of hangs after which a point is given up: each costs many seconds.
const HANGS_AT_MOST: u32 = 2;
/// Maximum time of sampling in a round, and time for which a worker group contends, in ms.
const ROUND_MS: u64 = 15;
/// Number of times the expected duration of a trial that it may take on a busy machine.
const LONGER: u64 = 5;
/// Number of times as long that trials may take after one that did not end: systems differ by more than their load.
const LONGER_AFTER_HANG: u64 = 8;
/// Total time of a point's trials after which no more than the planned number are made.
const LONG_TRIALS: Cost = Cost(Duration::from_secs(10));
/// Tolerated relative difference between counted and expected system calls per operation.
const CALLS_TOLERANCE: f64 = 0.02;
/// Tolerated relative shortfall of the switches and page faults that each operation must make.
const COUNTS_TOLERANCE: f64 = 0.05;
/// Number of short rounds that must find the same time as these.
const SHORT_ROUNDS_TRIED: usize = 2;
/// The largest relative difference of the first 10 ms from the steady time that is no trend: caches and predictors adapt within a few
/// milliseconds everywhere.
const TREND: f64 = 0.25;
/// The largest relative difference of two rounds that found the same time.
const SAME_TIME: f64 = 0.1;
/// Tolerated system calls per operation where none is expected.
const STRAY_CALLS: f64 = 0.02;

/// The evidence of one point.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// The point.
    pub point: Point,
    pub(crate) rounds: Vec<Round>,
    pub(crate) counts: Option<OperationCounts>,
    /// Counts of the point's operations on the host, if the coordinator counts there.
    pub(crate) host: HostEvidence,
    counted: bool,
    /// Whether rounds are trials, whose number does not depend on their precision.
    pub(crate) of_trials: bool,
    pub(crate) ending: Option<(Outcome, String)>,
    crashes_in_a_row: u32,
    hangs: u32,
    pub(crate) last_trouble: Option<(Outcome, String)>,
    /// Beginning of the latest round.
    began: Option<RunTime>,
    /// The number of rounds when their precision was last determined, and whether it was enough.
    precise: Option<(usize, bool)>,
    /// The time of all rounds so far, without counting rounds.
    pub(crate) cost: Cost,
    /// Number of short rounds that measured something else than those that repeat the operation until it is steady.
    differing: usize,
    /// Why no more rounds are made after some have succeeded: the worker or system has died too often.
    pub(crate) given_up: Option<Doubt>,
}

/// The output of one round.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    pub(crate) series: Vec<Series>,
    pub(crate) metrics: Vec<MetricValue>,
    pub(crate) doubts: Vec<Doubt>,
    pub(crate) timeline: Vec<[u64; 2]>,
    pub(crate) environment: Option<RoundEnvironment>,
    /// Number of the system's start before the round, if several starts are measured.
    pub(crate) boot: Option<u32>,
    /// Beginning of the round, in ms since 1970.
    pub(crate) unix_ms: i64,
}

impl Round {
    /// Whether its operation was repeated until it was steady.
    fn is_steady(&self) -> bool {
        self.series.iter().any(|series| series.grouped)
    }

    /// When its operation became steady, in ns, if it was to find out; `None` within if it did not.
    pub(crate) fn steady_after(&self) -> Option<Option<f64>> {
        let found = self.metrics.iter().find(|metric| metric.name == STEADY_AFTER.name);
        let is_sought = found.is_some() || self.doubts.contains(&Doubt::NotSteady);
        is_sought.then(|| found.map(|metric| metric.value))
    }

    /// The time of one operation, in ns, whether the round was quiet or not.
    fn median_ns(&self) -> Option<f64> {
        let samples = self.series.iter().flat_map(|series| &series.samples);
        let mut samples: Vec<f64> = samples.map(|&ns| ns.into()).collect();
        (!samples.is_empty()).then(|| median(&mut samples))
    }

    /// Whether the operation took another time in its first 10 ms than later.
    fn has_trend(&self) -> bool {
        let first = self.metrics.iter().find(|metric| metric.name == FIRST_10MS.name);
        let both = first.zip(self.median_ns());
        both.is_some_and(|(first, later)| (first.value / later - 1.0).abs() > TREND)
    }
}

impl Evidence {
    /// Evidence without rounds; a point that this system lacks is unsupported.
    pub fn new(point: Point) -> Self {
        let missing = catalog::find(&point.case).and_then(|case| case.missing_here());
        Self::where_missing(point, missing.map(str::to_owned))
    }

    /// Evidence without rounds on another system, which lacks the point if `missing` has a reason.
    pub fn where_missing(point: Point, missing: Option<String>) -> Self {
        let trials = catalog::trials_of(&point.case, &point.params);
        let of_trials = trials.is_some();
        Self {
            point,
            rounds: Vec::new(),
            counts: None,
            host: match trials {
                None => HostEvidence::default(),
                Some(trials) => HostEvidence::of_trials(trials.on_host),
            },
            // A pass that counts is needed only for some trials: most report their own CPU time.
            counted: trials.is_some_and(|trials| !trials.counted),
            of_trials,
            cost: Cost::default(),
            ending: missing.map(|reason| (Outcome::Unsupported, reason)),
            crashes_in_a_row: 0,
            hangs: 0,
            last_trouble: None,
            began: None,
            precise: None,
            differing: 0,
            given_up: None,
        }
    }

    /// Whether the untimed pass has not been made yet.
    pub fn needs_count(&self) -> bool {
        !self.counted && !self.is_over()
    }

    /// Time limit of the next round in ms: of samples, or of a trial.
    pub(crate) fn limit_ms(&self) -> u64 {
        let of_trial =
            |takes: Duration| takes.as_millis() as u64 * LONGER * LONGER_AFTER_HANG.pow(self.hangs);
        self.point.trial_takes().map_or(ROUND_MS, of_trial)
    }

    /// The mode of the next round that counts on the host; `None` if the counts are known or impossible.
    pub(crate) fn next_on_host(&self) -> Option<Mode> {
        self.host.next().filter(|_| !self.is_over())
    }

    /// Whether no more rounds can be made.
    pub(crate) fn is_over(&self) -> bool {
        self.ending.is_some() || self.given_up.is_some()
    }

    /// The share of the planned rounds that is done.
    pub(crate) fn share_done(&self, plan: &Plan) -> f64 {
        let most = plan.rounds_at_most(&self.point).max(1);
        match self.is_over() || self.is_precise() {
            true => 1.0,
            false if self.of_trials => (self.rounds.len() as f64 / most as f64).min(1.0),
            false => 0.0,
        }
    }

    /// The point's state for the schedule, in this group, on the system with this number.
    pub(crate) fn state(&self, plan: &Plan, system: usize, group: usize) -> PointState {
        let planned_per_boot = self.planned_per_boot(plan);
        let planned = planned_per_boot * plan.boots.unwrap_or(1).max(1);
        let is_long = plan.trials_at_most.is_some() && self.cost >= LONG_TRIALS;
        PointState {
            system,
            group,
            area: 0,
            is_asked: false,
            is_in_summary: catalog::is_in_summary(&self.point.case, &self.point.params),
            planned,
            planned_per_boot,
            at_most: match plan.has_boots() || is_long {
                true => planned,
                false => plan.rounds_at_most(&self.point).max(planned),
            },
            made: self.rounds.len(),
            began: self.began,
            cost: self.cost,
            is_over: self.is_over(),
            is_precise: self.is_precise(),
            needs_counts: self.needs_count(),
            counts_last: false,
            host_pairs: self.next_on_host().map(|_| self.host.pairs()),
        }
    }

    /// Number of rounds planned after each start of the system.
    fn planned_per_boot(&self, plan: &Plan) -> usize {
        let rounds = plan.rounds_of_a_boot(&self.point, self.is_paired());
        let each = self.cost.0 / self.rounds.len().max(1) as u32;
        match self.stays_steady() {
            true => rounds.min(STEADY_ROUNDS),
            false if self.of_trials => rounds,
            false => plan.rounds_by_length(rounds, each),
        }
    }

    /// Whether the rounds were precise enough when this was last determined.
    pub(crate) fn is_precise(&self) -> bool {
        self.precise.is_some_and(|(_, is_precise)| is_precise)
    }

    /// Determines whether the rounds are precise enough, if there are new ones, or `again`.
    pub(crate) fn update_precision(&mut self, plan: &Plan, levels: &Levels, again: bool) {
        let made = self.rounds.len();
        let planned = self.planned_per_boot(plan);
        let is_known = self.precise.is_some_and(|(of, _)| of == made);
        if plan.has_boots() || made < planned || (is_known && !again) {
            return;
        }
        let quiet = self.quiet_values(self.unit(), levels, plan.seed);
        self.precise = Some((made, is_precise(quiet, self.wanted(plan), plan.seed)));
    }

    fn wanted(&self, plan: &Plan) -> Wanted {
        Wanted {
            precision: self.wanted_precision(plan),
            in_pairs: self.is_paired(),
            trials: self.of_trials.then(|| plan.trials_of(&self.point)),
            is_compared: plan.in_turn && self.is_paired() && plan.tolerance <= 1.0,
        }
    }

    /// Number of rounds that gave samples.
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// The series of the latest round, for the run's quiet levels.
    pub fn latest_series(&self) -> &[Series] {
        self.rounds.last().map_or(&[], |round| &round.series)
    }

    /// The time of one operation in the latest round, in ns, whether the round was quiet or not.
    pub(crate) fn latest_ns(&self) -> Option<f64> {
        self.rounds.last()?.median_ns()
    }

    /// Whether the next round repeats the operation until it is steady, where that may matter: the first ones do; the following are
    /// short if the operation had begun as it went on, and if the first short ones find the same time.
    pub(crate) fn next_is_steady(&self) -> bool {
        let has_begun_otherwise =
            || !self.makes_no_calls() && !self.rounds.iter().any(Round::is_steady);
        self.stays_steady() || has_begun_otherwise()
    }

    /// Whether the operation is known to stay out of the kernel, so that no helper of a system takes part in it.
    fn makes_no_calls(&self) -> bool {
        let is_none = |counts: &OperationCounts| {
            let calls = counts.syscalls.map(|calls| calls as f64).or(counts.expected_syscalls);
            calls == Some(0.0) && counts.page_faults.is_none_or(|faults| faults == 0)
        };
        self.counts.as_ref().is_some_and(is_none)
    }

    /// For how long an operation is to be repeated that needs as long to become steady as this one, in ms; `None` if no round was to
    /// find out.
    pub(crate) fn found_approach_ms(&self) -> Option<u64> {
        const AT_LEAST_MS: f64 = 50.0;
        const AT_MOST_MS: f64 = 2_000.0;
        /// Where no round became steady, a longer wait would not help either.
        const NEVER_STEADY_MS: f64 = 200.0;
        let mut sought = self.rounds.iter().filter_map(Round::steady_after).peekable();
        sought.peek()?;
        let longest = sought.flatten().fold(f64::NEG_INFINITY, f64::max);
        let ms = if longest > 0.0 { 2.0 * longest / 1e6 } else { NEVER_STEADY_MS };
        Some(ms.clamp(AT_LEAST_MS, AT_MOST_MS) as u64)
    }

    /// Whether all rounds repeat the operation until it is steady, since it had begun otherwise or short rounds measure something else.
    pub(crate) fn stays_steady(&self) -> bool {
        let steady = self.rounds.iter().filter(|round| round.is_steady()).count();
        let with_trend = self.rounds.iter().filter(|round| round.has_trend()).count();
        // A disturbance may make one of either look so.
        self.differing >= SHORT_ROUNDS_TRIED || with_trend * 2 > steady
    }

    /// Whether a short round is one of the first after steady ones, and finds another time than these.
    fn differs_from_steady(&self, round: &Round) -> bool {
        let of = |steady: bool| {
            let rounds = self.rounds.iter().filter(move |made| made.is_steady() == steady);
            rounds.filter_map(Round::median_ns).collect::<Vec<f64>>()
        };
        let (mut steady, short) = (of(true), of(false));
        let is_first = !steady.is_empty() && short.len() < SHORT_ROUNDS_TRIED;
        is_first && !round.is_steady() && {
            let usual = median(&mut steady);
            round.median_ns().is_some_and(|ns| (ns / usual - 1.0).abs() > SAME_TIME)
        }
    }

    /// Adds the output of the untimed pass.
    pub fn add_count(&mut self, text: &str, end: &RoundEnd) {
        if let Some(counts) = self.take_end(end).then(|| counts_in(text)).flatten() {
            self.counts = Some(counts);
            self.counted = true;
            self.verify_counts();
        } else if self.ending.is_none() && !self.has_trouble() {
            self.counted = true; // the pass ended normally, without counts
        }
    }

    /// Uses a counting pass of an earlier run if it counted system calls and shows that the operations took place. Returns
    /// whether it was used.
    pub(crate) fn keep_count(&mut self, row: &RoundRow) -> bool {
        let Ok(end) = serde_json::from_str::<RoundEnd>(&row.outcome) else { return false };
        let mut with = self.clone();
        with.add_count(&row.lines, &end);
        let is_whole = with.counts.as_ref().is_some_and(|counts| counts.syscalls.is_some());
        let is_usable = is_whole && with.ending.is_none();
        if is_usable {
            *self = with;
        }
        is_usable
    }

    /// Adds the output of a round; returns whether it had samples.
    pub fn add_round(&mut self, text: &str, end: &RoundEnd, began: Began) -> bool {
        let crashes_before = self.crashes_in_a_row;
        if !self.take_end(end) {
            return false;
        }
        let (mut series, mut metrics, mut doubts) = (Vec::new(), Vec::new(), Vec::new());
        let (mut environment, mut boot, mut timeline) = (None, None, Vec::new());
        for line in parse_lines(text) {
            match line {
                Line::Series(line) => series.push(line),
                Line::Metric(line) => metrics.push(line),
                Line::Doubt(why) => doubts.push(why),
                Line::Timeline(jobs) => timeline = jobs,
                Line::Environment(line) => environment = Some(line),
                Line::Boot(number) => boot = Some(number),
                Line::Counts(_) | Line::Repeated(_) | Line::Host(_) | Line::End(_) => {}
            }
        }
        if series.is_empty() {
            let reason = "the round ended without a sample".to_owned();
            self.last_trouble = Some((Outcome::TimedOut, reason));
            self.crashes_in_a_row = crashes_before;
            self.crash();
            return false;
        }
        let Began { at, unix_ms } = began;
        let round = Round { series, metrics, doubts, timeline, environment, boot, unix_ms };
        self.began = Some(at);
        if self.differs_from_steady(&round) {
            self.differing += 1;
            // What was measured is the operation after other work. The steady ones stand.
            return false;
        }
        self.rounds.push(round);
        true
    }

    /// Records how a round ended; returns whether its output can be used.
    fn take_end(&mut self, end: &RoundEnd) -> bool {
        let (outcome, reason) = match end {
            RoundEnd::Reported(Ok(())) => {
                self.crashes_in_a_row = 0;
                return true;
            }
            RoundEnd::Reported(Err(CaseError::TimedOut(reason))) | RoundEnd::Hung(reason) => {
                self.hangs += 1;
                (Outcome::TimedOut, reason)
            }
            RoundEnd::Reported(Err(CaseError::Interrupted(reason))) | RoundEnd::Died(reason) => {
                (Outcome::Failed, reason)
            }
            RoundEnd::Reported(Err(error)) => {
                self.ending = Some((Outcome::of(error), error.to_string()));
                return false;
            }
        };
        self.last_trouble = Some((outcome, reason.clone()));
        self.crash();
        false
    }

    fn crash(&mut self) {
        self.crashes_in_a_row += 1;
        if self.crashes_in_a_row < CRASHES_AT_MOST && self.hangs < HANGS_AT_MOST {
            return;
        }
        // Results of earlier rounds remain valid.
        if self.rounds.is_empty() {
            self.ending = self.last_trouble.clone();
        } else {
            self.given_up = Some(Doubt::WorkerDied);
        }
    }

    /// Makes no more rounds, since the system has failed; without a figure, `outcome` is the result.
    pub(crate) fn give_up(&mut self, outcome: Outcome, reason: &str) {
        if self.rounds.is_empty() {
            self.ending.get_or_insert_with(|| (outcome, reason.to_owned()));
        } else {
            self.given_up = Some(Doubt::SystemFailed);
        }
    }

    fn has_trouble(&self) -> bool {
        self.crashes_in_a_row > 0
    }

    /// Checks that the operation took place: it must have made its expected system calls, switches and faults.
    fn verify_counts(&mut self) {
        let Some(counts) = &self.counts else { return };
        let per_operation = |count: u64| count as f64 / counts.operations.max(1) as f64;
        for (what, expected, seen) in [
            ("context switches", counts.expected_switches, counts.switches()),
            ("page faults", counts.expected_faults, counts.page_faults),
        ] {
            let (Some(expected), Some(seen)) = (expected, seen.map(per_operation)) else {
                continue;
            };
            if seen < expected * (1.0 - COUNTS_TOLERANCE) {
                let reason = format!("{seen:.2} {what} per operation, where it makes {expected}");
                self.ending = Some((Outcome::Implausible, reason));
            }
        }
        let (Some(expected), Some(seen)) = (counts.expected_syscalls, counts.syscalls) else {
            return;
        };
        let seen = per_operation(seen);
        let tolerance = if expected > 0.0 { expected * CALLS_TOLERANCE } else { STRAY_CALLS };
        if (seen - expected).abs() > tolerance {
            // A share such as 1/1024 needs more digits than a whole number of calls.
            let decimals = if expected < 1.0 { 5 } else { 2 };
            let reason =
                format!("{seen:.decimals$} system calls per operation, where it makes {expected}");
            self.ending = Some((Outcome::Implausible, reason));
        }
    }

    /// Whether the faster of each two rounds counts; see [`faster_of_pairs`].
    pub(crate) fn is_paired(&self) -> bool {
        // Where an operation has a fast and a slow path, the faster of two rounds would hide the slow one.
        self.unit() == Unit::Multiplications && !self.stays_steady()
    }

    /// Whether rounds differ much from process to process, as trials and tasks on several CPUs do. The latter are sampled
    /// as often as others, since a few rounds do not show the difference.
    pub(crate) fn scatters(&self) -> bool {
        self.of_trials || self.is_contended() || catalog::spans_cpus(&self.point.params)
    }

    /// The wanted half-width of the interval, as a share.
    pub(crate) fn wanted_precision(&self, plan: &Plan) -> f64 {
        match self.unit() {
            _ if self.of_trials || self.is_contended() => plan.trial_precision,
            _ if self.stays_steady() => plan.waiting_precision,
            Unit::Multiplications => plan.precision,
            Unit::Nanoseconds => plan.waiting_precision,
        }
    }

    /// The half-width of the interval, as a share, beyond which the figure is marked.
    pub(crate) fn accepted_precision(&self, plan: &Plan) -> f64 {
        match self.scatters() {
            true => plan.trial_precision,
            false => self.wanted_precision(plan) * plan.tolerance,
        }
    }

    /// Whether several workers contended in the rounds.
    pub(crate) fn is_contended(&self) -> bool {
        self.rounds.first().is_some_and(|round| round.series.iter().any(|series| series.contended))
    }

    /// Whether the time is neither counted in cycles nor adjusted to the run's median frequency: rounds are trials, several
    /// workers contend, or the work has a given length.
    pub(crate) fn keeps_wall_time(&self) -> bool {
        self.of_trials || self.is_contended() || self.point.works_for_a_time()
    }

    /// The unit of the rounds' medians, which does not depend on the core's frequency for core-bound cases.
    pub(crate) fn unit(&self) -> Unit {
        match self.point.is_core_bound() && !self.is_contended() {
            true => Unit::Multiplications,
            false => Unit::Nanoseconds,
        }
    }

    pub(crate) fn judged(&self, levels: &Levels) -> Vec<JudgedRound> {
        let judged = self.rounds.iter().map(|round| {
            let judged = JudgedRound::of(&round.series, levels);
            match round.environment {
                Some(environment) if environment.took_cpu_time() => judged.spoilt(),
                _ => judged,
            }
        });
        judged.collect()
    }

    fn quiet_values(&self, unit: Unit, levels: &Levels, seed: u64) -> Vec<RoundValue> {
        let judged = self.judged(levels);
        let values =
            judged.iter().enumerate().filter_map(|(n, j)| j.quiet_value(unit, seed ^ n as u64));
        values.collect()
    }
}

fn counts_in(text: &str) -> Option<OperationCounts> {
    parse_lines(text).into_iter().find_map(|line| match line {
        Line::Counts(counts) if counts.operations > 0 => Some(counts),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use measure::cycles::Latency;
    use results::CaseResult;

    use super::*;
    use crate::figures::Core;

    const CASE: &str = "clock/std-instant";
    /// A case of trials.
    const JOBS: &str = "concurrency/jobs";
    const SAMPLES: &str = r#"{"series":{"cpu":0,"busy":1,"batch":9,"samples":[5.0,5.1],"readings":[[1000,1,1],[1000,1,1],[1000,1,1]]}}"#;

    fn plan() -> Plan {
        plan_of(false, None)
    }

    fn plan_of(quick: bool, precision: Option<f64>) -> Plan {
        simulated::areas::install();
        let filters = vec![CASE.into()];
        let options = crate::plan::Options { filters, quick, precision, ..Default::default() };
        crate::plan::plan(&options, &[0], 7).unwrap()
    }

    fn at(ms: u64) -> Began {
        Began { at: RunTime(Duration::from_millis(ms)), unix_ms: ms as i64 }
    }

    /// The evidence of a point during a run, whose rounds show the machine's levels.
    struct Measuring {
        point: Evidence,
        levels: Levels,
        plan: Plan,
    }

    impl Measuring {
        fn new() -> Self {
            Self::of(CASE, &[])
        }

        fn of(case: &str, params: &[(&str, &str)]) -> Self {
            let plan = plan();
            let point = Point { case: case.to_owned(), params: simulated::params(params) };
            Self { point: Evidence::new(point), levels: Levels::default(), plan }
        }

        fn with(self, plan: Plan) -> Self {
            Self { plan, ..self }
        }

        /// Adds a round that ended well, which the levels have seen too.
        fn add(&mut self, text: &str, ms: u64) -> bool {
            let is_added = self.point.add_round(text, &measured(), at(ms));
            self.point.latest_series().iter().for_each(|series| self.levels.observe(series));
            is_added
        }

        fn add_and_judge(&mut self, text: &str, ms: u64) {
            self.add(text, ms);
            self.judge();
        }

        fn judge(&mut self) {
            self.point.update_precision(&self.plan, &self.levels, true);
        }

        /// Adds a round without output; returns whether it counts.
        fn add_empty(&mut self, end: &RoundEnd) -> bool {
            self.point.add_round("", end, at(0))
        }

        /// Whether the schedule would give the point another round, if there is time.
        fn needs_rounds(&self) -> bool {
            let state = self.point.state(&self.plan, 0, 0);
            let has_planned = state.made >= state.planned;
            let is_done = state.is_precise || state.made >= state.at_most;
            !(state.is_over || has_planned && is_done)
        }

        fn time(&self) -> CaseResult {
            self.results().remove(0)
        }

        fn results(&self) -> Vec<CaseResult> {
            let core = Core::of(&self.levels, &Latency::Cycles(3));
            self.point.results(&self.plan, &core)
        }
    }

    /// The text of a sampled round.
    fn series(samples: &str, readings: &str) -> String {
        format!(
            r#"{{"series":{{"cpu":0,"busy":1,"batch":9,"samples":{samples},"readings":{readings}}}}}"#
        )
    }

    /// The text of a trial of this time.
    fn trial(time: f64, readings: &str) -> String {
        format!(
            r#"{{"series":{{"cpu":0,"busy":1,"batch":1,"samples":[{time}],"readings":{readings},"contended":true,"ns_per_iteration":0.5}}}}"#
        )
    }

    /// A round with two samples of this time.
    fn samples_of(time: f64) -> String {
        SAMPLES.replace("[5.0,5.1]", &format!("[{time},{time}]"))
    }

    fn measured() -> RoundEnd {
        RoundEnd::Reported(Ok(()))
    }

    fn died() -> RoundEnd {
        RoundEnd::Died("killed by signal 9".into())
    }

    #[test]
    fn one_death_costs_one_round_and_three_in_a_row_the_point() {
        let mut run = Measuring::new();
        for end in [died(), died(), measured(), died(), died()] {
            let text = if end == measured() { SAMPLES } else { "" };
            run.point.add_round(text, &end, at(0));
        }
        assert!(run.needs_rounds());
        let mut hopeless = Measuring::new();
        (0..3).for_each(|_| assert!(!hopeless.add_empty(&died())));
        assert!(!hopeless.needs_rounds());
        let result = hopeless.time();
        assert_eq!(result.outcome, Outcome::Failed);
        assert_eq!(result.reason.as_deref(), Some("killed by signal 9"));
    }

    #[test]
    fn figures_from_before_repeated_crashes_are_kept_with_a_doubt() {
        let mut run = Measuring::new();
        assert!(run.add(SAMPLES, 0));
        (0..3).for_each(|_| assert!(!run.add_empty(&died())));
        assert!(!run.needs_rounds());
        let result = run.time();
        assert_eq!(result.outcome, Outcome::Measured);
        assert!(result.doubts.contains(&Doubt::WorkerDied), "{:?}", result.doubts);
    }

    #[test]
    fn a_doubt_of_most_rounds_is_a_doubt_of_the_point() {
        let mut run = Measuring::new();
        let doubted = format!("{SAMPLES}\n{{\"doubt\":{{\"code\":\"sync-too-fast\"}}}}");
        for (text, count) in [(SAMPLES, 0), (&doubted, 0), (&doubted, 1)] {
            assert!(run.add(text, 0));
            let doubts = run.time().doubts;
            let found = doubts.iter().filter(|doubt| **doubt == Doubt::SyncTooFast).count();
            assert_eq!(found, count, "{doubts:?}");
        }
    }

    #[test]
    fn a_trial_with_stolen_cpu_time_is_repeated() {
        let trial = |environment: &str| {
            format!("{}\n{{\"environment\":{environment}}}", trial(9e8, "[[1,1,1],[1,1,1]]"))
        };
        let stolen = trial(r#"{"elapsed":1.0,"cpus":1,"steal":0.2}"#);
        let undisturbed = trial(r#"{"elapsed":1.0,"cpus":1,"steal":0.0,"interrupts":900}"#);
        let mut run = Measuring::of(JOBS, &[]).with(Plan { trials: 6, ..plan() });
        for text in [&stolen, &undisturbed, &stolen].into_iter().chain([&undisturbed; 4]) {
            assert!(run.needs_rounds());
            run.add_and_judge(text, 0);
        }
        assert!(!run.needs_rounds(), "five of seven counted, and agree");
    }

    /// Half of a quick run's figures were marked for intervals of about 1 %, the best that its time permits.
    #[test]
    fn a_quick_run_marks_wider_intervals_only() {
        for (plan, time, is_marked) in [
            (plan_of(true, None), 5.1, false),
            (plan_of(true, None), 5.4, true),
            (plan_of(true, Some(0.005)), 5.1, true),
            (plan(), 5.1, true),
        ] {
            let mut run = Measuring::new().with(plan);
            for round in 0..20 {
                let time = if round % 4 < 2 { 5.0 } else { time };
                run.add_and_judge(&samples_of(time), round * 1_000);
            }
            assert!(run.needs_rounds(), "it goes on while there is time");
            let result = run.time();
            assert_eq!(result.converged, Some(!is_marked), "{time} {:?}", result.estimate);
        }
    }

    /// Half of the processes executed the operation in a slower steady state, so that the median was that of either state.
    #[test]
    fn of_two_rounds_of_a_core_bound_point_the_faster_counts() {
        let mut run = Measuring::new();
        for pair in 0..7 {
            assert!(run.needs_rounds(), "{pair} pairs");
            for sample in ["[6.0,6.001]", "[5.0,5.001]"] {
                run.add_and_judge(&SAMPLES.replace("[5.0,5.1]", sample), pair * 1_000);
            }
        }
        assert!(!run.needs_rounds());
        let result = run.time();
        assert_eq!((result.rounds, result.converged), (7, Some(true)));
        let estimate = result.estimate.unwrap();
        assert!((5.0..5.1).contains(&estimate.median), "{estimate:?}");
        assert_eq!(result.round_starts_ms, Vec::from_iter((0..7).map(|pair| pair * 1_000)));
        assert!(result.doubts.is_empty(), "{:?}", result.doubts);
    }

    #[test]
    fn all_rounds_are_kept_where_some_were_disturbed() {
        let mut run = Measuring::new();
        let quiet = SAMPLES.replace("[5.0,5.1]", "[5.0,5.001]");
        let disturbed =
            SAMPLES.replace("[5.0,5.1]", "[6.0,6.001]").replace("[1000,1,1]", "[1000,1.5,1.2]");
        for text in [&quiet; 4].into_iter().chain([&disturbed; 20]) {
            run.add(text, 0);
        }
        let result = run.time();
        assert!(!result.disturbed);
        // The faster of two rounds of a core-bound point counts.
        assert_eq!((result.round_values.len(), result.all_round_values.len()), (2, 12));
        let disturbed = result.all_round_values.iter().filter(|value| **value > 5.9);
        assert_eq!(disturbed.count(), 10);
        (0..8).for_each(|_| assert!(run.add(&quiet, 0)));
        let result = run.time();
        assert_eq!((result.round_values.len(), result.all_round_values.len()), (6, 16));
        assert_eq!(result.all_round_starts_ms.len(), 16);
    }

    /// A run that began beside a busy neighbour took its first rounds for quiet, and continued with other points only.
    #[test]
    fn a_point_whose_rounds_turn_out_to_be_disturbed_is_not_done() {
        let mut run = Measuring::new();
        let disturbed =
            SAMPLES.replace("[5.0,5.1]", "[5.0,5.001]").replace("[1000,1,1]", "[1000,1.5,1.2]");
        for round in 0..30 {
            run.add(&disturbed, round * 1_000);
        }
        run.judge();
        assert!(!run.needs_rounds());
        // Another point of the run is quiet.
        let mut other = Measuring { levels: run.levels, ..Measuring::new() };
        (0..9).for_each(|_| assert!(other.add(SAMPLES, 30_000)));
        run.levels = other.levels;
        run.judge();
        assert!(run.needs_rounds());
    }

    /// The time in which another CPU wakes up differs from run to run, so that few such points repeat within 3 %.
    #[test]
    fn a_point_on_two_cpus_is_sampled_like_others_but_marked_only_when_much_wider() {
        for (place, apart, is_marked) in
            [("same", 0.08, true), ("other", 0.08, false), ("other", 0.6, true)]
        {
            let mut run = Measuring::of("switch/pipe", &[("place", place)]);
            for round in 0..20_u32 {
                let time = 5.0 * (1.0 + apart * f64::from(round % 3));
                run.add_and_judge(&samples_of(time), u64::from(round) * 1_000);
            }
            assert!(run.needs_rounds(), "{place}: 3 % are not reached");
            let result = run.time();
            assert_eq!(result.converged, Some(!is_marked), "{place} {:?}", result.estimate);
        }
    }

    /// A round that repeated its operation until it was steady at `time`, after this time in ms; its first 10 ms took `first`.
    fn steady(time: f64, first: f64, after_ms: f64) -> String {
        let metric = |name: &str, unit: &str, value: f64| {
            format!(
                "{{\"metric\":{{\"name\":\"{name}\",\"unit\":\"{unit}\",\"better\":\"lower\",\"combine\":\"median\",\"value\":{value}}}}}\n"
            )
        };
        let series = samples_of(time).replace("\"batch\":9", "\"grouped\":true,\"batch\":9");
        metric("first-10ms", "ns/op", first)
            + &metric("steady-after", "ns", after_ms * 1e6)
            + &series
    }

    #[test]
    fn rounds_become_short_where_an_operation_begins_as_it_goes_on() {
        let mut run = Measuring::new();
        assert!(run.point.next_is_steady() && run.point.found_approach_ms().is_none());
        run.add(&steady(5.0, 5.2, 2.0), 0);
        for _ in 0..4 {
            assert!(!run.point.next_is_steady());
            assert!(run.add(&samples_of(5.1), 0));
        }
        let names: Vec<String> = run.results().into_iter().map(|result| result.metric).collect();
        assert_eq!(names, ["time"], "how it begins tells nothing");
    }

    #[test]
    fn all_rounds_are_steady_where_an_operation_begins_otherwise() {
        let mut run = Measuring::new();
        run.add(&steady(5.0, 9.0, 30.0), 0);
        run.add(&steady(5.0, 9.5, 50.0), 0);
        assert!(run.point.next_is_steady() && !run.point.is_paired());
        assert_eq!(
            run.point.found_approach_ms(),
            Some(100),
            "twice as long as the first ones needed"
        );
        run.add(&steady(5.0, 9.1, 50.0), 0);
        let result = run.results();
        let of =
            |name: &str| result.iter().find(|one| one.metric == name).unwrap().estimate.unwrap();
        assert_eq!((of("time").median, of("first-10ms").median), (5.0, 9.1));
        assert_eq!(run.point.state(&run.plan, 0, 0).planned, 6);
    }

    /// A neighbour slowed the beginning of one round, and one short round.
    #[test]
    fn one_disturbance_is_no_trend() {
        let mut run = Measuring::new();
        run.add(&steady(5.0, 7.0, 2.0), 0);
        assert!(run.point.next_is_steady());
        run.add(&steady(5.0, 5.0, 2.0), 0);
        for (time, counts) in [(6.0, false), (5.0, true), (5.1, true), (6.0, true)] {
            assert!(!run.point.next_is_steady());
            assert_eq!(run.add(&samples_of(time), 0), counts, "{time}");
        }
        assert!(!run.point.next_is_steady() && !run.point.stays_steady());
    }

    #[test]
    fn an_operation_without_system_calls_has_short_rounds_only() {
        for (syscalls, faults, is_steady) in [(0, 0, false), (200, 0, true), (0, 200, true)] {
            let mut run = Measuring::new();
            let counts = OperationCounts {
                operations: 200,
                syscalls: Some(syscalls),
                page_faults: Some(faults),
                ..OperationCounts::default()
            };
            let line = serde_json::to_string(&Line::Counts(counts)).unwrap();
            run.point.add_count(&line, &measured());
            assert_eq!(run.point.next_is_steady(), is_steady, "{syscalls} {faults}");
        }
    }

    /// An operation that was dear between other work, and cheap when repeated, had begun as cheap.
    #[test]
    fn all_rounds_are_steady_where_short_ones_find_another_time() {
        let mut run = Measuring::new();
        run.add(&steady(5.0, 5.0, 2.0), 0);
        run.add(&steady(5.0, 5.0, 2.0), 0);
        for _ in 0..2 {
            assert!(!run.point.next_is_steady());
            assert!(!run.add(&samples_of(6.0), 0), "what it found is left out");
        }
        assert!(run.point.next_is_steady());
        assert_eq!((run.point.rounds(), run.point.found_approach_ms()), (2, Some(50)));
    }

    #[test]
    fn a_time_that_goes_on_changing_is_a_doubt_of_the_rounds_that_looked() {
        let mut run = Measuring::new();
        let changing =
            format!("{{\"doubt\":{{\"code\":\"not-steady\"}}}}\n{}", steady(5.0, 9.0, 0.0));
        let changing: String = changing
            .lines()
            .filter(|line| !line.contains("steady-after"))
            .map(|l| format!("{l}\n"))
            .collect();
        run.add(&changing, 0);
        run.add(&changing, 0);
        assert_eq!(run.point.found_approach_ms(), Some(200));
        for _ in 0..4 {
            let later = steady(5.0, 9.0, 0.0);
            let later: Vec<&str> =
                later.lines().filter(|line| !line.contains("steady-after")).collect();
            run.add(&later.join("\n"), 0);
        }
        assert_eq!(run.time().doubts, [Doubt::NotSteady]);
    }

    #[test]
    fn two_paths_are_reported_with_their_share_and_what_the_host_did() {
        let mut run = Measuring::new();
        for time in [5.0, 5.1, 20.0, 4.9, 21.0, 5.0] {
            run.add(&steady(time, 40.0, 30.0), 0);
        }
        for (us, switches) in [(5, 20), (20, 1_900)] {
            let counts = |switches: u64, operations: u64| {
                format!(
                    "{{\"host\":{{\"syscalls\":{switches},\"switches\":{switches},\"ptrace_stops\":null}}}}\n{{\"repeated\":{{\"operations\":{operations},\"us\":{us}}}}}\n"
                )
            };
            run.point.host.add(&counts(switches, 1_000), &measured());
            run.point.host.add(&counts(0, 0), &measured());
        }
        let results = run.results();
        let of = |name: &str| results.iter().find(|one| one.metric == name).unwrap();
        let median = |name: &str| of(name).estimate.unwrap().median;
        assert_eq!((median("fast-path"), median("slow-path")), (5.0, 20.5));
        assert!((median("slow-share") - 1.0 / 3.0).abs() < 1e-9);
        let switches = |name: &str| of(name).per_op.as_ref().unwrap().host_switches.unwrap();
        assert_eq!((switches("fast-path"), switches("slow-path")), (0.02, 1.9));
    }

    #[test]
    fn of_long_rounds_fewer_are_planned_except_of_systems_in_turn() {
        let alone = plan();
        let planned = |each: Duration, plan: &Plan| {
            let mut point = Measuring::new().point;
            point.add_round(SAMPLES, &measured(), at(0));
            point.cost = Cost(each);
            point.state(plan, 0, 0).planned
        };
        let (short, long) = (Duration::from_millis(10), Duration::from_millis(100));
        assert_eq!((planned(short, &alone), planned(long, &alone)), (14, 8));
        let in_turn = Plan { in_turn: true, ..alone };
        assert_eq!(planned(long, &in_turn), planned(short, &in_turn));
    }

    #[test]
    fn a_core_bound_point_of_systems_in_turn_goes_on_until_their_difference_is_certain() {
        let pairs_until_done = |quick: bool, in_turn: bool, time_of: fn(u64) -> f64| {
            let mut run = Measuring::new().with(Plan { in_turn, ..plan_of(quick, None) });
            let rounds = (0..300).take_while(|&round: &u64| {
                run.add_and_judge(&samples_of(time_of(round)), round * 1_000);
                run.needs_rounds()
            });
            rounds.count().div_ceil(2)
        };
        let steady = |_| 5.0;
        assert_eq!(pairs_until_done(false, false, steady), 7);
        assert_eq!(pairs_until_done(true, false, steady), 7);
        // The difference of two systems is less certain than either figure.
        let apart = |round: u64| 5.0 * (1.0 + 0.015 * (round / 2 * 7 % 20) as f64 / 20.0);
        let [alone, in_turn] = [false, true].map(|in_turn| pairs_until_done(false, in_turn, apart));
        assert!(alone < 24 && (24..100).contains(&in_turn), "{alone} {in_turn}");
    }

    /// Figures that repeated within 0.5 % in ten runs were marked too, since each of their rounds had samples of both
    /// modes; and figures of two CPUs with an interval of 7 %, which is usual for them.
    #[test]
    fn several_modes_are_a_doubt_only_where_rounds_differ() {
        // A round has samples of two modes, about a median between them.
        let about = |median: f64| {
            let middle = vec![median.to_string(); 5].join(",");
            format!("[5.0,5.0,5.0,5.0,{middle},8.0,8.0,8.0,8.0]")
        };
        let mixed = [5.0, 6.0, 6.0, 6.5, 6.5, 7.0, 7.0, 8.0].map(about);
        let agreeing = [6.5; 8].map(about);
        let one_or_the_other = [5.0, 8.0, 5.0, 8.0, 5.0, 8.0, 5.0, 8.0].map(about);
        for (place, every_round, doubted, converged) in [
            ("same", &agreeing, false, true),
            ("same", &mixed, true, false),
            ("other", &mixed, false, true),
            // The interval contains both modes.
            ("same", &one_or_the_other, false, false),
        ] {
            let mut run = Measuring::of("switch/pipe", &[("place", place)]);
            let readings = ["[1000,1,1]"; 14].join(",");
            for round in 0..20 {
                let text = series(&every_round[round * 3 % 8], &format!("[{readings}]"));
                run.add(&text, round as u64 * 1_000);
            }
            let result = run.time();
            let has_doubt = result.doubts.contains(&Doubt::SeveralModes);
            let seen = (has_doubt, result.converged);
            assert_eq!(seen, (doubted, Some(converged)), "{place} {result:?}");
        }
    }

    /// 75 of 471 points were marked only for their number of rounds, some with rounds 1 % apart.
    #[test]
    fn a_few_quiet_trials_are_marked_where_they_differ_only() {
        let marks = |times: &[f64]| {
            let mut run = Measuring::of(JOBS, &[]);
            for time in times {
                run.add(&trial(*time, "[[1,1,1],[1,1,1]]"), 0);
            }
            let result = run.time();
            (result.doubts.len(), result.converged)
        };
        assert_eq!(marks(&[9e6, 9.1e6, 9.2e6]), (0, Some(true)));
        // The interval of three rounds is more than twice as wide as their range.
        assert_eq!(marks(&[9e6, 9.7e6, 10.4e6]), (0, Some(false)));
        assert_eq!(marks(&[9e6, 9.7e6, 10.4e6, 9.3e6, 9.7e6, 10.1e6]), (0, Some(true)));
        assert!(marks(&[9e6, 9.1e6]).0 > 0);
    }

    /// Damaged output of a worker must not end the run.
    #[test]
    fn rounds_whose_readings_are_missing_or_damaged_still_give_a_time() {
        for readings in ["[]", "[[-3,1,1],[-3,1,1],[0,1,1]]", "[[0,1,1]]"] {
            let mut run = Measuring::new();
            run.add(&series("[5.0,5.1]", readings), 0);
            let result = run.time();
            assert_eq!(result.outcome, Outcome::Measured, "{readings}");
            assert!(result.cycles.is_none() && result.disturbed, "{readings}");
        }
        let mut empty = Measuring::new();
        empty.point.add_round(&series("[]", "[]"), &measured(), at(0));
        assert_eq!(empty.time().outcome, Outcome::Failed);
    }

    #[test]
    fn rounds_without_a_sample_do_not_go_on_for_ever() {
        let mut run = Measuring::new();
        (0..3).for_each(|_| assert!(!run.add_empty(&measured())));
        assert!(!run.needs_rounds());
        assert_eq!(run.time().outcome, Outcome::TimedOut);
    }

    /// Ten thousand files take several times as long under Wine as on Linux.
    #[test]
    fn a_trial_that_does_not_end_is_tried_again_with_more_time() {
        let mut trial = Measuring::of(JOBS, &[("base", "1s"), ("executor", "serial")]).point;
        assert_eq!(trial.limit_ms(), 10_000);
        let hung = RoundEnd::Hung("the worker did not end within 25 s".into());
        assert!(!trial.add_round("", &hung, at(0)));
        assert!(!trial.is_over());
        assert_eq!(trial.limit_ms(), 80_000);
        assert!(!trial.add_round("", &hung, at(0)));
        assert!(trial.is_over());
        // A round of samples ends by itself.
        let mut samples = Measuring::new().point;
        let before = samples.limit_ms();
        samples.add_round("", &hung, at(0));
        assert_eq!(samples.limit_ms(), before);
    }

    /// The result of a point of which only these counts are known.
    fn counted(counts: &str) -> CaseResult {
        let mut run = Measuring::new();
        run.point.add_count(&format!(r#"{{"counts":{{{counts}}}}}"#), &measured());
        run.time()
    }

    #[test]
    fn broken_exclusion_is_final_and_a_wrong_number_of_calls_implausible() {
        let mut broken = Measuring::new();
        assert!(broken.point.add_round(SAMPLES, &measured(), at(0)));
        let end = RoundEnd::Reported(Err(CaseError::Failed("two inside".into())));
        broken.point.add_round(SAMPLES, &end, at(0));
        assert_eq!(broken.time().outcome, Outcome::Failed);
        let idle = counted(r#""operations":200,"expected_syscalls":1.0,"syscalls":0"#);
        assert_eq!(idle.outcome, Outcome::Implausible);
        assert!(idle.reason.unwrap().starts_with("0.00 system calls"));
    }

    #[test]
    fn counted_calls_must_be_near_the_expected_number_however_small_that_is() {
        let is_implausible = |expected: f64, operations: u64, syscalls: u64| {
            let counts = format!(
                r#""operations":{operations},"expected_syscalls":{expected},"syscalls":{syscalls}"#
            );
            counted(&counts).outcome == Outcome::Implausible
        };
        // A batch has 200 calls that share 8, 64 or 128 operations each, as io-uring-nop makes them.
        for batch in [8, 64, 128] {
            let expected = 1.0 / batch as f64;
            for (syscalls, implausible) in
                [(0, true), (100, true), (190, true), (200, false), (202, false), (210, true)]
            {
                let said = is_implausible(expected, 200 * batch, syscalls);
                assert_eq!(said, implausible, "{syscalls} calls at batch size {batch}");
            }
        }
        // A few stray calls among thousands of operations do not belong to the operation, if none is expected.
        assert!(!is_implausible(0.0, 10_000, 0) && !is_implausible(0.0, 10_000, 150));
        assert!(is_implausible(0.0, 10_000, 5_000) && is_implausible(0.0, 200, 200));
        assert!(!is_implausible(8.0, 200, 1_600) && is_implausible(8.0, 200, 1_400));
    }

    #[test]
    fn too_few_switches_or_page_faults_make_a_figure_implausible() {
        let reason = |counts: &str| {
            let result = counted(&format!(r#""operations":200,{counts}"#));
            result.reason.filter(|_| result.outcome == Outcome::Implausible)
        };
        for (counts, expected) in [
            (
                r#""expected_switches":1.0,"voluntary_switches":100"#,
                Some("0.50 context switches per operation, where it makes 1"),
            ),
            (r#""expected_switches":1.0,"voluntary_switches":195"#, None),
            // Other threads may make the operation wait more often.
            (r#""expected_switches":1.0,"voluntary_switches":400"#, None),
            (
                r#""expected_faults":16.0,"page_faults":0"#,
                Some("0.00 page faults per operation, where it makes 16"),
            ),
            (r#""expected_faults":16.0,"page_faults":3200"#, None),
            // Missing counts prove nothing.
            (r#""expected_faults":16.0"#, None),
        ] {
            assert_eq!(reason(counts).as_deref(), expected, "{counts}");
        }
    }

    #[test]
    fn the_number_of_trials_is_as_planned_and_disturbed_ones_are_repeated() {
        let [quiet, loud] =
            ["[[1,1,1],[1,1,1]]", "[[1,1,1],[1,2,2]]"].map(|readings| trial(9e6, readings));
        for (texts, needed) in [
            (vec![&quiet; 6], 6),
            (vec![&quiet, &loud, &quiet, &quiet, &loud, &quiet, &quiet, &quiet], 7),
            (vec![&loud; 30], 24),
        ] {
            let mut run = Measuring::of(JOBS, &[]).with(Plan { trials: 6, ..plan() });
            // Earlier runs have shown the quiet levels of the machine.
            (0..9).for_each(|_| {
                run.levels.observe(&match parse_lines(&quiet).remove(0) {
                    Line::Series(series) => series,
                    other => panic!("{other:?}"),
                });
            });
            assert!(!run.point.needs_count());
            let made = texts.iter().take_while(|text| {
                let needed = run.needs_rounds();
                run.point.add_round(text, &measured(), at(0));
                run.judge();
                needed
            });
            assert_eq!(made.count(), needed);
            assert_eq!(run.levels.ns_per_iteration(), Some(0.5));
            let result = run.time();
            assert_eq!(result.converged, Some(true));
            assert_eq!(result.disturbed, needed == 24);
        }
    }
}

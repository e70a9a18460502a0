//! One run in progress: what its rounds have shown so far, which points need more, and its results.

use std::collections::BTreeMap;
use std::time::Duration;

use measure::cycles::Timebase;
use measure::estimate::{EarlierLevel, Levels};
use measure::record::Line;
use measure::round::Mode;
use measure::user_code::UserCode;
use measure::{Doubt, RoundOrder};
use results::{CaseResult, Outcome, RoundRow, Store, StoreError};

use crate::evidence::Evidence;
use crate::figures::Core;
use crate::launch::RoundEnd;
use crate::place::Place;
use crate::plan::{Plan, Point};
use crate::stored_round::{Began, Purpose, measuring_ms};

/// Quiet samples of a round.
const QUIET_SAMPLES: usize = 60;
/// The maximum time for which a round takes samples, and the time for which a worker group contends.
const ROUND_MS: u64 = 15;
/// Rounds of a sampled point in one pass over points of which some are trials.
const SAMPLED_ROUNDS_A_PASS: usize = 3;
/// Passes of one boot beyond its number of rounds: some rounds are lost or disturbed.
const PASSES_TO_SPARE: usize = 2;

/// The counts that are made before sampling may take the budget divided by this number.
const COUNTING_SHARE: u32 = 3;

/// When calls and other events are counted, relative to sampling: those for which there was no time are counted after it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CountedWhen {
    First,
    Last,
}

/// How much time a run may have spent for counts to be made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CountingEnds {
    pub(crate) in_system: Duration,
    pub(crate) on_host: Duration,
    /// For more of those on the host, where they disagree.
    pub(crate) on_host_again: Duration,
}

/// A run in progress.
pub(crate) struct RunState<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) id: &'a str,
    timebase: &'a Timebase,
    pub(crate) place: Place<'a>,
    pub(crate) evidence: Vec<Evidence>,
    levels: Levels,
    /// The time that it has taken.
    pub(crate) spent: Duration,
    /// The part of it in which rounds waited for a quiet moment.
    waited: Duration,
    /// The time spent with counts on the host so far; `None` before they begin.
    counted_on_host: Option<Duration>,
    /// When the run that is resumed had ended, in its own measuring time.
    pub(crate) earlier: Duration,
    pub(crate) next_seq: u64,
    /// The time of the rounds of each area.
    area_time: BTreeMap<String, Duration>,
    /// Key of the sentinel's quiet levels in the store; `None` if unknown.
    level_key: Option<String>,
    /// Reasons to doubt all its figures.
    doubts: Vec<Doubt>,
    /// Passes since its system was started for the present boot.
    passes_of_boot: usize,
    /// The number of boots that have all their rounds.
    boots_done: usize,
}

impl<'a> RunState<'a> {
    /// A run without rounds.
    pub(crate) fn new(
        plan: &'a Plan,
        id: &'a str,
        timebase: &'a Timebase,
        place: Place<'a>,
        evidence: Vec<Evidence>,
    ) -> Self {
        Self {
            plan,
            id,
            timebase,
            place,
            evidence,
            levels: Levels::default(),
            spent: Duration::ZERO,
            waited: Duration::ZERO,
            counted_on_host: None,
            earlier: Duration::ZERO,
            next_seq: 0,
            area_time: BTreeMap::new(),
            level_key: None,
            doubts: Vec::new(),
            passes_of_boot: 0,
            boots_done: 0,
        }
    }

    /// Uses the quiet levels that the store has under `key`, from earlier runs of the same build on the same kind of CPU.
    pub(crate) fn use_earlier_levels(
        &mut self,
        key: Option<String>,
        store: &Store,
    ) -> Result<(), StoreError> {
        /// Older runs are ignored: a virtual machine may move to another host.
        const RUNS: u32 = 20;
        if let Some(key) = &key {
            let earlier = store.quiet_levels(key, RUNS)?;
            self.levels = Levels::with_earlier(EarlierLevel::of_runs(&earlier));
        }
        self.level_key = key;
        Ok(())
    }

    /// Adds a reason to doubt all figures of this run.
    pub(crate) fn doubt_all(&mut self, why: Doubt) {
        self.doubts.push(why);
    }

    /// Adds the rounds that an earlier part of this run has stored.
    pub(crate) fn replay(&mut self, rows: &[RoundRow]) {
        let mut before = None;
        for (row, at_ms) in rows.iter().zip(measuring_ms(rows.iter().map(|row| row.started_ms))) {
            // A round that cannot be read has also used a number and time.
            let took = Duration::from_millis(at_ms).saturating_sub(self.earlier);
            if let Some(which) = before {
                self.add_area_time(which, took);
            }
            self.earlier = Duration::from_millis(at_ms);
            self.next_seq = self.next_seq.max(row.seq + 1);
            let known = |e: &Evidence| e.point.case == row.case && e.point.params == row.params;
            before = self.evidence.iter().position(known);
            let Some(which) = before else { continue };
            let Ok(end) = serde_json::from_str::<RoundEnd>(&row.outcome) else { continue };
            let began = Began { at_ms, unix_ms: row.started_ms };
            self.add_output(which, Purpose::of_row(row), &row.lines, &end, began);
        }
        self.spent = self.earlier;
    }

    /// Adds the output of a round to the evidence of its point.
    pub(crate) fn add_output(
        &mut self,
        which: usize,
        purpose: Purpose,
        text: &str,
        end: &RoundEnd,
        began: Began,
    ) {
        let evidence = &mut self.evidence[which];
        match purpose {
            Purpose::Counts => evidence.add_count(text, end),
            Purpose::HostCounts => evidence.host.add(text, end),
            Purpose::Times if evidence.add_round(text, end, began) => {
                for series in evidence.latest_series() {
                    self.levels.observe(series);
                }
            }
            Purpose::Times => {}
        }
    }

    /// The output of a round with the boot that it is of, if several are measured.
    pub(crate) fn with_boot(&self, text: String) -> String {
        match self.place.boot().filter(|_| self.plan.has_boots()) {
            Some(boot) => {
                let line = serde_json::to_string(&Line::Boot(boot)).expect("a plain value");
                format!("{line}\n{text}")
            }
            None => text,
        }
    }

    /// Stores the results, the core's frequency, and the time taken by each area.
    pub(crate) fn store_results(&mut self, store: &mut Store) -> Result<(), StoreError> {
        let (levels, latency) = (&self.levels, &self.timebase.latency);
        let core = Core::with_slopes(levels, latency, &self.evidence, self.plan.seed);
        let results = self.evidence.iter().flat_map(|e| e.results(self.plan, &core));
        let results: Vec<CaseResult> = results.map(|result| self.doubted(result)).collect();
        store.put_results(self.id, &results)?;
        let seconds = self.area_time.iter().map(|(area, time)| (area.clone(), time.as_secs_f64()));
        store.put_run_facts(self.id, core.clock(), &seconds.collect())?;
        let own = levels.own_level(self.plan.cpus.last().copied());
        match (&self.level_key, own) {
            (Some(key), Some((alu, chase))) => store.add_quiet_level(key, alu, chase),
            _ => Ok(()),
        }
    }

    /// With the doubts about all figures of this run.
    fn doubted(&self, mut result: CaseResult) -> CaseResult {
        if result.outcome == Outcome::Measured {
            result.doubts.extend(self.doubts.iter().cloned());
        }
        result
    }

    /// Gives up all points: those without a figure get the outcome and reason.
    pub(crate) fn give_up(&mut self, reason: &str) {
        for evidence in &mut self.evidence {
            evidence.give_up(Outcome::Failed, reason);
        }
    }

    /// The points of the next pass. Those that have the planned number of rounds, and are to have more, wait while they took
    /// much more time than others of these: a long trial costs as much as thirty rounds of another point, which needs them as badly.
    pub(crate) fn active(&self) -> Vec<usize> {
        let needs_more = |&which: &usize| {
            let evidence = &self.evidence[which];
            self.wants_round(which) && evidence.rounds() < evidence.rounds_at_most(self.plan)
        };
        let needing: Vec<usize> = (0..self.evidence.len()).filter(needs_more).collect();
        let has_planned = |&which: &usize| self.evidence[which].has_planned_rounds(self.plan);
        let took = |which: usize| self.evidence[which].took;
        let mut times: Vec<Duration> =
            needing.iter().copied().filter(has_planned).map(took).collect();
        times.sort_unstable();
        let middle = times.get(times.len() / 2).copied().unwrap_or_default();
        let is_due = |which: &usize| !has_planned(which) || took(*which) <= middle * 2;
        needing.into_iter().filter(is_due).collect()
    }

    /// Whether some of these points have fewer rounds than planned, which are to be spread over time.
    pub(crate) fn lacks_planned_rounds(&self, active: &[usize]) -> bool {
        active.iter().any(|&which| !self.evidence[which].has_planned_rounds(self.plan))
    }

    /// Ends the system where its rounds are to come from several boots, and the present one has its share of them.
    pub(crate) fn next_boot_if_due(&mut self, active: &[usize]) {
        let Some(boots) = self.plan.boots else { return };
        let has_its_share = |&which: &usize| {
            let evidence = &self.evidence[which];
            let share = self.plan.rounds_of_a_boot(&evidence.point);
            evidence.rounds() >= share * (self.boots_done + 1)
        };
        let most = active
            .iter()
            .map(|&which| self.plan.rounds_of_a_boot(&self.evidence[which].point))
            .max()
            .unwrap_or(0);
        let is_done = self.passes_of_boot > 0 && active.iter().all(has_its_share);
        if (is_done || self.passes_of_boot >= most + PASSES_TO_SPARE)
            && self.boots_done + 1 < boots.max(1)
        {
            self.boots_done += 1;
            self.passes_of_boot = 0;
            self.place.end();
        }
        self.passes_of_boot += 1;
    }

    /// The rounds of one pass, not yet shuffled. A pass with trials takes long, so that it has several of the short rounds
    /// of each sampled point.
    pub(crate) fn rounds_of_pass(&self, active: &[usize]) -> Vec<usize> {
        let is_trial = |which: &usize| self.evidence[*which].of_trials;
        let mut order = active.to_vec();
        if active.iter().any(is_trial) {
            let sampled: Vec<usize> = active.iter().copied().filter(|w| !is_trial(w)).collect();
            for _ in 1..SAMPLED_ROUNDS_A_PASS {
                order.extend(&sampled);
            }
        }
        order
    }

    /// Whether a point still needs a round, and there is time for it. On a busy machine the time may be up before the first
    /// round of a point, which is measured nevertheless; and there is more time for those without quiet moments, and as much as
    /// rounds have waited for such a moment.
    pub(crate) fn wants_round(&self, which: usize) -> bool {
        let evidence = &self.evidence[which];
        let patience = Duration::from_millis(self.plan.patience_ms);
        let waited = self.waited.min(patience);
        let longer = evidence.patience(self.plan).max(waited).max(self.time_for_planned(evidence));
        let has_time = self.spent < self.budget() + longer || evidence.rounds() == 0;
        has_time && evidence.needs_rounds()
    }

    /// The time beyond the budget in which a point gets its planned rounds: as much again for systems in turn, in some of which
    /// a round takes several times as long; none if the user set the budget.
    fn time_for_planned(&self, evidence: &Evidence) -> Duration {
        match self.may_take_longer() && !evidence.has_planned_rounds(self.plan) {
            true => self.time_for_the_rest(),
            false => Duration::ZERO,
        }
    }

    /// Whether it is one of systems in turn, for which the user set no time.
    fn may_take_longer(&self) -> bool {
        let has_set_time = self.plan.patience_ms == 0;
        self.plan.in_turn && !has_set_time
    }

    /// The part of its time that is for counts on the host: as planned, or what they took if that was less.
    fn time_for_host_counts(&self) -> Duration {
        let planned = Duration::from_millis(self.plan.host_counts_ms);
        self.counted_on_host.map_or(planned, |spent| spent.min(planned))
    }

    /// The other part, for sampling and for counts in the system.
    fn time_for_the_rest(&self) -> Duration {
        Duration::from_millis(self.plan.budget_ms - self.plan.host_counts_ms)
    }

    /// Until when counts are made: before sampling in a share of the budget, with the time that was added for those on the host;
    /// then in what is left, and for systems in turn as much as before.
    pub(crate) fn counting_ends(&self, when: CountedWhen) -> CountingEnds {
        let share = self.time_for_the_rest() / COUNTING_SHARE;
        match when {
            CountedWhen::First => {
                let on_host = share + self.time_for_host_counts();
                CountingEnds { in_system: share, on_host, on_host_again: on_host }
            }
            CountedWhen::Last => {
                let longer =
                    if self.may_take_longer() { self.spent + share } else { Duration::ZERO };
                let until = self.budget().max(longer);
                CountingEnds { in_system: until, on_host: until, on_host_again: self.budget() }
            }
        }
    }

    /// The number of these points for which the run goes on although its time is up.
    pub(crate) fn waiting_for_quiet(&self, active: &[usize]) -> usize {
        // Others go on because they had no round at all.
        let waits = |which: usize| {
            self.wants_round(which) && !self.evidence[which].patience(self.plan).is_zero()
        };
        match self.spent < self.budget() {
            true => 0,
            false => active.iter().filter(|&&which| waits(which)).count(),
        }
    }

    /// The points for which it is still to be counted what they make the host do, or where it has to be counted again unless only
    /// the `fewest` counts are wanted.
    pub(crate) fn uncounted_on_host(&self, fewest: bool) -> Vec<usize> {
        let wanted = |&which: &usize| self.evidence[which].next_on_host(fewest).is_some();
        match self.place.can_be_counted() {
            true => (0..self.evidence.len()).filter(wanted).collect(),
            false => Vec::new(),
        }
    }

    /// Whether nothing is left to sample of `active`.
    pub(crate) fn is_over(&self, active: &[usize]) -> bool {
        !active.iter().any(|&which| self.wants_round(which))
    }

    /// Determines which of the points are precise enough.
    pub(crate) fn check_convergence(&mut self, active: &[usize]) {
        let wanting = active.iter().copied().filter(|&which| self.wants_round(which));
        for which in wanting.collect::<Vec<_>>() {
            self.evidence[which].check_convergence(self.plan, &self.levels);
        }
    }

    /// Determines the same again of sampled points that were precise enough: a later round may have shown that theirs were
    /// disturbed. Returns whether some of them go on.
    pub(crate) fn reconsider(&mut self) -> bool {
        let is_done = |evidence: &&mut Evidence| {
            !evidence.of_trials && evidence.rounds() > 0 && !evidence.needs_rounds()
        };
        for evidence in self.evidence.iter_mut().filter(is_done) {
            evidence.check_convergence(self.plan, &self.levels);
        }
        self.active().iter().any(|&which| self.wants_round(which))
    }

    /// How long rounds may wait for quiet moments in all: a part of the run's time, and what it goes on longer.
    pub(crate) fn waiting(&self) -> Duration {
        const SHARE: f64 = 0.15;
        self.budget().mul_f64(SHARE) + Duration::from_millis(self.plan.patience_ms)
    }

    /// Adds the time for which a round waited.
    pub(crate) fn add_waiting_time(&mut self, time: Duration) {
        self.waited += time;
    }

    /// Adds the time of a round without that for which it waited for a quiet moment.
    pub(crate) fn add_area_time(&mut self, which: usize, time: Duration) {
        let case = &self.evidence[which].point.case;
        let area = case.split('/').next().unwrap_or(case);
        *self.area_time.entry(area.to_owned()).or_default() += time;
        self.evidence[which].took += time;
    }

    /// The order for one round.
    pub(crate) fn order(&self, which: usize, mode: Mode) -> RoundOrder {
        let point = &self.evidence[which].point;
        RoundOrder {
            case: point.case.clone(),
            params: point.params.clone(),
            core_bound: point.is_core_bound(),
            mode,
            clock: self.timebase.clock.clone(),
            cpus: self.plan.cpus.clone(),
            level: self.levels.level(self.plan.cpus.last().copied(), 1),
            ns_per_iteration: self.levels.ns_per_iteration(),
            quiet_samples: QUIET_SAMPLES,
            limit_ms: limit_ms(point, self.plan),
            slow_down: self.plan.slow_down,
            parent: Some(std::process::id()),
            is_here: matches!(self.place, Place::Here),
            user: self.plan.user_code(point).cloned(),
        }
    }

    /// The share of its points' rounds that is done, as far as their number is planned.
    pub(crate) fn share_done(&self) -> f64 {
        let done: f64 = self.evidence.iter().map(|e| e.share_done(self.plan)).sum();
        done / self.evidence.len().max(1) as f64
    }

    /// The label of a point, with its system if there are several.
    pub(crate) fn label(&self, which: usize) -> String {
        let point = &self.evidence[which].point;
        let label = results::label(&point.case, &point.params);
        match self.place.name() {
            Some(name) => format!("{name}: {label}"),
            None => label,
        }
    }

    /// The time that it may take. What counts on the host have left of theirs is not sampled: all systems are sampled for the
    /// same time.
    pub(crate) fn budget(&self) -> Duration {
        self.time_for_the_rest() + self.time_for_host_counts()
    }

    /// Adds the time of counts on the host.
    pub(crate) fn add_time_on_host(&mut self, spent: Duration) {
        *self.counted_on_host.get_or_insert_default() += spent;
    }
}

/// Time limit of a round, in ms: for samples, that of a command, or several times the expected duration of a trial, for
/// busy machines.
fn limit_ms(point: &Point, plan: &Plan) -> u64 {
    if let Some(UserCode::Command(command)) = plan.user_code(point) {
        return command.limit_ms;
    }
    point.trial_takes().map_or(ROUND_MS, |takes| takes.as_millis() as u64 * 5)
}

#[cfg(test)]
mod tests {
    use measure::cycles::Latency;
    use measure::survey::survey;

    use super::*;
    use crate::plan::{Options, plan};

    const AT_ONCE: Began = Began { at_ms: 0, unix_ms: 0 };

    /// Whether a point that has one round gets another after so much time beyond the budget, of which rounds waited this long.
    fn goes_on(options: Options, beyond: Duration, waited: Duration) -> bool {
        goes_on_with(&plan(&options, &[0], 7).unwrap(), beyond, waited)
    }

    fn goes_on_with(plan: &Plan, beyond: Duration, waited: Duration) -> bool {
        let timebase = Timebase { clock: survey().remove(0), latency: Latency::Cycles(3) };
        let mut evidence = Evidence::new(plan.points[0].clone());
        let round = r#"{"series":{"cpu":0,"busy":1,"batch":9,"samples":[5.0],"readings":[[1,1,1,null],[1,1,1,null]]}}"#;
        assert!(evidence.add_round(round, &RoundEnd::Reported(Ok(())), AT_ONCE));
        let mut run = RunState::new(plan, "a-run", &timebase, Place::Here, vec![evidence]);
        run.spent = run.budget() + beyond;
        run.add_waiting_time(waited);
        run.wants_round(0)
    }

    /// Trials of a second took the time in which a hundred other points could have had more rounds.
    #[test]
    fn beyond_the_plan_points_that_took_much_time_wait_for_others() {
        let options = Options {
            filters: vec!["concurrency/worth".to_owned(), "syscall/read-0".to_owned()],
            ..Options::default()
        };
        let plan = plan(&options, &[0], 7).unwrap();
        let timebase = Timebase { clock: survey().remove(0), latency: Latency::Cycles(3) };
        let is_trial = |point: &&Point| point.trial_takes().is_some();
        let trials = plan.points.iter().filter(is_trial).take(3);
        let sampled = plan.points.iter().find(|point| !is_trial(point)).unwrap();
        let points = trials.chain([sampled]).cloned().map(Evidence::new).collect();
        let mut run = RunState::new(&plan, "a-run", &timebase, Place::Here, points);
        let round = r#"{"series":{"cpu":0,"busy":1,"batch":9,"samples":[5.0],"readings":[[1,1,1,null],[1,1,1,null]],"contended":true}}"#;
        let make = |run: &mut RunState, which: usize, ms: u64| {
            let evidence = &mut run.evidence[which];
            assert!(evidence.add_round(round, &RoundEnd::Reported(Ok(())), AT_ONCE));
            run.add_area_time(which, Duration::from_millis(ms));
        };
        for (which, ms) in [(0, 300), (1, 20), (2, 20), (3, 900)] {
            (0..plan.trials).for_each(|_| make(&mut run, which, ms));
        }
        assert_eq!(run.active(), [1, 2, 3], "the sampled one has fewer rounds than planned");
        (0..40).for_each(|_| make(&mut run, 1, 20));
        (0..40).for_each(|_| make(&mut run, 2, 20));
        assert!(run.active().contains(&0));
        // Those that get no more time are not waited for.
        run.spent = run.budget();
        assert_eq!(run.active(), [0usize; 0]);
    }

    /// In gVisor a round took twice as long as planned: all points had 3 or 4 rounds of 6, and nothing could be told.
    #[test]
    fn systems_in_turn_get_their_planned_rounds_within_twice_the_time() {
        let options = |budget| Options {
            filters: vec!["syscall/read-0".to_owned()],
            quick: true,
            budget,
            ..Options::default()
        };
        let in_turn = |budget| {
            let mut planned = plan(&options(budget), &[0], 7).unwrap();
            planned.measure_in_turn(&options(budget));
            planned
        };
        let seconds = Duration::from_secs;
        assert_eq!(in_turn(None).budget_ms, 5_000);
        assert!(goes_on_with(&in_turn(None), seconds(4), Duration::ZERO));
        assert!(!goes_on_with(&in_turn(None), seconds(6), Duration::ZERO));
        assert!(!goes_on_with(&in_turn(Some(seconds(5))), seconds(1), Duration::ZERO));
        assert!(!goes_on(options(None), seconds(4), Duration::ZERO));
    }

    /// In gVisor the host was not asked about any point, since the counts in the system took all of that time.
    #[test]
    fn counts_on_the_host_have_time_of_their_own_and_the_rest_is_counted_last() {
        let timebase = Timebase { clock: survey().remove(0), latency: Latency::Cycles(3) };
        let ends = |in_turn: bool, budget: Option<u64>, spent: u64, when| {
            let filters = vec!["syscall".to_owned()];
            let budget = budget.map(Duration::from_secs);
            let options = Options { filters, quick: true, budget, ..Options::default() };
            let mut plan = plan(&options, &[0], 7).unwrap();
            if in_turn {
                plan.measure_in_turn(&options);
            }
            plan.budget_ms = 9_000;
            plan.host_counts_ms = 3_000;
            let mut run = RunState::new(&plan, "a-run", &timebase, Place::Here, Vec::new());
            run.spent = Duration::from_secs(spent);
            let ends = run.counting_ends(when);
            [ends.in_system, ends.on_host, ends.on_host_again].map(|end| end.as_secs())
        };
        assert_eq!(ends(true, None, 0, CountedWhen::First), [2, 5, 5]);
        assert_eq!(ends(true, None, 8, CountedWhen::Last), [10, 10, 9]);
        assert_eq!(ends(true, None, 15, CountedWhen::Last), [17, 17, 9]);
        assert_eq!(ends(false, None, 15, CountedWhen::Last), [9, 9, 9]);
        assert_eq!(ends(true, Some(9), 15, CountedWhen::Last), [9, 9, 9]);
    }

    #[test]
    fn sampling_does_not_get_what_counts_on_the_host_have_left() {
        let timebase = Timebase { clock: survey().remove(0), latency: Latency::Cycles(3) };
        let options = Options { filters: vec!["syscall".to_owned()], ..Options::default() };
        let mut plan = plan(&options, &[0], 7).unwrap();
        (plan.budget_ms, plan.host_counts_ms) = (9_000, 3_000);
        let mut run = RunState::new(&plan, "a-run", &timebase, Place::Here, Vec::new());
        let seconds = Duration::from_secs;
        for (spent, budget) in [(0, 6), (1, 7), (1, 8), (5, 9)] {
            run.add_time_on_host(seconds(spent));
            assert_eq!(run.budget(), seconds(budget), "after {spent} s more");
        }
    }

    #[test]
    fn a_run_goes_on_for_as_long_as_rounds_waited_within_its_patience() {
        let of = |options: &Options, beyond, waited| {
            let seconds = Duration::from_secs;
            goes_on(options.clone(), seconds(beyond), seconds(waited))
        };
        let filters = vec!["syscall/read-0".to_owned()];
        let usual = Options { filters, ..Options::default() };
        assert!(!of(&usual, 2, 0));
        assert!(of(&usual, 2, 3) && !of(&usual, 4, 3));
        assert!(of(&usual, 19, 300) && !of(&usual, 21, 300));
        let quick = Options { quick: true, ..usual.clone() };
        assert!(of(&quick, 7, 300) && !of(&quick, 9, 300));
        let budgeted = Options { budget: Some(Duration::from_secs(5)), ..usual };
        assert!(!of(&budgeted, 0, 300));
    }
}

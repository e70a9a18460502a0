//! A run in progress: the evidence of its rounds, the points that need more, and its results.

use std::collections::BTreeMap;
use std::time::Duration;

use measure::cycles::Timebase;
use measure::estimate::{EarlierLevel, Levels};
use measure::record::Line;
use measure::round::Mode;
use measure::{Doubt, RoundOrder};
use results::{CaseResult, NO_TIME_BEFORE, Outcome, RoundRow, Store, StoreError};

use crate::evidence::Evidence;
use crate::figures::Core;
use crate::launch::RoundEnd;
use crate::machine::Description;
use crate::machine_changes::is_same_state;
use crate::place::{Counting, Place};
use crate::plan::{Plan, Point};
use crate::schedule::{Purpose, RunTime};
use crate::stored_round::{Began, KIND_KEPT, measuring_ms};

/// Number of quiet samples that end a round.
const QUIET_SAMPLES: usize = 60;

/// A run in progress.
pub(crate) struct RunState<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) id: &'a str,
    timebase: &'a Timebase,
    pub(crate) place: Place<'a>,
    pub(crate) evidence: Vec<Evidence>,
    levels: Levels,
    pub(crate) next_seq: u64,
    /// The time of the rounds of each area.
    area_time: BTreeMap<String, Duration>,
    /// Key of the sentinel's quiet levels in the store; `None` if unknown.
    level_key: Option<String>,
    /// Reasons to doubt all figures of the run.
    doubts: Vec<Doubt>,
    /// Number of starts of the system that have all their rounds.
    pub(crate) boots_done: usize,
    /// Whether the workers can be traced, as far as is known.
    can_trace: bool,
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
            next_seq: 0,
            area_time: BTreeMap::new(),
            level_key: None,
            doubts: Vec::new(),
            boots_done: 0,
            can_trace: true,
        }
    }

    /// Uses the quiet levels that the store has under `key`, from earlier runs of the same build on the same kind of CPU.
    pub(crate) fn use_earlier_levels(
        &mut self,
        key: Option<String>,
        store: &Store,
    ) -> Result<(), StoreError> {
        /// Maximum number of earlier runs: a virtual machine may have moved to another host.
        const RUNS: u32 = 20;
        if let Some(key) = &key {
            let earlier = store.if_reached(store.quiet_levels(key, self.id, RUNS))?;
            self.levels = Levels::with_earlier(EarlierLevel::of_runs(&earlier));
        }
        self.level_key = key;
        Ok(())
    }

    /// Uses the counts of earlier runs of this build on this machine in the same state, and stores them again: an
    /// operation's counts have not changed since.
    pub(crate) fn keep_counts(
        &mut self,
        machine: &Description,
        store: &mut Store,
    ) -> Result<(), StoreError> {
        /// Maximum number of runs that are searched: older ones may have other points.
        const RUNS: u32 = 20;
        for (id, earlier) in store.if_reached(store.latest_machines(self.id, RUNS))? {
            if !self.evidence.iter().any(Evidence::needs_count) {
                break;
            }
            if id == self.id || !is_same_state(&earlier, machine) {
                continue;
            }
            for row in store.counts(&id)? {
                let wanted = self.evidence.iter_mut().find(|evidence| {
                    let Evidence { point, .. } = evidence;
                    point.case == row.case && point.params == row.params && evidence.needs_count()
                });
                let is_users = |point: &Point| self.plan.user_code(point).is_some();
                let wanted = wanted.filter(|evidence| !is_users(&evidence.point));
                if wanted.is_some_and(|evidence| evidence.keep_count(&row)) {
                    let row = RoundRow { seq: self.next_seq, kind: KIND_KEPT.to_owned(), ..row };
                    store.add_round(self.id, &row)?;
                    self.next_seq += 1;
                }
            }
        }
        Ok(())
    }

    /// Adds a reason to doubt all figures of this run.
    pub(crate) fn doubt_all(&mut self, why: Doubt) {
        self.doubts.push(why);
    }

    /// Adds the stored rounds of an earlier part of this run; returns the time that they took.
    pub(crate) fn replay(&mut self, rows: &[RoundRow]) -> Duration {
        let (kept, rows): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.kind == KIND_KEPT);
        for row in kept {
            self.next_seq = self.next_seq.max(row.seq + 1);
            if let Some(which) = self.point_of(row) {
                self.evidence[which].keep_count(row);
            }
        }
        let (mut before, mut until) = (None, Duration::ZERO);
        for (row, at_ms) in rows.iter().zip(measuring_ms(rows.iter().map(|row| row.started_ms))) {
            // A round that cannot be read has also used a number and time.
            let at = Duration::from_millis(at_ms);
            if let Some((which, purpose)) = before {
                self.add_time(which, purpose, at.saturating_sub(until));
            }
            until = at;
            self.next_seq = self.next_seq.max(row.seq + 1);
            let purpose = Purpose::of_row(row);
            before = self.point_of(row).map(|which| (which, purpose));
            let Some((which, _)) = before else { continue };
            let Ok(end) = serde_json::from_str::<RoundEnd>(&row.outcome) else { continue };
            let began = Began { at: RunTime(at), unix_ms: row.started_ms };
            self.add_output(which, purpose, &row.lines, &end, began);
        }
        until
    }

    fn point_of(&self, row: &RoundRow) -> Option<usize> {
        let is_of = |e: &Evidence| e.point.case == row.case && e.point.params == row.params;
        self.evidence.iter().position(is_of)
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

    /// Adds to a round's output the number of the system's start, if several starts are measured.
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
        let core = self.core();
        store.put_results(self.id, &self.results_by(&core))?;
        let seconds = self.area_time.iter().map(|(area, time)| (area.clone(), time.as_secs_f64()));
        store.put_run_facts(self.id, core.clock(), &seconds.collect())?;
        let own = self.levels.own_level(self.plan.cpus.last().copied());
        match (&self.level_key, own) {
            (Some(key), Some((alu, chase))) => store.add_quiet_level(key, alu, chase),
            _ => Ok(()),
        }
    }

    /// The results so far, with derived results.
    pub(crate) fn results(&self) -> Vec<CaseResult> {
        let mut results = self.results_by(&self.core());
        let derived = catalog::derived(&results, self.plan.seed);
        results.extend(derived);
        results
    }

    fn core(&self) -> Core<'_> {
        let (levels, latency) = (&self.levels, &self.timebase.latency);
        Core::with_slopes(levels, latency, &self.evidence, self.plan.seed)
            .with_clock_step(self.timebase.clock.step.get())
    }

    fn results_by(&self, core: &Core) -> Vec<CaseResult> {
        let results = self.evidence.iter().flat_map(|e| e.results(self.plan, core));
        results.map(|result| self.doubted(result)).collect()
    }

    /// The areas of the points, one for each point.
    pub(crate) fn areas(&self) -> impl Iterator<Item = &str> {
        self.evidence.iter().map(|evidence| evidence.point.area())
    }

    /// Adds the doubts about all figures of this run.
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

    /// Ends the points without rounds, for which there was no time; returns their number.
    pub(crate) fn end_unmeasured(&mut self) -> usize {
        let unmeasured = |e: &&mut Evidence| e.rounds() == 0 && !e.is_over();
        let ended = self.evidence.iter_mut().filter(unmeasured);
        ended.map(|evidence| evidence.give_up(Outcome::TimedOut, NO_TIME_BEFORE)).count()
    }

    /// Determines which points with new rounds are precise enough; with `again`, of all points, since later rounds may have
    /// shown that earlier ones were disturbed.
    pub(crate) fn update_precision(&mut self, again: bool) {
        for evidence in &mut self.evidence {
            evidence.update_precision(self.plan, &self.levels, again);
        }
    }

    /// The mode of the next counting round in the measured system itself.
    pub(crate) fn counting_mode(&self) -> Mode {
        match self.place.counting() {
            Counting { tracepoint: Some(id), .. } => Mode::Count(id),
            Counting { tracer: true, .. } if self.can_trace => Mode::CountForTracer,
            _ => Mode::CountRest,
        }
    }

    /// Records that the workers cannot be traced.
    pub(crate) fn give_up_tracing(&mut self) {
        self.can_trace = false;
    }

    /// Adds the time of a round, which excludes the wait for a quiet moment.
    pub(crate) fn add_time(&mut self, which: usize, purpose: Purpose, time: Duration) {
        let area = self.evidence[which].point.area().to_owned();
        *self.area_time.entry(area).or_default() += time;
        if purpose == Purpose::Times {
            self.evidence[which].cost.0 += time;
        }
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
            limit_ms: self.evidence[which].limit_ms(),
            steady: match mode.is_counted_outside() {
                true => self.place.placement().is_some(),
                false => self.place.may_become_steady() && self.evidence[which].next_is_steady(),
            },
            approach_ms: self.approach_ms(which),
            slow_down: self.plan.slow_down,
            partner_batches: self.plan.partner_batches,
            parent: Some(std::process::id()),
            is_here: matches!(self.place, Place::Here),
            user: self.plan.user_code(point).cloned(),
        }
    }

    /// For how long the next round of a point repeats the operation first, in ms, as the first round has shown, or those of other
    /// points of its area; 0 to find out.
    fn approach_ms(&self, which: usize) -> u64 {
        /// Number of points of an area that find out for the others: half a second each.
        const LEARNT_FROM: usize = 5;
        let area = self.evidence[which].point.area();
        let of_area = || {
            let alike = self.evidence.iter().filter(|evidence| evidence.point.area() == area);
            let found: Vec<u64> = alike.filter_map(Evidence::found_approach_ms).collect();
            (found.len() >= LEARNT_FROM).then(|| found.into_iter().max()).flatten()
        };
        self.evidence[which].found_approach_ms().or_else(of_area).unwrap_or(0)
    }

    /// The share of the points' planned rounds that is done.
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
}

//! Coordinates the rounds of a run: repeated passes over all points, each in a new random order, until every point is
//! precise enough or time is up. The output of a round is stored at once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::RoundOrder;
use measure::cycles::Timebase;
use measure::estimate::{EarlierLevel, Levels};
use measure::round::Mode;
use measure::user_code::UserCode;
use platform::counters::syscall_tracepoint;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use results::{RoundRow, Store, StoreError};

use crate::error::RunError;
use crate::event::Event;
use crate::evidence::Evidence;
use crate::figures::Core;
use crate::id::{now_rfc3339, unix_ms};
use crate::launch::{Report, RoundEnd, launch};
use crate::machine::directories;
use crate::plan::{Plan, Point};
use crate::stored_round::{KIND_COUNT, KIND_ROUND, PASS_MS, measuring_ms};

/// Quiet samples of a round.
const QUIET_SAMPLES: usize = 60;
/// The maximum time for which a round takes samples, and the time for which a worker group contends.
const ROUND_MS: u64 = 15;
/// Rounds of a sampled point in one pass over points of which some are trials.
const SAMPLED_ROUNDS_A_PASS: usize = 3;
/// The untimed pass may take the budget divided by this number, and the time that is left at the end.
const COUNTING_SHARE: u32 = 3;

/// A run in progress.
pub(crate) struct Coordinator<'a> {
    plan: &'a Plan,
    id: &'a str,
    timebase: &'a Timebase,
    evidence: Vec<Evidence>,
    levels: Levels,
    store: &'a mut Store,
    stop: &'a AtomicBool,
    watch: &'a mut dyn FnMut(Event),
    began: Instant,
    /// The time that the run had taken before it was resumed.
    earlier: Duration,
    next_seq: u64,
    /// The time of the rounds of each area.
    area_time: BTreeMap<String, Duration>,
    /// The part of that time for sampled points.
    sampled_time: Duration,
    /// Key of the sentinel's quiet levels in the store; `None` if unknown.
    level_key: Option<String>,
}

impl<'a> Coordinator<'a> {
    /// A run without rounds.
    pub(crate) fn new(
        plan: &'a Plan,
        id: &'a str,
        timebase: &'a Timebase,
        store: &'a mut Store,
        stop: &'a AtomicBool,
        watch: &'a mut dyn FnMut(Event),
    ) -> Self {
        Self {
            plan,
            id,
            timebase,
            evidence: plan.points.iter().cloned().map(Evidence::new).collect(),
            levels: Levels::default(),
            store,
            stop,
            watch,
            began: Instant::now(),
            earlier: Duration::ZERO,
            next_seq: 0,
            area_time: BTreeMap::new(),
            sampled_time: Duration::ZERO,
            level_key: None,
        }
    }

    /// Uses the quiet levels that the store has under `key`, from earlier runs of the same build on the same kind of CPU.
    pub(crate) fn use_earlier_levels(&mut self, key: Option<String>) -> Result<(), RunError> {
        /// Older runs are ignored: a virtual machine may move to another host.
        const RUNS: u32 = 20;
        if let Some(key) = &key {
            let earlier = self.store.quiet_levels(key, RUNS)?;
            self.levels = Levels::with_earlier(EarlierLevel::of_runs(&earlier));
        }
        self.level_key = key;
        Ok(())
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
            self.add_output(which, &row.kind, &row.lines, &end, at_ms);
        }
    }

    /// Adds the output of a round to the evidence of its point.
    fn add_output(&mut self, which: usize, kind: &str, text: &str, end: &RoundEnd, at_ms: u64) {
        let evidence = &mut self.evidence[which];
        if kind == KIND_COUNT {
            evidence.add_count(text, end);
        } else if evidence.add_round(text, end, at_ms) {
            for series in evidence.latest_series() {
                self.levels.observe(series);
            }
        }
    }

    /// Measures until every point is precise enough or time is up, and stores the results; false if stopped before.
    pub(crate) fn measure(mut self) -> Result<bool, RunError> {
        register_directories_of(self.plan);
        platform::cleanup::sweep_dead();
        platform::process::adopt_children();
        // Move away from the measuring CPU, if there is another; a worker chooses its CPU itself.
        if let [first, _, ..] = self.plan.cpus[..] {
            let _ = platform::cpu::pin_thread(first);
        }
        let outcome = self.count_and_sample();
        // A worker killed just before this run began may end only now.
        platform::cleanup::sweep_dead();
        let _ = platform::cpu::pin_thread_to_any(&self.plan.cpus);
        if matches!(outcome, Err(RunError::TakenOver { .. })) {
            return outcome; // the results are up to the other process
        }
        // Even after an error, the figures found so far can be shown.
        let stored = self.store_results();
        let complete = outcome?;
        stored?;
        if complete {
            self.store.finish_run(self.id, &now_rfc3339())?;
        }
        Ok(complete)
    }

    /// Stores the results, the core's frequency, and the time taken by each area.
    fn store_results(&mut self) -> Result<(), StoreError> {
        let (levels, latency) = (&self.levels, &self.timebase.latency);
        let core = Core::with_slopes(levels, latency, &self.evidence, self.plan.seed);
        let results = self.evidence.iter().flat_map(|e| e.results(self.plan, &core));
        self.store.put_results(self.id, &results.collect::<Vec<_>>())?;
        let seconds = self.area_time.iter().map(|(area, time)| (area.clone(), time.as_secs_f64()));
        self.store.put_run_facts(self.id, core.clock(), &seconds.collect())?;
        let own = levels.own_level(self.plan.cpus.last().copied());
        match (&self.level_key, own) {
            (Some(key), Some((alu, chase))) => self.store.add_quiet_level(key, alu, chase),
            _ => Ok(()),
        }
    }

    /// Counts and samples; false if stopped before the end.
    fn count_and_sample(&mut self) -> Result<bool, RunError> {
        let complete = self.count_all(self.budget() / COUNTING_SHARE)?
            && self.sample_all()?
            && self.count_all(self.budget())?;
        match self.evidence.iter().filter(|evidence| evidence.needs_count()).count() {
            0 => {}
            _ if !complete => {}
            left => (self.watch)(Event::Note(format!(
                "time was up before the system calls of {left} cases were counted"
            ))),
        }
        Ok(complete)
    }

    /// The untimed pass over all points that still need it, until `until` is spent; false if stopped before the end.
    fn count_all(&mut self, until: Duration) -> Result<bool, RunError> {
        if !self.evidence.iter().any(Evidence::needs_count) {
            return Ok(true);
        }
        let tracepoint = syscall_tracepoint();
        let mut tracer_works = true;
        for which in 0..self.evidence.len() {
            for _attempt in 0..3 {
                if !self.evidence[which].needs_count() {
                    break;
                }
                if self.must_stop() {
                    return Ok(false);
                }
                if self.spent() >= until {
                    return Ok(true);
                }
                let mode = match tracepoint {
                    Some(id) => Mode::Count(id),
                    None if tracer_works => Mode::CountForTracer,
                    None => Mode::CountRest,
                };
                let traced = mode == Mode::CountForTracer;
                match self.round(which, mode) {
                    Err(RunError::Worker(case_error)) if traced => {
                        tracer_works = false;
                        (self.watch)(Event::Note(format!(
                            "system calls are not counted: {case_error}"
                        )));
                    }
                    other => other?,
                }
            }
        }
        Ok(true)
    }

    /// Pass after pass of sampling rounds; false if stopped before the end.
    fn sample_all(&mut self) -> Result<bool, RunError> {
        let mut rng = StdRng::seed_from_u64(self.plan.seed.wrapping_add(self.next_seq));
        loop {
            let active = self.active();
            if active.is_empty() {
                return Ok(true);
            }
            let order = self.pass_over(&active, &mut rng);
            let pass = Instant::now();
            for which in order {
                if self.must_stop() {
                    return Ok(false);
                }
                // On a busy machine the time may be up before the first round of a point, which is measured
                // nevertheless.
                let evidence = &self.evidence[which];
                let has_time = self.spent() < self.budget() || evidence.rounds() == 0;
                if has_time && evidence.needs_rounds() {
                    self.round(which, Mode::Sample)?;
                }
            }
            let has_round = |&which: &usize| self.evidence[which].rounds() > 0;
            if self.spent() >= self.budget() && active.iter().all(has_round) {
                return Ok(true);
            }
            for &which in &active {
                self.evidence[which].check_convergence(self.plan, &self.levels);
            }
            self.rest_until(pass + Duration::from_millis(PASS_MS));
        }
    }

    /// The points of the next pass. Sampled points that have their least number of rounds wait for the trials once the
    /// time for sampling is spent: otherwise there would be too few trials.
    fn active(&self) -> Vec<usize> {
        let needs_more = |evidence: &Evidence| {
            evidence.needs_rounds() && evidence.rounds() < evidence.rounds_at_most()
        };
        let trials_left = self.evidence.iter().any(|e| e.of_trials && needs_more(e));
        let share_is_spent = self.sampled_time >= Duration::from_millis(self.plan.sampling_ms);
        let waits = |evidence: &Evidence| {
            let has_enough = evidence.rounds() >= self.plan.rounds_at_least;
            !evidence.of_trials && has_enough && trials_left && share_is_spent
        };
        let wanted = |&which: &usize| {
            let evidence = &self.evidence[which];
            needs_more(evidence) && !waits(evidence)
        };
        (0..self.evidence.len()).filter(wanted).collect()
    }

    /// The order of one pass. A pass with trials takes long, so that it has several of the short rounds of each sampled
    /// point.
    fn pass_over(&self, active: &[usize], rng: &mut StdRng) -> Vec<usize> {
        let is_trial = |which: &usize| self.evidence[*which].of_trials;
        let mut order = active.to_vec();
        if active.iter().any(is_trial) {
            let sampled: Vec<usize> = active.iter().copied().filter(|w| !is_trial(w)).collect();
            for _ in 1..SAMPLED_ROUNDS_A_PASS {
                order.extend(&sampled);
            }
        }
        order.shuffle(rng);
        order
    }

    /// Runs one round of one point, and stores it at once.
    fn round(&mut self, which: usize, mode: Mode) -> Result<(), RunError> {
        self.announce(which);
        let at = self.spent();
        let started_ms = unix_ms();
        let order = self.order(which, mode);
        let launched = Instant::now();
        let Report { text, end } = launch(&order, self.stop)?;
        self.add_area_time(which, launched.elapsed());
        if self.must_stop() && !matches!(end, RoundEnd::Reported(_)) {
            return Ok(()); // killed by this process, which is no property of the case
        }
        let kind = if mode == Mode::Sample { KIND_ROUND } else { KIND_COUNT };
        self.add_output(which, kind, &text, &end, at.as_millis() as u64);
        let point = &self.evidence[which].point;
        let row = RoundRow {
            seq: self.next_seq,
            case: point.case.clone(),
            params: point.params.clone(),
            kind: kind.to_owned(),
            outcome: serde_json::to_string(&end).expect("plain values"),
            started_ms,
            lines: text,
        };
        self.next_seq += 1;
        match self.store.add_round(self.id, &row) {
            Err(StoreError::RoundExists { .. }) => {
                Err(RunError::TakenOver { id: self.id.to_owned() })
            }
            other => Ok(other?),
        }
    }

    fn add_area_time(&mut self, which: usize, time: Duration) {
        let case = &self.evidence[which].point.case;
        let area = case.split('/').next().unwrap_or(case);
        *self.area_time.entry(area.to_owned()).or_default() += time;
        if !self.evidence[which].of_trials {
            self.sampled_time += time;
        }
    }

    fn order(&self, which: usize, mode: Mode) -> RoundOrder {
        let point = &self.evidence[which].point;
        RoundOrder {
            case: point.case.clone(),
            params: point.params.clone(),
            mode,
            clock: self.timebase.clock.clone(),
            cpus: self.plan.cpus.clone(),
            level: self.levels.level(self.plan.cpus.last().copied(), 1),
            ns_per_iteration: self.levels.ns_per_iteration(),
            quiet_samples: QUIET_SAMPLES,
            limit_ms: limit_ms(point, self.plan),
            slow_down: self.plan.slow_down,
            parent: Some(std::process::id()),
            user: self.plan.user_code(point).cloned(),
        }
    }

    fn announce(&mut self, which: usize) {
        let spent = self.spent();
        let remaining = self.budget().saturating_sub(spent);
        let by_time = spent.as_secs_f64() / self.budget().as_secs_f64().max(0.001);
        let done: f64 = self.evidence.iter().map(|e| e.share_done(self.plan)).sum();
        let by_points = done / self.evidence.len().max(1) as f64;
        let label =
            results::label(&self.evidence[which].point.case, &self.evidence[which].point.params);
        let done = by_time.max(by_points).min(1.0);
        // Before anything is done, the budget is all that is known.
        let at_this_rate = spent.as_secs_f64() * (1.0 - done) / done;
        let remaining = Duration::try_from_secs_f64(at_this_rate)
            .map_or(remaining, |at_this_rate| at_this_rate.min(remaining));
        (self.watch)(Event::Round { label: &label, done, remaining });
    }

    fn rest_until(&self, moment: Instant) {
        while Instant::now() < moment && !self.must_stop() && self.spent() < self.budget() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn spent(&self) -> Duration {
        self.earlier + self.began.elapsed()
    }

    fn budget(&self) -> Duration {
        Duration::from_millis(self.plan.budget_ms)
    }

    fn must_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
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

/// Registers the directories of a plan's points with the cleanup registry, which removes what killed workers left there.
pub(crate) fn register_directories_of(plan: &Plan) {
    for dir in directories(plan) {
        platform::cleanup::look_also_in(&cases::file::path_of(dir));
    }
}

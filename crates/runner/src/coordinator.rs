//! The run: goes round and round over all points, in an order shuffled each time, until each is
//! known well enough or time is up. What arrives is stored at once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use measure::cycles::Timebase;
use measure::estimate::{EarlierLevel, Levels};
use measure::record::End;
use measure::round::Mode;
use measure::{CaseError, RoundOrder};
use platform::counters::syscall_tracepoint;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use results::{RoundRow, RunInfo, Store, StoreError};

use crate::evidence::Evidence;
use crate::figures::Core;
use crate::launch::{Report, RoundEnd, launch};
use crate::plan::{Plan, Point};

/// Quiet samples that make a round.
const QUIET_SAMPLES: usize = 60;
/// The longest a round takes samples; also how long a worker group contends.
const ROUND_MS: u64 = 15;
/// Rounds of one point begin at least so far apart: within a fifth of a second a machine's mood
/// rarely changes, and rounds that all saw one mood would agree for no good reason.
const PASS_MS: u64 = 150;
/// Rounds of a sampled point in one pass over points of which some are trials.
const SAMPLED_ROUNDS_A_PASS: usize = 3;
/// Rounds that began further apart had a pause between them: none takes as long, not even one that
/// hangs and is killed.
const PAUSE_MS: i64 = 15_000;
/// The untimed pass may take this share of the budget, and the time that is left at the end.
const COUNTING_SHARE: u32 = 3;

/// What happens while a run goes on, for whoever shows it.
#[derive(Debug, Clone)]
pub enum Event<'a> {
    /// A round begins.
    Round {
        /// The point's label.
        label: &'a str,
        /// Share of the run that is done, 0 to 1.
        done: f64,
        /// How long the rest will take, at most.
        remaining: Duration,
    },
    /// Something the user should know, which does not end the run.
    Note(String),
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All that was asked for was looked at.
    Complete,
    /// It was told to stop; it can be resumed.
    Stopped,
}

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store does not take what was measured.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No worker can be started.
    #[error("{0}; once that is mended, `oscost run --resume` goes on")]
    Worker(CaseError),
    /// Another process is at it.
    #[error("run {id} is being measured by process {pid}; wait for it to end, or end it")]
    UnderWay {
        /// The run.
        id: String,
        /// The process.
        pid: u32,
    },
    /// Another process has stored rounds of it meanwhile.
    #[error(
        "run {id} has been taken up by another process; this one stops and leaves it to that one"
    )]
    TakenOver {
        /// The run.
        id: String,
    },
    /// The plan of the run that was to be resumed cannot be read.
    #[error("run {0} cannot be resumed: its plan is not one this version understands")]
    Plan(String),
}

impl From<CaseError> for RunError {
    fn from(case_error: CaseError) -> Self {
        Self::Worker(case_error)
    }
}

/// Begins a new run in the store and carries it through.
pub fn run(
    plan: &Plan,
    info: &RunInfo,
    machine: &serde_json::Map<String, serde_json::Value>,
    timebase: &Timebase,
    store: &mut Store,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(Event),
) -> Result<Ending, RunError> {
    if let Some(other) = under_way(store)? {
        watch(Event::Note(format!("{other}; both disturb each other's figures")));
    }
    let text = serde_json::to_string(plan).expect("a plan has only plain values");
    store.begin_run(info, machine, &text)?;
    let evidence = plan.points.iter().cloned().map(Evidence::new).collect();
    let key = level_key(machine);
    let mut run = Run::new(plan, &info.id, timebase, evidence, store, stop, watch);
    run.know_earlier_levels(key)?;
    run.carry_through()
}

/// Takes up an unfinished run where it was left. Its plan, seed and finished rounds stay.
pub fn resume(
    id: &str,
    timebase: &Timebase,
    store: &mut Store,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(Event),
) -> Result<Ending, RunError> {
    let text = store.plan(id)?.unwrap_or_default();
    let plan: Plan = serde_json::from_str(&text).map_err(|_| RunError::Plan(id.to_owned()))?;
    if let Some(pid) = measured_by(&plan) {
        return Err(RunError::UnderWay { id: id.to_owned(), pid });
    }
    watch(Event::Note(format!("resuming run {id}")));
    let evidence: Vec<Evidence> = plan.points.iter().cloned().map(Evidence::new).collect();
    let rows = store.rounds(id)?;
    let key = level_key(&store.document(id)?.machine);
    let mut run = Run::new(&plan, id, timebase, evidence, store, stop, watch);
    run.know_earlier_levels(key)?;
    run.replay(&rows);
    run.carry_through()
}

/// What the sentinel's quiet ratios depend on: the build and the kind of CPU. `None` where either is not known.
fn level_key(machine: &serde_json::Map<String, serde_json::Value>) -> Option<String> {
    Some(format!("{} {}", known_fact(machine, "oscost_build")?, kind_of_cpu(machine)?))
}

/// What makes two CPUs the same kind, as one text; `None` where the machine does not tell.
pub fn kind_of_cpu(machine: &serde_json::Map<String, serde_json::Value>) -> Option<String> {
    const FACTS: [&str; 5] = ["cpu_vendor", "cpu_family", "cpu_model", "cpu_stepping", "cpu_flags"];
    let known: Option<Vec<String>> =
        FACTS.map(|fact| known_fact(machine, fact)).into_iter().collect();
    known.map(|facts| facts.join(" "))
}

fn known_fact(machine: &serde_json::Map<String, serde_json::Value>, fact: &str) -> Option<String> {
    let text = machine.get(fact).map(|value| value.to_string());
    text.filter(|text| text != "\"unknown\"")
}

/// Has what workers leave in the directories of a plan's points looked for there.
fn look_where_points_are(plan: &Plan) {
    for dir in plan.points.iter().filter_map(|point| point.params.get("dir")) {
        platform::cleanup::look_also_in(&cases::file::path_of(dir));
    }
}

/// The process that is measuring a run of this plan right now.
fn measured_by(plan: &Plan) -> Option<u32> {
    let pid = plan.coordinator;
    (pid != std::process::id() && platform::process::is_alive_and_ours(pid)).then_some(pid)
}

/// The newest run of this store that another process is measuring right now.
fn under_way(store: &Store) -> Result<Option<RunError>, RunError> {
    let Some(id) = store.unfinished()? else { return Ok(None) };
    // A plan that this version cannot read is none that it can say anything about.
    let plan: Option<Plan> = store.plan(&id)?.and_then(|text| serde_json::from_str(&text).ok());
    // If it was killed, its directories may be none of this run's.
    plan.iter().for_each(look_where_points_are);
    Ok(plan.as_ref().and_then(measured_by).map(|pid| RunError::UnderWay { id, pid }))
}

struct Run<'a> {
    plan: &'a Plan,
    id: &'a str,
    timebase: &'a Timebase,
    evidence: Vec<Evidence>,
    levels: Levels,
    store: &'a mut Store,
    stop: &'a AtomicBool,
    watch: &'a mut dyn FnMut(Event),
    began: Instant,
    /// How long the run had gone on before it was resumed.
    earlier: Duration,
    next_seq: u64,
    /// How long the rounds of each area have taken.
    area_time: BTreeMap<String, Duration>,
    /// How much of that was for sampled points.
    sampled_time: Duration,
    /// What the sentinel's quiet ratios depend on, where it is known.
    level_key: Option<String>,
}

impl<'a> Run<'a> {
    fn new(
        plan: &'a Plan,
        id: &'a str,
        timebase: &'a Timebase,
        evidence: Vec<Evidence>,
        store: &'a mut Store,
        stop: &'a AtomicBool,
        watch: &'a mut dyn FnMut(Event),
    ) -> Self {
        Self {
            plan,
            id,
            timebase,
            evidence,
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

    /// Takes up what earlier runs of the same build have shown of the same kind of CPU.
    fn know_earlier_levels(&mut self, key: Option<String>) -> Result<(), RunError> {
        /// Older runs are forgotten: a machine may be moved to another host.
        const RUNS: u32 = 20;
        if let Some(key) = &key {
            let earlier = self.store.quiet_levels(key, RUNS)?;
            self.levels = Levels::with_earlier(EarlierLevel::of_runs(&earlier));
        }
        self.level_key = key;
        Ok(())
    }

    /// Takes in the rounds an earlier part of this run has stored.
    fn replay(&mut self, rows: &[RoundRow]) {
        let mut before = None;
        for (row, at_ms) in rows.iter().zip(measuring_ms(rows.iter().map(|row| row.started_ms))) {
            // Also of a round that is not understood: its number is taken and its time is gone.
            let took = Duration::from_millis(at_ms).saturating_sub(self.earlier);
            if let Some(which) = before {
                self.add_area_time(which, took);
            }
            self.earlier = Duration::from_millis(at_ms);
            self.next_seq = self.next_seq.max(row.seq + 1);
            let known = |e: &Evidence| e.point.case == row.case && e.point.params == row.params;
            before = self.evidence.iter().position(known);
            let Some(which) = before else { continue };
            let Ok(end) = serde_json::from_str::<StoredEnd>(&row.outcome) else { continue };
            self.take_in(which, &row.kind, &row.lines, &end.into(), at_ms);
        }
    }

    fn take_in(&mut self, which: usize, kind: &str, text: &str, end: &RoundEnd, at_ms: u64) {
        let evidence = &mut self.evidence[which];
        if kind == KIND_COUNT {
            evidence.add_count(text, end);
        } else if evidence.add_round(text, end, at_ms) {
            for series in evidence.latest_series() {
                self.levels.observe(series);
            }
        }
    }

    fn carry_through(mut self) -> Result<Ending, RunError> {
        look_where_points_are(self.plan);
        platform::cleanup::sweep_dead();
        platform::process::adopt_children();
        // Off the CPU that measures, where there is another; a worker chooses for itself.
        if let [first, _, ..] = self.plan.cpus[..] {
            let _ = platform::cpu::pin_thread(first);
        }
        let outcome = self.measure();
        // A worker killed just before we began may have ended only meanwhile.
        platform::cleanup::sweep_dead();
        let _ = platform::cpu::pin_thread_to_any(&self.plan.cpus);
        if matches!(outcome, Err(RunError::TakenOver { .. })) {
            return outcome.map(|_| Ending::Stopped); // the results are the other one's to say
        }
        // However it ended: what was found so far can be shown.
        let stored = self.store_results();
        if !outcome? {
            stored?;
            return Ok(Ending::Stopped);
        }
        stored?;
        self.store.finish_run(self.id, &now_rfc3339())?;
        Ok(Ending::Complete)
    }

    /// Stores the figures that follow from all evidence, and what the run knows of its core and its time.
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

    /// Counts and samples; false if told to stop.
    fn measure(&mut self) -> Result<bool, RunError> {
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

    /// The untimed pass over all points that still need it, until so much of the budget is spent;
    /// false if told to stop.
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
                if self.told_to_stop() {
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

    /// Pass after pass of sampling rounds; false if told to stop.
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
                if self.told_to_stop() {
                    return Ok(false);
                }
                // On a busy machine the time may be up before all have had their first round: a point without a
                // figure would help nobody.
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

    /// The points that more rounds are made of in the next pass. Sampled points that have their least number of rounds
    /// wait for the trials once they have had their share of the time: else trials would be too few.
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

    /// The order of one pass. A pass with trials in it takes long: meanwhile points that are sampled get several of
    /// their short rounds.
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

    /// One round of one point, stored as soon as it is there.
    fn round(&mut self, which: usize, mode: Mode) -> Result<(), RunError> {
        self.announce(which);
        let at = self.spent();
        let started_ms = unix_ms();
        let order = self.order(which, mode);
        let launched = Instant::now();
        let Report { text, end } = launch(&order, self.stop)?;
        self.add_area_time(which, launched.elapsed());
        if self.told_to_stop() && !matches!(end, RoundEnd::Reported(_)) {
            return Ok(()); // we ended it, which says nothing of the case
        }
        let kind = if mode == Mode::Sample { KIND_ROUND } else { KIND_COUNT };
        self.take_in(which, kind, &text, &end, at.as_millis() as u64);
        let point = &self.evidence[which].point;
        let row = RoundRow {
            seq: self.next_seq,
            case: point.case.clone(),
            params: point.params.clone(),
            kind: kind.to_owned(),
            outcome: serde_json::to_string(&StoredEnd::from(end)).expect("plain values"),
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
            limit_ms: limit_ms(point),
            slow_down: self.plan.slow_down,
            parent: Some(std::process::id()),
        }
    }

    fn announce(&mut self, which: usize) {
        let spent = self.spent();
        let remaining = self.budget().saturating_sub(spent);
        let by_time = spent.as_secs_f64() / self.budget().as_secs_f64().max(0.001);
        let done = self.evidence.iter().filter(|e| !e.needs_rounds()).count();
        let by_points = done as f64 / self.evidence.len().max(1) as f64;
        let label =
            results::label(&self.evidence[which].point.case, &self.evidence[which].point.params);
        (self.watch)(Event::Round {
            label: &label,
            done: by_time.max(by_points).min(1.0),
            remaining,
        });
    }

    fn rest_until(&self, moment: Instant) {
        while Instant::now() < moment && !self.told_to_stop() && self.spent() < self.budget() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn spent(&self) -> Duration {
        self.earlier + self.began.elapsed()
    }

    fn budget(&self) -> Duration {
        Duration::from_millis(self.plan.budget_ms)
    }

    fn told_to_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// How long a round takes samples, or a trial may take: a busy machine may well make it several times as
/// long.
fn limit_ms(point: &Point) -> u64 {
    point.trial_takes().map_or(ROUND_MS, |takes| takes.as_millis() as u64 * 5)
}

/// When each round began, in ms of measuring, from when each was started by the clock on the wall. A
/// run that was taken up again has pauses of any length in it, which do not count; and that clock may
/// have been set, also back.
fn measuring_ms(started_ms: impl Iterator<Item = i64>) -> impl Iterator<Item = u64> {
    let (mut at_ms, mut before) = (0, None);
    started_ms.map(move |started| {
        at_ms += match before.replace(started).map(|before: i64| started.saturating_sub(before)) {
            None => 0,
            Some(gap @ 0..PAUSE_MS) => gap as u64,
            Some(_) => PASS_MS,
        };
        at_ms
    })
}

const KIND_COUNT: &str = "count";
const KIND_ROUND: &str = "round";

/// How a round ended, as it is stored: what the worker said, or what became of it.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredEnd {
    Reported(End),
    Died(String),
    Hung(String),
}

impl From<RoundEnd> for StoredEnd {
    fn from(end: RoundEnd) -> Self {
        match end {
            RoundEnd::Reported(end) => Self::Reported(end),
            RoundEnd::Died(reason) => Self::Died(reason),
            RoundEnd::Hung(reason) => Self::Hung(reason),
        }
    }
}

impl From<StoredEnd> for RoundEnd {
    fn from(end: StoredEnd) -> Self {
        match end {
            StoredEnd::Reported(end) => Self::Reported(end),
            StoredEnd::Died(reason) => Self::Died(reason),
            StoredEnd::Hung(reason) => Self::Hung(reason),
        }
    }
}

fn unix_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

/// The present moment, in UTC, as RFC 3339 has it.
pub fn now_rfc3339() -> String {
    jiff::Timestamp::from_millisecond(unix_ms())
        .map_or_else(|_| "unknown".into(), |t| t.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_and_steps_of_the_clock_are_no_measuring_time() {
        let hour = 3_600_000;
        for (started, measured) in [
            (vec![], vec![]),
            (vec![1_000], vec![0]),
            (vec![1_000, 1_100, 14_000], vec![0, 100, 13_000]),
            // Taken up again an hour later, and the day after that.
            (vec![0, 20, hour, hour + 50, 25 * hour], vec![0, 20, 170, 220, 370]),
            // The clock was set back, and from 1970 to now.
            (vec![5_000, 5_100, 200, 300], vec![0, 100, 250, 350]),
            (vec![3, 4, 1_800_000_000_000], vec![0, 1, 151]),
            (vec![i64::MIN, i64::MAX], vec![0, 150]),
        ] {
            let found: Vec<u64> = measuring_ms(started.iter().copied()).collect();
            assert_eq!(found, measured, "{started:?}");
        }
    }

    #[test]
    fn how_a_round_ended_reads_back_as_it_was_stored() {
        for end in [
            RoundEnd::Reported(End::Measured),
            RoundEnd::Reported(End::Unsupported("no".into())),
            RoundEnd::Died("killed by \"9\"\n".into()),
            RoundEnd::Hung(String::new()),
        ] {
            let text = serde_json::to_string(&StoredEnd::from(end.clone())).unwrap();
            let back: StoredEnd = serde_json::from_str(&text).unwrap();
            assert_eq!(RoundEnd::from(back), end);
        }
    }
}

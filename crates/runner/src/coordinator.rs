//! Coordinates the rounds of a run, or of several runs on different systems: repeated passes over all their points, each in
//! a new random order, until every point is precise enough or time is up. One round is made at a time. The output of a
//! round is stored at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::round::Mode;
use measure::survey::ClockFacts;
use platform::counters::HeldTracepoint;
use results::{RoundRow, Store, StoreError};
use systems::Placement;

use crate::error::RunError;
use crate::event::Event;
use crate::host_evidence::HostEvidence;
use crate::id::{now_rfc3339, unix_ms};
use crate::launch::{Phases, Report, RoundEnd};
use crate::measuring_cpus::{MeasuringCpus, Needs};
use crate::place::Made;
use crate::plan::{Plan, Point};
use crate::questions::{Asked, Questions};
use crate::run_clock::RunClock;
use crate::run_state::RunState;
use crate::schedule::{
    Allowed, Group, Next, PointState, Purpose, RunTime, State, Waited, may_wait, schedule,
};
use crate::stored_round::Began;

/// The coordinator of runs in progress.
pub(crate) struct Coordinator<'a> {
    runs: Vec<RunState<'a>>,
    /// The group of each run's points: the same point has the same group on all systems.
    groups: Vec<Vec<usize>>,
    store: &'a mut Store,
    stop: &'a AtomicBool,
    watch: &'a mut dyn FnMut(Event),
    clock: RunClock,
    waited: Waited,
    /// This system's CPUs that the rounds use; the CPU of single measurements comes last.
    cpus: Vec<usize>,
    measuring: MeasuringCpus,
    asked: Option<Asked>,
    /// Share of the points that needed no round when the first one began; `None` before.
    done_at_first: Option<f64>,
}

impl<'a> Coordinator<'a> {
    /// Coordinates `runs`, whose rounds use this system's `cpus`; `clock` is of this system. `earlier` is the time for
    /// which a resumed run was measured before.
    pub(crate) fn new(
        runs: Vec<RunState<'a>>,
        cpus: &[usize],
        clock: &ClockFacts,
        earlier: Duration,
        store: &'a mut Store,
        stop: &'a AtomicBool,
        watch: &'a mut dyn FnMut(Event),
    ) -> Self {
        let measuring = MeasuringCpus::of(cpus, clock);
        let groups = groups_of(&runs, None);
        Self {
            runs,
            groups,
            done_at_first: None,
            asked: None,
            store,
            stop,
            watch,
            clock: RunClock::starting_at(earlier),
            waited: Waited::default(),
            cpus: cpus.to_vec(),
            measuring,
        }
    }

    /// Adds questions, which decide how many rounds their points get.
    ///
    /// # Errors
    /// If the runs cannot be read from the store.
    pub(crate) fn asking(self, questions: Option<Questions<'a>>) -> Result<Self, StoreError> {
        let Some(questions) = questions else { return Ok(self) };
        let runs = self.runs.iter().map(|run| self.store.document(run.id));
        let runs = runs.collect::<Result<Vec<_>, _>>()?;
        let points = |run: &RunState| run.evidence.iter().map(|e| e.point.clone()).collect();
        let points: Vec<Vec<Point>> = self.runs.iter().map(points).collect();
        let asked = Asked::of(questions, runs, &points);
        Ok(Self { groups: groups_of(&self.runs, Some(&asked)), asked: Some(asked), ..self })
    }

    /// Measures until every point is precise enough or time is up, and stores the results. Returns false if stopped before.
    pub(crate) fn measure(mut self) -> Result<bool, RunError> {
        platform::cleanup::sweep_dead();
        platform::process::adopt_children();
        let outcome = self.count_and_sample();
        // The remaining work computes on all CPUs.
        self.measuring.started(Needs::SeveralCpus);
        self.runs.iter_mut().for_each(|run| run.place.end());
        // A worker killed just before this run began may end only now.
        platform::cleanup::sweep_dead();
        let _ = platform::cpu::pin_thread_to_any(&self.cpus);
        if matches!(outcome, Err(RunError::TakenOver { .. })) {
            return outcome; // the results are the other process's task
        }
        // Even after an error, the figures found so far can be shown.
        let stored = self.store_results();
        let complete = outcome?;
        stored?;
        if complete {
            for run in &self.runs {
                self.store.finish_run(run.id, &now_rfc3339())?;
            }
        }
        Ok(complete)
    }

    fn store_results(&mut self) -> Result<(), StoreError> {
        let Self { runs, store, .. } = self;
        runs.iter_mut().try_for_each(|run| run.store_results(store))
    }

    /// Makes all rounds that the schedule requests. Returns false if stopped before the end.
    fn count_and_sample(&mut self) -> Result<bool, RunError> {
        while !self.must_stop() {
            self.runs.iter_mut().for_each(|run| run.update_precision(false));
            self.look(false);
            match schedule(&self.state(), self.clock.now()) {
                Next::Rounds { purpose, groups, until } => self.make(purpose, &groups, until)?,
                Next::WaitUntil(moment) => self.wait_until(moment),
                Next::Restart(systems) => {
                    for system in systems {
                        self.runs[system].boots_done += 1;
                        self.runs[system].place.end();
                    }
                }
                Next::Done if self.reconsiders() => {}
                Next::Done => {
                    self.note_what_is_left();
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Determines which questions are open, if that is due or `at_once`.
    fn look(&mut self, at_once: bool) {
        let Some(asked) = self.asked.as_mut().filter(|asked| at_once || asked.is_due()) else {
            return;
        };
        asked.look(self.runs.iter().map(RunState::results));
    }

    /// The state of these runs for the schedule.
    fn state(&self) -> State {
        let areas: BTreeSet<&str> = self.runs.iter().flat_map(RunState::areas).collect();
        let areas: BTreeMap<&str, usize> = areas.into_iter().zip(0..).collect();
        let areas = &areas;
        let points =
            self.runs.iter().zip(&self.groups).enumerate().flat_map(|(system, (run, groups))| {
                let of_run = run.evidence.iter().zip(groups);
                of_run.map(move |(evidence, &group)| {
                    let state = evidence.state(run.plan, system, group);
                    let host_pairs = state.host_pairs.filter(|_| run.place.can_be_counted());
                    let area = areas[evidence.point.area()];
                    let state = PointState { host_pairs, area, ..state };
                    match &self.asked {
                        Some(asked) => asked.state(state, &evidence.point, run.plan),
                        None => state,
                    }
                })
            });
        State {
            seed: self.runs.first().map_or(0, |run| run.plan.seed),
            allowed: self.allowed(),
            points: points.collect(),
            boots_done: self.runs.iter().map(|run| run.boots_done).collect(),
            rounds: self.runs.iter().map(|run| run.next_seq).sum(),
        }
    }

    fn allowed(&self) -> Allowed {
        allowed(self.runs.iter().map(|run| run.plan))
    }

    /// The run of the schedule's point `point`, and the point's number in that run.
    fn run_of(&self, mut point: usize) -> (usize, usize) {
        let mut run = 0;
        while point >= self.runs[run].evidence.len() {
            point -= self.runs[run].evidence.len();
            run += 1;
        }
        (run, point)
    }

    /// Whether the run continues after all precisions were determined again: later rounds may have shown that rounds of a
    /// precise point were disturbed.
    fn reconsiders(&mut self) -> bool {
        self.runs.iter_mut().for_each(|run| run.update_precision(true));
        self.look(true);
        schedule(&self.state(), self.clock.now()) != Next::Done
    }

    /// Makes the rounds of `groups`, each of which must begin before `until`.
    fn make(&mut self, purpose: Purpose, groups: &[Group], until: RunTime) -> Result<(), RunError> {
        // The tracepoint is held only for counting: meanwhile each system call takes longer.
        let traces = |run: &RunState| matches!(run.counting_mode(), Mode::Count(_));
        let is_traced = purpose == Purpose::Counts && self.runs.iter().any(traces);
        let _held = is_traced.then(HeldTracepoint::hold);
        let on_host = purpose == Purpose::HostCounts;
        if on_host {
            self.runs.iter_mut().for_each(|run| run.place.begin_counting());
        }
        let mut made = Ok(());
        for group in groups {
            if self.must_stop() || self.clock.now() >= until || made.is_err() {
                break;
            }
            made = group.iter().try_for_each(|&point| self.make_point(purpose, point));
        }
        if on_host {
            self.runs.iter_mut().for_each(|run| run.place.end_counting());
        }
        made
    }

    /// Makes the round of one point, or the pair of rounds that counts on the host.
    fn make_point(&mut self, purpose: Purpose, point: usize) -> Result<(), RunError> {
        let (run, which) = self.run_of(point);
        match purpose {
            Purpose::Times => self.round(run, which, Mode::Sample),
            Purpose::Counts => {
                let mode = self.runs[run].counting_mode();
                match self.round(run, which, mode) {
                    Err(RunError::Worker { error: case_error }) if mode == Mode::CountForTracer => {
                        self.runs[run].give_up_tracing();
                        (self.watch)(Event::Note(format!(
                            "system calls are not counted: {case_error}"
                        )));
                        Ok(())
                    }
                    other => other,
                }
            }
            Purpose::HostCounts => {
                for _ in 0..2 {
                    let Some(mode) = self.runs[run].evidence[which].next_on_host() else { break };
                    if self.must_stop() {
                        break;
                    }
                    self.round(run, which, mode)?;
                }
                Ok(())
            }
        }
    }

    /// Reports how many points were not measured or counted when time was up.
    fn note_what_is_left(&mut self) {
        let unmeasured: usize = self.runs.iter_mut().map(RunState::end_unmeasured).sum();
        let state = self.state();
        // Who asks a question does not miss what may come after its answer.
        let missed = || state.points.iter().filter(|point| !point.counts_last);
        let counts = missed().filter(|point| point.needs_counts).count();
        let is_unknown = |point: &&PointState| {
            point.host_pairs.is_some_and(|pairs| pairs < HostEvidence::PAIRS_AT_LEAST)
        };
        let on_host = missed().filter(is_unknown).count();
        for (left, what, done) in [
            (unmeasured, "", "measured; a longer --budget measures all"),
            (counts, "the system calls of ", "counted"),
            (on_host, "the host's system calls of ", "counted"),
        ] {
            if left > 0 {
                let cases = match left {
                    1 => "1 case was".to_owned(),
                    left => format!("{left} cases were"),
                };
                let note = format!("time was up before {what}{cases} {done}");
                (self.watch)(Event::Note(note));
            }
        }
    }

    /// Makes one round of a point, and stores it at once.
    fn round(&mut self, run: usize, which: usize, mode: Mode) -> Result<(), RunError> {
        self.announce(run, which);
        let evidence = &self.runs[run].evidence[which];
        // Only a round shows whether workers contend.
        let is_of_one = evidence.rounds() > 0 && !evidence.scatters();
        let is_of_one = is_of_one && self.runs[run].place.placement() != Some(Placement::Free);
        let needs = if is_of_one { Needs::OneCpu } else { Needs::SeveralCpus };
        if mode == Mode::Sample {
            let longest = may_wait(self.waited, self.clock.now());
            self.waited.0 += self.measuring.await_quiet(needs, longest, self.stop);
        }
        let at = self.clock.now();
        let launched = Instant::now();
        let started_ms = unix_ms();
        let order = self.runs[run].order(which, mode);
        let measuring = &self.measuring;
        let phases = Phases { started: &|| measuring.started(needs), ended: &|| measuring.ended() };
        let made = self.runs[run].place.make(&order, self.stop, &phases);
        measuring.ended();
        let starting = self.runs[run].place.take_start_time();
        let took = launched.elapsed().saturating_sub(starting);
        self.runs[run].add_time(which, Purpose::of(mode), took);
        self.clock.exclude(starting);
        let Report { text, end } = match made {
            Made::Report(report) => report,
            Made::Refused(error) => return self.refused(run, mode, error),
            Made::Stopped => return Ok(()),
            Made::Gone(reason) => {
                self.runs[run].give_up(&reason);
                (self.watch)(Event::Note(reason));
                return Ok(());
            }
        };
        if self.must_stop() && !matches!(end, RoundEnd::Reported(_)) {
            return Ok(()); // this process killed the worker, which says nothing about the case
        }
        let purpose = Purpose::of(mode);
        let run = &mut self.runs[run];
        let text = run.with_boot(text);
        let began = Began { at, unix_ms: started_ms };
        run.add_output(which, purpose, &text, &end, began);
        if let Some(ns) = run.evidence[which].latest_ns().filter(|_| purpose == Purpose::Times) {
            (self.watch)(Event::Figure { label: &run.label(which), ns });
        }
        let point = &run.evidence[which].point;
        let row = RoundRow {
            seq: run.next_seq,
            case: point.case.clone(),
            params: point.params.clone(),
            kind: purpose.kind().to_owned(),
            outcome: serde_json::to_string(&end).expect("plain values"),
            started_ms,
            lines: text,
        };
        run.next_seq += 1;
        if run.plan.fresh {
            run.place.end();
        }
        match self.store.add_round(run.id, &row) {
            Err(StoreError::RoundExists { .. }) => {
                Err(RunError::TakenOver { id: run.id.to_owned() })
            }
            other => Ok(other?),
        }
    }

    /// Handles the failure to start a worker: on this system it ends the run, in one of several only that system's.
    fn refused(
        &mut self,
        run: usize,
        mode: Mode,
        error: platform::CaseError,
    ) -> Result<(), RunError> {
        let run = &mut self.runs[run];
        match run.place.name() {
            Some(name) if mode != Mode::CountForTracer => {
                let reason = format!("{name}: {error}");
                run.give_up(&reason);
                (self.watch)(Event::Note(reason));
                Ok(())
            }
            _ => Err(error.into()),
        }
    }

    fn announce(&mut self, run: usize, which: usize) {
        let (spent, budget) = (self.clock.now().0, self.allowed().more.0);
        let remaining = budget.saturating_sub(spent);
        let by_time = spent.as_secs_f64() / budget.as_secs_f64().max(0.001);
        let done: f64 = self.runs.iter().map(RunState::share_done).sum();
        let by_points = done / self.runs.len().max(1) as f64;
        let at_first = *self.done_at_first.get_or_insert(by_points);
        let by_points = (by_points - at_first) / (1.0 - at_first).max(f64::EPSILON);
        let label = self.runs[run].label(which);
        let done = by_time.max(by_points).min(1.0);
        // The budget is the only estimate before any round is done.
        let at_this_rate = spent.as_secs_f64() * (1.0 - done) / done;
        let remaining = Duration::try_from_secs_f64(at_this_rate)
            .map_or(remaining, |at_this_rate| at_this_rate.min(remaining));
        (self.watch)(Event::Round { label: &label, done, remaining: Some(remaining) });
    }

    fn wait_until(&mut self, moment: RunTime) {
        let wait = moment.0.saturating_sub(self.clock.now().0);
        let until = Instant::now() + wait;
        while Instant::now() < until && !self.must_stop() {
            std::thread::sleep(Duration::from_millis(5).min(wait));
        }
        self.clock.has_reached(moment);
    }

    fn must_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The groups of the runs' points. A group has the same point on all systems, or points that a question compares with each
/// other.
fn groups_of(runs: &[RunState], asked: Option<&Asked>) -> Vec<Vec<usize>> {
    let mut numbers: BTreeMap<GroupName, usize> = BTreeMap::new();
    let of_run =
        |run: &'_ RunState| run.evidence.iter().map(|evidence| evidence.point.clone()).collect();
    let points: Vec<Vec<Point>> = runs.iter().map(of_run).collect();
    let mut groups = Vec::new();
    for of_run in &points {
        let mut number = |point: &Point| {
            let next = numbers.len();
            let name = match asked.and_then(|asked| asked.group_of(point)) {
                Some(group) => GroupName::Asked(group),
                None => GroupName::Alone(point.clone()),
            };
            *numbers.entry(name).or_insert(next)
        };
        groups.push(of_run.iter().map(&mut number).collect());
    }
    groups
}

/// The identity of a group.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum GroupName {
    Asked(usize),
    Alone(Point),
}

/// The time that several runs may take together. A third of it is for counts, plus the planned time for counts on the host.
/// Planned rounds may take longer, unless the user set the time: on a slow or busy machine, or under an emulator, a round
/// takes several times as long, and a late figure is better than none.
fn allowed<'a>(plans: impl Iterator<Item = &'a Plan> + Clone) -> Allowed {
    const COUNTING_SHARE: u32 = 3;
    const LONGER_AT_LEAST: Duration = Duration::from_secs(20);
    let sum = |ms: fn(&Plan) -> u64| -> Duration {
        plans.clone().map(|plan| Duration::from_millis(ms(plan))).sum()
    };
    let (all, host) = (sum(|plan| plan.budget_ms), sum(|plan| plan.host_counts_ms));
    let counts = all.saturating_sub(host) / COUNTING_SHARE;
    let longer = if plans.clone().any(|plan| plan.is_budget_set) {
        Duration::ZERO
    } else {
        all.max(LONGER_AT_LEAST)
    };
    Allowed {
        counts: RunTime(counts),
        host_counts: RunTime(counts + host),
        planned: RunTime(all + longer),
        more: RunTime(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Options;

    #[test]
    fn planned_rounds_may_begin_later_unless_the_user_set_the_time() {
        simulated::areas::install();
        let seconds = |budget: Option<u64>| {
            let budget = budget.map(Duration::from_secs);
            let filters = vec!["syscall/getppid".into()];
            let options = Options { filters, quick: true, budget, ..Options::default() };
            let plan = crate::plan::plan(&options, &[0], 7).expect("a plan");
            let Allowed { planned, more, .. } = allowed([&plan, &plan].into_iter());
            (planned.0.as_secs(), more.0.as_secs())
        };
        assert_eq!(seconds(Some(1)), (2, 2));
        let (planned, more) = seconds(None);
        assert!(planned >= more + 20 && planned >= 2 * more, "{planned} {more}");
    }
}

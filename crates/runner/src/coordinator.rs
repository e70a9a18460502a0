//! Coordinates the rounds of a run, or of several runs on different systems: repeated passes over all their points, each in
//! a new random order, until every point is precise enough or time is up. One round is made at a time. The output of a
//! round is stored at once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::round::Mode;
use measure::survey::ClockFacts;
use platform::counters::HeldTracepoint;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use results::{RoundRow, Store, StoreError};

use crate::error::RunError;
use crate::event::Event;
use crate::evidence::Evidence;
use crate::id::{now_rfc3339, unix_ms};
use crate::launch::{Phases, Report, RoundEnd};
use crate::machine::directories;
use crate::measuring_cpus::{MeasuringCpus, Needs};
use crate::place::{Counting, Made};
use crate::plan::Plan;
use crate::run_state::{CountedWhen, CountingEnds, RunState};
use crate::stored_round::{Began, PASS_MS, Purpose};

/// Runs in progress.
pub(crate) struct Coordinator<'a> {
    runs: Vec<RunState<'a>>,
    store: &'a mut Store,
    stop: &'a AtomicBool,
    watch: &'a mut dyn FnMut(Event),
    began: Instant,
    /// Until when the time was added to that which a run has spent.
    charged: Instant,
    /// The CPUs of this system that the rounds use, the measuring one last.
    cpus: Vec<usize>,
    measuring: MeasuringCpus,
}

impl<'a> Coordinator<'a> {
    /// Of these runs, whose rounds use these CPUs of this system, which `clock` is of.
    pub(crate) fn new(
        runs: Vec<RunState<'a>>,
        cpus: &[usize],
        clock: &ClockFacts,
        store: &'a mut Store,
        stop: &'a AtomicBool,
        watch: &'a mut dyn FnMut(Event),
    ) -> Self {
        let now = Instant::now();
        let measuring = MeasuringCpus::of(cpus, clock, runs.iter().map(RunState::waiting).sum());
        Self { runs, store, stop, watch, began: now, charged: now, cpus: cpus.to_vec(), measuring }
    }

    /// Measures until every point is precise enough or time is up, and stores the results; false if stopped before.
    pub(crate) fn measure(mut self) -> Result<bool, RunError> {
        self.runs.iter().for_each(|run| register_directories_of(run.plan));
        platform::cleanup::sweep_dead();
        platform::process::adopt_children();
        let outcome = self.count_and_sample();
        // What follows computes.
        self.measuring.started(Needs::SeveralCpus);
        self.runs.iter_mut().for_each(|run| run.place.end());
        // A worker killed just before this run began may end only now.
        platform::cleanup::sweep_dead();
        let _ = platform::cpu::pin_thread_to_any(&self.cpus);
        if matches!(outcome, Err(RunError::TakenOver { .. })) {
            return outcome; // the results are up to the other process
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

    /// Counts and samples; false if stopped before the end.
    fn count_and_sample(&mut self) -> Result<bool, RunError> {
        let complete = self.count_all(CountedWhen::First)?
            && self.sample_all()?
            && self.count_all(CountedWhen::Last)?;
        let uncounted = |run: &RunState| run.evidence.iter().filter(|e| e.needs_count()).count();
        let on_host = |run: &RunState| run.uncounted_on_host(true).len();
        for (left, what) in [
            (self.runs.iter().map(uncounted).sum::<usize>(), "the system calls of"),
            (self.runs.iter().map(on_host).sum(), "the host's system calls of"),
        ] {
            if left > 0 && complete {
                let note = format!("time was up before {what} {left} cases were counted");
                (self.watch)(Event::Note(note));
            }
        }
        Ok(complete)
    }

    /// The untimed pass of each run over all points that still need it, as far as there is time; false if stopped before the
    /// end.
    fn count_all(&mut self, when: CountedWhen) -> Result<bool, RunError> {
        for run in 0..self.runs.len() {
            self.charge(run);
            let until = self.runs[run].counting_ends(when);
            if !(self.count_run(run, until.in_system)? && self.count_on_host(run, until)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Counts from outside what the points of a run make the host do: each point in the fewest pairs of rounds first, then
    /// those whose pairs disagree; false if stopped before the end.
    fn count_on_host(&mut self, run: usize, until: CountingEnds) -> Result<bool, RunError> {
        self.charge(run);
        let before = self.runs[run].spent;
        let mut goes_on = true;
        for (fewest, until) in [(true, until.on_host), (false, until.on_host_again)] {
            let points = self.runs[run].uncounted_on_host(fewest);
            if !points.is_empty() && self.runs[run].spent < until {
                self.runs[run].place.begin_counting();
            }
            for which in points {
                goes_on = goes_on && self.count_point_on_host(run, which, fewest, until)?;
            }
        }
        self.runs[run].place.end_counting();
        self.charge(run);
        let spent = self.runs[run].spent.saturating_sub(before);
        self.runs[run].add_time_on_host(spent);
        Ok(goes_on)
    }

    /// The same of one point.
    fn count_point_on_host(
        &mut self,
        run: usize,
        which: usize,
        fewest: bool,
        until: Duration,
    ) -> Result<bool, RunError> {
        while let Some(mode) = self.runs[run].evidence[which].next_on_host(fewest) {
            if self.must_stop() {
                return Ok(false);
            }
            self.charge(run);
            if self.runs[run].spent >= until || !self.runs[run].place.can_be_counted() {
                break;
            }
            self.round(run, which, mode)?;
        }
        Ok(true)
    }

    /// Counts in the system itself, until the run has spent so much; false if stopped before the end.
    fn count_run(&mut self, run: usize, until: Duration) -> Result<bool, RunError> {
        if !self.runs[run].evidence.iter().any(Evidence::needs_count) {
            return Ok(true);
        }
        let Counting { tracepoint, tracer: mut tracer_works } = self.runs[run].place.counting();
        // Until sampling begins: while it is held, each system call takes longer.
        let _held = tracepoint.and_then(|_| HeldTracepoint::hold());
        for which in 0..self.runs[run].evidence.len() {
            for _attempt in 0..3 {
                if !self.runs[run].evidence[which].needs_count() {
                    break;
                }
                if self.must_stop() {
                    return Ok(false);
                }
                self.charge(run);
                if self.runs[run].spent >= until {
                    return Ok(true);
                }
                let mode = match tracepoint {
                    Some(id) => Mode::Count(id),
                    None if tracer_works => Mode::CountForTracer,
                    None => Mode::CountRest,
                };
                let traced = mode == Mode::CountForTracer;
                match self.round(run, which, mode) {
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
        let seed = self.runs.first().map_or(0, |run| run.plan.seed.wrapping_add(run.next_seq));
        let mut rng = StdRng::seed_from_u64(seed);
        let mut said = false;
        loop {
            let mut active: Vec<Vec<usize>> = self.runs.iter().map(RunState::active).collect();
            if self.runs.iter().zip(&active).all(|(run, active)| run.is_over(active)) {
                let goes_on: Vec<bool> = self.runs.iter_mut().map(RunState::reconsider).collect();
                if !goes_on.contains(&true) {
                    return Ok(true);
                }
                active = self.runs.iter().map(RunState::active).collect();
            }
            for (run, active) in self.runs.iter_mut().zip(&active) {
                if !active.is_empty() {
                    run.next_boot_if_due(active);
                }
            }
            let pass = Instant::now();
            for (run, which) in pass_over(&self.runs, &active, &mut rng) {
                if self.must_stop() {
                    return Ok(false);
                }
                if self.runs[run].wants_round(which) {
                    self.round(run, which, Mode::Sample)?;
                }
            }
            if !said {
                let each = self.runs.iter().zip(&active);
                let waiting: usize = each.map(|(run, active)| run.waiting_for_quiet(active)).sum();
                said = waiting > 0;
                self.say_that_more_time_is_taken(waiting);
            }
            for (run, active) in self.runs.iter_mut().zip(&active) {
                run.check_convergence(active);
            }
            if self.runs.iter().zip(&active).any(|(run, active)| run.lacks_planned_rounds(active)) {
                self.rest_until(pass + Duration::from_millis(PASS_MS));
            }
        }
    }

    /// Makes one round of one point, and stores it at once.
    fn round(&mut self, run: usize, which: usize, mode: Mode) -> Result<(), RunError> {
        self.announce(run, which);
        let evidence = &self.runs[run].evidence[which];
        let is_trial = evidence.of_trials;
        // The first round shows whether workers contend.
        let is_of_one = evidence.rounds() > 0 && !evidence.scatters();
        let needs = if is_of_one { Needs::OneCpu } else { Needs::SeveralCpus };
        if mode == Mode::Sample {
            let waited = self.measuring.await_quiet(needs, self.stop);
            self.runs[run].add_waiting_time(waited);
        }
        let launched = Instant::now();
        let at = self.runs[run].earlier + self.began.elapsed();
        let started_ms = unix_ms();
        let order = self.runs[run].order(which, mode);
        let measuring = &self.measuring;
        let phases = Phases { started: &|| measuring.started(needs), ended: &|| measuring.ended() };
        let made = self.runs[run].place.make(&order, self.stop, &phases);
        measuring.ended();
        if mode == Mode::Sample {
            measuring.earn_patience(launched.elapsed(), is_trial);
        }
        let starting = self.runs[run].place.take_start_time();
        self.runs[run].add_area_time(which, launched.elapsed().saturating_sub(starting));
        self.charge(run);
        self.runs[run].spent = self.runs[run].spent.saturating_sub(starting);
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
            return Ok(()); // killed by this process, which is no property of the case
        }
        let purpose = Purpose::of(mode);
        let run = &mut self.runs[run];
        let text = run.with_boot(text);
        let began = Began { at_ms: at.as_millis() as u64, unix_ms: started_ms };
        run.add_output(which, purpose, &text, &end, began);
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

    /// No worker can be started: on this system that ends the run, in one of several that system's.
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
            _ => Err(RunError::Worker(error)),
        }
    }

    fn announce(&mut self, run: usize, which: usize) {
        let spent: Duration = self.runs.iter().map(|run| run.spent).sum();
        let budget: Duration = self.runs.iter().map(RunState::budget).sum();
        let remaining = budget.saturating_sub(spent);
        let by_time = spent.as_secs_f64() / budget.as_secs_f64().max(0.001);
        let done: f64 = self.runs.iter().map(RunState::share_done).sum();
        let by_points = done / self.runs.len().max(1) as f64;
        let label = self.runs[run].label(which);
        let done = by_time.max(by_points).min(1.0);
        // Before anything is done, the budget is all that is known.
        let at_this_rate = spent.as_secs_f64() * (1.0 - done) / done;
        let remaining = Duration::try_from_secs_f64(at_this_rate)
            .map_or(remaining, |at_this_rate| at_this_rate.min(remaining));
        (self.watch)(Event::Round { label: &label, done, remaining });
    }

    /// Rests; each run has spent its part of that time.
    fn rest_until(&mut self, moment: Instant) {
        while Instant::now() < moment && !self.must_stop() {
            std::thread::sleep(Duration::from_millis(5));
            let rested = self.uncharged() / u32::try_from(self.runs.len()).unwrap_or(1).max(1);
            self.runs.iter_mut().for_each(|run| run.spent += rested);
        }
    }

    /// Says once that the run goes on for these points although its time is up.
    fn say_that_more_time_is_taken(&mut self, points: usize) {
        let patience = self.runs.iter().map(|run| run.plan.patience_ms / 1_000).max().unwrap_or(0);
        if points > 0 {
            let which = if points == 1 { "1 point has" } else { &format!("{points} points have") };
            (self.watch)(Event::Note(format!(
                "{which} too few quiet rounds so far: up to {patience} s more"
            )));
        }
    }

    /// Adds the time since the last call to that which a run has spent.
    fn charge(&mut self, run: usize) {
        let time = self.uncharged();
        self.runs[run].spent += time;
    }

    fn uncharged(&mut self) -> Duration {
        let now = Instant::now();
        now - std::mem::replace(&mut self.charged, now)
    }

    fn must_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The rounds of one pass over all runs: the points in a random order, and of each point the systems in a random order, one
/// after the other. What changes the machine's speed for seconds then changes theirs alike (a randomised block design).
fn pass_over(runs: &[RunState], active: &[Vec<usize>], rng: &mut StdRng) -> Vec<(usize, usize)> {
    let mut blocks: BTreeMap<_, Vec<(usize, usize)>> = BTreeMap::new();
    for (number, (run, active)) in runs.iter().zip(active).enumerate() {
        let mut made: BTreeMap<usize, usize> = BTreeMap::new();
        for which in run.rounds_of_pass(active) {
            let nth = made.entry(which).or_default();
            *nth += 1;
            let point = &run.evidence[which].point;
            let block = (&point.case, &point.params, *nth);
            blocks.entry(block).or_default().push((number, which));
        }
    }
    let mut blocks: Vec<_> = blocks.into_values().collect();
    blocks.shuffle(rng);
    blocks.iter_mut().for_each(|systems| systems.shuffle(rng));
    blocks.concat()
}

/// Registers the directories of a plan's points with the cleanup registry, which removes what killed workers left there.
pub(crate) fn register_directories_of(plan: &Plan) {
    for dir in directories(plan) {
        platform::cleanup::look_also_in(&cases::file::path_of(dir));
    }
}

#[cfg(test)]
mod tests {
    use measure::cycles::{Latency, Timebase};
    use measure::survey::survey;

    use super::*;
    use crate::place::Place;
    use crate::plan::{Options, plan};

    #[test]
    fn of_each_point_the_systems_come_one_after_the_other() {
        let options = |filters: &[&str]| Options {
            filters: filters.iter().map(|&filter| filter.to_owned()).collect(),
            ..Options::default()
        };
        // A pass with trials has several rounds of each sampled point; the second system lacks some points.
        let of_all = plan(&options(&["syscall", "concurrency/worth"]), &[0], 7).unwrap();
        let of_some = plan(&options(&["syscall"]), &[0], 7).unwrap();
        let timebase = Timebase { clock: survey().remove(0), latency: Latency::Cycles(3) };
        let run = |plan| RunState::new(plan, "a-run", &timebase, Place::Here, evidence_of(plan));
        let runs = [run(&of_all), run(&of_some), run(&of_all)];
        let active: Vec<Vec<usize>> =
            runs.iter().map(|run| (0..run.evidence.len()).collect()).collect();
        let made = pass_over(&runs, &active, &mut StdRng::seed_from_u64(1));
        let wanted: usize =
            runs.iter().zip(&active).map(|(run, active)| run.rounds_of_pass(active).len()).sum();
        assert_eq!(made.len(), wanted);
        let point = |&(run, which): &(usize, usize)| &runs[run].evidence[which].point;
        let blocks: Vec<&[(usize, usize)]> =
            made.chunk_by(|a, b| point(a) == point(b) && a.0 != b.0).collect();
        let first: Vec<usize> = blocks.iter().map(|block| block[0].0).collect();
        assert!((0..3).all(|run| first.contains(&run)), "the systems are in a random order");
        let of_three = blocks.iter().filter(|block| block.len() == 3).count();
        assert!(of_three > 50, "{blocks:?}");
    }

    fn evidence_of(plan: &Plan) -> Vec<Evidence> {
        plan.points.iter().cloned().map(Evidence::new).collect()
    }
}

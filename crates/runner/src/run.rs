//! Runs: describes the machine, runs all rounds, and derives results.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use analysis::Difference;
use measure::cycles::Timebase;
use measure::survey::ClockFacts;
use results::{CaseResult, Document, EMULATED, Outcome, RunInfo, Store, StoreError};

use crate::coordinator::Coordinator;
use crate::error::RunError;
use crate::event::Event;
use crate::evidence::Evidence;
use crate::id::{new_id, now_rfc3339};
use crate::machine::{
    Description, VERSION, add_core_type, add_cycle_counting, add_file_systems, description,
    directories, level_key,
};
use crate::machine_changes::changed_since;
use crate::next_run::predict;
use crate::place::Place;
use crate::plan::Plan;
use crate::questions::Questions;
use crate::run_state::RunState;
use crate::timebase::{clock_named, stored_timebase};

/// A run to begin.
pub struct Request<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The user's options, kept with the run.
    pub asked: BTreeMap<String, String>,
    /// The user's labels, kept with the run.
    pub tags: BTreeMap<String, String>,
    /// The clock to time with.
    pub clock: &'a ClockFacts,
    /// The questions that decide how many rounds their points get, if any.
    pub questions: Option<Questions<'a>>,
}

/// A run that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// Id of the run.
    pub id: String,
    /// The run's ending.
    pub ending: Ending,
    /// The document of a run without any figure, which is not stored.
    pub unsaved: Option<Box<Document>>,
}

impl Ended {
    /// The document of the run.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn document(&self, store: &Store) -> Result<Document, StoreError> {
        match &self.unsaved {
            Some(document) => Ok(Document::clone(document)),
            None => store.document(&self.id),
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Every point has a figure or is unsupported, and at least one has a figure.
    Complete,
    /// All points were tried, and some have neither a figure nor are unsupported, or none has a figure.
    Incomplete,
    /// The run was stopped before its end and can be resumed.
    Stopped,
}

/// Begins a new run in the store and measures until it is complete or `stop` is set.
///
/// # Errors
/// If the store cannot be used or no worker can be started. Earlier measurements are stored.
pub fn begin(
    request: Request,
    store: &mut Store,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(Event),
) -> Result<Ended, RunError> {
    let Request { plan, asked, tags, clock, questions } = request;
    let info = RunInfo {
        id: new_id(),
        started: now_rfc3339(),
        finished: None,
        seed: plan.seed,
        oscost: VERSION.to_owned(),
        tags,
        asked,
        core_clock_ghz: None,
        area_seconds: BTreeMap::new(),
    };
    note_if_unfit(watch);
    let (machine, timebase) = described_for(plan, clock, store)?;
    note_if_another_runs(store, watch)?;
    let text = serde_json::to_string(plan).expect("a plan has only plain values");
    store.begin_run(&info, &machine, &text)?;
    let mut run = here(plan, &info.id, &timebase);
    run.use_earlier_levels(level_key(&machine), store)?;
    run.keep_counts(&machine, store)?;
    let coordinator = Coordinator::new(
        vec![run],
        &plan.cpus,
        &timebase.clock,
        Duration::ZERO,
        store,
        stop,
        watch,
    );
    let complete = coordinator.asking(questions)?.measure()?;
    conclude(store, info.id, complete)
}

/// The run called `name`, or the latest unfinished one if `None`, as far as it is stored.
///
/// # Errors
/// If there is no such run.
pub fn to_resume(name: Option<&str>, store: &Store) -> Result<Document, RunError> {
    let id = match name {
        None => store.unfinished()?.ok_or(RunError::NothingToResume)?,
        Some(name) => store.resolve(name)?,
    };
    Ok(store.document(&id)?)
}

/// Resumes an unfinished run with its plan, seed and stored rounds. `questions` must be those of its beginning.
///
/// # Errors
/// If the run cannot be resumed on this machine; also see [`begin`].
pub fn resume(
    begun: &Document,
    questions: Option<Questions>,
    store: &mut Store,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(Event),
) -> Result<Ended, RunError> {
    let id = begun.run.id.clone();
    if begun.run.finished.is_some() {
        return Err(RunError::Finished(id));
    }
    if begun.system().is_some() {
        return Err(RunError::OnSystems(id));
    }
    if store.plan(&id)?.is_some_and(|plan| plan.is_empty()) {
        return Err(RunError::Recorded(id));
    }
    let clock = clock_of(begun)?;
    check_same_machine(begun, &clock)?;
    let plan = plan_of_run(&id, store)?;
    if let Some(pid) = measured_by(&plan) {
        return Err(RunError::UnderWay { id, pid });
    }
    let cpu = plan.cpus.last().copied();
    let timebase = stored_timebase(store, cpu, &clock, &begun.machine)?;
    note_if_unfit(watch);
    watch(Event::Note(format!("resuming run {id}")));
    let rows = store.rounds(&id)?;
    let mut run = here(&plan, &id, &timebase);
    run.use_earlier_levels(level_key(&begun.machine), store)?;
    let earlier = run.replay(&rows);
    let (cpus, clock) = (&plan.cpus, &timebase.clock);
    let coordinator = Coordinator::new(vec![run], cpus, clock, earlier, store, stop, watch);
    let complete = coordinator.asking(questions)?.measure()?;
    conclude(store, id, complete)
}

/// A run on this system, without rounds.
fn here<'a>(plan: &'a Plan, id: &'a str, timebase: &'a Timebase) -> RunState<'a> {
    let evidence = plan.points.iter().cloned().map(Evidence::new).collect();
    RunState::new(plan, id, timebase, Place::Here, evidence)
}

/// The machine's description for a run of `plan`, and the run's clock and cycles.
fn described_for(
    plan: &Plan,
    clock: &ClockFacts,
    store: &mut Store,
) -> Result<(Description, Timebase), RunError> {
    let mut machine = described(clock);
    let timebase = stored_timebase(store, plan.cpus.last().copied(), clock, &machine)?;
    add_cycle_counting(&mut machine, &timebase.latency);
    add_core_type(&mut machine, &plan.cpus);
    add_file_systems(&mut machine, directories(plan));
    Ok((machine, timebase))
}

/// The description of this machine, and of the clock that times its runs.
pub(crate) fn described(clock: &ClockFacts) -> Description {
    let mut machine = description(&platform::machine::describe(), clock);
    if let Some(emulator) = platform::machine::emulator() {
        machine.insert(EMULATED.to_owned(), emulated_by(&emulator).into());
    }
    machine
}

/// The fact that a program emulates the processor.
pub(crate) fn emulated_by(emulator: &str) -> String {
    format!("the processor is emulated by {emulator}")
}

/// Reports, before measuring, why no figure of this machine can be trusted now.
pub(crate) fn note_if_unfit(watch: &mut dyn FnMut(Event)) {
    const OBSERVED: Duration = Duration::from_millis(300);
    if let Some(reason) = platform::machine::environment::unfit(&platform::cpu::allowed(), OBSERVED)
    {
        watch(Event::Note(reason));
    }
}

/// Reports another process that is measuring the newest run of this store.
pub(crate) fn note_if_another_runs(
    store: &Store,
    watch: &mut dyn FnMut(Event),
) -> Result<(), RunError> {
    let Some(id) = store.if_reached(store.unfinished())? else { return Ok(()) };
    // A plan of another version may be unreadable, and then does not name the process.
    let plan: Option<Plan> = store.plan(&id)?.and_then(|text| serde_json::from_str(&text).ok());
    let Some(plan) = plan else { return Ok(()) };
    if let Some(pid) = measured_by(&plan) {
        let other = RunError::UnderWay { id, pid };
        watch(Event::Note(format!("{other}; both disturb each other's figures")));
    }
    Ok(())
}

/// The other process that is measuring a run of this plan now.
fn measured_by(plan: &Plan) -> Option<u32> {
    let pid = plan.coordinator;
    (pid != std::process::id() && platform::pid::is_alive_and_ours(pid)).then_some(pid)
}

fn plan_of_run(id: &str, store: &Store) -> Result<Plan, RunError> {
    let text = store.plan(id)?.unwrap_or_default();
    serde_json::from_str(&text).map_err(|_| RunError::Plan(id.to_owned()))
}

/// The clock that a run was begun with.
fn clock_of(begun: &Document) -> Result<ClockFacts, RunError> {
    let clock = begun.machine.get("clock").and_then(|name| name.as_str()).unwrap_or("unknown");
    clock_named(clock)
        .ok_or_else(|| RunError::NoSuchClock { id: begun.run.id.clone(), clock: clock.to_owned() })
}

/// Checks that the machine is the same as at the beginning: after a change, later rounds would measure something else.
fn check_same_machine(begun: &Document, clock: &ClockFacts) -> Result<(), RunError> {
    let Some(first) = machine_differences(begun, clock).into_iter().next() else { return Ok(()) };
    let [was, is] = [0, 1].map(|at| first.values[at].clone());
    Err(RunError::MachineChanged { id: begun.run.id.clone(), key: first.key, was, is })
}

/// The facts in which the machine of a run differs from this one now, timed by `clock`.
pub fn machine_differences(begun: &Document, clock: &ClockFacts) -> Vec<Difference> {
    let facts = platform::machine::describe();
    let mut now = begun.clone();
    now.machine = description(&facts, clock);
    VERSION.clone_into(&mut now.run.oscost);
    changed_since(begun, &now)
}

/// Adds derived results and, to a complete run, the prediction of the next run; determines how the run ended, and delivers it to
/// a shared store.
pub(crate) fn conclude(store: &mut Store, id: String, complete: bool) -> Result<Ended, RunError> {
    let ended = concluded(store, id, complete)?;
    store.deliver(&ended.id)?;
    Ok(ended)
}

fn concluded(store: &mut Store, id: String, complete: bool) -> Result<Ended, RunError> {
    let mut document = store.document(&id)?;
    let derived = catalog::derived(&document.results, document.run.seed);
    let is_changed = complete || !derived.is_empty();
    document.results.extend(derived);
    if complete {
        match predict(store, &mut document) {
            // The earlier runs are in a shared store that cannot be reached: the run ends without a prediction.
            Err(StoreError::Lost { .. }) if store.has_journals() => {}
            other => other?,
        }
    }
    if is_changed {
        store.put_results(&id, &document.results)?;
    }
    let ending = if complete { ending_of(&document.results) } else { Ending::Stopped };
    let has_figure = document.results.iter().any(|result| result.outcome == Outcome::Measured);
    if has_figure {
        return Ok(Ended { id, ending, unsaved: None });
    }
    let can_be_resumed = !complete && document.system().is_none() && !store.rounds(&id)?.is_empty();
    match can_be_resumed {
        // Without results it is not called `last` before it has a figure.
        true => store.put_results(&id, &[])?,
        false => store.delete_run(&id)?,
    }
    Ok(Ended { id, ending, unsaved: Some(Box::new(document)) })
}

/// Determines how a run ended: unsupported points are results; failed, timed out and implausible ones are not. A run with
/// unsupported points only has measured nothing.
fn ending_of(results: &[CaseResult]) -> Ending {
    let answered = |outcome| matches!(outcome, Outcome::Measured | Outcome::Unsupported);
    let any_measured = results.iter().any(|result| result.outcome == Outcome::Measured);
    match any_measured && results.iter().all(|result| answered(result.outcome)) {
        true => Ending::Complete,
        false => Ending::Incomplete,
    }
}

#[cfg(test)]
mod tests {
    use results::Direction;

    use super::*;

    #[test]
    fn a_run_is_complete_if_every_point_has_an_answer_and_one_a_figure() {
        use Outcome::{Failed, Implausible, Measured, TimedOut, Unsupported};
        let ending = |outcomes: &[Outcome]| {
            let blank =
                CaseResult::blank("a/b", BTreeMap::new(), "time", "ns/op", Direction::Lower);
            let results: Vec<CaseResult> =
                outcomes.iter().map(|&outcome| CaseResult { outcome, ..blank.clone() }).collect();
            ending_of(&results)
        };
        assert_eq!(ending(&[Measured, Unsupported]), Ending::Complete);
        for outcomes in [&[][..], &[Unsupported], &[Measured, Failed], &[TimedOut, Measured]] {
            assert_eq!(ending(outcomes), Ending::Incomplete, "{outcomes:?}");
        }
        assert_eq!(ending(&[Implausible]), Ending::Incomplete);
    }
}

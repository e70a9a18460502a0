//! Runs on several systems: one stored run for each, their rounds made in turn.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use analysis::claim::NATIVE;
use measure::Doubt;
use measure::cycles::{Latency, Timebase};
use measure::survey::ClockFacts;
use measure::time::Nanoseconds;
use results::{
    EMULATED, GROUP, LAUNCHER, MACHINE_ID, PLACEMENT, RunInfo, SLOW_DOWN, SYSTEM, Store,
    announcement,
};

use crate::agent::WORKERS;
use crate::coordinator::Coordinator;
use crate::error::RunError;
use crate::event::Event;
use crate::evidence::Evidence;
use crate::id::{new_id, now_rfc3339};
use crate::link::{Introduction, Starts, SystemLink, Timeouts};
use crate::machine::{
    Description, VERSION, add_cycle_counting, directories, kind_of_cpu, level_key,
};
use crate::place::{Counting, Place};
use crate::plan::{MeasuredSystem, On, Options, Plan, plan};
use crate::questions::Questions;
use crate::run::{Ended, conclude, emulated_by, note_if_another_runs, note_if_unfit};
use crate::run_state::RunState;
use crate::timebase::best_clock;
use crate::wire::ExamineOrder;

/// The key of the machine's fact with operations that its agent found not to work.
const AGENT_LACKS: &str = "agent_lacks";
/// The key of the machine's fact with its time of day minus the coordinator's, in ms.
const CLOCK_OFFSET: &str = "clock_offset_ms";
/// The key of the machine's fact with the CPUs of the host that it was pinned to.
const HOST_CPUS: &str = "host_cpus";
/// The key of the machine's fact with the reason why its work on the host was not counted.
const UNCOUNTED: &str = "host_counts";
/// The run option with the name of its system, and all systems of the invocation.
const ON: &str = "on";
/// Number of starts of a system whose agent cannot make rounds in separate processes.
const STARTS_OF_ONE_PROCESS: usize = 6;

/// Runs to begin, one on each system.
pub struct OnRequest<'a> {
    /// The points to measure.
    pub options: &'a Options,
    /// The user's options, kept with each run.
    pub asked: BTreeMap<String, String>,
    /// The user's labels, kept with each run.
    pub tags: BTreeMap<String, String>,
    /// The systems.
    pub systems: Vec<&'a dyn Starts>,
    /// The coordinator's time limits.
    pub timeouts: Timeouts,
    /// The seed of the order of rounds, unless the options have one.
    pub seed: u64,
    /// The questions that decide how many rounds their points get, if any.
    pub questions: Option<Questions<'a>>,
}

/// A system before its run begins.
struct Prepared<'a> {
    link: SystemLink<'a>,
    slow_down: f64,
    launcher: Option<&'a str>,
    introduction: Introduction,
}

impl Prepared<'_> {
    /// The CPUs of its rounds. Each system numbers its CPUs in its own way, and is pinned from outside.
    fn cpus(&self) -> Vec<usize> {
        let cpus = self.introduction.hello.cpus.iter().copied();
        cpus.take(self.link.cpus().len()).collect()
    }
}

/// A run that is about to begin.
struct Begun {
    info: RunInfo,
    plan: Plan,
    timebase: Timebase,
    machine: Description,
    doubts: Vec<Doubt>,
}

/// Starts all systems, then begins one run on each, makes their rounds in turn, and stores the results.
///
/// # Errors
/// If there is no plan, or a system cannot be started: then nothing is measured or stored. If the store cannot be used: then
/// earlier measurements are stored.
pub fn begin_on(
    request: OnRequest,
    store: &mut Store,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(Event),
) -> Result<Vec<Ended>, RunError> {
    note_if_unfit(watch);
    note_if_another_runs(store, watch)?;
    let host = platform::cpu::allowed();
    let of_all = Options { on: On::All, ..request.options.clone() };
    let drafted = plan(&of_all, &host, request.seed)?;
    let dirs: Vec<String> = directories(&drafted).into_iter().map(str::to_owned).collect();
    let prepared = introduce(&request, &drafted.cpus, &ExamineOrder { dirs }, stop, watch)?;
    note_emulated(&prepared, watch);
    note_cpus(&prepared, watch);
    note_uncounted(&prepared, watch);
    let group = new_id();
    let names: Vec<&str> = request.systems.iter().map(|system| system.name()).collect();
    let systems: Vec<MeasuredSystem> = prepared.iter().map(measured_system).collect();
    let mut begun = Vec::new();
    for (at, one) in prepared.iter().enumerate() {
        let id = if begun.is_empty() { group.clone() } else { unlike(&begun) };
        let on = On::OneOf(systems.clone(), at);
        let mut run = run_of(one, &request, on, store)?;
        run.info.id = id;
        run.info.asked.insert(GROUP.to_owned(), group.clone());
        run.info.asked.insert(ON.to_owned(), names.join(" "));
        let text = serde_json::to_string(&run.plan).expect("a plan has only plain values");
        store.begin_run(&run.info, &run.machine, &text)?;
        begun.push(run);
    }
    let mut states = Vec::new();
    for (run, one) in begun.iter().zip(prepared) {
        states.push(state_of(run, one, store)?);
    }
    let clock = best_clock().unwrap_or_else(|| no_clock("none"));
    let complete = Coordinator::new(
        states,
        &drafted.cpus,
        &clock,
        std::time::Duration::ZERO,
        store,
        stop,
        watch,
    )
    .asking(request.questions)?
    .measure()?;
    let ended = begun.into_iter().map(|run| conclude(store, run.info.id, complete));
    ended.collect()
}

/// Starts all systems and has them introduce themselves, on these CPUs of this machine or their own.
///
/// # Errors
/// [`RunError::NotStarted`] with the reasons of all systems that cannot be started; [`RunError::StoppedBeforeStart`].
fn introduce<'a>(
    request: &OnRequest<'a>,
    host: &[usize],
    examined: &ExamineOrder,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(Event),
) -> Result<Vec<Prepared<'a>>, RunError> {
    let mut started = Vec::new();
    for &system in &request.systems {
        let label = format!("starting {}", system.name());
        watch(Event::Round { label: &label, done: 0.0, remaining: None });
        let mut link = SystemLink::new(system, host, examined.clone(), request.timeouts);
        let introduced = link.introduce(stop);
        if stop.load(Ordering::Relaxed) {
            return Err(RunError::StoppedBeforeStart);
        }
        let (slow_down, launcher) = (system.slow_down(), system.launcher());
        let prepared =
            introduced.map(|introduction| Prepared { link, slow_down, launcher, introduction });
        started.push((system.name(), prepared));
    }
    all_or_reasons(started)
}

/// Reports how many CPUs each system has, if they differ: a point that needs more than a system has is not measured there.
fn note_cpus(prepared: &[Prepared], watch: &mut dyn FnMut(Event)) {
    let counts = prepared.iter().map(|one| (one.link.name(), one.cpus().len()));
    let counts: Vec<(&str, usize)> = counts.collect();
    if counts.iter().any(|(_, count)| *count != counts[0].1) {
        let list = counts.iter().map(|(name, count)| format!("{name} {count}"));
        let list = list.collect::<Vec<_>>().join(", ");
        watch(Event::Note(format!("CPUs of the systems: {list}")));
    }
}

/// All values, or the reasons why systems have none.
fn all_or_reasons<T>(
    of_systems: Vec<(impl Into<String>, Result<T, String>)>,
) -> Result<Vec<T>, RunError> {
    let mut all = Vec::new();
    let mut reasons = Vec::new();
    for (name, of_system) in of_systems {
        match of_system {
            Ok(value) => all.push(value),
            Err(reason) => reasons.push((name.into(), reason)),
        }
    }
    match reasons.is_empty() {
        true => Ok(all),
        false => Err(RunError::NotStarted(systems::by_reason(&reasons))),
    }
}

/// Announces emulated systems before anything is measured.
fn note_emulated(prepared: &[Prepared], watch: &mut dyn FnMut(Event)) {
    let reasons: Vec<Option<String>> =
        prepared.iter().map(|one| emulation(&one.introduction)).collect();
    let named = prepared.iter().zip(&reasons);
    let emulated = named.filter_map(|(one, reason)| Some((one.link.name(), reason.as_deref()?)));
    let line = announcement("figures", &emulated.collect::<Vec<_>>(), prepared.len());
    line.into_iter().for_each(|line| watch(Event::Note(line)));
}

/// Reports why systems' work on the host is not counted, each reason once.
fn note_uncounted(prepared: &[Prepared], watch: &mut dyn FnMut(Event)) {
    let mut names_of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in prepared {
        if let Some(reason) = one.introduction.uncounted.as_deref() {
            names_of.entry(reason).or_default().push(one.link.name());
        }
    }
    for (reason, names) in names_of {
        let names = names.join(", ");
        watch(Event::Note(format!("the host's system calls of {names} are not counted: {reason}")));
    }
}

/// An id that no run of `begun` has.
fn unlike(begun: &[Begun]) -> String {
    loop {
        let id = new_id();
        if begun.iter().all(|run| run.info.id != id) {
            return id;
        }
    }
}

/// The facts of a system that decide which points claims need on it.
fn measured_system(one: &Prepared) -> MeasuredSystem {
    let (name, introduction) = (one.link.name().to_owned(), &one.introduction);
    let os = introduction.machine.facts.get("os").and_then(|os| os.as_str());
    MeasuredSystem {
        name,
        os: os.map(str::to_owned),
        lacks: introduction.machine.missing.keys().cloned().collect(),
        is_judged: emulation(introduction).is_none(),
    }
}

/// The plan and the description of the run on one system, without the run's id.
fn run_of(
    one: &Prepared,
    request: &OnRequest,
    on: On,
    store: &mut Store,
) -> Result<Begun, RunError> {
    let introduction = &one.introduction;
    let cpus = one.cpus();
    let share = u32::try_from(request.systems.len()).unwrap_or(1).max(1);
    let own_process = !introduction.hello.can(WORKERS);
    let options = Options {
        cpu: None,
        budget: request.options.budget.map(|budget| budget / share),
        slow_down: Some(one.slow_down).filter(|share| *share > 0.0),
        boots: request.options.boots.or(own_process.then_some(STARTS_OF_ONE_PROCESS)),
        on,
        ..request.options.clone()
    };
    let mut plan = plan(&options, &cpus, request.seed)?;
    if request.systems.len() > 1 {
        plan.measure_in_turn(&options);
    }
    if one.launcher != Some(NATIVE) {
        plan.budget_ms += plan.steady_ms(one.link.placement().is_some());
    }
    if options.budget.is_none() {
        plan.allow_for_starts(introduction.machine.worker_start_ms);
        if introduction.uncounted.is_none() {
            plan.allow_for_host_counts();
        }
    }
    let mut doubts = Vec::new();
    let (mut machine, timebase) = described(introduction, store, &mut doubts)?;
    if own_process {
        doubts.push(Doubt::OwnProcess);
    }
    machine.insert(SYSTEM.to_owned(), one.link.name().into());
    // What runs on this machine is of this machine, whatever id its file system has; another one is reached by its own program.
    if one.launcher != Some("ssh")
        && let Some(id) = platform::machine::id()
    {
        machine.insert(MACHINE_ID.to_owned(), id.into());
    }
    if let Some(launcher) = one.launcher {
        machine.insert(LAUNCHER.to_owned(), launcher.into());
    }
    let mut asked = request.asked.clone();
    if one.slow_down > 0.0 {
        asked.insert(SLOW_DOWN.to_owned(), format!("{}%", one.slow_down * 100.0));
    }
    let list: Vec<String> = one.link.cpus().iter().map(usize::to_string).collect();
    machine.insert(HOST_CPUS.to_owned(), list.join(",").into());
    if let Some(placement) = one.link.placement() {
        machine.insert(PLACEMENT.to_owned(), placement.to_string().into());
    }
    let info = RunInfo {
        id: String::new(),
        started: now_rfc3339(),
        finished: None,
        seed: plan.seed,
        oscost: VERSION.to_owned(),
        tags: request.tags.clone(),
        asked,
        core_clock_ghz: None,
        area_seconds: BTreeMap::new(),
    };
    Ok(Begun { info, plan, timebase, machine, doubts })
}

/// The description of a system that has introduced itself, and its run's clock and cycles.
fn described(
    introduction: &Introduction,
    store: &Store,
    doubts: &mut Vec<Doubt>,
) -> Result<(Description, Timebase), RunError> {
    let mut machine = introduction.machine.facts.clone();
    let emulated = emulation(introduction);
    let latency = match (&introduction.machine.latency, &emulated) {
        (Latency::Cycles(_), Some(reason)) => Latency::Unknown(reason.clone()),
        // Neighbours disturbed the calibration; earlier runs may have its result.
        (Latency::Unknown(_), None) => {
            let known = kind_of_cpu(&machine)
                .map(|kind| store.if_reached(store.multiplication_cycles(&kind)));
            let known = known.transpose()?.flatten();
            known.map_or_else(|| introduction.machine.latency.clone(), Latency::Cycles)
        }
        (latency, _) => latency.clone(),
    };
    add_cycle_counting(&mut machine, &latency);
    if let Some(reason) = emulated {
        machine.insert(EMULATED.to_owned(), reason.clone().into());
        doubts.push(Doubt::Emulated { reason });
    }
    machine.insert(AGENT_LACKS.to_owned(), introduction.hello.lacks().into());
    machine.insert(CLOCK_OFFSET.to_owned(), introduction.clock_offset_ms.into());
    if let Some(reason) = &introduction.uncounted {
        machine.insert(UNCOUNTED.to_owned(), format!("not counted: {reason}").into());
    }
    let clock = introduction.machine.clocks.first().cloned().unwrap_or_else(|| no_clock("none"));
    Ok((machine, Timebase { clock, latency }))
}

/// Why the times of a system are not those of the processor; `None` if they are.
fn emulation(introduction: &Introduction) -> Option<String> {
    let by_program = introduction.machine.emulator.as_ref();
    let by_program = by_program.map(|name| emulated_by(name));
    by_program.or_else(|| {
        let rate = introduction.rate?;
        Some(format!("its clock runs at {rate:.2} times the rate of the coordinator's"))
    })
}

fn no_clock(name: &str) -> ClockFacts {
    let zero = Nanoseconds::new(0.0);
    ClockFacts { name: name.to_owned(), ns_per_tick: 1.0, cost: zero, step: zero, backward: 0 }
}

/// A run without rounds.
fn state_of<'a>(
    begun: &'a Begun,
    one: Prepared<'a>,
    store: &Store,
) -> Result<RunState<'a>, RunError> {
    let Begun { info, plan, timebase, machine, doubts } = begun;
    let counting = Counting::of(&one.introduction);
    let missing = one.introduction.machine.missing;
    let place = Place::of(one.link, counting);
    let evidence = plan
        .points
        .iter()
        .map(|point| Evidence::where_missing(point.clone(), missing.get(&point.case).cloned()));
    let mut run = RunState::new(plan, &info.id, timebase, place, evidence.collect());
    // An emulated processor's ratios are not those of its model.
    if !machine.contains_key(EMULATED) {
        run.use_earlier_levels(level_key(machine), store)?;
    }
    doubts.iter().for_each(|doubt| run.doubt_all(doubt.clone()));
    Ok(run)
}

#[cfg(test)]
mod faults;

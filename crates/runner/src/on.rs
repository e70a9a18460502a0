//! Runs on several systems: one stored run for each, their rounds made in turn.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use measure::Doubt;
use measure::cycles::{Latency, Timebase};
use measure::survey::ClockFacts;
use measure::time::Nanoseconds;
use results::{EMULATED, GROUP, LAUNCHER, RunInfo, SYSTEM, Store};

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
use crate::run::{Ended, conclude, note_if_another_runs, note_if_unfit};
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
    introduced: Result<Introduction, String>,
}

/// A run that is about to begin.
struct Begun {
    info: RunInfo,
    plan: Plan,
    timebase: Timebase,
    machine: Description,
    doubts: Vec<Doubt>,
}

/// Begins one run on each system, makes their rounds in turn, and stores the results. A system that cannot be started has a
/// run too, in which each point has the reason.
///
/// # Errors
/// If there is no plan, or the store cannot be used. Earlier measurements are stored.
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
    let (prepared, cpus) = introduce(&request, &drafted.cpus, &ExamineOrder { dirs }, stop, watch);
    if stop.load(Ordering::Relaxed) {
        return Err(RunError::StoppedBeforeStart);
    }
    note_uncounted(&prepared, watch);
    let group = new_id();
    let names: Vec<&str> = request.systems.iter().map(|system| system.name()).collect();
    let systems: Vec<MeasuredSystem> = prepared.iter().map(measured_system).collect();
    let mut begun = Vec::new();
    for (at, one) in prepared.iter().enumerate() {
        let id = if begun.is_empty() { group.clone() } else { unlike(&begun) };
        let on = On::OneOf(systems.clone(), at);
        let mut run = run_of(one, &request, on, &cpus, store)?;
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

/// Starts all systems and has them introduce themselves, on as many CPUs as the system with the fewest has. Also returns
/// the CPUs of this machine that they share, the last of `host`.
fn introduce<'a>(
    request: &OnRequest<'a>,
    host: &[usize],
    examined: &ExamineOrder,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(Event),
) -> (Vec<Prepared<'a>>, Vec<usize>) {
    let last = |count: usize| host[host.len().saturating_sub(count.max(1))..].to_vec();
    let limits = request.systems.iter().filter_map(|system| system.cpu_limit());
    let mut count = limits.min().unwrap_or(host.len()).clamp(1, host.len().max(1));
    let mut prepared: Vec<Prepared> = Vec::new();
    for &system in &request.systems {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let label = format!("starting {}", system.name());
        watch(Event::Round { label: &label, done: 0.0, remaining: std::time::Duration::ZERO });
        let mut link = SystemLink::new(system, &last(count), examined.clone(), request.timeouts);
        let introduced = link.introduce(stop);
        if let Err(reason) = &introduced {
            watch(Event::Note(format!("{} is not measured: {reason}", system.name())));
        }
        let (slow_down, launcher) = (system.slow_down(), system.launcher());
        prepared.push(Prepared { link, slow_down, launcher, introduced });
    }
    let known = prepared.iter().filter_map(|one| one.introduced.as_ref().ok());
    let fewest = known.map(|introduction| introduction.hello.cpus.len()).min().unwrap_or(count);
    if (1..count).contains(&fewest) {
        count = fewest;
        watch(Event::Note(format!(
            "all systems get {} of this machine, as many as the smallest has",
            if count == 1 { "1 CPU".to_owned() } else { format!("{count} CPUs") }
        )));
        for one in prepared.iter_mut().filter(|one| one.introduced.is_ok()) {
            one.link.move_to(&last(count));
            one.introduced = one.link.introduce(stop);
        }
    }
    (prepared, last(count))
}

/// Reports why systems' work on the host is not counted, each reason once.
fn note_uncounted(prepared: &[Prepared], watch: &mut dyn FnMut(Event)) {
    let mut names_of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in prepared {
        let introduced = one.introduced.as_ref().ok();
        if let Some(reason) = introduced.and_then(|known| known.uncounted.as_deref()) {
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
    let name = one.link.name().to_owned();
    let Ok(introduction) = &one.introduced else {
        return MeasuredSystem { name, ..MeasuredSystem::default() };
    };
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
    host_cpus: &[usize],
    store: &mut Store,
) -> Result<Begun, RunError> {
    let known = one.introduced.as_ref().ok();
    // Each system numbers its CPUs in its own way, and is pinned from outside.
    let cpus: Vec<usize> = match known {
        Some(introduction) => {
            introduction.hello.cpus.iter().copied().take(host_cpus.len()).collect()
        }
        None => host_cpus.to_vec(),
    };
    let share = u32::try_from(request.systems.len()).unwrap_or(1).max(1);
    let own_process = known.is_some_and(|introduction| !introduction.hello.can(WORKERS));
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
    if let (None, Some(introduction)) = (options.budget, known) {
        plan.allow_for_starts(introduction.machine.worker_start_ms);
        if introduction.uncounted.is_none() {
            plan.allow_for_host_counts();
        }
    }
    let mut doubts = Vec::new();
    let (mut machine, timebase) = match known {
        Some(introduction) => described(introduction, store, &mut doubts)?,
        None => (Description::new(), unknown_timebase()),
    };
    if own_process {
        doubts.push(Doubt::OwnProcess);
    }
    machine.insert(SYSTEM.to_owned(), one.link.name().into());
    if let Some(launcher) = one.launcher {
        machine.insert(LAUNCHER.to_owned(), launcher.into());
    }
    let list: Vec<String> = host_cpus.iter().map(usize::to_string).collect();
    machine.insert(HOST_CPUS.to_owned(), list.join(",").into());
    let info = RunInfo {
        id: String::new(),
        started: now_rfc3339(),
        finished: None,
        seed: plan.seed,
        oscost: VERSION.to_owned(),
        tags: request.tags.clone(),
        asked: request.asked.clone(),
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
            let known = kind_of_cpu(&machine).map(|kind| store.multiplication_cycles(&kind));
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
    let by_program = by_program.map(|name| format!("the processor is emulated by {name}"));
    by_program.or_else(|| {
        let rate = introduction.rate?;
        Some(format!("its clock runs at {rate:.2} times the rate of the coordinator's"))
    })
}

/// The clock of the run on a system that cannot be started.
fn unknown_timebase() -> Timebase {
    let latency = Latency::Unknown("the system was not started".to_owned());
    Timebase { clock: no_clock("unknown"), latency }
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
    let (place, missing) = match one.introduced {
        Ok(introduction) => {
            let counting = Counting::of(&introduction);
            (Place::of(one.link, counting), introduction.machine.missing)
        }
        Err(reason) => (Place::Nowhere(reason), BTreeMap::new()),
    };
    let gone = match &place {
        Place::Nowhere(reason) => Some(reason.clone()),
        _ => None,
    };
    let evidence = plan
        .points
        .iter()
        .map(|point| Evidence::where_missing(point.clone(), missing.get(&point.case).cloned()));
    let mut run = RunState::new(plan, &info.id, timebase, place, evidence.collect());
    match gone {
        Some(reason) => run.give_up(&format!("the system was not started: {reason}")),
        // An emulated processor's ratios are not those of its model.
        None if machine.contains_key(EMULATED) => {}
        None => run.use_earlier_levels(level_key(machine), store)?,
    }
    doubts.iter().for_each(|doubt| run.doubt_all(doubt.clone()));
    Ok(run)
}

#[cfg(test)]
mod faults;

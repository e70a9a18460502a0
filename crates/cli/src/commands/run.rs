//! `oscost run`, and the worker it starts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use cases::file::{TEMP, obstacle, path_of};
use measure::cycles::{Latency, Timebase};
use measure::survey::{ClockFacts, survey};
use platform::filesystem;
use report::{closing_lines, file_systems, results_tables};
use results::{Document, Outcome, RunInfo, Store};
use runner::{Options, Plan, Point, plan};
use serde_json::{Map, Value as Json};

use super::concurrency::{choice_of, in_words, with_answer};
use crate::args::{Measuring, Output, Run, StoreArg};
use crate::ending::{Ending, Usage};
use crate::machine::{add_core_type, as_json, changed_since};
use crate::output::{note, page, print};
use crate::progress::Progress;

/// Measures, stores, and shows what was found.
pub fn run(args: &Run) -> anyhow::Result<Ending> {
    args.output.files.check()?;
    let stop = stop_on_interrupt()?;
    match &args.resume {
        Some(name) => {
            let mut store = super::store_to_write(&args.store)?;
            let (id, ending) = take_up(name, &mut store, &stop)?;
            tell(&store, &id, ending, None, &args.output, &args.store)
        }
        None => {
            let plan = plan_of(&args.measuring)?;
            refuse_without_room(&plan)?;
            let asked = asked(&args.measuring);
            announce_if_long(&plan);
            let points = plan.points.iter().map(|point| (point.case.as_str(), &point.params));
            cases::net::limits::notes(points).iter().for_each(|line| note(line));
            carry_out(&plan, asked, &args.output, &best_clock()?, &args.store, &stop)
        }
    }
}

/// Says how long it will take where that is longer than people wait.
fn announce_if_long(plan: &Plan) {
    const LONG: Duration = Duration::from_secs(15 * 60);
    let budget = Duration::from_millis(plan.budget_ms);
    if budget > LONG {
        let time = report::quantity::format_duration(budget);
        note(&format!("this takes up to {time}; what is measured is kept, and --resume goes on"));
    }
}

/// Carries a new run through, and shows what was found.
pub fn carry_out(
    plan: &Plan,
    asked: BTreeMap<String, String>,
    output: &Output,
    clock: &ClockFacts,
    store_arg: &StoreArg,
    stop: &AtomicBool,
) -> anyhow::Result<Ending> {
    let mut store = super::store_to_write(store_arg)?;
    let tags = output.tags.iter().cloned().collect();
    let (id, ending, took) = begin(plan, asked, tags, clock, &mut store, stop)?;
    tell(&store, &id, ending, Some(took), output, store_arg)
}

/// Shows a run that has just ended, in all forms asked for.
fn tell(
    store: &Store,
    id: &str,
    ending: runner::Ending,
    took: Option<Duration>,
    output: &Output,
    store_arg: &StoreArg,
) -> anyhow::Result<Ending> {
    let document = store.document(id)?;
    let shown = match output.files.are_printed() {
        true => Ok(()),
        false => show_results(&document, output.json, took),
    };
    let written = output.files.write(&document);
    // Said even where the results could not be shown.
    let ending = match ending {
        runner::Ending::Stopped => {
            note(&format!("stopped; to go on: {}", how_to_resume(id, store_arg)));
            Ending::NotMeasured
        }
        runner::Ending::Complete => {
            note(&format!("saved as run {id}"));
            ending_of(&document)
        }
    };
    shown.and(written).map(|()| ending)
}

/// The run as a document, or as the answer it was made for and its tables.
pub fn show_results(document: &Document, json: bool, took: Option<Duration>) -> anyhow::Result<()> {
    let choice = choice_of(document);
    if json {
        return print(&match choice {
            None => results::to_json(document),
            Some(choice) => with_answer(document, &choice)?,
        });
    }
    match choice {
        Some(choice) => print(&in_words(&choice, document))?,
        None => {
            print(&results_tables(&document.results, &page()))?;
            print(&file_systems(&document.results, &document.machine, &page()))?;
        }
    }
    print(&closing_lines(document, took, &page()))
}

/// The command that takes up an unfinished run.
pub fn how_to_resume(id: &str, store: &StoreArg) -> String {
    match &store.store {
        Some(path) => format!("oscost run --store {} --resume {id}", path.display()),
        None => format!("oscost run --resume {id}"),
    }
}

/// Carries a new run through; its id, how it ended and how long it took.
pub fn begin(
    plan: &Plan,
    asked: BTreeMap<String, String>,
    tags: BTreeMap<String, String>,
    clock: &ClockFacts,
    store: &mut Store,
    stop: &AtomicBool,
) -> anyhow::Result<(String, runner::Ending, Duration)> {
    let info = RunInfo {
        id: new_id(),
        started: runner::now_rfc3339(),
        finished: None,
        seed: plan.seed,
        oscost: env!("CARGO_PKG_VERSION").to_owned(),
        tags,
        asked,
        core_clock_ghz: None,
        area_seconds: BTreeMap::new(),
    };
    note_if_unfit();
    let mut machine = as_json(&platform::machine::describe(), clock);
    let timebase = timebase_known_to(store, plan.cpus.last().copied(), clock, &machine)?;
    machine.insert("core_cycles".into(), how_cycles_are_counted(&timebase.latency).into());
    add_core_type(&mut machine, &plan.cpus);
    add_file_systems(&mut machine, plan);
    let progress = Progress::new();
    let watch = &mut |event: runner::Event<'_>| progress.show(event);
    let ending = runner::run(plan, &info, &machine, &timebase, store, stop, watch);
    let took = progress.finish();
    let ending = ending?;
    add_derived(store, &info.id)?;
    Ok((info.id, ending, took))
}

fn take_up(
    name: &str,
    store: &mut Store,
    stop: &AtomicBool,
) -> anyhow::Result<(String, runner::Ending)> {
    let id = match name {
        "" => store.unfinished()?.ok_or_else(|| Usage("no run is unfinished".into()))?,
        name => store.resolve(name)?,
    };
    let summary = store.runs()?.into_iter().find(|run| run.id == id);
    if summary.is_some_and(|run| run.finished.is_some()) {
        return Err(Usage(format!("run {id} is finished; there is nothing to resume")).into());
    }
    let begun = store.document(&id)?;
    let clock = clock_of(&begun)?;
    refuse_another_machine(&begun, &clock)?;
    let asked_cpu = begun.run.asked.get("cpu").and_then(|cpu| cpu.parse().ok());
    let cpu = asked_cpu.or_else(|| platform::cpu::allowed().last().copied());
    let timebase = timebase_known_to(store, cpu, &clock, &begun.machine)?;
    note_if_unfit();
    let progress = Progress::new();
    let watch = &mut |event: runner::Event<'_>| progress.show(event);
    let ending = runner::resume(&id, &timebase, store, stop, watch);
    progress.finish();
    let ending = ending?;
    add_derived(store, &id)?;
    Ok((id, ending))
}

/// Adds what follows from all results together: laws fitted to them, and where they cross.
fn add_derived(store: &mut Store, id: &str) -> anyhow::Result<()> {
    let document = store.document(id)?;
    let derived = analysis::derived(&document.results, document.run.seed);
    if !derived.is_empty() {
        let all: Vec<_> = document.results.into_iter().chain(derived).collect();
        store.put_results(id, &all)?;
    }
    Ok(())
}

/// The clock that a run was begun with: which one is cheapest may be a matter of chance.
fn clock_of(begun: &Document) -> anyhow::Result<ClockFacts> {
    let wanted = begun.machine.get("clock").and_then(|name| name.as_str()).unwrap_or("unknown");
    let found = survey().into_iter().find(|clock| clock.name == wanted);
    Ok(found.ok_or_else(|| {
        let id = &begun.run.id;
        Usage(format!("run {id} cannot be resumed here: its clock was {wanted}; begin a new run"))
    })?)
}

/// A run is of one machine as it was: after a change, its later rounds would be of something else.
fn refuse_another_machine(begun: &Document, clock: &ClockFacts) -> anyhow::Result<()> {
    let facts = platform::machine::describe();
    let mut now = begun.clone();
    now.machine = as_json(&facts, clock);
    env!("CARGO_PKG_VERSION").clone_into(&mut now.run.oscost);
    let Some(first) = changed_since(begun, &now, &facts) else { return Ok(()) };
    let (id, key, was, is) = (&begun.run.id, &first.key, &first.values[0], &first.values[1]);
    let told =
        format!("run {id} cannot be resumed here: {key} was {was} and is {is}; begin a new run");
    Err(Usage(told).into())
}

/// The clock, and how cycles are counted on the CPU that measures.
pub fn timebase_on(cpu: Option<usize>, clock: &ClockFacts, known: Option<u32>) -> Timebase {
    Timebase::on(cpu, clock.clone(), platform::cpu::emulator().as_deref(), known)
}

/// The same with the cycles of a multiplication that the store knows of this kind of CPU; what is found is kept there.
fn timebase_known_to(
    store: &mut Store,
    cpu: Option<usize>,
    clock: &ClockFacts,
    machine: &Map<String, Json>,
) -> anyhow::Result<Timebase> {
    let kind = runner::kind_of_cpu(machine);
    let known = kind.as_ref().map(|kind| store.multiplication_cycles(kind)).transpose()?.flatten();
    let timebase = timebase_on(cpu, clock, known);
    if let (Some(kind), Some(cycles)) = (kind, timebase.latency.cycles())
        && known != Some(cycles)
    {
        store.put_multiplication_cycles(&kind, cycles)?;
    }
    Ok(timebase)
}

/// How core cycles are counted, or why they are not, in words.
pub fn how_cycles_are_counted(latency: &Latency) -> String {
    match latency {
        Latency::Cycles(cycles) => format!("by multiplications of {cycles} cycles"),
        Latency::Unknown(reason) => format!("unavailable: {reason}"),
    }
}

/// Says once, before measuring, why no figure of this machine is to be trusted.
fn note_if_unfit() {
    const LOOK: Duration = Duration::from_millis(300);
    if let Some(why) = platform::environment::unfit(&platform::cpu::allowed(), LOOK) {
        note(&why);
    }
}

/// What is to be measured, planned for this machine.
pub fn plan_of(measuring: &Measuring) -> anyhow::Result<Plan> {
    let mut params: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, values) in &measuring.params {
        params.entry(name.clone()).or_default().extend(values.iter().cloned());
    }
    if !measuring.dirs.is_empty() {
        let dirs = measuring.dirs.iter().map(|dir| full_path(dir));
        params
            .entry("dir".to_owned())
            .or_default()
            .extend(dirs.collect::<anyhow::Result<Vec<_>>>()?);
    }
    if measuring.netns {
        params.entry("network".to_owned()).or_default().push("veth".to_owned());
    }
    let options = Options {
        filters: measuring.filters.clone(),
        params,
        full: measuring.full,
        quick: measuring.quick,
        precision: measuring.precision,
        budget: measuring.budget,
        seed: measuring.seed,
        cpu: measuring.cpu,
        slow_down: measuring.slow_down,
        scale: measuring.scale,
        trials: None,
    };
    Ok(plan(&options, &platform::cpu::allowed(), random_seed())?)
}

/// A directory as it is kept with what is measured in it.
fn full_path(dir: &Path) -> anyhow::Result<String> {
    let path =
        std::path::absolute(dir).map_err(|e| Usage(format!("--dir {}: {e}", dir.display())))?;
    let named = path.to_str().map(str::to_owned);
    Ok(named.ok_or_else(|| Usage(format!("--dir {}: its name is not UTF-8", path.display())))?)
}

/// The directories that a plan's points are measured in, as their parameters name them.
fn directories(plan: &Plan) -> BTreeSet<&str> {
    plan.points.iter().filter_map(|point| point.params.get("dir")).map(String::as_str).collect()
}

/// Ends the program before anything is written where a directory that was asked for may not be written to, or has
/// too little room. What is lacking in that for temporary files, each case says itself.
fn refuse_without_room(plan: &Plan) -> anyhow::Result<()> {
    for dir in directories(plan).into_iter().filter(|&dir| dir != TEMP) {
        filesystem::may_write_to(Path::new(dir))
            .with_context(|| format!("cannot write to {dir}"))?;
    }
    let asked_for = |point: &&Point| point.params.get("dir").is_some_and(|dir| dir != TEMP);
    match plan.points.iter().filter(asked_for).find_map(|point| obstacle(&point.params)) {
        Some(obstacle) => Err(anyhow::anyhow!("{obstacle}")),
        None => Ok(()),
    }
}

/// What holds the directories that a plan's points are measured in, to be kept with the machine's description.
fn add_file_systems(machine: &mut Map<String, Json>, plan: &Plan) {
    for dir in directories(plan) {
        let Ok(facts) = filesystem::of(&path_of(dir)) else { continue };
        let mut keep = |fact: &str, value: Json| {
            machine.insert(format!("filesystem.{dir}.{fact}"), value);
        };
        let text = |fact: Option<String>| fact.map_or_else(|| "unknown".into(), Json::from);
        keep("type", text(facts.kind));
        keep("device", text(facts.device));
        keep("mounted_on", text(facts.mounted_on.map(|path| path.display().to_string())));
        keep("options", text(facts.options));
        keep("block_bytes", facts.room.block_bytes.into());
        keep("free_bytes", facts.room.free_bytes.into());
        keep("free_files", facts.room.free_files.map_or_else(|| "unknown".into(), Json::from));
    }
}

/// What was asked for, in words that are kept with the run.
pub fn asked(measuring: &Measuring) -> BTreeMap<String, String> {
    let mut asked = BTreeMap::new();
    let mut keep = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            asked.insert(key.to_owned(), value);
        }
    };
    let words = (!measuring.filters.is_empty()).then(|| measuring.filters.join(" "));
    keep("filters", words);
    let size = [("quick", measuring.quick), ("full", measuring.full)];
    keep("size", size.iter().find(|(_, on)| *on).map(|(name, _)| (*name).to_owned()));
    let params =
        measuring.params.iter().map(|(name, values)| format!("{name}={}", values.join(",")));
    keep("params", Some(params.collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty()));
    let percent = |share: f64| format!("{}%", share * 100.0);
    keep("precision", measuring.precision.map(percent));
    keep("budget", measuring.budget.map(|budget| format!("{}ms", budget.as_millis())));
    keep("scale", measuring.scale.map(|scale| scale.to_string()));
    keep("slow-down", measuring.slow_down.map(percent));
    let dirs = measuring.dirs.iter().map(|dir| dir.display().to_string());
    keep("dir", Some(dirs.collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty()));
    keep("cpu", measuring.cpu.map(|cpu| cpu.to_string()));
    asked
}

/// The clock to time with.
pub fn best_clock() -> anyhow::Result<ClockFacts> {
    survey().into_iter().next().context("this system has no clock to time with")
}

/// Set by Ctrl-C or a request to terminate: the round in progress ends, what was found is kept.
pub fn stop_on_interrupt() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    ctrlc::set_handler(move || seen.store(true, Ordering::Relaxed))
        .context("catching Ctrl-C failed")?;
    Ok(stop)
}

/// A seed nobody could foresee.
pub fn random_seed() -> u64 {
    u64::from(random() as u32)
}

/// A number nobody could foresee, of the randomness that hash tables begin with.
fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}

/// Date, time and four random digits: `20261121-203655-4f2a`.
pub fn new_id() -> String {
    let date: String = runner::now_rfc3339()
        .chars()
        .take_while(|&c| c != '.' && c != 'Z')
        .filter(char::is_ascii_digit)
        .collect();
    let (day, time) = date.split_at(date.len().min(8));
    format!("{day}-{time}-{:04x}", random() as u16)
}

/// Unsupported is an answer; failed, timed out and implausible are not what was asked for. One
/// exception: a run of nothing but unsupported cases measured nothing at all.
fn ending_of(document: &Document) -> Ending {
    let results = &document.results;
    let unanswered = |outcome| !matches!(outcome, Outcome::Measured | Outcome::Unsupported);
    let nothing = !results.iter().any(|result| result.outcome == Outcome::Measured);
    if nothing || results.iter().any(|result| unanswered(result.outcome)) {
        Ending::NotMeasured
    } else {
        Ending::Done
    }
}

/// Does one round and prints what it gave; started by the coordinator.
pub fn worker(order: &str) -> anyhow::Result<Ending> {
    let mut out = std::io::stdout().lock();
    runner::worker::work(order, &mut out).map_err(Usage)?;
    Ok(Ending::Done)
}

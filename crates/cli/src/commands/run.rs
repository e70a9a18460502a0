//! `oscost run`.

use std::sync::atomic::Ordering;
use std::time::Duration;

use analysis::claim::{Claim, NATIVE};
use command::ending::Ending;
use command::interrupt::stop_on_interrupt;
use command::measure::{Form, measured, plan_of, show_ended, watched};
use command::output::note;
use command::store::store_to_write;
use results::Document;
use runner::{Options, Plan, Questions, to_resume};
use systems::System;

use super::check;
use super::compare::compare_with;
use super::dry_run::show;
use super::exchange::read_document;
use super::on::{run_on, systems_of};
use super::study;
use crate::args::Run;

/// Measures, stores the run and shows its results.
pub fn run(args: &Run) -> anyhow::Result<Ending> {
    args.output.files.check()?;
    if let Some(name) = &args.resume {
        return resume(name, args);
    }
    let form = Form::of(args.output.json, args.tables);
    if args.dry_run {
        return dry_run(args);
    }
    if !args.on.on.is_empty() {
        return run_on(args, form);
    }
    let plan = plan_of(&args.options()?)?;
    runner::check_directories(&plan)?;
    announce(&plan);
    let baseline = args.baseline.baseline.as_deref().map(read_document).transpose()?;
    // A file may be a FIFO that waits for its writer: while files are read, a request to stop ends this process.
    let stop = stop_on_interrupt()?;
    let (ending, run) = measured(&plan, args.asked(), form, &args.output, &args.store, stop)?;
    match baseline {
        Some(baseline) if !stop.load(Ordering::Relaxed) => {
            let gated = compare_with(baseline, run, args)?;
            Ok(if gated == Ending::Done { ending } else { gated })
        }
        _ => Ok(ending),
    }
}

/// Prints the measurements that a run would make.
fn dry_run(args: &Run) -> anyhow::Result<Ending> {
    let systems = systems_of(&args.on)?;
    let names: Vec<&str> = systems.iter().map(System::name).collect();
    let share = u32::try_from(names.len()).unwrap_or(1).max(1);
    let options = args.options()?;
    let budget = options.budget.map(|budget| budget / share);
    let options = Options { budget, ..options };
    let mut plan = plan_of(&options)?;
    if names.len() > 1 {
        plan.measure_in_turn(&options);
    }
    let emulated = systems.iter().filter(|system| system.needs_kvm());
    let emulated: Vec<(&str, Option<String>)> =
        emulated.map(|system| (system.name(), system.emulated())).collect();
    let steady = systems.iter().filter(|system| system.launcher() != NATIVE);
    let steady_ms = steady.map(|system| plan.steady_ms(system.placement().is_some())).sum();
    show(&plan, &names, steady_ms, &emulated, args.output.json)?;
    Ok(Ending::Done)
}

/// Resumes the run with this name, or the latest unfinished one if the name is empty.
fn resume(name: &str, args: &Run) -> anyhow::Result<Ending> {
    let mut store = store_to_write(&args.store)?;
    let name = Some(name).filter(|name| !name.is_empty());
    let begun = to_resume(name, &store)?;
    let claims = claims_of(&begun);
    let asked = |_: &[Document]| claims.clone();
    let questions = (!claims.is_empty()).then_some(Questions { claims: &asked });
    let stop = stop_on_interrupt()?;
    let (ended, _) = watched(|watch| runner::resume(&begun, questions, &mut store, stop, watch))?;
    let form = Form::of(args.output.json, args.tables);
    show_ended(&store, &ended, None, form, &args.output, &args.store).map(|(ending, _)| ending)
}

/// The claims for which a run was begun, which decide how many rounds its points get; empty for other runs.
fn claims_of(begun: &Document) -> Vec<Claim> {
    let again = study::claims_of(begun).or_else(|| check::claims_of(begun));
    again.unwrap_or_else(|| Ok(Vec::new())).unwrap_or_else(|error| {
        note(&format!("{error:#}: its claims do not decide how many rounds points get"));
        Vec::new()
    })
}

/// Prints a long duration, and the limits of this machine that bound the measurements.
fn announce(plan: &Plan) {
    const LONG: Duration = Duration::from_secs(15 * 60);
    let budget = Duration::from_millis(plan.budget_ms);
    if budget > LONG {
        let time = report::quantity::format_duration(budget);
        note(&format!(
            "this takes up to {time}; every round is saved, and --resume continues after an interruption"
        ));
    }
    let points = plan.points.iter().map(|point| (point.case.as_str(), &point.params));
    let points: Vec<_> = points.collect();
    catalog::limits(&points).iter().for_each(|line| note(line));
}

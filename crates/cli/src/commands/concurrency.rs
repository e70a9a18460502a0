//! `oscost concurrency`: compares serial and concurrent execution of the user's jobs.

use std::time::Duration;

use cases::concurrency::options::{FOREGROUND, INSTRUCTIONS};
use cases::concurrency::{JobList, LIST, LOCKED, candidates, job_file, list_of};
use clap::ValueEnum;
use measure::Params;
use measure::count::format_duration;
use runner::{Options, Plan, Point};

use cases::concurrency::choice::CASE;

use super::answer::{GOAL, WITHIN};
use super::measure::{Form, measure};
use crate::args::{Concurrency, Goal, Instructions};
use crate::ending::{Ending, Usage};
use crate::interrupt::stop_on_interrupt;
use crate::output::note;

/// Duration from which a hint explains how to shorten it.
const LONG: Duration = Duration::from_secs(300);

/// Measures the candidates for the given jobs and reports which is best.
pub fn concurrency(args: &Concurrency) -> anyhow::Result<Ending> {
    args.output.files.check()?;
    if args.within.is_some() && args.goal != Goal::Foreground {
        return Err(Usage("--within is a limit of --goal foreground".into()).into());
    }
    let stop = stop_on_interrupt()?;
    let jobs = jobs_of(args)?;
    let cpus = platform::cpu::allowed();
    let list = list_of(&jobs).map_err(|case_error| Usage(case_error.to_string()))?;
    let plan = plan_for(&jobs, &list, &cpus, args)?;
    announce(&plan, args);
    let mut asked = jobs;
    if list.has_lock() || !list.dependencies.are_none() {
        asked.extend(list.limits(cpus.len()).to_params());
    }
    let goal = args.goal.to_possible_value().expect("no goal is hidden");
    asked.insert(GOAL.to_owned(), goal.get_name().to_owned());
    asked.insert("rounds".to_owned(), args.rounds.to_string());
    if let Some(limit) = args.within {
        asked.insert(WITHIN.to_owned(), format_duration(limit));
    }
    let form = Form::of(args.output.json, false);
    measure(&plan, asked, form, &args.output, &args.store, &stop)
}

/// The jobs as parameters of the case: their description, or the file and its checksum.
fn jobs_of(args: &Concurrency) -> anyhow::Result<Params> {
    let owned = |pairs: &[(&str, &str)]| -> Params {
        pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    let Some(path) = &args.from else {
        let count = args.jobs.unwrap_or(40).to_string();
        let length = args.length.as_deref().unwrap_or("5ms..80ms");
        let bound = args.bound.as_deref().unwrap_or("mixed:30");
        let locked = args.locked.as_deref().map(|share| (LOCKED, share));
        let described = [("jobs", count.as_str()), ("length", length), ("bound", bound)];
        return Ok(owned(&described.into_iter().chain(locked).collect::<Vec<_>>()));
    };
    let name = path.to_str().ok_or_else(|| Usage("the file's name is not UTF-8".into()))?;
    let (_, checksum) = job_file::read(path).map_err(|e| Usage(format!("{name}: {e}")))?;
    Ok(owned(&[(LIST, &format!("{name}#{checksum}"))]))
}

fn plan_for(
    jobs: &Params,
    list: &JobList,
    cpus: &[usize],
    args: &Concurrency,
) -> anyhow::Result<Plan> {
    let points = candidates(list, cpus.len()).into_iter().map(|mut params| {
        params.extend(jobs.clone());
        params.extend(options_of(args));
        Point { case: CASE.to_owned(), params }
    });
    let (trials, budget) = (Some(args.rounds), args.budget);
    let options = Options { trials, budget, ..Options::default() };
    Ok(runner::plan_of(points.collect(), &options, cpus, runner::random_seed())?)
}

/// Options of the case that differ from their defaults.
fn options_of(args: &Concurrency) -> Params {
    let foreground = (args.goal == Goal::Foreground).then_some((FOREGROUND.name, "yes"));
    let instructions = match args.instructions {
        Instructions::Dependent => None,
        Instructions::Independent => Some((INSTRUCTIONS.name, "independent")),
    };
    let all = foreground.into_iter().chain(instructions);
    all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Prints the number of trials and their duration.
fn announce(plan: &Plan, args: &Concurrency) {
    let budget = Duration::from_millis(plan.budget_ms);
    let (ways, trials) = (plan.points.len(), plan.trials);
    let time = report::quantity::format_duration(budget);
    let shorter = match budget > LONG && args.budget.is_none() {
        true => "; fewer --rounds or a --budget shorten it",
        false => "",
    };
    note(&format!("{ways} candidates for these jobs, {trials} trials each: up to {time}{shorter}"));
}

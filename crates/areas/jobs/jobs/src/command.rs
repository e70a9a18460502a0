//! `oscost concurrency`: compares serial and concurrent execution of the user's jobs.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use command::ending::Usage;
use command::interrupt::stop_on_interrupt;
use command::measure::{Form, measure};
use command::options::{Output, StoreArg};
use command::output::note;
use command::values::{budget, from_to, time};
use measure::Params;
use measure::count::format_duration;
use runner::{Options, Plan, Point};

use super::answer::{LIST, LOCKED, candidates, list_of};
use super::answer_of_run::{GOAL, WITHIN};
use super::choice::CASE;
use super::list::{JOBS_AT_MOST, parse_bound, parse_lengths, parse_share};
use super::options::{FOREGROUND, INSTRUCTIONS};
use super::{JobList, job_file};
use catalog::{Arguments, Command, Ending};

/// The command.
pub const COMMAND: Command =
    Command { asked: Some(GOAL), ..Command::new::<Concurrency>("concurrency") };

/// Duration from which a hint explains how to shorten it.
const LONG: Duration = Duration::from_secs(300);

/// Find the fastest way to execute your jobs: serial, threads, a pool or async.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
#[command(after_help = "\
A file of jobs has one job per line: its length, the share of that time in which it needs a CPU, and its arrival \
time if not 0. For example, `5ms 30% 20ms` arrives after 20 ms and takes 5 ms: 1.5 ms of CPU time and 3.5 ms of waiting.

A line may also have name=NAME, after=NAME[,NAME...] with the jobs that must be done before this one begins, and \
locked=SHARE, the part of the job in which it holds a lock that all jobs share. The answer then includes the critical \
path, the longest chain of dependent jobs.

Examples:
  oscost concurrency --jobs 40 --length 5ms..80ms --goal turnaround
  oscost concurrency --bound cpu --jobs 8 --locked 10%
  oscost concurrency --from jobs.txt --goal worst --rounds 6
  oscost concurrency --bound cpu --goal foreground --within 1ms")]
pub struct Concurrency {
    /// Number of jobs [default: 40]
    #[arg(long, value_name = "N", value_parser = from_to::<1, JOBS_AT_MOST>, allow_hyphen_values = true, conflicts_with = "from")]
    pub jobs: Option<usize>,
    /// Shortest and longest time that one job takes alone; the others are spaced evenly [default: 5ms..80ms]
    #[arg(long, value_name = "FROM..TO", value_parser = lengths, allow_hyphen_values = true, conflicts_with = "from")]
    pub length: Option<String>,
    /// What the jobs do: `cpu` computes, `wait` sleeps, `mixed:30` computes for 30 % of its time [default: mixed:30]
    #[arg(long, value_name = "KIND", value_parser = bound, allow_hyphen_values = true, conflicts_with = "from")]
    pub bound: Option<String>,
    /// Share of each job, in percent, in which it holds a lock that all jobs share [default: none]
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true, conflicts_with = "from")]
    pub locked: Option<String>,
    /// Read the jobs from this file
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// What to minimise
    #[arg(long, value_enum, default_value = "elapsed")]
    pub goal: Goal,
    /// Name the candidates that keep the delay within this, and the fastest of them (with `--goal foreground`)
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub within: Option<Duration>,
    /// What CPU-bound work consists of
    #[arg(long, value_enum, default_value = "dependent")]
    pub instructions: Instructions,
    /// Number of trials of each candidate; more trials resolve smaller differences
    #[arg(long, value_name = "N", default_value = "10", value_parser = from_to::<3, 1000>, allow_hyphen_values = true)]
    pub rounds: usize,
    /// Time limit, such as 30s or 2m [default: none]
    #[arg(long, value_name = "TIME", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<Duration>,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub store: StoreArg,
}

/// What to minimise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Goal {
    /// The time until the last job is complete
    Elapsed,
    /// The mean over all jobs of (completion - arrival) / length
    Turnaround,
    /// The largest (completion - arrival) / length of any job
    Worst,
    /// The wake-up delay of another task, of ordinary priority, while the jobs run: 90 % of its wake-ups are later by at most this
    Foreground,
}

/// What CPU-bound work consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Instructions {
    /// Each needs the result of the one before: two hardware threads of a core do nearly twice the work of one
    Dependent,
    /// Eight independent chains, which need the whole core: hardware threads are not taken for cores
    Independent,
}

fn lengths(text: &str) -> Result<String, String> {
    parse_lengths(text).map(|_| text.to_owned())
}

fn share(text: &str) -> Result<String, String> {
    parse_share(text).map(|_| text.to_owned())
}

fn bound(text: &str) -> Result<String, String> {
    parse_bound(text).map(|_| text.to_owned())
}

impl Arguments for Concurrency {
    /// Measures the candidates for the given jobs and reports which is best.
    fn run(&self) -> anyhow::Result<Ending> {
        self.output.files.check()?;
        if self.within.is_some() && self.goal != Goal::Foreground {
            return Err(Usage("--within is a limit of --goal foreground".into()).into());
        }
        let jobs = jobs_of(self)?;
        let cpus = platform::cpu::allowed();
        let list = list_of(&jobs).map_err(|case_error| Usage(case_error.to_string()))?;
        let plan = plan_for(&jobs, &list, &cpus, self)?;
        announce(&plan, self);
        let mut asked = jobs;
        if list.has_lock() || !list.dependencies.are_none() {
            asked.extend(list.limits(cpus.len()).to_params());
        }
        let goal = self.goal.to_possible_value().expect("no goal is hidden");
        asked.insert(GOAL.to_owned(), goal.get_name().to_owned());
        asked.insert("rounds".to_owned(), self.rounds.to_string());
        if let Some(limit) = self.within {
            asked.insert(WITHIN.to_owned(), format_duration(limit));
        }
        let form = Form::of(self.output.json, false);
        let stop = stop_on_interrupt()?;
        measure(&plan, asked, form, &self.output, &self.store, stop)
    }
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

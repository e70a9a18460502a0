//! `oscost fleet run` and `oscost fleet resume`: the coordinator of a job.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use command::ending::{Ending, Usage};
use command::interrupt::stop_on_interrupt;
use command::output::note;
use command::store::store_to_write;
use fleet::{
    Binary, Effort, Job, Node, Request, SlurmSettings, State, TransportKind, directory_of_jobs,
    nodes_of, parse_host_file,
};
use results::{JOB_TAG, NODE_TAG, Store};

use super::jobs::{of_fleet, open};
use super::rows;
use crate::args::{FleetEffort, FleetNodes, FleetResume, FleetRun, parse_run};
use crate::commands::exchange::read_text;

/// Begins a job and coordinates it.
pub fn run(args: &FleetRun) -> anyhow::Result<Ending> {
    runner::choose(&args.measuring.filters)?;
    let (transport, nodes) = nodes(&args.nodes)?;
    let arguments = arguments(args)?;
    for node in &nodes {
        check(&arguments, node)?;
    }
    let binary = Binary::of(&this_program(args.binary.clone())?).map_err(of_fleet)?;
    let store = store_to_write(&args.store)?;
    let request = Request {
        id: runner::new_id(),
        transport,
        nodes,
        arguments,
        binary,
        effort: with(Effort::default(), &args.effort),
    };
    let jobs = directory_of_jobs().map_err(of_fleet)?;
    let job = Job::create(&jobs, request).map_err(of_fleet)?;
    coordinate(job, store, args.json)
}

/// Completes a job.
pub fn resume(args: &FleetResume) -> anyhow::Result<Ending> {
    let mut job = open(&args.of)?;
    let store = store_to_write(&args.store)?;
    let effort = with(job.request().effort.clone(), &args.effort);
    if effort != job.request().effort {
        job.set_effort(effort).map_err(of_fleet)?;
    }
    coordinate(job, store, args.json)
}

fn coordinate(mut job: Job, mut store: Store, json: bool) -> anyhow::Result<Ending> {
    let (id, all) = (job.request().id.clone(), job.request().nodes.len());
    note(&format!("job {id}: {}", report::text::number_of(all, "node")));
    let stop = stop_on_interrupt()?;
    let mut keep = |document: &results::Document| {
        store.import(document).map(|_| ()).map_err(|error| error.to_string())
    };
    let mut told = |row: &fleet::Row| {
        let said = match (&row.state, &row.run) {
            (State::Done, Some(run)) => format!("run {run}{}", rows::attempt(row)),
            _ => rows::reason(row),
        };
        note(&format!("{}: {}: {said}", row.node, row.state.word()));
    };
    let all = job.run(stop, &mut keep, &mut told).map_err(of_fleet)?;
    if stop.load(Ordering::Relaxed) {
        note(&format!("stopped here; nodes go on: oscost fleet stop {id} ends them"));
    }
    rows::show(&job, &all, json)
}

/// The transport and the nodes.
fn nodes(args: &FleetNodes) -> anyhow::Result<(TransportKind, Vec<Node>)> {
    let named = match &args.hostfile {
        Some(path) => {
            let nodes = parse_host_file(&read_text(path)?);
            Some(nodes.map_err(|error| Usage(format!("{}: {error}", path.display())))?)
        }
        None if args.hosts.is_empty() => None,
        None => Some(nodes_of(&args.hosts).map_err(of_fleet)?),
    };
    let Some(slurm) = &args.slurm else {
        let Some(command) = shlex::split(&args.ssh).filter(|words| !words.is_empty()) else {
            return Err(Usage(format!("--ssh {:?} is no command", args.ssh)).into());
        };
        return Ok((TransportKind::Ssh { command }, named.unwrap_or_default()));
    };
    let settings = SlurmSettings::parse(slurm).map_err(of_fleet)?;
    // Slurm is asked even if nodes are named, so that a machine without it says so before there is a job.
    let found = settings.node_names().map_err(of_fleet)?;
    let nodes = named.map_or_else(|| nodes_of(&found), Ok).map_err(of_fleet)?;
    Ok((TransportKind::Slurm(settings), nodes))
}

/// The arguments of `run` on every node.
fn arguments(args: &FleetRun) -> anyhow::Result<Vec<String>> {
    let mut arguments = args.measuring.arguments()?;
    for (key, value) in &args.tags {
        if [JOB_TAG, NODE_TAG].contains(&key.as_str()) {
            return Err(
                Usage(format!("--tag {key}={value}: fleet run itself gives this tag")).into()
            );
        }
        arguments.push(format!("--tag={key}={value}"));
    }
    Ok(arguments)
}

/// Checks the arguments of a node before anything is started.
fn check(arguments: &[String], node: &Node) -> anyhow::Result<()> {
    let all = [arguments, &node.arguments].concat();
    let wrong = |why: &str| Err(Usage(format!("the options of node {}: {why}", node.name)).into());
    match parse_run(&all) {
        Err(why) => wrong(&why),
        Ok(run)
            if run.resume.is_some()
                || run.dry_run
                || !run.on.on.is_empty()
                || run.store.store.is_some() =>
        {
            wrong("--resume, --dry-run, --on and --store are not for nodes")
        }
        Ok(run) => runner::choose(&run.measuring.filters).map(|_| ()).map_err(Into::into),
    }
}

/// The program for the nodes: the one that the user named, or this one.
///
/// # Errors
/// If this program has no path.
pub fn this_program(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let named =
        std::env::var_os("OSCOST_STATIC").filter(|path| !path.is_empty()).map(PathBuf::from);
    match given.or(named) {
        Some(path) => Ok(path),
        None => Ok(std::env::current_exe()?),
    }
}

/// The limits, with those that the user gave.
fn with(effort: Effort, given: &FleetEffort) -> Effort {
    Effort {
        at_once: given.at_once.unwrap_or(effort.at_once),
        retries: given.retries.unwrap_or(effort.retries),
        limit: given.limit.unwrap_or(effort.limit),
        wait: given.wait.unwrap_or(effort.wait),
    }
}

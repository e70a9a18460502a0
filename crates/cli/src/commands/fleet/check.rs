//! `oscost fleet check`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use analysis::history::HistoryRun;
use analysis::{Role, role_of_option};
use command::ending::{Ending, Usage};
use command::interrupt::stop_on_interrupt;
use command::output::{note, print};
use command::store::store_to_read;
use fleet::{Binary, Effort, Job, Request, State, TransportKind, nodes_of};
use report::{FleetPage, fleet_check_line, is_judged};
use results::{Document, MetricSeries, NODE_TAG, PointKey, RunFigure, SLOW_DOWN, Store};
use runner::Options;

use super::jobs::of_fleet;
use super::run::this_program;
use super::shown::{fleet_of, runs_of_fleet};
use crate::args::FleetCheck;
use crate::commands::again::{alone, asked_for, options_for};
use crate::commands::history::metrics_of;

/// What a node may take beyond the time to measure: to be reached, and to send its run.
const SLACK: Duration = Duration::from_secs(60);

/// Measures a node, and says in one line whether it belongs.
pub fn check(args: &FleetCheck) -> anyhow::Result<Ending> {
    let store = store_to_read(&args.store)?;
    let mut runs = runs_of_fleet(&store, args.job.as_deref(), false)?;
    let name = match &args.node {
        Some(node) => node.clone(),
        None => args.name.clone().or_else(platform::machine::host_name).unwrap_or_default(),
    };
    if name.is_empty() {
        return Err(Usage("this machine has no host name; --name gives it one".to_owned()).into());
    }
    // A node is measured as its runs were, and compared with the others, not with itself.
    let is_own = |run: &HistoryRun| run.summary.tags.get(NODE_TAG) == Some(&name);
    let own = runs.iter().rposition(is_own).map(|nth| runs[nth].clone());
    runs.retain(|run| !is_own(run));
    let Some(like) = own.or_else(|| usual(&runs).cloned()) else {
        return Err(Usage(format!("the job has no node but {name}")).into());
    };
    keep_alike(&mut runs, &like, &name);
    if let Some(by) = like.summary.asked.get(SLOW_DOWN) {
        note(&format!("SLOWED DOWN ON REQUEST ({name} by {by}): its figures include that"));
    }
    let mut metrics = metrics_of(&store, &runs, &args.points)?;
    drop(store);
    let points: Vec<&PointKey> = metrics.iter().map(|metric| &metric.point).collect();
    let options = Options { budget: Some(args.budget), ..options_for(&points, &like) };
    let stop = stop_on_interrupt()?;
    let measured = match &args.node {
        None => measured_here(&options, &like, stop)?,
        Some(node) => measured_there(node, &args.ssh, &options, &like, args.budget, stop)?,
    };
    let Some(document) = measured else { return Ok(Ending::NotMeasured) };
    add(&mut runs, &mut metrics, &document, &name);
    let fleet = fleet_of(&runs, &metrics);
    let node = fleet.nodes.iter().position(|node| node.name == name).expect("it was added");
    let standings = fleet.standings_of(node);
    let shown = FleetPage { fleet: &fleet, runs: &runs, standings: &standings, explanations: &[] };
    print(&format!("{}\n", fleet_check_line(&shown, node)))?;
    let is_known = is_judged(&shown, node);
    let is_worse = |factor: f64| factor > 1.0 + args.worse_than;
    let mut strangers = standings.iter().flat_map(|one| &one.strangers);
    Ok(match strangers.any(|stranger| is_worse(stranger.factor.mid)) {
        _ if !is_known => Ending::NotMeasured,
        true => Ending::CheckFailed,
        false => Ending::Done,
    })
}

/// The options of a run by which its figures differ from those of others.
fn nuisances(run: &HistoryRun) -> BTreeMap<&String, &String> {
    let asked = run.summary.asked.iter();
    asked.filter(|(option, _)| role_of_option(option) == Role::Nuisance).collect()
}

/// The newest run with the options that most runs have.
fn usual(runs: &[HistoryRun]) -> Option<&HistoryRun> {
    let count =
        |run: &HistoryRun| runs.iter().filter(|other| nuisances(other) == nuisances(run)).count();
    // The last of several greatest ones is the newest.
    runs.iter().max_by_key(|run| count(run))
}

/// Leaves out the nodes that were measured with other options than this one, if two others are left, and names them.
fn keep_alike(runs: &mut Vec<HistoryRun>, like: &HistoryRun, name: &str) {
    let node = |run: &HistoryRun| run.summary.tags.get(NODE_TAG).cloned().unwrap_or_default();
    let is_alike = |run: &HistoryRun| nuisances(run) == nuisances(like);
    let (alike, others): (Vec<HistoryRun>, Vec<HistoryRun>) =
        runs.iter().cloned().partition(is_alike);
    if others.is_empty() {
        return;
    }
    let named = |runs: &[HistoryRun]| -> BTreeSet<String> {
        runs.iter()
            .map(|run| {
                let options = nuisances(run).into_iter();
                let options: Vec<String> =
                    options.map(|(option, value)| format!(" --{option} {value}")).collect();
                let options =
                    if options.is_empty() { " none of these".to_owned() } else { options.concat() };
                format!("{} ({})", node(run), options.trim_start())
            })
            .collect()
    };
    let nodes: BTreeSet<String> = alike.iter().map(node).collect();
    let listed = named(&others).into_iter().collect::<Vec<_>>().join(", ");
    let can_leave = nodes.len() > 1;
    let what = if can_leave { "left out" } else { "compared nevertheless" };
    note(&format!("measured with other options than {name}, {what}: {listed}"));
    if can_leave {
        *runs = alike;
    }
}

/// Measures here, into a store that is removed afterwards.
fn measured_here(
    options: &Options,
    like: &HistoryRun,
    stop: &AtomicBool,
) -> anyhow::Result<Option<Document>> {
    let folder = tempfile::tempdir()?;
    let mut store = Store::open(&folder.path().join("check.sqlite"))?;
    alone(options, asked_for(options, like), BTreeMap::new(), &mut store, stop)
}

/// Measures on a node, as a job of its own that is forgotten afterwards.
fn measured_there(
    node: &str,
    ssh: &str,
    options: &Options,
    like: &HistoryRun,
    budget: Duration,
    stop: &AtomicBool,
) -> anyhow::Result<Option<Document>> {
    let Some(command) = shlex::split(ssh).filter(|words| !words.is_empty()) else {
        return Err(Usage(format!("--ssh {ssh:?} is no command")).into());
    };
    let kept = asked_for(options, like);
    let mut arguments = options.filters.clone();
    arguments.extend(
        options.params.iter().map(|(name, values)| format!("--param={name}={}", values.join(","))),
    );
    arguments.push(format!("--budget={}s", budget.as_secs().max(1)));
    if options.quick {
        arguments.push("--quick".to_owned());
    }
    for name in ["scale", "slow-down"] {
        arguments.extend(kept.get(name).map(|value| format!("--{name}={value}")));
    }
    let request = Request {
        id: runner::new_id(),
        transport: TransportKind::Ssh { command },
        nodes: nodes_of(&[node.to_owned()]).map_err(of_fleet)?,
        arguments,
        binary: Binary::of(&this_program(None)?).map_err(of_fleet)?,
        effort: Effort { retries: 0, limit: budget + SLACK, wait: SLACK, ..Effort::default() },
    };
    let folder = tempfile::tempdir()?;
    let mut job = Job::create(folder.path(), request).map_err(of_fleet)?;
    let mut found = None;
    let mut keep = |document: &Document| {
        found = Some(document.clone());
        Ok(())
    };
    let rows = job.run(stop, &mut keep, &mut |_| {}).map_err(of_fleet)?;
    if let Some(row) = rows.iter().find(|row| row.state != State::Done) {
        print(&format!("{node} could not be checked: {}\n", super::rows::reason(row)))?;
        return Ok(None);
    }
    Ok(found)
}

/// Adds a run of the node to those of the fleet.
fn add(runs: &mut Vec<HistoryRun>, metrics: &mut [MetricSeries], document: &Document, name: &str) {
    let number = runs.len();
    for result in &document.results {
        let Some(figure) = RunFigure::of(result) else { continue };
        let is_it = |metric: &&mut MetricSeries| {
            metric.point == result.point()
                && (&metric.metric, &metric.unit) == (&result.metric, &result.unit)
        };
        if let Some(metric) = metrics.iter_mut().find(is_it) {
            metric.figures.push(number, &figure);
        }
    }
    let mut run = HistoryRun::of(document);
    run.summary.tags.insert(NODE_TAG.to_owned(), name.to_owned());
    runs.push(run);
}

//! `oscost fleet show` and `oscost fleet compare`.

use std::collections::BTreeSet;

use analysis::fleet::{Explanation, Fleet, Level, Levels, Standing};
use analysis::history::HistoryRun;
use command::ending::{Ending, Usage};
use command::options::StoreArg;
use command::output::{page, print, print_json};
use command::store::store_to_read;
use report::text::joined;
use report::{FleetPage, fleet_comparison_text, fleet_html, fleet_text};
use results::{JOB_TAG, MetricSeries, NODE_TAG, Store};
use serde_json::{Value, json};

use crate::args::{FleetCompare, FleetRuns, FleetShow};
use crate::commands::history::{metrics_of, runs_of};

/// The schema of the JSON documents; a change of meaning increments it.
const SCHEMA: u32 = 1;

/// Shows which nodes do not belong, and what goes with differences.
pub fn show(args: &FleetShow) -> anyhow::Result<Ending> {
    let told = told_of(&args.of)?;
    match args.json {
        true => print_json(&told.json())?,
        false => print(&fleet_text(&told.page(), args.all, &page()))?,
    }
    Ok(Ending::Done)
}

/// Compares nodes by the values of a fact.
pub fn compare(args: &FleetCompare) -> anyhow::Result<Ending> {
    let told = told_of(&args.of)?;
    let Some(by) = told.fleet.compared_by(&args.by) else {
        let why = format!(
            "{} has not two values with two nodes each; {}",
            args.by,
            facts_that_differ(&told.fleet)
        );
        return Err(Usage(why).into());
    };
    let levels = told.fleet.levels(Some(&args.by));
    if args.json {
        let groups = levels.iter().map(levels_json).collect::<Vec<_>>();
        let explanation = explanation_json(&told.fleet, &by);
        print_json(&json!({ "schema": SCHEMA, "by": explanation, "levels": groups }))?;
        return Ok(Ending::Done);
    }
    print(&fleet_comparison_text(&told.page(), &by, &levels, &page()))?;
    Ok(Ending::Done)
}

fn facts_that_differ(fleet: &Fleet) -> String {
    let facts: BTreeSet<&String> = fleet.nodes.iter().flat_map(|node| node.facts.keys()).collect();
    let differ: Vec<String> =
        facts.into_iter().filter(|fact| fleet.compared_by(fact).is_some()).cloned().collect();
    match differ.is_empty() {
        true => "no fact of these nodes has".to_owned(),
        false => format!("these have: {}", joined(&differ, "and")),
    }
}

/// The fleet as a page.
///
/// # Errors
/// If the store has no runs of a fleet, or cannot be read.
pub fn fleet_page(
    job: Option<&str>,
    title: Option<&str>,
    store: &StoreArg,
) -> anyhow::Result<String> {
    let told = Told::of(job, false, &[], store)?;
    Ok(fleet_html(&told.page(), title))
}

fn told_of(of: &FleetRuns) -> anyhow::Result<Told> {
    Told::of(of.job.as_deref(), of.every_job, &of.points, &of.store)
}

/// A fleet with what can be said of it.
struct Told {
    runs: Vec<HistoryRun>,
    fleet: Fleet,
    standings: Vec<Standing>,
    explanations: Vec<Explanation>,
}

impl Told {
    fn of(
        job: Option<&str>,
        every_job: bool,
        points: &[String],
        store: &StoreArg,
    ) -> anyhow::Result<Self> {
        let store = store_to_read(store)?;
        let runs = runs_of_fleet(&store, job, every_job)?;
        let metrics = metrics_of(&store, &runs, points)?;
        let fleet = fleet_of(&runs, &metrics);
        let standings = fleet.standings();
        let explanations = fleet.explanations(&standings);
        Ok(Self { runs, fleet, standings, explanations })
    }

    fn page(&self) -> FleetPage<'_> {
        FleetPage {
            fleet: &self.fleet,
            runs: &self.runs,
            standings: &self.standings,
            explanations: &self.explanations,
        }
    }

    fn json(&self) -> Value {
        let standings = self.standings.iter().map(|standing| {
            let nodes = self.fleet.nodes.iter().zip(&standing.deviations.of_nodes);
            let factors = nodes.filter_map(|(node, place)| Some((node.name.clone(), place.as_ref()?.0.exp())));
            let strangers = standing.strangers.iter().map(|stranger| {
                json!({
                    "node": self.fleet.nodes[stranger.node].name,
                    "worse_by_factor": stranger.factor,
                    "p": stranger.p,
                })
            });
            json!({
                "figures": standing.deviations.group.to_string(),
                "number": standing.deviations.count,
                "named_from_factor": standing.named_from,
                "half_within_factor": standing.half_within,
                "one_crowd": standing.is_one_crowd,
                "do_not_belong": strangers.collect::<Vec<_>>(),
                "worse_by_factor": factors.map(|(name, by)| (name, by.into())).collect::<serde_json::Map<_, _>>(),
            })
        });
        let nodes = self.fleet.nodes.iter().map(|node| {
            let runs: Vec<&str> = node
                .visits
                .iter()
                .flatten()
                .map(|&run| self.runs[run].summary.id.as_str())
                .collect();
            json!({ "node": node.name, "runs": runs, "visits": node.visits.len(), "facts": node.facts })
        });
        let explanations = self.explanations.iter().map(|one| explanation_json(&self.fleet, one));
        json!({
            "schema": SCHEMA,
            "nodes": nodes.collect::<Vec<_>>(),
            "standings": standings.collect::<Vec<_>>(),
            "goes_with_differences": explanations.collect::<Vec<_>>(),
        })
    }
}

fn explanation_json(fleet: &Fleet, one: &Explanation) -> Value {
    let names = |nodes: &[usize]| -> Vec<&str> {
        nodes.iter().map(|&node| fleet.nodes[node].name.as_str()).collect()
    };
    let values =
        one.values.iter().map(|(value, nodes)| json!({ "value": value, "nodes": names(nodes) }));
    let effects = one.effects.iter().map(|effect| {
        json!({
            "figures": effect.group.to_string(),
            "worse_by_factor": effect.factors,
            "cycles_per_entry": effect.cycles_per_entry,
            "p": effect.p,
        })
    });
    json!({
        "facts": one.facts,
        "values": values.collect::<Vec<_>>(),
        "effects": effects.collect::<Vec<_>>(),
    })
}

fn levels_json(levels: &Levels) -> Value {
    let of = Level::ALL
        .iter()
        .zip(levels.deviations)
        .map(|(level, deviation)| (format!("{level:?}").to_lowercase(), json!(deviation)));
    json!({
        "figures": levels.group.to_string(),
        "deviations": of.collect::<serde_json::Map<_, _>>(),
    })
}

/// The runs of a job, or of the latest one, or all that name a node, in the order of time.
///
/// # Errors
/// If there are none.
pub fn runs_of_fleet(
    store: &Store,
    job: Option<&str>,
    every_job: bool,
) -> anyhow::Result<Vec<HistoryRun>> {
    let mut runs = runs_of(store)?;
    runs.retain(|run| run.summary.tags.contains_key(NODE_TAG));
    let latest = runs.iter().rev().find_map(|run| run.summary.tags.get(JOB_TAG)).cloned();
    let job = job.map(str::to_owned).or(latest);
    if let (Some(job), false) = (&job, every_job) {
        runs.retain(|run| run.summary.tags.get(JOB_TAG) == Some(job));
    }
    if runs.is_empty() {
        let why = match job {
            Some(job) => format!("the store has no finished run of job {job}"),
            None => "the store has no run that names its node; `oscost fleet run --hosts A,B,C` makes them, and so does `oscost run --tag \
                     node=NAME` on each node"
                .to_owned(),
        };
        return Err(Usage(why).into());
    }
    Ok(runs)
}

/// The fleet of these runs; all facts that are compared may go with a difference.
pub fn fleet_of(runs: &[HistoryRun], metrics: &[MetricSeries]) -> Fleet {
    let described = platform::machine::describe();
    let compared =
        described.iter().filter(|fact| fact.role != analysis::Role::State).map(|fact| fact.key);
    let facts: Vec<&str> = compared.chain([results::SYSTEM, "oscost_build"]).collect();
    Fleet::of(runs, metrics, &facts)
}

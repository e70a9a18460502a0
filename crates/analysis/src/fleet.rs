//! The nodes of a fleet: which do not belong, which facts go with a difference, and at which level figures vary.
//!
//! A node's figure is the mean over its visits. Nodes are compared by groups of figures: all of them, and those with one cause
//! ([`Cause`]). The deviation of a node in a group is the mean over the group's figures of the logarithm of its figure divided by
//! the median of all nodes, where figures that differ little between nodes weigh more. What the core does is compared in its
//! cycles, and its clock is a group of its own: nodes may run at different frequencies, by which nothing is wrong with them. As
//! the spread of these deviations is that of the nodes themselves, it does not matter how far the figures of a node depend on
//! each other.

mod crowd;
mod explanation;
mod levels;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use measure::stats::{Interval, LEVEL, OF_NORMAL, ROUNDS_FOR_INTERVAL, median, t_quantile};
use results::{CONFIRMS, Direction, JOB_TAG, MetricSeries, NODE_TAG, PointKey, RunFigure};

pub use explanation::{Effect, Explanation};
pub use levels::{Level, Levels};

use crate::change::Ratio;
use crate::history::{HistoryRun, visits_of};
use crate::next_run::{Cause, ONE_BOOT, booted};
use crowd::{Crowd, Known};

/// Tags that name a run, and explain nothing.
const NAMES: [&str; 3] = [NODE_TAG, JOB_TAG, CONFIRMS];
/// Least deviation between nodes, as a share: a difference below it would come from how the program was laid out.
const FLOOR: f64 = 1e-3;
/// Figures that differ less from node to node, as a share, weigh no more: those that are the same everywhere would hide all others.
const LEAST_SPREAD: f64 = 5e-3;
/// What is known beforehand of the deviation between clocks of equal nodes, as a share: boost frequencies differ by some per cent with
/// the neighbours' load. With few degrees of freedom: it is not known well.
const CLOCKS: f64 = 0.02;
const DEGREES_OF_CLOCKS: f64 = 4.0;
/// The chance that any node of a fleet without differences is named.
const CHANCE: f64 = 0.05;

/// Figures of several nodes.
#[derive(Debug, Clone)]
pub struct Fleet {
    /// The nodes, in the order of their names.
    pub nodes: Vec<Node>,
    /// One metric of one point each; figures that may be 0 or less, and those that are neither better nor worse, are left out.
    pub figures: Vec<FleetFigure>,
}

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value of its tag [`NODE_TAG`].
    pub name: String,
    /// Facts of its newest run that may go with a difference, and tags as `tag.KEY`.
    pub facts: BTreeMap<String, String>,
    /// Numbers of its runs in visits, in the order of time.
    pub visits: Vec<Vec<usize>>,
    /// For each visit, the number of the boot, counted from 0.
    boots: Vec<usize>,
}

/// One metric of one point on all nodes.
#[derive(Debug, Clone)]
pub struct FleetFigure {
    /// The point.
    pub point: PointKey,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Which direction is better.
    pub better: Direction,
    /// What makes its figures differ.
    pub cause: Cause,
    /// By the number of the node; `None` where it was not measured.
    pub of_nodes: Vec<Option<NodeFigure>>,
    /// Whether all nodes are compared by core cycles.
    in_cycles: bool,
    /// System calls for each operation, if counted.
    syscalls: Option<f64>,
    /// The median of the nodes' logarithms.
    middle: f64,
    /// The standard deviation of these between nodes, by the median of absolute deviations.
    spread: f64,
}

/// A figure of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeFigure {
    /// The mean over visits (geometric), in the unit of the figure.
    pub mean: f64,
    /// Its variance by what rounds show within runs, of the logarithm.
    error: f64,
    /// Core cycles per operation, if known: the mean over visits.
    cycles: Option<f64>,
    /// Nanoseconds per core cycle in the newest visit, if known.
    ns_per_cycle: Option<f64>,
    /// For each visit that measured it: its number, its logarithm and the variance of that by its rounds.
    visits: Vec<(usize, f64, f64)>,
    /// What the newest run knew beforehand: the standard deviation between visits with its degrees of freedom.
    known: Option<(f64, f64)>,
}

/// Figures by which nodes are compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// All figures.
    All,
    /// Figures whose differences have this cause.
    Cause(Cause),
    /// The time of a core cycle, by the figures that are in cycles.
    Clock,
}

impl fmt::Display for Group {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::All => out.write_str("all figures"),
            Self::Cause(cause) => write!(out, "{cause}"),
            Self::Clock => out.write_str("the core clock"),
        }
    }
}

/// How far the nodes are from the middle of a group of figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Deviations {
    /// The figures.
    pub group: Group,
    /// Their number.
    pub count: usize,
    /// By the number of the node: the logarithm of the factor by which the node is worse than the middle, with its variance by the
    /// rounds; `None` for a node that lacks half of the figures.
    pub of_nodes: Vec<Option<(f64, f64)>>,
}

/// A node that does not belong.
#[derive(Debug, Clone, PartialEq)]
pub struct Stranger {
    /// Its number.
    pub node: usize,
    /// In which figures.
    pub group: Group,
    /// By which factor it is worse than the others (below 1: better), with the interval for this node alone.
    pub factor: Ratio,
    /// The chance of such a node in a fleet without differences, for all nodes and groups together.
    pub p: f64,
}

/// What can be said of the nodes in a group of figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// How far each node is from the middle.
    pub deviations: Deviations,
    /// The nodes that do not belong, the worst first.
    pub strangers: Vec<Stranger>,
    /// The factor from which on a node would be named; `None` with too few nodes.
    pub named_from: Option<f64>,
    /// Whether most nodes are near each other; otherwise they are of several kinds, and only what is far from all of them is named.
    pub is_one_crowd: bool,
    /// The factor within which half of the nodes are.
    pub half_within: f64,
}

impl Fleet {
    /// The fleet of these runs, given in the order of time, with their figures. Runs without the tag [`NODE_TAG`] belong to none.
    /// `facts` are those that may go with a difference; tags always may.
    pub fn of(runs: &[HistoryRun], metrics: &[MetricSeries], facts: &[&str]) -> Self {
        let mut numbers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, run) in runs.iter().enumerate() {
            if let Some(name) = run.summary.tags.get(NODE_TAG) {
                numbers.entry(name).or_default().push(number);
            }
        }
        let nodes: Vec<Node> = numbers
            .into_iter()
            .map(|(name, numbers)| Node::of(name, runs, visits_of(runs, &numbers), facts))
            .collect();
        let figures = metrics.iter().filter_map(|metric| FleetFigure::of(metric, &nodes)).collect();
        Self { nodes, figures }
    }

    /// The groups: all figures, and those with each cause, if there are several.
    pub fn groups(&self) -> Vec<Group> {
        let causes: BTreeSet<&Cause> = self.figures.iter().map(|figure| &figure.cause).collect();
        let several = causes.into_iter().cloned().map(Group::Cause).collect::<Vec<_>>();
        let several = if several.len() > 1 { several } else { Vec::new() };
        let clock = self.figures.iter().any(|figure| figure.in_cycles).then_some(Group::Clock);
        std::iter::once(Group::All).chain(several).chain(clock).collect()
    }

    fn of_group<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = &'a FleetFigure> {
        self.figures.iter().filter(move |figure| match group {
            Group::All => true,
            Group::Cause(cause) => figure.cause == *cause,
            Group::Clock => figure.in_cycles,
        })
    }

    /// How far each node is from the middle of a group.
    pub fn deviations(&self, group: &Group) -> Deviations {
        if *group == Group::Clock {
            return self.clocks();
        }
        let figures: Vec<(&FleetFigure, f64)> =
            self.of_group(group).map(|figure| (figure, figure.weight())).collect();
        let weights: f64 = figures.iter().map(|(_, weight)| weight).sum();
        let of_node = |node: usize| {
            let (mut sum, mut error, mut known) = (0.0, 0.0, 0.0);
            for (figure, weight) in &figures {
                if let (Some(by), Some(of_node)) = (figure.deviation(node), &figure.of_nodes[node])
                {
                    sum += weight * by;
                    error += weight * weight * of_node.error;
                    known += weight;
                }
            }
            (known > 0.0 && known >= weights / 2.0).then(|| (sum / known, error / known.powi(2)))
        };
        let of_nodes = (0..self.nodes.len()).map(of_node).collect();
        Deviations { group: group.clone(), count: figures.len(), of_nodes }
    }

    /// How much longer the core's cycle is on each node than in the middle: by the median over its figures.
    fn clocks(&self) -> Deviations {
        let of_node = |node: usize| {
            let figures = self.of_group(&Group::Clock);
            let mut all: Vec<f64> = figures
                .filter_map(|figure| figure.of_nodes[node].as_ref()?.ns_per_cycle)
                .map(f64::ln)
                .collect();
            (!all.is_empty()).then(|| median(&mut all))
        };
        let places: Vec<Option<f64>> = (0..self.nodes.len()).map(of_node).collect();
        let mut known: Vec<f64> = places.iter().copied().flatten().collect();
        let middle = if known.is_empty() { 0.0 } else { median(&mut known) };
        Deviations {
            group: Group::Clock,
            count: self.of_group(&Group::Clock).count(),
            of_nodes: places.into_iter().map(|place| Some((place? - middle, 0.0))).collect(),
        }
    }

    /// What can be said of the nodes, by group. In a fleet without differences, any node is named in 5 % of fleets.
    pub fn standings(&self) -> Vec<Standing> {
        self.standings_for(None)
    }

    /// Whether one node belongs, by group: that one is named in 5 % of fleets without differences.
    pub fn standings_of(&self, node: usize) -> Vec<Standing> {
        self.standings_for(Some(node))
    }

    fn standings_for(&self, only: Option<usize>) -> Vec<Standing> {
        let groups = self.groups();
        let candidates = if only.is_some() { 1 } else { self.nodes.len() };
        let is_candidate = |node: usize| only.is_none_or(|only| only == node);
        let tests = (candidates * groups.len()).max(1) as f64;
        let standing = |group: &Group| {
            let deviations = self.deviations(group);
            let crowd = Crowd::of(&deviations.of_nodes, self.known(group), only);
            let mut strangers: Vec<Stranger> = Vec::new();
            for (node, of_node) in deviations.of_nodes.iter().enumerate() {
                let (Some(crowd), Some(place)) = (&crowd, *of_node) else { continue };
                let p = (crowd.p_value(place) * tests).min(1.0);
                if is_candidate(node) && p <= CHANCE {
                    let (by, half) = crowd.difference(place);
                    let factor = Ratio::of_log(by, half);
                    strangers.push(Stranger { node, group: group.clone(), factor, p });
                }
            }
            strangers.sort_by(|one, other| other.factor.mid.total_cmp(&one.factor.mid));
            let named_from = crowd.as_ref().map(|crowd| crowd.named_from(CHANCE / tests).exp());
            let is_one_crowd = crowd.is_none_or(|crowd| crowd.is_one);
            let mut distances: Vec<f64> =
                deviations.of_nodes.iter().flatten().map(|(by, _)| by.abs()).collect();
            let half_within = if distances.is_empty() { 1.0 } else { median(&mut distances).exp() };
            Standing { deviations, strangers, named_from, is_one_crowd, half_within }
        };
        groups.iter().map(standing).collect()
    }

    /// What the newest runs knew beforehand of the variance between visits of a group's mean.
    fn known(&self, group: &Group) -> Option<Known> {
        if *group == Group::Clock {
            return Some(Known { variance: CLOCKS.powi(2), degrees: DEGREES_OF_CLOCKS });
        }
        let (mut variance, mut weights, mut degrees) = (0.0, 0.0, f64::INFINITY);
        for figure in self.of_group(group) {
            for (deviation, of) in figure.of_nodes.iter().flatten().filter_map(|node| node.known) {
                let weight = figure.weight();
                variance += weight * deviation.powi(2);
                weights += weight;
                degrees = of.min(degrees);
            }
        }
        (weights > 0.0).then(|| Known { variance: variance / weights, degrees })
    }

    /// By how many core cycles each entry into the kernel costs more on some nodes than on others, in the median over the figures
    /// that enter it; `None` if that is not known of any.
    pub fn cycles_per_entry(&self, on: &[usize], than_on: &[usize]) -> Option<f64> {
        let mut all: Vec<f64> = self
            .of_group(&Group::Cause(Cause::Entry))
            .filter_map(|figure| {
                let middle = |nodes: &[usize]| {
                    let mut cycles: Vec<f64> = nodes
                        .iter()
                        .filter_map(|&node| figure.of_nodes[node].as_ref()?.cycles)
                        .collect();
                    (!cycles.is_empty()).then(|| median(&mut cycles))
                };
                Some(
                    (middle(on)? - middle(than_on)?)
                        / figure.syscalls.filter(|&calls| calls > 0.0)?,
                )
            })
            .collect();
        (!all.is_empty()).then(|| median(&mut all))
    }

    /// Facts and tags that some nodes have in common, and no other node has. None if these are all nodes.
    pub fn only_on(&self, nodes: &[usize]) -> Vec<(&str, &str)> {
        let Some(&first) = nodes.first() else { return Vec::new() };
        let has = |node: usize, fact: &str, value: &str| {
            self.nodes[node].facts.get(fact).is_some_and(|of_node| of_node == value)
        };
        let all = self.nodes[first].facts.iter();
        let is_theirs = |(fact, value): &(&String, &String)| {
            (0..self.nodes.len()).all(|node| has(node, fact, value) == nodes.contains(&node))
        };
        let is_all = nodes.len() == self.nodes.len();
        all.filter(|fact| !is_all && is_theirs(fact))
            .map(|(fact, value)| (fact.as_str(), value.as_str()))
            .collect()
    }
}

impl Node {
    fn of(name: &str, runs: &[HistoryRun], visits: Vec<Vec<usize>>, facts: &[&str]) -> Self {
        let newest = visits.last().and_then(|visit| visit.last()).map(|&run| &runs[run]);
        let facts = newest.map(|run| facts_of(run, facts)).unwrap_or_default();
        let mut boots = Vec::with_capacity(visits.len());
        let mut before: Option<f64> = None;
        let mut number = 0;
        for visit in &visits {
            let run = &runs[visit[0]];
            let now = booted(&run.machine, run.began);
            // Without an uptime nothing tells of another boot.
            if let (Some(before), Some(now)) = (before, now)
                && now - before > ONE_BOOT
            {
                number += 1;
            }
            before = now.or(before);
            boots.push(number);
        }
        Self { name: name.to_owned(), facts, visits, boots }
    }
}

/// Facts and tags of a run that may go with a difference.
fn facts_of(run: &HistoryRun, names: &[&str]) -> BTreeMap<String, String> {
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let facts = names.iter().filter_map(|&name| {
        let value = run.machine.get(name).filter(|value| !value.is_null())?;
        Some((name.to_owned(), text(value)))
    });
    let tags = run.summary.tags.iter().filter(|(key, _)| !NAMES.contains(&key.as_str()));
    facts.chain(tags.map(|(key, value)| (format!("tag.{key}"), value.clone()))).collect()
}

impl FleetFigure {
    fn of(metric: &MetricSeries, nodes: &[Node]) -> Option<Self> {
        let of_runs: BTreeMap<usize, RunFigure> = metric.figures.iter().collect();
        let newest = of_runs.last_key_value()?.1;
        let is_positive = of_runs.values().all(|figure| figure.figure.median > 0.0);
        if metric.better == Direction::Neither || !is_positive {
            return None;
        }
        let in_cycles = of_runs.values().all(|figure| figure.cycles.is_some());
        let of_nodes: Vec<Option<NodeFigure>> =
            nodes.iter().map(|node| NodeFigure::of(node, &of_runs, in_cycles)).collect();
        let mut places: Vec<f64> = of_nodes.iter().flatten().map(|node| node.mean.ln()).collect();
        if places.is_empty() {
            return None;
        }
        let middle = median(&mut places);
        let mut distances: Vec<f64> = places.iter().map(|place| (place - middle).abs()).collect();
        let spread = (OF_NORMAL * median(&mut distances)).max(FLOOR);
        Some(Self {
            point: metric.point.clone(),
            metric: metric.metric.clone(),
            unit: match in_cycles {
                true => metric.unit.replacen("ns", "cycles", 1),
                false => metric.unit.clone(),
            },
            better: metric.better,
            cause: Cause::of_figure(&metric.point.case, newest),
            of_nodes,
            in_cycles,
            syscalls: newest.syscalls,
            middle,
            spread,
        })
    }

    /// The logarithm of the factor by which a node is worse than the middle; negative if it is better.
    pub fn deviation(&self, node: usize) -> Option<f64> {
        let by = self.of_nodes.get(node)?.as_ref()?.mean.ln() - self.middle;
        Some(if self.better == Direction::Higher { -by } else { by })
    }

    fn weight(&self) -> f64 {
        self.spread.max(LEAST_SPREAD).powi(-2)
    }

    /// The standard deviation of the logarithms between nodes.
    pub fn spread(&self) -> f64 {
        self.spread
    }
}

impl NodeFigure {
    fn of(node: &Node, of_runs: &BTreeMap<usize, RunFigure>, in_cycles: bool) -> Option<Self> {
        let shown = |one: &RunFigure| one.cycles.filter(|_| in_cycles).unwrap_or(one.figure);
        let mut visits = Vec::new();
        let mut ns_per_cycle = None;
        let mut cycles = Some(Vec::new());
        let mut known = None;
        for (number, visit) in node.visits.iter().enumerate() {
            // A figure of too few rounds for an interval is no evidence that its node differs.
            let has_interval = |one: &&RunFigure| usize::from(one.rounds) >= ROUNDS_FOR_INTERVAL;
            let figures: Vec<&RunFigure> =
                visit.iter().filter_map(|run| of_runs.get(run)).filter(has_interval).collect();
            let Some(last) = figures.last() else { continue };
            let count = figures.len() as f64;
            let place = figures.iter().map(|one| shown(one).median.ln()).sum::<f64>() / count;
            let error = figures.iter().map(|one| error_of(shown(one), one.rounds)).sum::<f64>();
            let error = error / count.powi(2);
            visits.push((number, place, error));
            known = last.next.map(|next| (next.deviation, next.degrees));
            ns_per_cycle = last.cycles.map(|cycles| last.figure.median / cycles.median);
            cycles = cycles.and_then(|mut all: Vec<f64>| {
                all.push(last.cycles?.median);
                Some(all)
            });
        }
        let count = visits.len() as f64;
        (!visits.is_empty()).then(|| Self {
            mean: (visits.iter().map(|(_, place, _)| place).sum::<f64>() / count).exp(),
            error: visits.iter().map(|(_, _, error)| error).sum::<f64>() / count.powi(2),
            cycles: cycles.map(|all| all.iter().sum::<f64>() / all.len() as f64),
            ns_per_cycle,
            visits,
            known,
        })
    }
}

/// The variance of the logarithm of a run's figure by its rounds; 0 for figures that do not differ.
fn error_of(interval: Interval, rounds: u16) -> f64 {
    if !(interval.low > 0.0 && interval.high.is_finite()) {
        return 0.0;
    }
    let half = (interval.high.ln() - interval.low.ln()) / 2.0;
    (half / t_quantile(1.0 - (1.0 - LEVEL) / 2.0, f64::from(rounds) - 1.0)).powi(2)
}

//! Which facts go with a difference between nodes.

use std::collections::BTreeMap;

use measure::stats::{LEVEL, t_quantile};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::{CHANCE, FLOOR, Fleet, Group, Standing};
use crate::change::Ratio;
use crate::next_run::Cause;

/// Least number of nodes with a value of a fact.
const LEAST_NODES: usize = 2;

/// Facts that go with a difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The facts. Several have their values on the same nodes, so that they cannot be told apart.
    pub facts: Vec<String>,
    /// The values of the first fact with the numbers of their nodes, that of most nodes first.
    pub values: Vec<(String, Vec<usize>)>,
    /// In which figures nodes with these values differ, the surest first.
    pub effects: Vec<Effect>,
}

/// How nodes with a value of a fact differ from those with the value of most nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// In which figures.
    pub group: Group,
    /// By which factor each further value is worse than the first (below 1: better), with its interval, in the order of the values.
    pub factors: Vec<Ratio>,
    /// How many core cycles an entry into the kernel costs more, for each further value; only of entries.
    pub cycles_per_entry: Vec<Option<f64>>,
    /// The chance of such a difference if the fact had no effect.
    pub p: f64,
}

/// Nodes by the value of a fact: for each value the numbers of its nodes.
type Partition = Vec<Vec<usize>>;

impl Fleet {
    /// The facts that go with a difference, the surest first. In a fleet without differences, any is named in 5 % of fleets. Once a
    /// fact is found, others must explain what it leaves. Nodes that do not belong are left out.
    /// `standings` are those of this fleet.
    pub fn explanations(&self, standings: &[Standing]) -> Vec<Explanation> {
        let facts = self.partitions();
        let groups = self.groups();
        let greatest = CHANCE / (facts.len() * groups.len()).max(1) as f64;
        let mut left: Vec<Vec<Option<f64>>> = standings.iter().map(of_those_that_belong).collect();
        let mut found: Vec<Explanation> = Vec::new();
        let mut untried: Vec<(&Partition, &Vec<String>)> = facts.iter().collect();
        loop {
            let surest = untried
                .iter()
                .enumerate()
                .map(|(nth, (partition, _))| {
                    let least = left.iter().filter_map(|places| p_value(partition, places));
                    (nth, least.fold(1.0, f64::min))
                })
                .min_by(|one, other| one.1.total_cmp(&other.1));
            let Some((nth, _)) = surest.filter(|(_, p)| *p <= greatest) else { return found };
            let (partition, names) = untried.remove(nth);
            let effect = |(group, places): (&Group, &Vec<Option<f64>>)| {
                let p = p_value(partition, places).filter(|p| *p <= greatest)?;
                Some(self.effect(group, partition, places, p))
            };
            let mut effects: Vec<Effect> = groups.iter().zip(&left).filter_map(effect).collect();
            effects.sort_by(|one, other| one.p.total_cmp(&other.p));
            let value =
                |nodes: &Vec<usize>| (self.nodes[nodes[0]].facts[&names[0]].clone(), nodes.clone());
            let values = partition.iter().map(value).collect();
            found.push(Explanation { facts: names.clone(), values, effects });
            left = left.iter().map(|places| without(partition, places)).collect();
        }
    }

    /// How nodes with each value of a fact differ, whether or not that may be chance; `None` if fewer than two values have two nodes.
    pub fn compared_by(&self, fact: &str) -> Option<Explanation> {
        let partition = self.partition(fact)?;
        let standings = self.standings();
        let effects = standings.iter().filter_map(|standing| {
            let places = of_those_that_belong(standing);
            let p = p_value(&partition, &places)?;
            Some(self.effect(&standing.deviations.group, &partition, &places, p))
        });
        let effects = effects.collect();
        let value = |nodes: &Vec<usize>| (self.nodes[nodes[0]].facts[fact].clone(), nodes.clone());
        let values = partition.iter().map(value).collect();
        Some(Explanation { facts: vec![fact.to_owned()], values, effects })
    }

    /// Facts by the nodes that have their values; those with the same nodes together.
    fn partitions(&self) -> BTreeMap<Partition, Vec<String>> {
        let mut all: BTreeMap<Partition, Vec<String>> = BTreeMap::new();
        let names: std::collections::BTreeSet<&String> =
            self.nodes.iter().flat_map(|node| node.facts.keys()).collect();
        for name in names {
            if let Some(partition) = self.partition(name) {
                all.entry(partition).or_default().push(name.clone());
            }
        }
        all
    }

    /// The nodes by the value of a fact, the value of most nodes first, without values of a single node; `None` if that leaves fewer
    /// than two values.
    fn partition(&self, fact: &str) -> Option<Partition> {
        let mut by_value: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, node) in self.nodes.iter().enumerate() {
            if let Some(value) = node.facts.get(fact) {
                by_value.entry(value).or_default().push(number);
            }
        }
        let mut partition: Partition =
            by_value.into_values().filter(|nodes| nodes.len() >= LEAST_NODES).collect();
        partition.sort_by_key(|nodes| (std::cmp::Reverse(nodes.len()), nodes[0]));
        (partition.len() > 1).then_some(partition)
    }

    fn effect(
        &self,
        group: &Group,
        partition: &Partition,
        places: &[Option<f64>],
        p: f64,
    ) -> Effect {
        let sums: Vec<Sums> = partition.iter().map(|nodes| Sums::of(nodes, places)).collect();
        let base = &sums[0];
        let factors = sums[1..].iter().map(|sums| sums.worse_than(base)).collect();
        let is_entry = *group == Group::Cause(Cause::Entry);
        let cycles = |nodes: &Vec<usize>| {
            is_entry.then(|| self.cycles_per_entry(nodes, &partition[0])).flatten()
        };
        let cycles_per_entry = partition[1..].iter().map(cycles).collect();
        Effect { group: group.clone(), factors, cycles_per_entry, p }
    }
}

/// Places of the nodes, without those that do not belong.
fn of_those_that_belong(standing: &Standing) -> Vec<Option<f64>> {
    let is_stranger = |node: usize| standing.strangers.iter().any(|stranger| stranger.node == node);
    let places = standing.deviations.of_nodes.iter().enumerate();
    places.map(|(node, place)| place.filter(|_| !is_stranger(node)).map(|(by, _)| by)).collect()
}

/// The places of some nodes.
struct Sums {
    count: f64,
    mean: f64,
    /// The sum of squares about the mean.
    squares: f64,
}

impl Sums {
    fn of(nodes: &[usize], places: &[Option<f64>]) -> Self {
        let places: Vec<f64> = nodes.iter().filter_map(|&node| places[node]).collect();
        let count = places.len() as f64;
        let mean = places.iter().sum::<f64>() / count.max(1.0);
        let squares = places.iter().map(|place| (place - mean).powi(2)).sum();
        Self { count, mean, squares }
    }

    /// By which factor these are worse, with the interval by Welch's degrees of freedom; without ends if there are too few.
    fn worse_than(&self, base: &Self) -> Ratio {
        let by = self.mean - base.mean;
        let of_mean = |sums: &Self| match sums.count > 1.0 {
            true => sums.squares / (sums.count - 1.0) / sums.count,
            false => f64::INFINITY,
        };
        let (own, of_base) = (of_mean(self), of_mean(base));
        let variance = (own + of_base).max(FLOOR.powi(2) / self.count.min(base.count));
        let degrees = variance.powi(2)
            / (own.powi(2) / (self.count - 1.0) + of_base.powi(2) / (base.count - 1.0))
                .max(f64::MIN_POSITIVE);
        if !variance.is_finite() {
            return Ratio::of_log(by, f64::INFINITY);
        }
        let degrees = degrees.clamp(1.0, self.count + base.count - 2.0);
        Ratio::of_log(by, t_quantile(1.0 - (1.0 - LEVEL) / 2.0, degrees) * variance.sqrt())
    }
}

/// The p-value of equal means of the parts (analysis of variance); `None` with too few nodes.
fn p_value(partition: &Partition, places: &[Option<f64>]) -> Option<f64> {
    let parts: Vec<Sums> = partition.iter().map(|nodes| Sums::of(nodes, places)).collect();
    let parts: Vec<&Sums> = parts.iter().filter(|part| part.count > 0.0).collect();
    let count: f64 = parts.iter().map(|part| part.count).sum();
    let (between, within) = (parts.len() as f64 - 1.0, count - parts.len() as f64);
    if between < 1.0 || within < 1.0 {
        return None;
    }
    let mean = parts.iter().map(|part| part.count * part.mean).sum::<f64>() / count;
    let of_means: f64 = parts.iter().map(|part| part.count * (part.mean - mean).powi(2)).sum();
    let inside: f64 = parts.iter().map(|part| part.squares).sum();
    let variance = (inside / within).max(FLOOR.powi(2));
    let f = FisherSnedecor::new(between, within).expect("a degree or more on each side");
    Some(f.sf(of_means / between / variance))
}

/// The places less the means of the parts; those of no part as they are.
fn without(partition: &Partition, places: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut left = places.to_vec();
    for nodes in partition {
        let mean = Sums::of(nodes, places).mean;
        for &node in nodes {
            left[node] = left[node].map(|place| place - mean);
        }
    }
    left
}

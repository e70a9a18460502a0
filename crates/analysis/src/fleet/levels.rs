//! At which level figures vary: rounds in visits, visits in boots, boots in nodes, nodes in groups.

use std::collections::BTreeMap;

use super::{Fleet, FleetFigure, Group};

/// A level at which figures vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Rounds within a visit: the standard error of a run's figure.
    Rounds,
    /// Visits within a boot.
    Visits,
    /// Boots of a node.
    Boots,
    /// Nodes with one value of a fact, or all nodes.
    Nodes,
    /// Values of a fact.
    Groups,
}

impl Level {
    /// All levels, the innermost first.
    pub const ALL: [Self; 5] = [Self::Rounds, Self::Visits, Self::Boots, Self::Nodes, Self::Groups];
}

/// Standard deviations of a group of figures at each level, as shares of the figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    /// The figures.
    pub group: Group,
    /// By [`Level::ALL`]: the median over the figures. `None` where nothing was measured twice, so that the level is part of the next
    /// one.
    pub deviations: [Option<f64>; 5],
}

/// Something measured, at one level, with what its variance consists of.
struct Unit {
    /// Where it is: group, node, boot and visit, down to its level.
    path: Vec<usize>,
    mean: f64,
    /// The factor on the variance of each level in that of the mean; of rounds the variance itself.
    shares: [f64; 5],
}

impl Fleet {
    /// The standard deviations at each level, by group of figures, where nodes are grouped by the values of a fact, if given. Estimated
    /// by moments: the variance of the means of a level within one unit of the next, less what the levels below contribute.
    pub fn levels(&self, by: Option<&str>) -> Vec<Levels> {
        let of_group = |group: Group| {
            let of_figures: Vec<[Option<f64>; 5]> =
                self.of_group(&group).map(|figure| self.of_figure(figure, by)).collect();
            let median_at = |level: usize| {
                let mut known: Vec<f64> = of_figures.iter().filter_map(|of| of[level]).collect();
                let is_known = !known.is_empty();
                is_known.then(|| measure::stats::median(&mut known).sqrt())
            };
            let deviations = std::array::from_fn(median_at);
            Levels { group, deviations }
        };
        self.groups().into_iter().map(of_group).collect()
    }

    /// The variances of a figure at each level.
    fn of_figure(&self, figure: &FleetFigure, by: Option<&str>) -> [Option<f64>; 5] {
        let mut values: BTreeMap<Option<&String>, usize> = BTreeMap::new();
        let mut units = Vec::new();
        for (number, (node, of_node)) in self.nodes.iter().zip(&figure.of_nodes).enumerate() {
            let value = by.and_then(|fact| node.facts.get(fact));
            let next = values.len();
            let group = *values.entry(value).or_insert(next);
            for (visit, place, error) in of_node.iter().flat_map(|of_node| &of_node.visits) {
                let path = vec![group, number, node.boots[*visit], *visit];
                let shares = [*error, 1.0, 0.0, 0.0, 0.0];
                units.push(Unit { path, mean: *place, shares });
            }
        }
        let mut variances = [None; 5];
        if !units.is_empty() {
            let rounds = units.iter().map(|unit| unit.shares[0]).sum::<f64>();
            variances[0] = Some(rounds / units.len() as f64);
        }
        for level in 1..5 {
            let (variance, outer) = within(&units, level, &variances);
            variances[level] = variance;
            units = outer;
        }
        variances
    }
}

/// The variance at a level within units of the next one, and these units. `None` if no unit has two.
fn within(units: &[Unit], level: usize, below: &[Option<f64>; 5]) -> (Option<f64>, Vec<Unit>) {
    let mut by_outer: BTreeMap<&[usize], Vec<&Unit>> = BTreeMap::new();
    for unit in units {
        let outer = &unit.path[..unit.path.len().saturating_sub(1)];
        by_outer.entry(outer).or_default().push(unit);
    }
    let (mut squares, mut degrees, mut of_lower) = (0.0, 0.0, 0.0);
    let mut all = Vec::with_capacity(by_outer.len());
    for (path, inside) in by_outer {
        let count = inside.len() as f64;
        let mean = inside.iter().map(|unit| unit.mean).sum::<f64>() / count;
        squares += inside.iter().map(|unit| (unit.mean - mean).powi(2)).sum::<f64>();
        degrees += count - 1.0;
        let lower: f64 = inside.iter().map(|unit| of_levels_below(unit, level, below)).sum();
        of_lower += (1.0 - 1.0 / count) * lower;
        let mut shares = [0.0; 5];
        for (at, share) in shares.iter_mut().enumerate() {
            *share = inside.iter().map(|unit| unit.shares[at]).sum::<f64>() / count.powi(2);
        }
        if level < 4 {
            shares[level + 1] = 1.0;
        }
        all.push(Unit { path: path.to_vec(), mean, shares });
    }
    let variance = (degrees > 0.0).then(|| ((squares - of_lower) / degrees).max(0.0));
    (variance, all)
}

/// What the levels below contribute to the variance of a unit's mean.
fn of_levels_below(unit: &Unit, level: usize, below: &[Option<f64>; 5]) -> f64 {
    let upper = (1..level).map(|at| unit.shares[at] * below[at].unwrap_or(0.0));
    unit.shares[0] + upper.sum::<f64>()
}

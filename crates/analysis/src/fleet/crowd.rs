//! What the nodes that belong have in common, and how far a node is from them.

use measure::stats::{LEVEL, OF_NORMAL, median, t_quantile};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::FLOOR;

/// Nodes farther from the middle than so many robust standard deviations do not count for the spread of the others.
const CORE: f64 = 3.0;
/// The variance of normal values within [`CORE`] standard deviations, as a share of that of all.
const VARIANCE_OF_CORE: f64 = 0.9733;
/// Least number of nodes whose own spread is relied on. Of fewer, those closest to each other are closer than by their spread.
const OWN_SPREAD: usize = 20;
/// Degrees of freedom of Student's t for nodes by their own spread, however many they are: nodes that are equal differ by more than
/// normal numbers do now and then, such as by what ran beside them.
const TAILS: f64 = 8.0;
/// Least share of nodes near the middle, if the others are to be those that do not belong: nodes of two kinds are no crowd.
const LEAST_SHARE: f64 = 0.75;
/// Least number of other nodes.
const LEAST: usize = 2;

/// What was known of the variance beforehand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Known {
    pub(super) variance: f64,
    pub(super) degrees: f64,
}

/// The nodes that belong.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Crowd {
    middle: f64,
    count: f64,
    /// Variances with their degrees of freedom, each of which is sound: by the nodes themselves, and moderated by what was known
    /// (Smyth 2004). The second is the better one for few nodes, the first for many.
    variances: Vec<(f64, f64)>,
    /// The mean variance of a node by its rounds.
    error: f64,
    /// Whether most nodes are near each other, as opposed to nodes of several kinds.
    pub(super) is_one: bool,
}

impl Crowd {
    /// The crowd of nodes with these places and variances by rounds, without the node `newcomer`; `None` if there are too few, or
    /// nothing is known of their spread.
    pub(super) fn of(
        places: &[Option<(f64, f64)>],
        known: Option<Known>,
        newcomer: Option<usize>,
    ) -> Option<Self> {
        let others = places.iter().enumerate().filter(|(node, _)| newcomer != Some(*node));
        let others: Vec<(f64, f64)> = others.filter_map(|(_, place)| *place).collect();
        if others.len() < LEAST {
            return None;
        }
        let middle = median(&mut others.iter().map(|(place, _)| *place).collect::<Vec<_>>());
        let mut distances: Vec<f64> =
            others.iter().map(|(place, _)| (place - middle).abs()).collect();
        let limit = CORE * (OF_NORMAL * median(&mut distances)).max(FLOOR);
        let near: Vec<&(f64, f64)> =
            others.iter().filter(|(place, _)| (place - middle).abs() <= limit).collect();
        let is_one = near.len() >= (LEAST_SHARE * others.len() as f64) as usize;
        let core = if is_one { near } else { others.iter().collect() };
        let count = core.len() as f64;
        let mean = core.iter().map(|(place, _)| place).sum::<f64>() / count;
        let squares: f64 = core.iter().map(|(place, _)| (place - mean).powi(2)).sum();
        let degrees = count - 1.0;
        let own = (squares / degrees.max(1.0) / VARIANCE_OF_CORE).max(FLOOR.powi(2));
        let mut variances = Vec::new();
        if others.len() >= OWN_SPREAD && core.len() >= OWN_SPREAD / 2 {
            variances.push((own, degrees.min(TAILS)));
        }
        if let Some(Known { variance, degrees: known }) = known {
            let moderated = (known * variance + degrees * own) / (known + degrees);
            variances.push((moderated, (known + degrees).min(TAILS)));
        }
        let error = core.iter().map(|(_, error)| error).sum::<f64>() / count;
        (!variances.is_empty()).then_some(Self { middle: mean, count, variances, error, is_one })
    }

    /// The standard error of the difference of a node from the others. A node that was measured less exactly than the others is
    /// farther from them by chance.
    fn error(&self, variance: f64, of_node: f64) -> f64 {
        (variance * (1.0 + 1.0 / self.count) + (of_node - self.error).max(0.0)).sqrt()
    }

    /// The chance of a node as far away as this.
    pub(super) fn p_value(&self, (place, of_node): (f64, f64)) -> f64 {
        let p = |&(variance, degrees): &(f64, f64)| {
            let t = StudentsT::new(0.0, 1.0, degrees).expect("a degree or more");
            2.0 * t.cdf(-((place - self.middle) / self.error(variance, of_node)).abs())
        };
        // The least of several p-values, each of which is sound, is that times their number.
        let least = self.variances.iter().map(p).fold(1.0, f64::min);
        (least * self.variances.len() as f64).min(1.0)
    }

    /// How far a node is from the others, with half the width of its interval.
    pub(super) fn difference(&self, (place, of_node): (f64, f64)) -> (f64, f64) {
        (place - self.middle, self.half(1.0 - LEVEL, of_node))
    }

    /// How far a node must be from the others to have this p-value.
    pub(super) fn named_from(&self, p: f64) -> f64 {
        self.half(p, self.error)
    }

    fn half(&self, p: f64, of_node: f64) -> f64 {
        let each = p / self.variances.len() as f64;
        let half = |&(variance, degrees): &(f64, f64)| {
            t_quantile(1.0 - each / 2.0, degrees) * self.error(variance, of_node)
        };
        self.variances.iter().map(half).fold(f64::INFINITY, f64::min)
    }
}

//! Modes of an operation: two times of which it has one or the other, such as with a helper that waits and one that polls.

use super::ratio::{Ratio, geometric_mean};

/// Time of one operation in ns, the mean of the operations between two readings of the clock, and their number. A reading counts
/// by the number: in one that another program has interrupted, it is that of others.
pub type Reading = (f64, f64);

/// Factor between two modes from which they are two.
const APART: f64 = 1.5;
/// Share of the operations that a mode has at least.
const LEAST_SHARE: f64 = 0.03;
/// Distance of two ranges of shares up to which they overlap.
const NEAR: f64 = 0.05;
/// Share of the variance of the logarithms that two modes take away at least: of a uniform distribution, the best split takes away
/// 3/4; of a normal one, 0.64.
const TAKEN_AWAY: f64 = 0.8;
/// Share of the operations at either end that does not count: outliers.
const ENDS: f64 = 0.005;

/// Comparison of one mode.
#[derive(Debug, Clone, PartialEq)]
pub struct Mode {
    /// Median times of oscost and of the plain loop in ns, geometric means over the turns that have the mode; `None` if none has.
    pub ns: [Option<f64>; 2],
    /// Shares of the operations of oscost and of the plain loop that are in this mode.
    pub shares: [f64; 2],
    /// Ratio of the times, if both have the mode.
    pub ratio: Option<Ratio>,
}

/// Two modes.
#[derive(Debug, Clone, PartialEq)]
pub struct Modes {
    /// The faster and the slower mode.
    pub both: [Mode; 2],
    /// Whether the ranges of the shares over turns overlap.
    pub shares_overlap: bool,
}

impl Modes {
    /// Compares mode by mode; `None` if there is one mode, or no mode that both sides have. A turn has readings of oscost and of
    /// the plain loop.
    pub fn of(turns: &[[&[Reading]; 2]]) -> Option<Self> {
        let all = [0, 1].map(|side| turns.iter().flat_map(|turn| turn[side]).copied().collect());
        let threshold = split(&all)?;
        let both = [false, true].map(|slow| {
            let part = |readings: &[Reading]| part(readings, threshold, slow);
            // A process may stay in one mode, so that the turns of one side that have a mode are not those of the other.
            let medians = [0, 1].map(|side| -> Vec<f64> {
                let parts = turns.iter().map(|turn| part(turn[side]));
                parts.filter(|part| part.share >= LEAST_SHARE).map(|part| part.median).collect()
            });
            let any = medians.each_ref().map(|medians| !medians.is_empty());
            let ns =
                [0, 1].map(|side| any[side].then(|| geometric_mean(medians[side].iter().copied())));
            let ratio = (any[0] && any[1]).then(|| Ratio::of_groups(&medians[0], &medians[1]));
            Mode { ns, shares: [0, 1].map(|side| part(&all[side]).share), ratio }
        });
        both.iter().any(|mode| mode.ratio.is_some()).then(|| Self {
            shares_overlap: {
                let range = |side: usize| {
                    let shares = turns.iter().map(|turn| part(turn[side], threshold, true).share);
                    shares.fold((1.0f64, 0.0f64), |(low, high), one| (low.min(one), high.max(one)))
                };
                let (oscost, plain) = (range(0), range(1));
                oscost.0 <= plain.1 + NEAR && plain.0 <= oscost.1 + NEAR
            },
            both,
        })
    }

    /// Whether the interval of a mode is so wide that it would show no difference.
    pub fn are_wide(&self) -> bool {
        self.both.iter().filter_map(|mode| mode.ratio).any(|ratio| ratio.is_wide())
    }

    /// Whether all modes that both have agree within the margin, and the shares overlap.
    pub fn agree(&self, margin: f64) -> bool {
        let mut ratios = self.both.iter().filter_map(|mode| mode.ratio);
        self.shares_overlap && ratios.all(|ratio| ratio.touches(margin))
    }
}

/// Readings on one side of a threshold.
struct Part {
    median: f64,
    share: f64,
}

fn part(readings: &[Reading], threshold: f64, slow: bool) -> Part {
    let count = |readings: &[Reading]| readings.iter().map(|(_, count)| count).sum::<f64>();
    let mut own: Vec<Reading> =
        readings.iter().filter(|(ns, _)| (*ns > threshold) == slow).copied().collect();
    own.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (all, of_part) = (count(readings), count(&own));
    let mut until = 0.0;
    let median = own.iter().find(|(_, count)| {
        until += count;
        until >= of_part / 2.0
    });
    let share = if of_part > 0.0 { of_part / all } else { 0.0 };
    Part { median: median.map_or(0.0, |(ns, _)| *ns), share }
}

/// The time in ns that separates two modes of the readings of both sides together, each of which counts as much; `None` if they
/// have one. The best split is that which leaves the least variance of the
/// logarithms within its two groups (Otsu's method).
fn split(sides: &[Vec<Reading>; 2]) -> Option<f64> {
    let mut all: Vec<(f64, f64)> = Vec::new();
    for side in sides {
        let operations: f64 = side.iter().map(|(_, count)| count).sum();
        all.extend(side.iter().map(|(ns, count)| (ns.ln(), count / operations / 2.0)));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut until = 0.0;
    all.retain(|(_, weight)| {
        until += weight;
        until >= ENDS && until - weight <= 1.0 - ENDS
    });
    let (weight, sum, squares) = all.iter().fold((0.0, 0.0, 0.0), |(w, s, q), (log, weight)| {
        (w + weight, s + weight * log, q + weight * log * log)
    });
    let variance = squares / weight - (sum / weight).powi(2);
    let (mut below, mut sum_below) = (0.0, 0.0);
    let mut best = (0.0, 0.0, 0.0);
    for pair in all.windows(2) {
        below += pair[0].1;
        sum_below += pair[0].1 * pair[0].0;
        let above = weight - below;
        let distance = (sum - sum_below) / above - sum_below / below;
        let taken = below * above / (weight * weight) * distance * distance;
        if pair[0].0 < pair[1].0 && taken > best.0 {
            best = (taken, distance, (pair[0].0 + pair[1].0) / 2.0);
        }
    }
    let (taken, distance, threshold) = (best.0, best.1, f64::exp(best.2));
    let has = |slow| sides.iter().any(|side| part(side, threshold, slow).share >= LEAST_SHARE);
    let are_two = taken >= TAKEN_AWAY * variance && distance >= APART.ln();
    (taken > 0.0 && are_two && has(false) && has(true)).then_some(threshold)
}

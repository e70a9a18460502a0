//! Where the mean of a series changed: E-divisive means (Matteson and James 2014) in windows, with a test of each split, as in
//! Daly et al. 2020 (MongoDB) and Fleming et al. 2023 (Hunter, now Apache Otava).
//!
//! Differences from these:
//!
//! - Windows of all lengths ([seeded binary segmentation](https://doi.org/10.1093/biomet/asac052), Kovács et al. 2023), so that
//!   small changes are found in long series, and neither of two changes hides the other.
//! - The chance of error is for all splits of a series together; p-values of the best of many splits are not those of one.
//! - Values far from their neighbours on both sides are spikes, and do not count.
//! - Values that depend on each other count as fewer.
//!
//! There is no random number in it: the same values have the same change points.

use measure::stats::{dependence, median};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Chance of a change point in a series without any.
const CHANCE: f64 = 0.02;
/// Least number of values on each side of a change point: fewer may be a spike.
const LEAST_SIDE: usize = 3;
/// Number of neighbours on each side, and of the value itself, that show whether it is a spike.
const NEIGHBOURS: usize = 2;
/// Distance of a spike from the median of its neighbourhood, in standard deviations of normal values.
const SPIKE: f64 = 5.0;
/// Factor on the median of absolute deviations that makes it the standard deviation of normal values.
const OF_NORMAL: f64 = 1.4826;

/// The indices of the first value after each change of the mean, ascending.
pub fn change_points(values: &[f64]) -> Vec<usize> {
    let values = without_spikes(values);
    if values.len() < 2 * LEAST_SIDE || values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let tests = Tests::of(values.len());
    let sums = Sums::of(&values);
    let mut found = found_in_windows(&values, &sums, &tests);
    remove_weak(&mut found, &values, &tests);
    found
}

/// The values, with spikes replaced by the median of their neighbourhood.
pub(super) fn without_spikes(values: &[f64]) -> Vec<f64> {
    if values.len() <= 2 * NEIGHBOURS {
        return values.to_vec();
    }
    let around = |at: usize| {
        // At an end the neighbourhood is as long, and on one side.
        let from = at.saturating_sub(NEIGHBOURS).min(values.len() - 2 * NEIGHBOURS - 1);
        median(&mut values[from..=from + 2 * NEIGHBOURS].to_vec())
    };
    let middles: Vec<f64> = (0..values.len()).map(around).collect();
    let mut distances: Vec<f64> =
        values.iter().zip(&middles).map(|(value, middle)| (value - middle).abs()).collect();
    let limit = SPIKE * OF_NORMAL * median(&mut distances);
    let replaced = |(value, middle): (&f64, &f64)| {
        if (value - middle).abs() > limit { *middle } else { *value }
    };
    values.iter().zip(&middles).map(replaced).collect()
}

/// The significance of splits of one series.
struct Tests {
    /// Greatest p-value of a change point.
    p: f64,
}

impl Tests {
    fn of(count: usize) -> Self {
        // Splits next to each other, and windows in each other, hardly differ: there are about as many different ones as there
        // are values, times the number of lengths of windows.
        let lengths = (count as f64 / (2 * LEAST_SIDE) as f64).log2().max(0.0) + 1.0;
        Self { p: CHANCE / (count as f64 / LEAST_SIDE as f64 * lengths) }
    }

    /// Student's t beyond which a split of `count` values is significant.
    fn critical(&self, count: usize) -> f64 {
        quantile_of_t(1.0 - self.p / 2.0, count as f64 - 2.0)
    }
}

fn quantile_of_t(p: f64, degrees: f64) -> f64 {
    measure::stats::t_quantile(p, degrees)
}

/// Sums and sums of squares of the values before each index.
struct Sums {
    of_values: Vec<f64>,
    of_squares: Vec<f64>,
}

impl Sums {
    fn of(values: &[f64]) -> Self {
        // About their mean, so that squares keep their digits.
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let running = |of: fn(f64) -> f64| {
            let sums = values.iter().scan(0.0, |sum, value| {
                *sum += of(value - mean);
                Some(*sum)
            });
            std::iter::once(0.0).chain(sums).collect()
        };
        Self { of_values: running(|value| value), of_squares: running(|value| value * value) }
    }

    /// The greatest square of Student's t of any split of the window.
    fn greatest_t2(&self, from: usize, to: usize) -> f64 {
        let count = (to - from) as f64;
        let sum = self.of_values[to] - self.of_values[from];
        let square = self.of_squares[to] - self.of_squares[from] - sum * sum / count;
        let mut greatest: f64 = 0.0;
        for split in from + LEAST_SIDE..=to - LEAST_SIDE {
            let before = (split - from) as f64;
            let left = self.of_values[split] - self.of_values[from];
            // The sum of squares between the sides.
            let between =
                (left - sum * before / count).powi(2) * count / (before * (count - before));
            greatest = greatest.max(between / (square - between).max(f64::MIN_POSITIVE));
        }
        greatest * (count - 2.0)
    }
}

/// Windows of halving lengths, the next one beginning in the middle of the one before it.
fn windows(count: usize) -> impl Iterator<Item = (usize, usize)> {
    let lengths = std::iter::successors(Some(count), |length| Some(length.div_ceil(2)))
        .take_while(|&length| length >= 2 * LEAST_SIDE);
    lengths.flat_map(move |length| {
        let steps = if length == count { 1 } else { (2 * count).div_ceil(length) - 1 };
        (0..steps).map(move |step| {
            let from = (step * length / 2).min(count - length);
            (from, from + length)
        })
    })
}

/// The most significant splits of windows that have no other one inside.
fn found_in_windows(values: &[f64], sums: &Sums, tests: &Tests) -> Vec<usize> {
    let mut candidates: Vec<(f64, usize, (usize, usize))> = windows(values.len())
        .filter(|&(from, to)| sums.greatest_t2(from, to) > tests.critical(to - from).powi(2))
        .filter_map(|(from, to)| {
            let split = from + most_divisive(&values[from..to])?;
            let p = p_value(&values[from..split], &values[split..to]);
            (p <= tests.p).then_some((p, split, (from, to)))
        })
        .collect();
    candidates.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let mut found: Vec<usize> = Vec::new();
    for (_, split, (from, to)) in candidates {
        if !found.iter().any(|&other| from < other && other < to) {
            found.push(split);
        }
    }
    found.sort_unstable();
    found
}

/// The split with the greatest energy distance of its sides, scaled by their sizes: the statistic of E-divisive means with the
/// exponent 1. `None` if there are too few values.
fn most_divisive(values: &[f64]) -> Option<usize> {
    let count = values.len();
    let (to_earlier, to_all) = distances(values);
    let all: f64 = to_all.iter().sum::<f64>() / 2.0;
    let (mut within_left, mut within_right) = (0.0, all);
    let mut best: Option<(f64, usize)> = None;
    for split in 1..count {
        within_left += to_earlier[split - 1];
        within_right -= to_all[split - 1] - to_earlier[split - 1];
        if split < LEAST_SIDE || count - split < LEAST_SIDE {
            continue;
        }
        let (left, right) = (split as f64, (count - split) as f64);
        let between = (all - within_left - within_right) * 2.0 / (left * right);
        let of_left = within_left * 2.0 / (left * (left - 1.0));
        let of_right = within_right * 2.0 / (right * (right - 1.0));
        let scaled = left * right / (left + right) * (between - of_left - of_right);
        if best.is_none_or(|(greatest, _)| scaled > greatest) {
            best = Some((scaled, split));
        }
    }
    best.map(|(_, split)| split)
}

/// The sum of the distances of each value to those before it, where the values between `from` and it count, and to all.
fn distances(values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&one, &other| values[one].total_cmp(&values[other]));
    let mut rank = vec![0; values.len()];
    let mut to_all = vec![0.0; values.len()];
    let total: f64 = values.iter().sum();
    let mut below = 0.0;
    for (nth, &at) in order.iter().enumerate() {
        rank[at] = nth;
        let (value, count) = (values[at], nth as f64);
        let above = total - below - value;
        to_all[at] = value * count - below + above - value * (values.len() as f64 - count - 1.0);
        below += value;
    }
    // The number and the sum of earlier values of lower ranks: a binary indexed tree (Fenwick 1994).
    let mut tree = vec![(0.0, 0.0); values.len() + 1];
    let mut earlier = 0.0;
    let mut to_earlier = Vec::with_capacity(values.len());
    for (nth, &value) in values.iter().enumerate() {
        let (mut count, mut sum) = (0.0, 0.0);
        let mut at = rank[nth];
        while at > 0 {
            count += tree[at].0;
            sum += tree[at].1;
            at &= at - 1;
        }
        let above = nth as f64 - count;
        to_earlier.push(value * count - sum + (earlier - sum) - value * above);
        earlier += value;
        let mut at = rank[nth] + 1;
        while at < tree.len() {
            tree[at].0 += 1.0;
            tree[at].1 += value;
            at += at & at.wrapping_neg();
        }
    }
    (to_earlier, to_all)
}

/// Removes the least significant change point until all are significant between their neighbours.
fn remove_weak(found: &mut Vec<usize>, values: &[f64], tests: &Tests) {
    while let Some((weakest, p)) = found
        .iter()
        .enumerate()
        .map(|(nth, &at)| {
            let from = if nth == 0 { 0 } else { found[nth - 1] };
            let to = found.get(nth + 1).copied().unwrap_or(values.len());
            (nth, p_value(&values[from..at], &values[at..to]))
        })
        .max_by(|one, other| one.1.total_cmp(&other.1))
    {
        if p <= tests.p {
            return;
        }
        found.remove(weakest);
    }
}

/// The p-value of two means being equal: a t-test, in which a side that varies more than both together has its own variance
/// (Welch), and values that depend on each other count as fewer.
pub(super) fn p_value(left: &[f64], right: &[f64]) -> f64 {
    let difference = Difference::of(left, right);
    if difference.error == 0.0 {
        return if difference.by == 0.0 { 1.0 } else { 0.0 };
    }
    let t = StudentsT::new(0.0, 1.0, difference.degrees).expect("a degree or more");
    2.0 * t.cdf(-(difference.by / difference.error).abs())
}

/// The difference of the means of two parts of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    /// Right minus left.
    pub(super) by: f64,
    /// Its standard error.
    pub(super) error: f64,
    /// The degrees of freedom of the error.
    pub(super) degrees: f64,
}

impl Difference {
    /// The difference of `right` from `left`, each with at least one value, and both with three.
    pub(super) fn of(left: &[f64], right: &[f64]) -> Self {
        let [one, other] = [left, right].map(Side::of);
        let degrees = one.degrees + other.degrees;
        let pooled = (one.squares + other.squares) / degrees;
        let variances = [&one, &other].map(|side| side.variance().max(pooled));
        let of_means = [variances[0] / one.count, variances[1] / other.count];
        let variance = of_means[0] + of_means[1];
        let is_unequal = variances.iter().any(|&variance| variance > pooled * UNEQUAL);
        let degrees = match is_unequal {
            false => degrees,
            // Satterthwaite 1946.
            true => {
                let parts = of_means[0].powi(2) / one.degrees.max(1.0)
                    + of_means[1].powi(2) / other.degrees.max(1.0);
                (variance.powi(2) / parts).clamp(1.0, degrees)
            }
        };
        let residuals = |values: &[f64], mean: f64| -> Vec<f64> {
            values.iter().map(|value| value - mean).collect()
        };
        let all = [residuals(left, one.mean), residuals(right, other.mean)].concat();
        let dependence = dependence(&all);
        Self {
            by: other.mean - one.mean,
            error: (variance * dependence).sqrt(),
            degrees: (degrees / dependence).max(1.0),
        }
    }
}

/// Ratio of the variance of a side to that of both beyond which they are taken as unequal.
const UNEQUAL: f64 = 1.5;

struct Side {
    count: f64,
    mean: f64,
    squares: f64,
    degrees: f64,
}

impl Side {
    fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { count, mean, squares, degrees: count - 1.0 }
    }

    fn variance(&self) -> f64 {
        if self.degrees > 0.0 { self.squares / self.degrees } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distances by their definition.
    fn direct(values: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let to = |at: usize, others: &[f64]| others.iter().map(|o| (o - values[at]).abs()).sum();
        let all = (0..values.len()).map(|at| to(at, values)).collect();
        ((0..values.len()).map(|at| to(at, &values[..at])).collect(), all)
    }

    #[test]
    fn distances_by_ranks_are_those_of_the_definition() {
        let values: Vec<f64> =
            (0..50).map(|n| f64::from(n * 37 % 23) + f64::from(n) * 0.1).collect();
        let (found, expected) = (distances(&values), direct(&values));
        for (found, expected) in [(found.0, expected.0), (found.1, expected.1)] {
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-9, "{found} {expected}");
            }
        }
    }

    /// The greatest t of the sums is that of the test, for sides of equal variance.
    #[test]
    fn the_quick_test_never_hides_a_significant_split() {
        let values: Vec<f64> =
            (0..40).map(|n| f64::from(n * 7 % 10) + if n < 25 { 0.0 } else { 4.0 }).collect();
        let sums = Sums::of(&values);
        for split in LEAST_SIDE..=values.len() - LEAST_SIDE {
            let difference = Difference::of(&values[..split], &values[split..]);
            let t2 = (difference.by / difference.error).powi(2);
            assert!(t2 <= sums.greatest_t2(0, values.len()) + 1e-9, "{split}");
        }
    }

    #[test]
    fn a_step_is_found_where_it_is_and_a_spike_is_none() {
        let noise = |n: u32| f64::from(n * 7919 % 101) / 101.0;
        let step: Vec<f64> =
            (0..60).map(|n| 100.0 + noise(n) + if n < 40 { 0.0 } else { 3.0 }).collect();
        assert_eq!(change_points(&step), [40]);
        let mut spikes: Vec<f64> = (0..60).map(|n| 100.0 + noise(n)).collect();
        for at in [0, 17, 40, 59] {
            spikes[at] = 150.0;
        }
        assert!(change_points(&spikes).is_empty());
        let mut both = step;
        both[20] = 70.0;
        both[50] = 130.0;
        assert_eq!(change_points(&both), [40]);
    }

    #[test]
    fn a_step_up_and_down_again_has_two_changes() {
        let noise = |n: u32| f64::from(n * 7919 % 101) / 101.0;
        let bump = |n: u32| if (140..170).contains(&n) { 2.0 } else { 0.0 };
        let values: Vec<f64> = (0..300).map(|n| 100.0 + noise(n) + bump(n)).collect();
        assert_eq!(change_points(&values), [140, 170]);
    }

    #[test]
    fn series_without_a_spread_or_too_short_have_an_answer() {
        assert!(change_points(&[]).is_empty());
        assert!(change_points(&[1.0, 2.0]).is_empty());
        assert!(change_points(&[5.0; 30]).is_empty());
        let exact: Vec<f64> = (0..20).map(|n| if n < 12 { 1.0 } else { 2.0 }).collect();
        assert_eq!(change_points(&exact), [12]);
    }
}

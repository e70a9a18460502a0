//! Where the mean of a series changed: E-divisive means (Matteson and James 2014) in windows, with a test of each split, as in
//! Daly et al. 2020 (MongoDB) and Fleming et al. 2023 (Hunter, now Apache Otava).
//!
//! Differences from these:
//!
//! - Windows of all lengths ([seeded binary segmentation](https://doi.org/10.1093/biomet/asac052), Kovács et al. 2023), so that
//!   small changes are found in long series, and neither of two changes hides the other.
//! - The greatest p-value is less for longer series, in which more splits are tried.
//! - Values far from their neighbours on both sides are spikes, and do not count.
//! - Values that depend on each other count as fewer.
//!
//! There is no random number in it: the same values have the same change points. The bench `change_points` of `analysis`
//! measures how many changes are found, and how many are found that are none.

use statrs::distribution::{ContinuousCDF, FisherSnedecor, Normal, StudentsT};

use crate::stats::{OF_NORMAL, dependence, median};

/// Greatest p-value of a change point, multiplied by the number of values. At most 2 % of series of independent values without a
/// change then have a change point: splits and windows overlap, and there are fewer different ones than values.
const CHANCE: f64 = 0.009;
/// Greatest p-value, multiplied by the number of values and of series, with which any of several series has a change point by chance
/// in 5 % of looks at all of them.
const CHANCE_OF_ALL: f64 = 0.0225;
/// Factor on the greatest p-value for points that are only candidates: beside a change that is not found yet, another seems less
/// significant than it is. Hunter has the same factor.
const CANDIDATE: f64 = 10.0;
/// Least number of values on each side of a change point: fewer may be a spike.
pub const LEAST_SIDE: usize = 3;
/// Number of neighbours on each side, and of the value itself, that show whether it is a spike.
const NEIGHBOURS: usize = 2;
/// Distance of a spike from the median of its neighbourhood, in standard deviations of normal values.
const SPIKE: f64 = 5.0;

/// The indices of the first value after each change of the mean, ascending.
pub fn change_points(values: &[f64]) -> Vec<usize> {
    changes_without_spikes(&without_spikes(values), 1)
}

/// [`change_points`] of values of which spikes are removed, in one of so many series that are looked at together: at most one look
/// in twenty finds a change where there is none.
pub fn changes_without_spikes(values: &[f64], together: usize) -> Vec<usize> {
    if values.len() < 2 * LEAST_SIDE || values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let search = Search::of(values, together);
    let mut found = Vec::new();
    search.divide(0, values.len(), &mut found);
    search.remove_weak(&mut found);
    search.place_again(&mut found);
    found.iter().map(|point| point.at).collect()
}

/// The values, with spikes replaced by the median of their neighbourhood.
pub fn without_spikes(values: &[f64]) -> Vec<f64> {
    if values.len() <= 2 * NEIGHBOURS {
        return values.to_vec();
    }
    let around = |at: usize| {
        // At an end the neighbourhood is as long, and on one side.
        let from = at.saturating_sub(NEIGHBOURS).min(values.len() - 2 * NEIGHBOURS - 1);
        let near = values[from..].first_chunk().expect("a neighbourhood within the values");
        median_of_five(near)
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

/// The median, found without sorting: it is needed for each value of a history.
fn median_of_five(&[a, b, c, d, e]: &[f64; 2 * NEIGHBOURS + 1]) -> f64 {
    // Neither the least nor the greatest of four can be the median.
    let (one, other) = (a.min(b).max(c.min(d)), a.max(b).min(c.max(d)));
    one.min(other).max(one.max(other).min(e))
}

/// How many splits of a window are looked at together.
const LANES: usize = 4;

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

    /// The values from `from` on and before `to`.
    fn window(&self, from: usize, to: usize) -> Window {
        let count = (to - from) as f64;
        let sum = self.of_values[to] - self.of_values[from];
        let square = self.of_squares[to] - self.of_squares[from] - sum * sum / count;
        // The loop has several splits at once, so that the compiler uses vector registers.
        let splits = &self.of_values[from + LEAST_SIDE..=to - LEAST_SIDE];
        let (first, mean) = (self.of_values[from], sum / count);
        let between = |sum: f64, before: f64| {
            (sum - first - mean * before).powi(2) / (before * (count - before))
        };
        let mut greatest = [0.0; LANES];
        let (groups, rest) = splits.as_chunks::<LANES>();
        let mut before = LEAST_SIDE as f64;
        for sums in groups {
            for (lane, sum) in sums.iter().enumerate() {
                let between = between(*sum, before + lane as f64);
                greatest[lane] = if between > greatest[lane] { between } else { greatest[lane] };
            }
            before += LANES as f64;
        }
        let of_rest = rest.iter().zip(0..).map(|(sum, nth)| between(*sum, before + f64::from(nth)));
        let greatest = greatest.into_iter().chain(of_rest).fold(0.0, f64::max);
        let between = greatest * count;
        Window { from, to, ratio: between / (square - between).max(f64::MIN_POSITIVE) }
    }
}

/// Windows of halving lengths, which begin half a length or less after each other; mirrored, they are the same.
fn windows(count: usize) -> impl Iterator<Item = (usize, usize)> {
    let lengths = std::iter::successors(Some(count), |length| Some(length.div_ceil(2)))
        .take_while(|&length| length >= 2 * LEAST_SIDE);
    lengths.flat_map(move |length| {
        let free = count - length;
        // An odd number of steps has no window in the middle, which would have no mirror image in whole numbers.
        let last = if free == 0 { 0 } else { (2 * free).div_ceil(length) | 1 };
        (0..=last).map(move |nth| {
            let from = match 2 * nth < last {
                true => nth * free / last,
                false => free - (last - nth) * free / last.max(1),
            };
            (from, from + length)
        })
    })
}

/// The values from `from` on and before `to`.
struct Window {
    from: usize,
    to: usize,
    /// The greatest ratio of the sum of squares between the sides of a split to that within them.
    ratio: f64,
}

impl Window {
    /// The greatest square of Student's t of a split.
    fn t2(&self) -> f64 {
        self.ratio * ((self.to - self.from) as f64 - 2.0)
    }

    /// The logarithm of the likelihood ratio of its best split to none, for normal values, twice.
    fn likelihood(&self) -> f64 {
        (self.to - self.from) as f64 * self.ratio.ln_1p()
    }
}

/// A change point, or a candidate.
#[derive(Clone, Copy)]
struct Point {
    /// The first value after the change.
    at: usize,
    /// The window of which it is the split.
    placed: (usize, usize),
    /// The window of which `p` is its p-value.
    tested: (usize, usize),
    p: f64,
}

/// The search for change points.
struct Search<'a> {
    values: &'a [f64],
    sums: Sums,
    /// Greatest p-value of a change point.
    p: f64,
    /// Least square of Student's t of a candidate.
    least: f64,
    /// Windows with a split that may be a candidate, the likeliest first.
    windows: Vec<Window>,
}

impl<'a> Search<'a> {
    fn of(values: &'a [f64], together: usize) -> Self {
        let chance = CHANCE.min(CHANCE_OF_ALL / together.max(1) as f64);
        let p = chance / values.len() as f64;
        let sums = Sums::of(values);
        // Quantiles of Student's t are beyond those of the normal distribution, which are quicker.
        let least = Normal::standard().inverse_cdf(1.0 - CANDIDATE * p / 2.0).powi(2);
        let mut windows: Vec<Window> = windows(values.len())
            .map(|(from, to)| sums.window(from, to))
            .filter(|window| window.t2() > least)
            .collect();
        windows.sort_by(|one, other| other.likelihood().total_cmp(&one.likelihood()));
        Self { values, sums, p, least, windows }
    }

    /// Adds candidates between `from` and `to`, ascending.
    fn divide(&self, from: usize, to: usize, found: &mut Vec<Point>) {
        if to - from < 2 * LEAST_SIDE {
            return;
        }
        let whole = self.sums.window(from, to);
        let whole = Some(&whole).filter(|whole| whole.t2() > self.least);
        let inside = self.windows.iter().filter(|window| from <= window.from && window.to <= to);
        if let Some(point) = whole.into_iter().chain(inside).find_map(|window| self.split(window)) {
            self.divide(from, point.at, found);
            found.push(point);
            self.divide(point.at, to, found);
        }
    }

    /// The split of a window, if it is a candidate.
    fn split(&self, window: &Window) -> Option<Point> {
        let &Window { from, to, .. } = window;
        let at = from + most_divisive(&self.values[from..to])?;
        let p = self.p_value(from, at, to);
        let point = Point { at, placed: (from, to), tested: (from, to), p };
        (p <= CANDIDATE * self.p).then_some(point)
    }

    fn p_value(&self, from: usize, at: usize, to: usize) -> f64 {
        p_value(&self.values[from..at], &self.values[at..to])
    }

    /// Removes the least significant point until all are significant between their neighbours.
    fn remove_weak(&self, found: &mut Vec<Point>) {
        loop {
            for nth in 0..found.len() {
                let (from, to) = self.neighbours(found, nth);
                let point = &mut found[nth];
                if point.tested != (from, to) {
                    point.tested = (from, to);
                    point.p = self.p_value(from, point.at, to);
                }
            }
            let weakest =
                found.iter().enumerate().max_by(|one, other| one.1.p.total_cmp(&other.1.p));
            match weakest {
                Some((nth, point)) if point.p > self.p => found.remove(nth),
                _ => return,
            };
        }
    }

    /// Moves each point to the split of the values between its neighbours: it may have been found in a window of few of them.
    fn place_again(&self, found: &mut [Point]) {
        for nth in 0..found.len() {
            let (from, to) = self.neighbours(found, nth);
            if found[nth].placed == (from, to) {
                continue;
            }
            if let Some(at) = most_divisive(&self.values[from..to]) {
                found[nth].at = from + at;
            }
        }
    }

    /// The points before and after one, or the ends of the series.
    fn neighbours(&self, found: &[Point], nth: usize) -> (usize, usize) {
        let from = if nth == 0 { 0 } else { found[nth - 1].at };
        (from, found.get(nth + 1).map_or(self.values.len(), |point| point.at))
    }
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

/// The p-value of two means being equal: a t-test, in which a side that varies more than both together has its own variance
/// (Welch), and values that depend on each other count as fewer.
fn p_value(left: &[f64], right: &[f64]) -> f64 {
    let difference = Difference::of(left, right);
    if difference.error == 0.0 {
        return if difference.by == 0.0 { 1.0 } else { 0.0 };
    }
    let t = StudentsT::new(0.0, 1.0, difference.degrees).expect("a degree or more");
    2.0 * t.cdf(-(difference.by / difference.error).abs())
}

/// The difference of the means of two parts of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Right minus left.
    pub by: f64,
    /// Its standard error.
    pub error: f64,
    /// The degrees of freedom of the error.
    pub degrees: f64,
}

impl Difference {
    /// The difference of `right` from `left`, each with at least one value, and both with three.
    pub fn of(left: &[f64], right: &[f64]) -> Self {
        let [one, other] = [left, right].map(Side::of);
        let degrees = one.degrees + other.degrees;
        let pooled = (one.squares + other.squares) / degrees;
        let variances = [&one, &other].map(|side| side.variance().max(pooled));
        let of_means = [variances[0] / one.count, variances[1] / other.count];
        let variance = of_means[0] + of_means[1];
        let is_unequal = is_unequal(&one, &other);
        let degrees = match is_unequal {
            false => degrees,
            // Satterthwaite 1946.
            true => {
                let parts = of_means[0].powi(2) / one.degrees.max(1.0)
                    + of_means[1].powi(2) / other.degrees.max(1.0);
                (variance.powi(2) / parts).clamp(1.0, degrees)
            }
        };
        let all: Vec<f64> = residuals(left).chain(residuals(right)).collect();
        let dependence = dependence(&all);
        Self {
            by: other.mean - one.mean,
            error: (variance * dependence).sqrt(),
            // Dependence makes a variance less uncertain than a mean: by this much if each value depends on the one before it
            // (Bayley and Hammersley 1946).
            degrees: (degrees * 2.0 * dependence / (1.0 + dependence.powi(2))).max(1.0),
        }
    }
}

/// The distances of values from their line of least squares over the index. From their mean, values that drift would seem to
/// depend on each other.
fn residuals(values: &[f64]) -> impl Iterator<Item = f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let middle = (count - 1.0) / 2.0;
    let both: f64 = values.iter().zip(0..).map(|(value, n)| (f64::from(n) - middle) * value).sum();
    let slope = if values.len() > 1 { both / (count * (count * count - 1.0) / 12.0) } else { 0.0 };
    values.iter().zip(0..).map(move |(value, n)| value - mean - slope * (f64::from(n) - middle))
}

/// Chance that sides of the same variance are taken as unequal. With few values on a side, their own variance says little: a
/// test that relies on it would find no step.
const UNEQUAL: f64 = 0.05;

fn is_unequal(one: &Side, other: &Side) -> bool {
    let (more, less) = if one.variance() > other.variance() { (one, other) } else { (other, one) };
    if less.degrees == 0.0 || less.variance() == 0.0 {
        return less.degrees > 0.0 && more.variance() > 0.0;
    }
    let ratio = FisherSnedecor::new(more.degrees, less.degrees).expect("a degree or more");
    2.0 * ratio.sf(more.variance() / less.variance()) < UNEQUAL
}

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
    use proptest::prelude::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::stats::tests::noise;

    proptest! {
        #[test]
        fn the_median_of_five_is_that_of_their_order(values: [f64; 5]) {
            prop_assume!(values.iter().all(|value| value.is_finite()));
            prop_assert_eq!(median_of_five(&values), median(&mut values.clone()));
        }
    }

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

    /// Normal values with steps; places in order, sizes in standard deviations.
    fn steps(length: usize, steps: &[(usize, f64)], rng: &mut StdRng) -> Vec<f64> {
        let level =
            |n: usize| steps.iter().filter(|step| step.0 <= n).map(|step| step.1).sum::<f64>();
        (0..length).map(|n| 100.0 + level(n) + noise(rng)).collect()
    }

    /// A series in runs of two states; the next value is in the same state with a chance of 70 %.
    fn states(length: usize, rng: &mut StdRng) -> Vec<f64> {
        let mut state = 1.0;
        let mut next = || {
            state *= if rng.random::<f64>() < 0.7 { 1.0 } else { -1.0 };
            state + noise(rng)
        };
        (0..length).map(|_| next()).collect()
    }

    /// The share of series with a change point.
    fn alarms(mut draw: impl FnMut(usize) -> Vec<f64>) -> f64 {
        const SERIES: usize = 600;
        let lengths = [10, 14, 20, 30, 50, 100, 200, 400];
        let alarmed = (0..SERIES).filter(|nth| !change_points(&draw(lengths[nth % 8])).is_empty());
        alarmed.count() as f64 / SERIES as f64
    }

    #[test]
    fn series_without_a_change_seldom_have_one() {
        let mut rng = StdRng::seed_from_u64(1);
        let independent = alarms(|length| steps(length, &[], &mut rng));
        assert!(independent <= 0.02, "{independent}");
        let dependent = alarms(|length| states(length, &mut rng));
        assert!(dependent <= 0.05, "{dependent}");
        let spikes = alarms(|length| {
            let mut values = steps(length, &[], &mut rng);
            values[rng.random_range(0..length)] += 20.0;
            values
        });
        assert!(spikes <= 0.03, "{spikes}");
    }

    /// Without a second step that is found first, the values of the first seemed to depend on each other.
    #[test]
    fn steps_do_not_hide_each_other() {
        let mut rng = StdRng::seed_from_u64(2);
        let cases: [&[(usize, f64)]; 4] = [
            &[(25, 6.4), (33, -7.3), (49, 3.0)],
            &[(16, 7.0), (21, -7.0)],
            &[(9, -3.5), (19, 5.3), (50, -3.5)],
            &[(30, 6.0), (38, -6.0), (46, 6.0)],
        ];
        for case in cases {
            let right = (0..50).filter(|_| {
                let found = change_points(&steps(65, case, &mut rng));
                found.len() == case.len()
                    && found.iter().zip(case).all(|(at, step)| at.abs_diff(step.0) <= 3)
            });
            let right = right.count();
            assert!(right >= 40, "{case:?}: {right} of 50");
        }
    }

    #[test]
    fn a_clear_drift_is_found() {
        let mut rng = StdRng::seed_from_u64(3);
        for rise in [8.0, 20.0] {
            let drift = |rng: &mut StdRng| -> Vec<f64> {
                (0..40).map(|n| rise * f64::from(n) / 40.0 + noise(rng)).collect()
            };
            let found = (0..100).filter(|_| !change_points(&drift(&mut rng)).is_empty()).count();
            assert!(found >= 95, "{rise}: {found} of 100");
        }
    }

    #[test]
    fn reversed_values_have_the_mirrored_points() {
        let mut rng = StdRng::seed_from_u64(4);
        for _ in 0..200 {
            let length = rng.random_range(40..200);
            let (one, other) = (rng.random_range(5..20), rng.random_range(20..35));
            let mut values = steps(length, &[(one, 4.0), (other, -5.0)], &mut rng);
            let found = change_points(&values);
            values.reverse();
            let mirrored: Vec<usize> =
                change_points(&values).iter().rev().map(|at| length - at).collect();
            assert_eq!(found.len(), mirrored.len(), "{values:?}");
            for (one, other) in found.iter().zip(&mirrored) {
                assert!(one.abs_diff(*other) <= 1, "{found:?} {mirrored:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn neither_unit_nor_origin_matter(
            seed in any::<u64>(),
            length in 0usize..200,
            at in 0usize..200,
            step in 0.0..8.0f64,
            factor in 1e-6..1e6f64,
            offset in -1e3..1e3f64,
        ) {
            let values = steps(length, &[(at, step)], &mut StdRng::seed_from_u64(seed));
            let others: Vec<f64> = values.iter().map(|value| (value + offset) * factor).collect();
            let found = change_points(&values);
            prop_assert_eq!(&found, &change_points(&values));
            prop_assert_eq!(&found, &change_points(&others));
            let ends = [&[0], &found[..], &[length]].concat();
            prop_assert!(found.is_empty() || ends.windows(2).all(|two| two[0] + LEAST_SIDE <= two[1]));
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
            assert!(t2 <= sums.window(0, values.len()).t2() + 1e-9, "{split}");
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

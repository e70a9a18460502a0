//! The spread of a result's rounds, and the error of a difference between two results.

use std::f64::consts::FRAC_PI_2;

use measure::stats::{LEVEL, dependence, median, t_quantile};

/// Number of rounds of which one is replaced at each end, so that a rare round that was disturbed, or in another steady mode of
/// the operation, does not widen the spread.
const ROUNDS_FOR_ONE_OUTLIER: usize = 6;
/// Minimum number of rounds for replacing any: with fewer, too few degrees of freedom would be left.
const ROUNDS_WITH_OUTLIERS: usize = 12;
/// Minimum number of differences for replacing any: the other points of a comparison support their variance.
const DIFFERENCES_WITH_OUTLIERS: usize = 8;
/// Minimum number of differences of elapsed times of which a third may be replaced at each end. A command whose runs have two
/// speeds differs from another one by little in most pairs and by a factor in many: in nine series of 150 to 200 pairs, a third
/// halves the error of a sixth. With so many differences, selecting the smaller error hardly lowers it.
const DIFFERENCES_WITH_MODES: usize = 40;
/// Smallest error of the mean without a third at each end, as a share of that without a sixth: times on a coarse grid agree by
/// chance.
const LEAST_SHARE_OF_ERROR: f64 = 0.1;

/// Spread of one run's rounds about their median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    /// Standard error of the median.
    pub error: f64,
    /// Degrees of freedom of the standard error.
    pub degrees: f64,
    /// Difference between the second half of the run and the first, beyond its own error.
    pub drift: f64,
}

impl Spread {
    /// The spread of `rounds`; `None` if there are fewer than two, or values that are not finite.
    ///
    /// The error is that of the median of normal rounds with the standard deviation of these. For 12 rounds and more, a sixth at
    /// each end is replaced by their neighbours (Winsorised, Yuen 1974). The median of rounds with heavier tails than normal has
    /// a smaller error, so this one is conservative. Rounds that depend on each other count as fewer ([`dependence`]). A
    /// bootstrap of the median is not used: it is nearly 0 for six rounds whose middle ones agree by chance.
    pub(crate) fn of(rounds: &[f64]) -> Option<Self> {
        let n = rounds.len();
        if n < 2 || !rounds.iter().all(|value| value.is_finite()) {
            return None;
        }
        let cut = outliers(rounds, ROUNDS_WITH_OUTLIERS);
        // Corrects for the replaced values (Yuen 1974).
        let correction = (n as f64 - 1.0) / ((n - 2 * cut) as f64 - 1.0);
        let independent = deviation(rounds, cut) * correction * (FRAC_PI_2 / n as f64).sqrt();
        let dependence = dependence(rounds);
        let (first, second) = rounds.split_at(n / 2);
        let between = (median(&mut first.to_vec()) - median(&mut second.to_vec())).abs();
        Some(Self {
            error: independent * dependence.sqrt(),
            degrees: degrees_of(n - 2 * cut, dependence),
            // At random, the halves differ by twice the error of the whole, and by four times in one case of twenty. A larger
            // difference comes from the machine, which may have changed as much from one run to the other.
            drift: (between - 4.0 * independent).max(0.0),
        })
    }
}

/// Middle of values, and their scatter about it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Middle {
    /// Mean without a sixth of the values at each end, if there are eight or more.
    pub(crate) mean: f64,
    /// Variance of one value: that of the mean times `count`.
    pub(crate) variance: f64,
    /// Degrees of freedom of the variance.
    pub(crate) degrees: f64,
    /// Effective number of independent values.
    pub(crate) count: f64,
}

/// The trimmed mean of `values`, in the order of their measurement, with its error (Yuen 1974). Values that depend on each other
/// count as fewer ([`dependence`]). `None` if there are fewer than two, or some are not finite.
pub(crate) fn middle_of(values: &[f64]) -> Option<Middle> {
    let are_known = values.len() >= 2 && values.iter().all(|value| value.is_finite());
    are_known.then(|| trimmed(values, outliers(values, DIFFERENCES_WITH_OUTLIERS)))
}

/// The trimmed mean of differences of elapsed times, with its error: [`middle_of`], or of 40 values or more the mean without a
/// third at each end if its error is smaller. It is no measure of short operations, in core cycles: their states are a few cycles
/// apart, and operations differ in how often each state occurs.
pub(crate) fn middle_of_times(values: &[f64]) -> Option<Middle> {
    let usual = middle_of(values)?;
    let n = values.len();
    if n < DIFFERENCES_WITH_MODES || outliers(values, DIFFERENCES_WITH_OUTLIERS) == 0 {
        return Some(usual);
    }
    let mut narrow = trimmed(values, n / 3);
    let square_error = |middle: &Middle| middle.variance / middle.count;
    let least = square_error(&usual) * LEAST_SHARE_OF_ERROR.powi(2);
    narrow.variance = narrow.variance.max(least * narrow.count);
    Some(if square_error(&narrow) < square_error(&usual) { narrow } else { usual })
}

/// The mean of `values` without `cut` of them at each end.
fn trimmed(values: &[f64], cut: usize) -> Middle {
    let n = values.len();
    let mut ascending = values.to_vec();
    ascending.sort_unstable_by(f64::total_cmp);
    let kept = &ascending[cut..n - cut];
    let kept_count = kept.len() as f64;
    let variance = deviation(values, cut).powi(2) * (n as f64 - 1.0) / (kept_count - 1.0);
    let dependence = dependence(values);
    let count = kept_count / dependence;
    Middle {
        mean: kept.iter().sum::<f64>() / kept_count,
        variance,
        degrees: degrees_of(kept.len(), dependence),
        count,
    }
}

/// Degrees of freedom of `count` values that depend on each other. The minimum is needed because a dozen independent values seem
/// dependent in one case of twenty, and Student's t with one or two degrees would then exclude nothing.
fn degrees_of(count: usize, dependence: f64) -> f64 {
    /// Minimum degrees of freedom: the error already allows for dependence.
    const AT_LEAST: f64 = 3.0;
    let all = count as f64 - 1.0;
    (count as f64 / dependence - 1.0).max(AT_LEAST.min(all)).max(1.0)
}

/// The number of values at each end that are replaced, if there are at least `at_least`. None are if the median is 0, such as for
/// the share of failures, where the exceptions are the spread.
fn outliers(values: &[f64], at_least: usize) -> usize {
    let n = values.len();
    let has_outliers = n >= at_least && median(&mut values.to_vec()) != 0.0;
    if has_outliers { (n / ROUNDS_FOR_ONE_OUTLIER).max(1) } else { 0 }
}

/// Half-width of the 95 % interval by which comparisons judge these rounds, as a share of their median; `None` if there are fewer
/// than two, or values that are not finite.
pub fn compared_half_width(rounds: &[f64]) -> Option<f64> {
    let Spread { error, degrees, .. } = Spread::of(rounds)?;
    let t = t_quantile(1.0 - (1.0 - LEVEL) / 2.0, degrees.max(1.0));
    Some(t * error / median(&mut rounds.to_vec()).abs())
}

/// Standard deviation with the outermost `cut` values at each end replaced by their inner neighbours.
fn deviation(values: &[f64], cut: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    let (low, high) = (sorted[cut], sorted[n - 1 - cut]);
    sorted.iter_mut().for_each(|value| *value = value.clamp(low, high));
    let mean = sorted.iter().sum::<f64>() / n as f64;
    let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (n as f64 - 1.0)).sqrt()
}

/// The adjacent rounds of two systems in turn, by their numbers: each is the nearest in time to the other, so that both found the
/// machine in the same state. The starts of a system's rounds must ascend.
pub(crate) fn neighbours<'a>(
    a: &'a [i64],
    b: &'a [i64],
) -> impl Iterator<Item = (usize, usize)> + 'a {
    let are_ascending = [a, b].iter().all(|starts| starts.is_sorted());
    let nearest = |to: i64, of: &[i64]| {
        let after = of.partition_point(|&start| start < to);
        let candidates = after.saturating_sub(1)..(after + 1).min(of.len());
        candidates.min_by_key(|&at| of[at].abs_diff(to))
    };
    let of_a = (0..a.len()).filter(move |_| are_ascending);
    of_a.filter_map(move |at| {
        let other = nearest(a[at], b)?;
        (nearest(b[other], a) == Some(at)).then_some((at, other))
    })
}

/// The error of a difference and its degrees of freedom, from those of both sides (Welch 1947, Satterthwaite 1946).
pub fn welch((a, a_degrees): (f64, f64), (b, b_degrees): (f64, f64)) -> (f64, f64) {
    let (a, b) = (a.powi(2), b.powi(2));
    let below = a.powi(2) / a_degrees + b.powi(2) / b_degrees;
    let degrees = if below > 0.0 { (a + b).powi(2) / below } else { a_degrees };
    ((a + b).sqrt(), degrees)
}

/// Step of the decimal grid on which all `values` lie, if some are equal, which unrounded times never are; 0 without such a grid.
pub(crate) fn grid_step(values: &[f64]) -> f64 {
    const STEPS: [f64; 6] = [1e3, 1e2, 1e1, 1.0, 1e-1, 1e-2];
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    if sorted.windows(2).all(|pair| pair[0] != pair[1]) {
        return 0.0;
    }
    // The tolerance allows for values that were stored with 24 bits.
    let lies_on = |step: f64| {
        let off = |value: f64| (value / step - (value / step).round()).abs() * step;
        values.iter().all(|&value| off(value) <= value.abs() * 2e-7)
    };
    STEPS.into_iter().find(|&step| lies_on(step)).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_that_of_the_median_of_normal_rounds() {
        let spread = Spread::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        // The standard deviation is 1.5811, divided by the root of 5, times 1.2533 for a median.
        assert!((spread.error - 1.5811 / 5f64.sqrt() * 1.2533).abs() < 1e-3, "{spread:?}");
        assert_eq!((spread.degrees, spread.drift), (4.0, 0.0));
        assert_eq!(Spread::of(&[1.0]), None);
        assert_eq!(Spread::of(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn middle_rounds_that_agree_by_chance_are_no_certainty() {
        let spread = Spread::of(&[90.0, 100.0, 100.0, 100.0, 100.0, 110.0]).unwrap();
        assert!(spread.error > 2.0, "{spread:?}");
    }

    #[test]
    fn one_disturbed_round_of_many_does_not_hide_the_others() {
        let mut rounds: Vec<f64> = (0..12).map(|i| 100.0 + f64::from(i) * 0.01).collect();
        let steady = Spread::of(&rounds).unwrap();
        rounds[5] = 140.0;
        let disturbed = Spread::of(&rounds).unwrap();
        assert!(disturbed.error < 1.5 * steady.error, "{steady:?} {disturbed:?}");
    }

    #[test]
    fn what_most_rounds_lack_is_a_spread() {
        let mut rounds = vec![0.0; 12];
        assert_eq!(Spread::of(&rounds).unwrap().error, 0.0);
        rounds[7] = 0.1;
        assert!(Spread::of(&rounds).unwrap().error > 0.01);
    }

    /// Checks an uncontended lock that takes 21 cycles in most processes, and 22 in some.
    #[test]
    fn a_rare_mode_does_not_hide_a_difference_and_a_common_one_does() {
        let error = |slow: usize, n: usize| {
            let rounds: Vec<f64> = (0..n)
                .map(|round| if round < slow { 22.0 } else { 21.0 } + 0.001 * round as f64)
                .collect();
            Spread::of(&rounds).unwrap().error
        };
        for (slow, n) in [(2, 12), (2, 14), (4, 24)] {
            assert!(error(slow, n) < 0.01, "{slow} of {n}: {}", error(slow, n));
            assert!(error(slow + 1, n) > 0.1, "{slow} of {n}: {}", error(slow + 1, n));
        }
        assert!(error(1, 8) > 0.1);
    }

    #[test]
    fn rounds_in_long_states_are_fewer_than_they_seem() {
        let mixed: Vec<f64> =
            (0..24).map(|n| if n * 7 % 24 < 12 { 100.0 } else { 104.0 }).collect();
        let mut in_states = mixed.clone();
        in_states.sort_unstable_by(f64::total_cmp);
        in_states.rotate_left(6);
        let [mixed, in_states] = [mixed, in_states].map(|rounds| Spread::of(&rounds).unwrap());
        assert!(in_states.error > 2.0 * mixed.error, "{mixed:?} {in_states:?}");
        assert!(in_states.degrees < mixed.degrees / 4.0, "{mixed:?} {in_states:?}");
    }

    #[test]
    fn halves_that_differ_are_drift() {
        let mut rounds = vec![100.0, 100.1, 99.9, 100.0, 100.1, 99.9, 100.0, 100.1];
        assert_eq!(Spread::of(&rounds).unwrap().drift, 0.0);
        rounds.extend([100.0; 12]);
        rounds.extend([110.0, 110.1, 109.9, 110.0].repeat(5));
        let drift = Spread::of(&rounds).unwrap().drift;
        assert!((4.0..10.0).contains(&drift), "{drift}");
    }

    #[test]
    fn neighbours_are_the_nearest_in_time_to_each_other() {
        let of = |a: &[i64], b: &[i64]| neighbours(a, b).collect::<Vec<_>>();
        assert_eq!(of(&[0, 150, 300], &[9, 141, 307]), [(0, 0), (1, 1), (2, 2)]);
        // A round was lost, or has no counterpart at the end.
        assert_eq!(of(&[0, 150, 300, 450], &[9, 307]), [(0, 0), (2, 1)]);
        assert_eq!(of(&[5], &[]), []);
        assert_eq!(of(&[0, 150], &[160, 10]), [], "the clock was set back");
    }

    #[test]
    fn rounded_values_have_a_grid() {
        assert_eq!(grid_step(&[29.0, 30.0, 30.0]), 1.0);
        let rounded = [4.949999809265137, 4.949999809265137, 4.960000038146973];
        assert_eq!(grid_step(&rounded), 0.01);
        assert_eq!(grid_step(&[1.2345678, 1.2345679, 1.2345681]), 0.0);
        assert_eq!(grid_step(&[29.0, 30.0, 31.0]), 0.0);
        assert_eq!(grid_step(&[33_535_000.0, 33_535_000.0]), 1e3);
    }
}

//! The bootstrap over rounds of a figure that is computed from several series at once.

use measure::stats::{expanded_tail, median, quantile};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Bootstrap draws behind an interval.
const DRAWS: usize = 2_000;

/// The median of each series; none of them may be empty.
pub(crate) fn medians(series: &[&[f64]]) -> Vec<f64> {
    series.iter().map(|values| median(&mut values.to_vec())).collect()
}

/// The number of rounds that all of `series` have.
pub(crate) fn rounds(series: &[&[f64]]) -> usize {
    series.iter().map(|values| values.len()).min().unwrap_or(0)
}

/// The medians of resampled rounds of `series`; empty for a single round.
///
/// A round is a pass over all series. If all have the same number of values, whole passes are resampled, so that a
/// disturbance of a pass stays together; if rounds were lost, each series is resampled independently.
pub(crate) fn draws(series: &[&[f64]], seed: u64) -> Vec<Vec<f64>> {
    let rounds = rounds(series);
    if rounds < 2 {
        return Vec::new();
    }
    let mut rng = StdRng::seed_from_u64(seed);
    let whole_passes = series.iter().all(|values| values.len() == rounds);
    let mut pass = vec![0; rounds];
    let mut drawn: Vec<f64> = Vec::new();
    let mut draw = || {
        pass.fill_with(|| rng.random_range(0..rounds));
        let mut median_of = |values: &&[f64]| {
            drawn.clear();
            match whole_passes {
                true => drawn.extend(pass.iter().map(|&round| values[round])),
                false => {
                    drawn.extend(values.iter().map(|_| values[rng.random_range(0..values.len())]))
                }
            }
            median(&mut drawn)
        };
        series.iter().map(&mut median_of).collect()
    };
    (0..DRAWS).map(|_| draw()).collect()
}

/// The interval, at [`measure::stats::LEVEL`], of a figure that is `center` for the original rounds, and `figures` for
/// the [`draws`] of that number of rounds. The percentiles are expanded as those of [`measure::stats::interval_of`].
pub(crate) fn interval(rounds: usize, center: f64, mut figures: Vec<f64>) -> (f64, f64) {
    if figures.is_empty() {
        return (center, center);
    }
    figures.sort_unstable_by(f64::total_cmp);
    let tail = expanded_tail(rounds);
    (quantile(&figures, tail).min(center), quantile(&figures, 1.0 - tail).max(center))
}

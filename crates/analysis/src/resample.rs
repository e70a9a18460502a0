//! The bootstrap over rounds of what is computed from several series at once.

use measure::stats::{Interval, ROUNDS_FOR_INTERVAL, expanded_tail, median, quantile};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Bootstrap draws behind an interval.
const DRAWS: usize = 2_000;

/// What follows from the rounds as they were, and from resampled ones.
pub struct Bootstrap<T> {
    /// From the rounds as they were.
    pub center: T,
    draws: Vec<T>,
    /// The number of rounds that all series have.
    pub rounds: usize,
}

impl Bootstrap<Vec<f64>> {
    /// The median of each of `series`, none of which may be empty. Of fewer than [`ROUNDS_FOR_INTERVAL`] rounds there are no resamples.
    ///
    /// A round is a pass over all series. If all have the same number of values, whole passes are resampled, so that a
    /// disturbance of a pass stays together; if rounds were lost, each series is resampled independently.
    pub fn of(series: &[&[f64]], seed: u64) -> Self {
        let center = series.iter().map(|values| median(&mut values.to_vec())).collect();
        let rounds = series.iter().map(|values| values.len()).min().unwrap_or(0);
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
                    false => drawn
                        .extend(values.iter().map(|_| values[rng.random_range(0..values.len())])),
                }
                median(&mut drawn)
            };
            series.iter().map(&mut median_of).collect()
        };
        let draws = if rounds < ROUNDS_FOR_INTERVAL { 0 } else { DRAWS };
        Self { center, draws: (0..draws).map(|_| draw()).collect(), rounds }
    }
}

impl<T> Bootstrap<T> {
    /// What follows from these; `None` if nothing follows from the rounds as they were. Resamples from which nothing follows are
    /// left out.
    pub fn map<U>(&self, figure: impl Fn(&T) -> Option<U>) -> Option<Bootstrap<U>> {
        let center = figure(&self.center)?;
        let draws = self.draws.iter().filter_map(figure).collect();
        Some(Bootstrap { center, draws, rounds: self.rounds })
    }

    /// The interval, at [`measure::stats::LEVEL`], of a figure that follows from these. The percentiles are expanded as those
    /// of [`measure::stats::interval_of`].
    pub fn interval(&self, figure: impl Fn(&T) -> f64) -> Interval {
        let median = figure(&self.center);
        let mut figures: Vec<f64> = self.draws.iter().map(figure).collect();
        if figures.is_empty() {
            return Interval::open(median);
        }
        figures.sort_unstable_by(f64::total_cmp);
        let tail = expanded_tail(self.rounds);
        let (low, high) = (quantile(&figures, tail), quantile(&figures, 1.0 - tail));
        Interval { median, low: low.min(median), high: high.max(median) }
    }
}

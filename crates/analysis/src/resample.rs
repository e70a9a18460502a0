//! Bootstrap over rounds of values that are computed from several series at once.

use measure::stats::{Interval, ROUNDS_FOR_INTERVAL, expanded_tail, median, quantile};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Number of resamples for an interval.
const DRAWS: usize = 2_000;

/// A value computed from the measured rounds, and from resampled ones.
pub struct Bootstrap<T> {
    /// Value from the measured rounds.
    pub center: T,
    draws: Vec<T>,
    /// Number of rounds that all series have.
    pub rounds: usize,
}

impl Bootstrap<Vec<f64>> {
    /// The median of each of `series`, none of which may be empty. With fewer than [`ROUNDS_FOR_INTERVAL`] rounds there are no
    /// resamples.
    ///
    /// A round is a pass over all series. If all series have the same number of values, whole passes are resampled, so that a
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
    /// Computes `figure` from each value; `None` if it is `None` for the measured rounds. Resamples for which it is `None` are
    /// left out.
    pub fn map<U>(&self, figure: impl Fn(&T) -> Option<U>) -> Option<Bootstrap<U>> {
        let center = figure(&self.center)?;
        let draws = self.draws.iter().filter_map(figure).collect();
        Some(Bootstrap { center, draws, rounds: self.rounds })
    }

    /// The interval of `figure` at [`measure::stats::LEVEL`]. The percentiles are expanded as those of
    /// [`measure::stats::interval_of`].
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

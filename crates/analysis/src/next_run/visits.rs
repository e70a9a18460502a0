//! Visits: runs that are close in time found the machine in the same state, and count as one visit.

/// Length of a visit in seconds: runs that begin within it after the first one belong to the visit, until the runs themselves
/// show that states of the machine do not last so long.
pub(crate) const ONE_VISIT: f64 = 600.0;
/// Minimum number of pairs of close runs that can show it.
const PAIRS_TO_SHOW: usize = 7;
/// Maximum correlation from one run to the next of states that do not last.
const INDEPENDENT: f64 = 0.2;
/// Share by which each visit has less weight than the next one in the mean: a machine that changes for good is followed within a
/// dozen visits, and the mean of a steady one is hardly worse than that of all.
const MEAN_FADES: f64 = 0.15;
/// Share by which each visit has less weight than the next one in the variance, whose estimate takes many visits.
const VARIANCE_FADES: f64 = 0.03;

/// One run of a series: its start in seconds, its figure's place, and the variance of that within the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Entry {
    pub(super) began: f64,
    pub(super) at: f64,
    pub(super) variance: f64,
}

/// Statistics of one figure over visits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Visits {
    /// Number of visits.
    pub(super) number: usize,
    /// Mean over visits, the latest with the most weight.
    pub(super) mean: f64,
    /// Effective number of visits for the mean.
    pub(super) count: f64,
    /// Variance of one visit; 0 for a single one.
    pub(super) variance: f64,
    /// Degrees of freedom of the variance.
    pub(super) degrees: f64,
    /// Mean variance within a run.
    pub(super) within: f64,
}

impl Visits {
    /// No visits, for a figure that was not measured before.
    pub(super) fn none(at: f64, within: f64) -> Self {
        Self { number: 0, mean: at, count: 0.0, variance: 0.0, degrees: 0.0, within }
    }

    /// The visits of a series, the oldest first, in which runs within `length` seconds are one visit. The series is not empty.
    pub(super) fn of(series: &[Entry], length: f64) -> Self {
        let mut rest = series;
        let mut visits: Vec<(f64, f64)> = Vec::new();
        while let Some(first) = rest.first() {
            let runs = rest.iter().take_while(|run| run.began - first.began < length).count();
            let (visit, later) = rest.split_at(runs.max(1));
            let mean =
                |of: fn(&Entry) -> f64| visit.iter().map(of).sum::<f64>() / visit.len() as f64;
            visits.push((mean(|run| run.at), mean(|run| run.variance)));
            rest = later;
        }
        let places: Vec<f64> = visits.iter().map(|visit| visit.0).collect();
        let (mean, count) = weighted_mean(&places, MEAN_FADES);
        let (about, spread_over) = weighted_mean(&places, VARIANCE_FADES);
        let squares: Vec<f64> = places.iter().map(|place| (place - about).powi(2)).collect();
        let (square, _) = weighted_mean(&squares, VARIANCE_FADES);
        let within: Vec<f64> = visits.iter().map(|visit| visit.1).collect();
        let degrees = spread_over - 1.0;
        Self {
            number: visits.len(),
            mean,
            count,
            variance: if visits.len() > 1 { square * spread_over / degrees } else { 0.0 },
            degrees,
            within: weighted_mean(&within, VARIANCE_FADES).0,
        }
    }
}

/// Mean of values with weights that fade by this share from each value to the one before it, and the effective number of values.
fn weighted_mean(values: &[f64], fades: f64) -> (f64, f64) {
    let weight = |nth: usize| (1.0 - fades).powi((values.len() - 1 - nth) as i32);
    let (mut weights, mut squares, mut sum) = (0.0, 0.0, 0.0);
    for (nth, value) in values.iter().enumerate() {
        let weight = weight(nth);
        weights += weight;
        squares += weight * weight;
        sum += weight * value;
    }
    (sum / weights, weights * weights / squares)
}

/// Length of a visit in seconds, by the autocorrelation of series with one cause: 0 if states do not last from one close run to
/// the next.
pub(super) fn length_of_visit(series: &[&[Entry]]) -> f64 {
    let close = |before: &Entry, after: &Entry| after.began - before.began < ONE_VISIT;
    // Each series has the same weight: a noisy series gives no more information on how long states last.
    let close = series.iter().flat_map(|series| series.chunk_by(close));
    let correlations: Vec<f64> =
        close.filter(|runs| runs.len() > PAIRS_TO_SHOW).filter_map(correlation).collect();
    let mean = correlations.iter().sum::<f64>() / correlations.len() as f64;
    // Without correlations the mean is NaN, and the default length is used.
    if mean < INDEPENDENT { 0.0 } else { ONE_VISIT }
}

/// Correlation of a run with the next one; `None` if all are equal.
fn correlation(runs: &[Entry]) -> Option<f64> {
    let n = runs.len() as f64;
    let mean = runs.iter().map(|run| run.at).sum::<f64>() / n;
    let deviations: Vec<f64> = runs.iter().map(|run| run.at - mean).collect();
    let square = deviations.iter().map(|d| d * d).sum::<f64>();
    let product: f64 = deviations.windows(2).map(|pair| pair[0] * pair[1]).sum();
    // Corrects the bias of an autocorrelation about the series' own mean, about -1/n, and its shrinkage (Kendall 1954).
    (square > 0.0).then(|| (n * product / square + 1.0) / (n - 4.0))
}

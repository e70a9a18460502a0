//! Variance between visits of the figures with one cause, from all points with that cause.

use measure::stats::quantile;

use super::figure::Figure;
use super::visits::Visits;

/// Degrees of freedom with which the prior of the variance counts, before any visit.
pub(super) const ASSUMED_DEGREES: f64 = 4.0;
/// Degrees of freedom of Student's t before any visit: few, since the prior is the largest recorded variance, which errs on the
/// safe side.
pub(super) const FIRST_DEGREES: f64 = 8.0;
/// Share of points, those that differ most, that is left out: their own visits determine their variance.
const ODD_POINTS: f64 = 0.1;

/// Variance between visits that points with one cause share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Between {
    /// Variance, in the unit of a figure's weight.
    pub(super) variance: f64,
    /// Variance by the visits alone; 0 for a single visit.
    pub(super) found: f64,
    /// Factor on the variance within runs, at least 1.
    pub(super) excess: f64,
    /// Degrees of freedom of the visits. Points of a run share the state of the machine, so that their number does not matter.
    pub(super) degrees: f64,
}

impl Between {
    /// The variance from the prior, from the points of several visits, and from the changes of their latest run within minutes.
    pub(super) fn of<'a>(
        assumed: f64,
        points: impl Iterator<Item = (&'a Figure, &'a Visits)> + Clone,
    ) -> Self {
        let visited: Vec<Seen> =
            points.clone().filter_map(|(figure, visits)| Seen::of(figure, visits)).collect();
        let halves: Vec<Seen> = points.filter_map(|(figure, _)| Seen::of_halves(figure)).collect();
        let mut known = vec![(assumed, ASSUMED_DEGREES)];
        if !halves.is_empty() {
            known.push((found(&halves, assumed), 1.0));
        }
        let (mut excess, mut degrees, mut of_visits) = (1.0, 0.0, 0.0);
        if !visited.is_empty() {
            degrees = visited.iter().map(|point| point.degrees).sum::<f64>() / visited.len() as f64;
            of_visits = found(&visited, assumed);
            known.push((of_visits, degrees));
            let with_error = visited.iter().filter(|point| point.within > NO_ERROR);
            let ratios = with_error.map(|point| point.variance / (point.within + of_visits));
            if let Some(mean) = mean_of_most(ratios.collect()) {
                excess = weighted(&[(1.0, ASSUMED_DEGREES), (mean, degrees)]).max(1.0);
            }
        }
        Self { variance: weighted(&known), found: of_visits, excess, degrees }
    }
}

/// Mean of variances, weighted by their degrees of freedom.
fn weighted(known: &[(f64, f64)]) -> f64 {
    let all: f64 = known.iter().map(|(_, degrees)| degrees).sum();
    known.iter().map(|(variance, degrees)| variance * degrees).sum::<f64>() / all
}

/// Stands for the variance within a run whose rounds are equal, as those of a coarse clock.
const NO_ERROR: f64 = f64::MIN_POSITIVE;

/// A point with several visits, in the unit of its weight.
struct Seen {
    variance: f64,
    within: f64,
    degrees: f64,
}

impl Seen {
    fn of(figure: &Figure, visits: &Visits) -> Option<Self> {
        let has_several = visits.number > 1 && figure.weight > 0.0;
        has_several.then(|| Self {
            variance: visits.variance / figure.weight,
            within: (visits.within / figure.weight).max(NO_ERROR),
            degrees: visits.degrees,
        })
    }

    /// The halves of a run, taken as two visits.
    fn of_halves(figure: &Figure) -> Option<Self> {
        let apart = figure.halves_apart.filter(|_| figure.weight > 0.0)?;
        Some(Self {
            variance: apart.powi(2) / 2.0 / figure.weight,
            // The error of half of the rounds is that of all rounds times the root of two.
            within: (2.0 * figure.error.powi(2) / figure.weight).max(NO_ERROR),
            degrees: 1.0,
        })
    }
}

/// The variance beyond that within the runs. Points with a large variance within their runs have less weight.
fn found(points: &[Seen], assumed: f64) -> f64 {
    let mut variance = assumed;
    for _ in 0..30 {
        let beyond: Vec<(f64, f64)> = points
            .iter()
            .map(|point| (point.variance - point.within, (point.within + variance).powi(-2)))
            .collect();
        let mut ascending: Vec<f64> = beyond.iter().map(|(beyond, _)| *beyond).collect();
        ascending.sort_unstable_by(f64::total_cmp);
        let most = quantile(&ascending, 1.0 - ODD_POINTS);
        let kept = || beyond.iter().filter(|(beyond, _)| *beyond <= most);
        let weights: f64 = kept().map(|(_, weight)| weight).sum();
        let mean = kept().map(|(beyond, weight)| beyond * weight).sum::<f64>() / weights;
        if !mean.is_finite() {
            return 0.0;
        }
        variance = (variance + mean.max(0.0)) / 2.0;
    }
    variance
}

/// Mean without the points that differ most; `None` without values.
fn mean_of_most(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let kept = (values.len() as f64 * (1.0 - ODD_POINTS)).ceil() as usize;
    (kept > 0).then(|| values[..kept].iter().sum::<f64>() / kept as f64)
}

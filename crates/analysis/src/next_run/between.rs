//! How much the figures with one cause differ between visits, from all points that have it.

use measure::stats::quantile;

use super::figure::Figure;
use super::visits::Visits;

/// What is assumed before any visit was seen counts as much as so many degrees of freedom of the variance.
pub(super) const ASSUMED_DEGREES: f64 = 4.0;
/// Student's t has so many before any visit was seen: what is assumed is the widest that was recorded, so that it errs on one side.
pub(super) const FIRST_DEGREES: f64 = 8.0;
/// This share of points, those that differ most, does not count: their own visits speak for them.
const ODD_POINTS: f64 = 0.1;

/// The variance between visits that points with one cause share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Between {
    /// In the unit of a figure's weight.
    pub(super) variance: f64,
    /// By how much the variance within runs is multiplied, at least 1.
    pub(super) excess: f64,
    /// Those of the visits that were seen: points of a run share the state of the machine, however many there are.
    pub(super) degrees: f64,
}

impl Between {
    /// From what is assumed, and from the points that were seen in several visits.
    pub(super) fn of<'a>(
        assumed: f64,
        points: impl Iterator<Item = (&'a Figure, &'a Visits)>,
    ) -> Self {
        let points: Vec<Seen> =
            points.filter_map(|(figure, visits)| Seen::of(figure, visits)).collect();
        if points.is_empty() {
            return Self { variance: assumed, excess: 1.0, degrees: 0.0 };
        }
        let seen = points.iter().map(|point| point.degrees).sum::<f64>() / points.len() as f64;
        let moderated = |assumed: f64, found: f64| {
            (ASSUMED_DEGREES * assumed + seen * found) / (ASSUMED_DEGREES + seen)
        };
        let found = found(&points, assumed);
        let ratios = points.iter().map(|point| point.variance / (point.within + found));
        let excess = moderated(1.0, mean_of_most(ratios.collect())).max(1.0);
        Self { variance: moderated(assumed, found), excess, degrees: seen }
    }
}

/// A point that was seen in several visits, in the unit of its weight.
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
            // Equal rounds, as of a coarse clock, do not make a variance of nothing a large ratio.
            within: (visits.within / figure.weight).max(f64::MIN_POSITIVE),
            degrees: visits.degrees,
        })
    }
}

/// The variance beyond that within the runs. The more a point differs within its runs, the less it tells.
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

/// The mean without the odd points.
fn mean_of_most(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let kept = (values.len() as f64 * (1.0 - ODD_POINTS)).ceil() as usize;
    values[..kept].iter().sum::<f64>() / kept as f64
}

//! Whether the newest visit is worse than those before it.
//!
//! A visit is judged by the range in which a single visit's figure lies, around the mean of the visits before that were like each
//! other. A figure beyond both this range and the threshold is suspect; two successive ones, or one that was measured again, are
//! an alarm. Worse figures never become what later ones are judged by, unless the user accepts them; better ones do, once there
//! are two. So an alarm lasts until its cause is mended or accepted.

use measure::stats::t_quantile;
use serde::Serialize;

use super::event::Event;
use super::trend::{Trend, Visit, is_worse};
use crate::change::Ratio;
use crate::scale::Scale;

/// Chance of any suspect point in a night in which nothing has changed.
const CHANCE: f64 = 0.05;
/// Number of latest visits whose mean is what the next one is judged by.
const VISITS_OF_MEAN: usize = 20;
/// Successive worse visits that are an alarm.
const FOR_ALARM: usize = 2;

/// What the newest visit says about a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Worse in two successive visits, or confirmed.
    Alarm,
    /// Worse in the newest visit only.
    Suspect,
    /// Not worse, and a change of the threshold would have shown.
    Good,
    /// Not worse, but a change of the threshold might not have shown.
    Unsure,
    /// There is no prediction by an earlier visit.
    Unknown,
}

/// The judgement of one trend.
#[derive(Debug, Clone, PartialEq)]
pub struct Watched {
    /// Index of the trend.
    pub trend: usize,
    /// The judgement.
    pub state: State,
    /// The mean that the newest visit is judged by.
    pub baseline: f64,
    /// The newest visit's figure.
    pub newest: f64,
    /// The newest figure divided by the baseline, with the range of a single visit; `None` if figures may be 0 or less.
    pub ratio: Option<Ratio>,
    /// The smallest change for the worse of a single visit that shows, as a share of the baseline.
    pub detectable: f64,
    /// Number of successive worse visits up to the newest.
    pub worse: usize,
    /// Number of the first run of these.
    pub since: Option<usize>,
    /// Number of visits behind the baseline.
    pub visits: usize,
    /// What a fresh measurement of the newest visit's suspect said, if there was one: whether it was worse too.
    pub confirmed: Option<bool>,
}

/// What is watched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Watch {
    /// Smallest change for the worse that matters, as a share.
    pub worse_than: f64,
    /// Number of points that are judged together.
    pub points: usize,
}

impl Watch {
    /// Judges the newest visit of a trend. `events` are those of its series; `again` is the figure of a fresh measurement, in the
    /// trend's unit.
    pub fn judge(
        &self,
        index: usize,
        trend: &Trend,
        events: &[Event],
        again: Option<f64>,
    ) -> Watched {
        let accepted: Vec<usize> = events
            .iter()
            .filter(|event| event.accepted.is_some())
            .flat_map(|event| &event.members)
            .filter(|(of, _)| *of == index)
            .map(|&(_, nth)| trend.changes[nth].at)
            .collect();
        let places = trend.places();
        let mut baseline = Baseline { from: 0, to: 1, deviation: trend.visits[0].deviation };
        let (mut worse, mut better) = (0, 0);
        let mut judged = None;
        for (at, visit) in trend.visits.iter().enumerate().skip(1) {
            if accepted.contains(&at) {
                // What was known of the spread before the change holds after it.
                baseline = Baseline { from: at, to: at + 1, ..baseline };
                (worse, better, judged) = (0, 0, None);
                continue;
            }
            let found = self.place(trend, &places, &baseline, places[at]);
            judged = found;
            match found.map(|found| found.side) {
                Some(Side::Worse) => (worse, better) = (worse + 1, 0),
                Some(Side::Better) => (worse, better) = (0, better + 1),
                Some(Side::Within) | None => (worse, better) = (0, 0),
            }
            if better >= FOR_ALARM {
                baseline = Baseline { from: at + 1 - better, to: at + 1, ..baseline };
                better = 0;
            } else if worse == 0 && better == 0 {
                baseline.to = at + 1;
                baseline.deviation = visit.deviation.or(baseline.deviation);
            }
        }
        self.watched(index, trend, &places, &baseline, judged, worse, again)
    }

    #[allow(clippy::too_many_arguments)]
    fn watched(
        &self,
        index: usize,
        trend: &Trend,
        places: &[f64],
        baseline: &Baseline,
        judged: Option<Placed>,
        worse: usize,
        again: Option<f64>,
    ) -> Watched {
        let newest = trend.visits.last().map_or(f64::NAN, |visit: &Visit| visit.figure.median);
        let since = (worse > 0).then(|| trend.visits[trend.visits.len() - worse].run);
        let Some(placed) = judged else {
            let mean = mean(&places[baseline.from..baseline.to]);
            return Watched {
                trend: index,
                state: State::Unknown,
                baseline: trend.scale.number(mean),
                newest,
                ratio: None,
                detectable: f64::INFINITY,
                worse: 0,
                since: None,
                visits: baseline.to - baseline.from,
                confirmed: None,
            };
        };
        let again = again.filter(|_| worse > 0).and_then(|figure| {
            let placed = self.place(trend, places, baseline, trend.scale.of(figure))?;
            Some(placed.side == Side::Worse)
        });
        let detectable = placed.as_share(trend.scale, placed.half).max(self.worse_than);
        let state = match worse {
            FOR_ALARM.. => State::Alarm,
            1 if again == Some(true) => State::Alarm,
            1 => State::Suspect,
            _ if detectable > self.worse_than => State::Unsure,
            _ => State::Good,
        };
        let ratio = match trend.scale {
            Scale::Logarithms => Some(Ratio::of_log(placed.by, placed.half)),
            Scale::Figures => None,
        };
        Watched {
            trend: index,
            state,
            baseline: trend.scale.number(placed.mean),
            newest,
            ratio,
            detectable,
            worse,
            since,
            visits: placed.visits,
            confirmed: again,
        }
    }

    /// Where a figure lies; `None` without a prediction.
    fn place(
        &self,
        trend: &Trend,
        places: &[f64],
        baseline: &Baseline,
        place: f64,
    ) -> Option<Placed> {
        let (deviation, degrees) = baseline.deviation?;
        let from = baseline.from.max(baseline.to.saturating_sub(VISITS_OF_MEAN));
        let before = &places[from..baseline.to];
        let mean = mean(before);
        let count = before.len() as f64;
        let t = t_quantile(1.0 - CHANCE / self.points.max(1) as f64, degrees);
        let half = t * deviation * (1.0 + 1.0 / count).sqrt();
        let by = place - mean;
        let placed = Placed { mean, by, half, side: Side::Within, visits: before.len() };
        let is_beyond = by.abs() > half && placed.as_share(trend.scale, by.abs()) > self.worse_than;
        let side = match is_beyond {
            false => Side::Within,
            true if is_worse(trend.better, by) => Side::Worse,
            true => Side::Better,
        };
        (deviation.is_finite() && by.is_finite()).then_some(Placed { side, ..placed })
    }
}

/// The visits by which later ones are judged.
#[derive(Debug, Clone, Copy)]
struct Baseline {
    from: usize,
    to: usize,
    /// The standard deviation of single visits, with its degrees of freedom.
    deviation: Option<(f64, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Worse,
    Within,
    Better,
}

#[derive(Debug, Clone, Copy)]
struct Placed {
    mean: f64,
    by: f64,
    half: f64,
    side: Side,
    visits: usize,
}

impl Placed {
    /// A difference on the scale as a share of the mean.
    fn as_share(&self, scale: Scale, difference: f64) -> f64 {
        match scale {
            Scale::Logarithms => difference.exp_m1(),
            Scale::Figures if difference == 0.0 => 0.0,
            Scale::Figures => difference / self.mean.abs().max(f64::MIN_POSITIVE),
        }
    }
}

fn mean(places: &[f64]) -> f64 {
    places.iter().sum::<f64>() / places.len() as f64
}

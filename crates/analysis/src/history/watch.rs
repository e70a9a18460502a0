//! Whether the newest visit is worse than those before it.
//!
//! A visit is judged by the range in which a single visit's figure lies, around the mean of the visits before that were like each
//! other. A figure beyond both this range and the threshold is suspect; two successive ones, two of which the mean is beyond the
//! range of such means, or one that was measured again, are an alarm. Worse figures never become what later ones are judged by,
//! unless the user accepts them; better ones do, once there are two. So an alarm lasts until its cause is mended or accepted.

use measure::stats::t_quantile;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};

use super::event::Event;
use super::trend::{Trend, is_worse};
use crate::change::Ratio;
use crate::scale::Scale;

/// Chance of any suspect point in a night in which nothing has changed.
const CHANCE: f64 = 0.05;
/// Number of latest visits whose mean is what the next one is judged by.
const VISITS_OF_MEAN: usize = 20;
/// The share of [`CHANCE`] for an alarm by the mean of two visits, neither of which need be suspect.
const OF_PAIRS: f64 = 0.2;
/// The least share of their mean by which each of these visits is worse: a spike is no change.
const EACH_OF_PAIR: f64 = 0.5;
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

/// What a fresh measurement of a suspect point says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Again {
    /// The new figure, in the trend's unit.
    Figure(f64),
    /// Whether it is certainly worse than an old system that was measured in turns.
    InTurns(bool),
}

/// What is watched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Watch {
    /// Smallest change for the worse that matters, as a share.
    pub worse_than: f64,
    /// Number of figures that are judged together.
    figures: usize,
    /// The quantile of the normal distribution at the chance of each figure.
    normal: f64,
}

impl Watch {
    /// Watches for changes for the worse beyond this share, in so many figures together.
    pub fn new(worse_than: f64, figures: usize) -> Self {
        let watch = Self { worse_than, figures, normal: 0.0 };
        Self { normal: Normal::standard().inverse_cdf(1.0 - watch.chance()), ..watch }
    }

    /// Chance of a suspect figure that has not changed.
    fn chance(&self) -> f64 {
        CHANCE / self.figures.max(1) as f64
    }

    /// Judges the newest visit of a trend. `events` are those of its series; `again` is what a fresh measurement said.
    pub fn judge(
        &self,
        index: usize,
        trend: &Trend,
        events: &[Event],
        again: Option<Again>,
    ) -> Watched {
        let places = trend.places();
        let followed = self.followed(trend, &places, &accepted(index, trend, events));
        let baseline = &followed.baseline;
        let unknown = Watched {
            trend: index,
            state: State::Unknown,
            baseline: trend.scale.number(baseline.mean(&places)),
            newest: trend.visits.last().map_or(f64::NAN, |visit| visit.figure.median),
            ratio: None,
            detectable: f64::INFINITY,
            worse: 0,
            since: None,
            visits: baseline.visits(),
            confirmed: None,
        };
        let Some(placed) = followed.newest else { return unknown };
        let worse = followed.worse;
        let confirmed = again.filter(|_| worse > 0).and_then(|again| match again {
            Again::InTurns(is_worse) => Some(is_worse),
            Again::Figure(figure) => {
                let placed = self.place(trend, &places, baseline, trend.scale.of(figure), 1)?;
                Some(placed.side == Side::Worse)
            }
        });
        let detectable = as_share(trend.scale, placed.mean, placed.half).max(self.worse_than);
        Watched {
            state: match worse {
                FOR_ALARM.. => State::Alarm,
                1 if confirmed == Some(true) => State::Alarm,
                1 => State::Suspect,
                _ if detectable > self.worse_than => State::Unsure,
                _ => State::Good,
            },
            baseline: trend.scale.number(placed.mean),
            ratio: match trend.scale {
                Scale::Logarithms => Some(Ratio::of_log(placed.by, placed.half)),
                Scale::Figures => None,
            },
            detectable,
            worse,
            since: (worse > 0).then(|| trend.visits[trend.visits.len() - worse].run),
            visits: placed.visits,
            confirmed,
            ..unknown
        }
    }

    /// Follows a trend from its first visit to the newest. `accepted` are the visits at which accepted changes begin.
    fn followed(&self, trend: &Trend, places: &[f64], accepted: &[usize]) -> Followed {
        let baseline = Baseline { from: 0, to: 1, deviation: trend.visits[0].deviation };
        let mut now = Followed { baseline, newest: None, worse: 0 };
        let mut better = 0;
        // The baseline that the visit before was judged by, and the number of worse visits up to it.
        let mut before: Option<(Baseline, usize)> = None;
        for (at, visit) in trend.visits.iter().enumerate().skip(1) {
            if accepted.contains(&at) {
                // What was known of the spread before the change holds after it.
                let baseline = Baseline { from: at, to: at + 1, ..now.baseline };
                now = Followed { baseline, newest: None, worse: 0 };
                (better, before) = (0, None);
                continue;
            }
            let is_newest = at + 1 == places.len();
            let side = match self.is_clearly_within(trend, places, &now.baseline, places[at]) {
                true if !is_newest => Side::Within,
                _ => {
                    now.newest = self.place(trend, places, &now.baseline, places[at], 1);
                    now.newest.map_or(Side::Within, |placed| placed.side)
                }
            };
            let judged_by = (now.baseline, now.worse);
            now.worse = if side == Side::Worse { now.worse + 1 } else { 0 };
            better = if side == Side::Better { better + 1 } else { 0 };
            if better >= FOR_ALARM {
                now.baseline = Baseline { from: at + 1 - better, to: at + 1, ..now.baseline };
                better = 0;
            } else if let Some((baseline, worse)) =
                before.filter(|(before, _)| self.is_worse_pair(trend, places, before, at))
            {
                // Neither of the two is part of what later ones are judged by.
                now.baseline = baseline;
                now.worse = now.worse.max(worse + 1).max(FOR_ALARM);
                if is_newest {
                    now.newest = self.place(trend, places, &now.baseline, places[at], 1);
                }
            } else if side == Side::Within {
                now.baseline.to = at + 1;
                now.baseline.deviation = visit.deviation.or(now.baseline.deviation);
            }
            before = Some(judged_by);
        }
        now
    }

    /// Whether a visit and the one before it are together worse than a baseline from before both, though each alone may be within.
    fn is_worse_pair(&self, trend: &Trend, places: &[f64], baseline: &Baseline, at: usize) -> bool {
        let mean = baseline.mean(places);
        let pair = [places[at - 1], places[at]];
        let middle = (pair[0] + pair[1]) / 2.0;
        let by = middle - mean;
        let is_alike = |place: &f64| (place - mean) / by >= EACH_OF_PAIR;
        // What is decided without a quantile goes first: this is asked of every visit of a history.
        is_worse(trend.better, by)
            && as_share(trend.scale, mean, by.abs()) > self.worse_than
            && pair.iter().all(is_alike)
            && self
                .place(trend, places, baseline, middle, 2)
                .is_some_and(|placed| placed.side == Side::Worse)
    }

    /// Whether a figure is certainly within the range or the threshold: a quantile of Student's t is beyond that of the normal
    /// distribution, which takes a thousandth of the time.
    fn is_clearly_within(
        &self,
        trend: &Trend,
        places: &[f64],
        baseline: &Baseline,
        place: f64,
    ) -> bool {
        let Some((deviation, _)) = baseline.deviation else { return false };
        let mean = baseline.mean(places);
        let by = (place - mean).abs();
        by <= self.normal * deviation || as_share(trend.scale, mean, by) <= self.worse_than
    }

    /// Where the mean of this number of visits lies; `None` without a prediction.
    fn place(
        &self,
        trend: &Trend,
        places: &[f64],
        baseline: &Baseline,
        place: f64,
        count: usize,
    ) -> Option<Placed> {
        let (deviation, degrees) = baseline.deviation?;
        let (mean, visits) = (baseline.mean(places), baseline.visits());
        let chance = if count > 1 { OF_PAIRS * self.chance() } else { self.chance() };
        let t = t_quantile(1.0 - chance, degrees);
        let half = t * deviation * (1.0 / count as f64 + 1.0 / visits as f64).sqrt();
        let by = place - mean;
        let placed = Placed { mean, by, half, side: Side::Within, visits };
        let is_beyond = by.abs() > half && as_share(trend.scale, mean, by.abs()) > self.worse_than;
        let side = match is_beyond {
            false => Side::Within,
            true if is_worse(trend.better, by) => Side::Worse,
            true => Side::Better,
        };
        (deviation.is_finite() && by.is_finite()).then_some(Placed { side, ..placed })
    }
}

/// Where a trend has come to.
struct Followed {
    baseline: Baseline,
    /// Where the newest visit lies; `None` without a prediction.
    newest: Option<Placed>,
    /// Number of successive worse visits up to the newest.
    worse: usize,
}

/// The visits at which accepted changes of a trend begin.
fn accepted(index: usize, trend: &Trend, events: &[Event]) -> Vec<usize> {
    events
        .iter()
        .filter(|event| event.accepted.is_some())
        .flat_map(|event| &event.members)
        .filter(|(of, _)| *of == index)
        .map(|&(_, nth)| trend.changes[nth].at)
        .collect()
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

impl Baseline {
    /// The latest visits, whose mean counts.
    fn latest(&self) -> std::ops::Range<usize> {
        self.from.max(self.to.saturating_sub(VISITS_OF_MEAN))..self.to
    }

    fn visits(&self) -> usize {
        self.latest().len()
    }

    fn mean(&self, places: &[f64]) -> f64 {
        let latest = &places[self.latest()];
        latest.iter().sum::<f64>() / latest.len() as f64
    }
}

/// A difference on the scale as a share of the mean.
fn as_share(scale: Scale, mean: f64, difference: f64) -> f64 {
    match scale {
        Scale::Logarithms => difference.exp_m1(),
        Scale::Figures if difference == 0.0 => 0.0,
        Scale::Figures => difference / mean.abs().max(f64::MIN_POSITIVE),
    }
}

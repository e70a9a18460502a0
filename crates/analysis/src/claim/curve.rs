//! The crossing of two sides over a parameter.
//!
//! Between the measured values the logarithm of the ratio is interpolated linearly over the logarithm of the parameter; the
//! crossing is the last place where it is not below a limit: 0, that of equal sides, unless the claim gives another ratio. So it
//! lies before a place if the ratio is below the limit there, and at all measured values after it. That is an intersection, so
//! that the interval of each of these ratios is taken at the full level. The crossing lies after a place if one of these ratios
//! is above the limit; each gets a part of the chance. The bootstrap of single crossings is not used: few rounds have no
//! resamples far enough out for the levels of a file with several claims.

use super::figure::{Contrast, Figure, Range};
use super::region::ScaledRegion;
use crate::change::DISTURBED;
use crate::crossing::locate;
use crate::evidence::Moderation;

/// Number of bisections by which an end of the interval is sought between two measured values.
const BISECTIONS: usize = 8;

/// Figures and their factors.
pub(super) type Terms = Vec<(f64, Figure)>;

/// The ratio of two sides over a parameter.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    /// Logarithms of the parameter's values, ascending; at least two.
    pub(super) ln_x: Vec<f64>,
    /// Figures at each value of the parameter, with their factors; or the reason why they decide nothing. At least one value has
    /// figures.
    pub(super) logs: Vec<Result<Terms, String>>,
    /// Logarithm of the ratio at which the sides cross.
    pub(super) limit: f64,
    /// Difference that the machine itself can cause in a ratio, as a logarithm.
    pub(super) floor: f64,
    /// Prior of the variances, from all points of the comparison.
    pub(super) moderation: Moderation,
}

impl Curve {
    /// The crossing of the figures without their errors; infinite outside of the measured values.
    pub(super) fn center(&self) -> f64 {
        let known = self.ln_x.iter().zip(&self.logs).filter_map(|(x, terms)| {
            Some((*x, self.ratio(terms.as_ref().ok()?).center - self.limit))
        });
        let (ln_x, ratios): (Vec<f64>, Vec<f64>) = known.unzip();
        locate(&ln_x, &ratios)
    }

    fn first(&self) -> f64 {
        self.ln_x[0]
    }

    fn last(&self) -> f64 {
        self.ln_x[self.ln_x.len() - 1]
    }

    /// The ratio at a place within the measured values, and those at all measured values after it.
    fn from(&self, place: f64) -> Vec<Contrast> {
        let after = self.ln_x.partition_point(|x| *x <= place);
        let at = match (&self.logs[after - 1], self.logs.get(after)) {
            (Ok(left), Some(Ok(right))) if place > self.ln_x[after - 1] => {
                let (from, to) = (self.ln_x[after - 1], self.ln_x[after]);
                let share = (place - from) / (to - from);
                let scaled = |terms: &Terms, share: f64| {
                    terms.iter().map(|(factor, it)| (factor * share, it.clone())).collect::<Terms>()
                };
                self.ratio(&[scaled(left, 1.0 - share), scaled(right, share)].concat())
            }
            (Ok(_), Some(Err(_))) if place > self.ln_x[after - 1] => Contrast::UNKNOWN,
            (own, _) => self.ratio_if_known(own),
        };
        let later = self.logs[after..].iter().map(|terms| self.ratio_if_known(terms));
        std::iter::once(at).chain(later).collect()
    }

    fn ratio_if_known(&self, terms: &Result<Terms, String>) -> Contrast {
        terms.as_ref().map_or(Contrast::UNKNOWN, |terms| self.ratio(terms))
    }

    fn ratio(&self, terms: &Terms) -> Contrast {
        Contrast::of(terms, self.floor).moderated(self.moderation)
    }

    /// The ratios at the measured values.
    pub(super) fn ratios(&self) -> impl Iterator<Item = Contrast> {
        self.logs.iter().flatten().map(|terms| self.ratio(terms))
    }

    /// Whether the curve certainly crosses before a place; never before the first measured value.
    pub(super) fn crosses_before(&self, place: f64, chance: f64) -> bool {
        let ratios = || self.from(place.min(self.last()));
        place >= self.first() && ratios().iter().all(|ratio| ratio.range(chance).high < self.limit)
    }

    /// Whether the curve certainly crosses after a place, or not up to the last measured value. The place may not exceed that
    /// value.
    pub(super) fn crosses_after(&self, place: f64, chance: f64) -> bool {
        if place > self.last() {
            return false;
        }
        let ratios = self.from(place.max(self.first()));
        let each = chance / ratios.len() as f64;
        ratios.iter().any(|ratio| ratio.range(each).low > self.limit)
    }

    /// The interval of the crossing; infinite at an end that may lie outside of the measured values.
    pub(super) fn range(&self, chance: f64) -> Range {
        let is_after = |place: &f64| self.crosses_after(*place, chance);
        let is_before = |place: &f64| self.crosses_before(*place, chance);
        let low = self.ln_x.iter().rposition(is_after).map(|at| match self.ln_x.get(at + 1) {
            Some(next) => bisected(self.ln_x[at], *next, |place| is_after(&place)),
            None => self.last(),
        });
        let high = self.ln_x.iter().position(is_before).map(|at| match at.checked_sub(1) {
            Some(previous) => {
                bisected(self.ln_x[at], self.ln_x[previous], |place| is_before(&place))
            }
            None => self.first(),
        });
        let center = self.center();
        Range {
            low: low.map_or(f64::NEG_INFINITY, |low| low.min(center)),
            high: high.map_or(f64::INFINITY, |high| high.max(center)),
        }
    }

    /// Advice that would decide whether the crossing lies in the region.
    pub(super) fn what_would_decide(&self, region: &ScaledRegion) -> String {
        if let Some(Err(why)) = self.logs.iter().find(|terms| terms.is_err()) {
            return why.clone();
        }
        if self.ratios().any(|ratio| ratio.is_disturbed) {
            return DISTURBED.to_owned();
        }
        let is_outside = |limit: Option<(f64, bool)>| {
            limit.is_some_and(|(place, _)| place < self.first() || place > self.last())
        };
        match is_outside(region.low) || is_outside(region.high) {
            true => {
                let (first, last) = (self.first().exp(), self.last().exp());
                format!("values of the parameter beyond {first:.0} to {last:.0} would decide it")
            }
            false => {
                "more rounds, or more values of the parameter about the limit, would decide it"
                    .to_owned()
            }
        }
    }
}

/// The place nearest to `beyond` at which the condition holds; it holds at `known`.
fn bisected(mut known: f64, mut beyond: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(known, beyond);
        *if holds(middle) { &mut known } else { &mut beyond } = middle;
    }
    known
}

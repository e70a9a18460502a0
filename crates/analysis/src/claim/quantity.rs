//! The quantity of a claim, computed from the figures of one combination of parameters, with its interval.

use crate::change::{DISTURBED, floor_at_least, shift_between};
use crate::evidence::{Moderation, Variance};
use crate::frequency::cpu_differences;
use crate::judge::{more_rounds, more_visits};
use crate::scale::Scale;

use super::curve::{Curve, Terms};
use super::figure::{Contrast, Figure, Range};
use super::found::Datum;
use super::model::Statement;
use super::names::limit_x;
use super::ranked::Ranked;
use super::region::ScaledRegion;
use super::relation::{Limit, Quantity};
use super::selection::{DatumPair, Group, is_itself};
use super::unit::amount_in;
use super::verdict::QuantityInterval;

/// Factor beyond which more rounds are not recommended.
const MOST_TIMES: f64 = 1_000.0;

/// A quantity, with the contrasts from which its interval is computed.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    computed: Computed,
    /// The unit of the figures.
    unit: String,
}

#[derive(Debug, Clone)]
enum Computed {
    /// A figure or a ratio.
    One(Contrast, Scale),
    /// The exponent of a power of the parameter.
    Slope(Contrast),
    /// The changes from one value of the parameter to the next.
    Steps(Vec<Contrast>),
    /// The ratio over the parameter.
    Curve(Curve),
    /// A figure or a ratio of systems by their ranks.
    Ranked(Ranked, Scale),
}

/// The region of a relation on the scale of the quantity.
///
/// # Errors
/// An error if a limit has a unit that the figures do not have.
pub(super) fn region_of(
    statement: &Statement,
    measured: &Measured,
) -> Result<ScaledRegion, String> {
    let relation = &statement.relation.value;
    let place = |limit: &Limit| -> Result<(f64, bool), String> {
        let place = match &measured.computed {
            Computed::One(_, scale) | Computed::Ranked(_, scale) => match relation.quantity {
                Quantity::Value => scale.of(amount_in(limit, &measured.unit)?),
                _ => scale.of(limit.number),
            },
            Computed::Slope(_) => limit.number,
            Computed::Steps(_) => limit.number.ln(),
            Computed::Curve(_) => {
                let over = relation.quantity.over().unwrap_or_default();
                let x = limit_x(limit, statement, over);
                x.ok_or("its limit is no value of the parameter")?.ln()
            }
        };
        Ok((place, limit.included))
    };
    let limit = |limit: &Option<Limit>| limit.as_ref().map(place).transpose();
    Ok(ScaledRegion { low: limit(&relation.region.low)?, high: limit(&relation.region.high)? })
}

impl Measured {
    /// The quantity of one combination.
    ///
    /// # Errors
    /// The reason why the quantity decides nothing.
    pub(super) fn of(group: &Group, statement: &Statement) -> Result<Self, String> {
        let quantity = &statement.relation.value.quantity;
        let pairs: Vec<&DatumPair> = group.pairs.iter().map(|(_, pair)| pair).collect();
        let ln_x: Vec<f64> = group.pairs.iter().map(|(x, _)| x.ln()).collect();
        let floor = floor_of(quantity, &pairs);
        let first = pairs.first().ok_or("it has no figures")?;
        let scale = match quantity {
            // A share may be as small as its error, so that it is not compared by logarithms.
            Quantity::Value if !is_positive(&first.a) || first.a.result.unit == "share" => {
                Scale::Figures
            }
            _ => Scale::Logarithms,
        };
        let logs: Vec<Result<Terms, String>> =
            pairs.iter().map(|pair| terms(pair, scale)).collect();
        let unit = match first.a.count {
            Some(_) => super::per_op::UNIT.to_owned(),
            None => first.a.result.unit.clone(),
        };
        if let Quantity::Crossing { ratio, .. } = quantity
            && logs.iter().any(Result::is_ok)
        {
            return Ok(Self {
                computed: Computed::Curve(Curve {
                    ln_x,
                    logs,
                    limit: ratio.ln(),
                    floor,
                    moderation: Moderation::NONE,
                }),
                unit,
            });
        }
        let logs: Vec<Terms> = logs.into_iter().collect::<Result<_, _>>()?;
        if let Some(ranking) = &group.ranking {
            let of_pair = |(pair, terms): (&&DatumPair, &Terms)| match &pair.b {
                Some(b) if is_itself(&pair.a, b) => Contrast::ITSELF,
                _ => Contrast::of(terms, floor_of(quantity, &[*pair])),
            };
            let contrasts = pairs.iter().zip(&logs).map(of_pair).collect();
            let ranked = Ranked { contrasts, ranking: ranking.clone() };
            return Ok(Self { computed: Computed::Ranked(ranked, scale), unit });
        }
        let at = |at: usize, factor: f64| {
            logs[at]
                .iter()
                .map(move |(own, figure)| (own * factor, figure.clone()))
                .collect::<Vec<_>>()
        };
        let computed = match quantity {
            Quantity::Value | Quantity::Ratio => {
                Computed::One(Contrast::of(&logs[0], floor), scale)
            }
            Quantity::Slope { .. } => {
                let factors = slope_factors(&ln_x);
                let terms: Vec<_> =
                    factors.iter().enumerate().flat_map(|(i, factor)| at(i, *factor)).collect();
                let largest = factors.iter().fold(0.0, |most: f64, factor| most.max(factor.abs()));
                Computed::Slope(Contrast::of(&terms, floor * largest))
            }
            Quantity::Steps { rising, .. } => {
                let sign = if *rising { 1.0 } else { -1.0 };
                let step =
                    |i: usize| Contrast::of(&[at(i, -sign), at(i + 1, sign)].concat(), floor);
                Computed::Steps((0..logs.len() - 1).map(step).collect())
            }
            Quantity::Crossing { .. } => return Err("it has no figures".to_owned()),
        };
        Ok(Self { computed, unit })
    }

    /// Variances of the logarithmic differences from which the quantity is computed, if the rounds are adjacent.
    pub(super) fn variances(&self) -> Vec<Variance> {
        match &self.computed {
            Computed::One(_, Scale::Figures) | Computed::Ranked(_, Scale::Figures) => Vec::new(),
            Computed::One(one, _) | Computed::Slope(one) => one.variance().into_iter().collect(),
            Computed::Steps(steps) => steps.iter().filter_map(Contrast::variance).collect(),
            Computed::Curve(curve) => curve.ratios().filter_map(|ratio| ratio.variance()).collect(),
            Computed::Ranked(ranked, _) => {
                ranked.contrasts.iter().filter_map(Contrast::variance).collect()
            }
        }
    }

    /// Moderates the variances by those of all points of the claims. Variances of figures have units, and nothing in common with
    /// others.
    pub(super) fn moderated(self, moderation: Moderation) -> Self {
        let computed = match self.computed {
            of_figures @ (Computed::One(_, Scale::Figures)
            | Computed::Ranked(_, Scale::Figures)) => of_figures,
            Computed::One(one, scale) => Computed::One(one.moderated(moderation), scale),
            Computed::Slope(one) => Computed::Slope(one.moderated(moderation)),
            Computed::Steps(steps) => {
                Computed::Steps(steps.iter().map(|step| step.moderated(moderation)).collect())
            }
            Computed::Curve(curve) => Computed::Curve(Curve { moderation, ..curve }),
            Computed::Ranked(ranked, scale) => {
                Computed::Ranked(ranked.moderated(moderation), scale)
            }
        };
        Self { computed, ..self }
    }

    /// Whether something else limited a figure, so that no number of rounds bounds the quantity.
    pub(super) fn is_bound(&self) -> bool {
        match &self.computed {
            Computed::One(one, _) | Computed::Slope(one) => one.is_bound(),
            Computed::Steps(steps) => steps.iter().any(Contrast::is_bound),
            Computed::Curve(curve) => curve.ratios().any(|ratio| ratio.is_bound()),
            Computed::Ranked(ranked, _) => ranked.decisive().is_bound(),
        }
    }

    /// Whether most blocks of the quantity were disturbed.
    pub(super) fn is_beside_load(&self) -> bool {
        match &self.computed {
            Computed::One(one, _) | Computed::Slope(one) => one.is_beside_load,
            Computed::Steps(steps) => steps.iter().any(|step| step.is_beside_load),
            Computed::Curve(curve) => curve.ratios().any(|ratio| ratio.is_beside_load),
            Computed::Ranked(ranked, _) => ranked.contrasts.iter().any(|one| one.is_beside_load),
        }
    }

    /// Index of the pair of systems that have the claimed ranks by their estimates; `None` for a claim without ranks.
    pub(super) fn decisive_pair(&self) -> Option<usize> {
        match &self.computed {
            Computed::Ranked(ranked, _) => Some(ranked.decisive_pair()),
            _ => None,
        }
    }

    /// The value of the quantity.
    fn center(&self) -> f64 {
        match &self.computed {
            Computed::One(one, _) | Computed::Slope(one) => one.center,
            Computed::Steps(steps) => least(steps.iter().map(|step| step.center)),
            Computed::Curve(curve) => curve.center(),
            Computed::Ranked(ranked, _) => ranked.decisive().center,
        }
    }

    /// Whether the quantity is certainly inside of the region, by intervals with the chance `to_hold`; and whether it is
    /// certainly outside, by those with the chance `to_fail`.
    pub(super) fn decide(&self, region: &ScaledRegion, to_hold: f64, to_fail: f64) -> (bool, bool) {
        let Computed::Curve(curve) = &self.computed else {
            let narrow = self.range(to_hold);
            let wide = if to_fail == to_hold { narrow } else { self.range(to_fail) };
            return (region.contains(narrow), region.excludes(wide));
        };
        let [low, high] = [region.low, region.high].map(|limit| limit.map(|(place, _)| place));
        let inside = low.is_none_or(|low| curve.crosses_after(low, to_hold))
            && high.is_none_or(|high| curve.crosses_before(high, to_hold));
        let outside = low.is_some_and(|low| curve.crosses_before(low, to_fail))
            || high.is_some_and(|high| curve.crosses_after(high, to_fail));
        (inside, outside)
    }

    /// The interval of the quantity, which misses the true value at each end with half of this chance at most.
    ///
    /// The least of the steps' lower ends needs no correction: the smallest step is below it only if that step is below its own
    /// lower end. The least of the upper ends is corrected: the smallest step is above it if any step is above its own upper end.
    pub(super) fn range(&self, chance: f64) -> Range {
        match &self.computed {
            Computed::One(one, _) | Computed::Slope(one) => one.range(chance),
            Computed::Steps(steps) => {
                let each = chance / steps.len() as f64;
                Range {
                    low: least(steps.iter().map(|step| step.range(chance).low)),
                    high: least(steps.iter().map(|step| step.range(each).high)),
                }
            }
            Computed::Curve(curve) => curve.range(chance),
            Computed::Ranked(ranked, _) => ranked.range(chance),
        }
    }

    /// The quantity and its interval as numbers.
    pub(super) fn numbers(&self, range: Range) -> QuantityInterval {
        let number = |place: f64| match &self.computed {
            Computed::One(_, scale) | Computed::Ranked(_, scale) => scale.number(place),
            Computed::Slope(_) => place,
            Computed::Steps(_) | Computed::Curve(_) => place.exp(),
        };
        let [mid, low, high] = [self.center(), range.low, range.high].map(number);
        QuantityInterval { mid, low, high }
    }

    /// Advice that would decide the quantity, if this interval does not.
    pub(super) fn what_would_decide(&self, region: &ScaledRegion, range: Range) -> String {
        let contrasts = match &self.computed {
            Computed::One(one, _) | Computed::Slope(one) => std::slice::from_ref(one),
            Computed::Steps(steps) => steps,
            Computed::Ranked(ranked, _) => std::slice::from_ref(ranked.decisive()),
            Computed::Curve(curve) => return curve.what_would_decide(region),
        };
        if contrasts.iter().any(|one| one.is_disturbed) {
            return DISTURBED.to_owned();
        }
        let floor = contrasts.iter().map(|one| one.floor).fold(0.0, f64::max);
        let share = match self.computed {
            Computed::Slope(_)
            | Computed::One(_, Scale::Figures)
            | Computed::Ranked(_, Scale::Figures) => None,
            _ => Some(floor.exp_m1() * 100.0),
        };
        let varies = match share {
            Some(percent) => format!("the machine itself varies by {percent:.1} %"),
            None => format!("the machine itself varies by {floor:.2}"),
        };
        let center = self.center();
        let half = (range.high - center).max(center - range.low) - floor;
        if !range.low.is_finite() || !range.high.is_finite() {
            return "the load generator or the receiver was the bottleneck, so that the figure is only a bound".to_owned();
        }
        if region.half_width() <= floor {
            return match floor > 0.0 {
                true => format!("{varies}: a wider margin would decide it"),
                false => "no figure is exactly one number: a margin would decide it".to_owned(),
            };
        }
        let room = region.distance(center) - floor;
        if room <= 0.0 {
            return format!(
                "{varies}, and the figure is no farther from the limit: a quieter machine or another limit would decide it"
            );
        }
        let between = contrasts.iter().filter(|one| one.is_mostly_between_visits());
        match between.map(|one| one.between).fold(0.0, f64::max) {
            0.0 => times_as_many((half / room).powi(2)),
            between => more_visits(between),
        }
    }
}

/// The advice to measure this many times as many rounds.
fn times_as_many(times: f64) -> String {
    if times > MOST_TIMES {
        "no number of rounds would decide it: the figure lies on the limit".to_owned()
    } else {
        more_rounds(times)
    }
}

/// The figures of a pair with their factors, in a unit in which both can be compared.
fn terms(pair: &DatumPair, scale: Scale) -> Result<Terms, String> {
    let in_cycles = are_in_cycles(pair);
    let mut terms = vec![(1.0, Figure::of(&pair.a, scale, in_cycles)?)];
    if let Some(b) = &pair.b {
        terms.push((-1.0, Figure::of(b, scale, in_cycles)?));
    }
    Ok(terms)
}

/// Whether a pair is compared in cycles, which requires the same processor.
fn are_in_cycles(pair: &DatumPair) -> bool {
    let Some(b) = &pair.b else { return false };
    let has_cycles = |datum: &Datum| datum.count.is_none() && datum.result.cycles.is_some();
    has_cycles(&pair.a) && has_cycles(b) && cpu_differences(pair.a.document, b.document).is_empty()
}

fn is_positive(datum: &Datum) -> bool {
    let of_result = || {
        let estimate = datum.result.estimate.is_some_and(|estimate| estimate.median > 0.0);
        estimate && datum.result.round_values.iter().all(|value| *value > 0.0)
    };
    datum.count.map_or_else(of_result, |count| count > 0.0)
}

/// Difference that the machine itself can cause in a ratio, as a logarithm: the floor of all comparisons, and between runs the
/// difference of the machine's speed.
fn floor_of(quantity: &Quantity, pairs: &[&DatumPair]) -> f64 {
    let of_pair = |pair: &&DatumPair| {
        let in_cycles = are_in_cycles(pair);
        let shift = match &pair.b {
            Some(b) if !std::ptr::eq(pair.a.document, b.document) => {
                shift_between((b.document, b.result), (pair.a.document, pair.a.result), in_cycles)
            }
            _ => 0.0,
        };
        shift.max(floor_at_least(in_cycles).ln_1p())
    };
    match quantity {
        Quantity::Value => 0.0,
        _ => pairs.iter().map(of_pair).fold(0.0, f64::max),
    }
}

/// Factors of the values in the slope of a straight line through them (least squares).
fn slope_factors(x: &[f64]) -> Vec<f64> {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let squares: f64 = x.iter().map(|x| (x - mean).powi(2)).sum();
    x.iter().map(|x| (x - mean) / squares).collect()
}

fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

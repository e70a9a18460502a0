//! The quantity of a claim, computed from the figures of one combination of parameters, with its interval.

use crate::change::{floor_at_least, shift_between};
use crate::crossover::locate;
use crate::frequency::cpu_differences;

use super::figure::{Contrast, Figure, Range, Scale};
use super::model::Statement;
use super::names::limit_x;
use super::relation::{Limit, Quantity, Relation};
use super::selection::{Datum, Group, Pair};
use super::unit::amount_in;

/// More rounds than this many times those measured are no remedy.
const MOST_TIMES: f64 = 1_000.0;

/// A quantity, with what its interval is computed from.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    kind: Kind,
    /// The unit of the figures.
    unit: String,
}

#[derive(Debug, Clone)]
enum Kind {
    /// A figure or a ratio.
    One(Contrast, Scale),
    /// The exponent of a power of the parameter.
    Slope(Contrast),
    /// The changes from one value of the parameter to the next.
    Steps(Vec<Contrast>),
    /// The logarithms of the parameter's values, and those of the ratios there.
    Curve(Vec<f64>, Vec<Contrast>),
}

/// A region on the scale of the quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ScaledRegion {
    /// The limit, and whether it belongs to the region.
    low: Option<(f64, bool)>,
    high: Option<(f64, bool)>,
}

impl ScaledRegion {
    /// The number of its ends.
    pub(super) fn ends(&self) -> usize {
        [self.low, self.high].into_iter().flatten().count().max(1)
    }

    pub(super) fn contains(&self, range: Range) -> bool {
        let above =
            self.low.is_none_or(|(low, with)| range.low > low || (with && range.low == low));
        let below =
            self.high.is_none_or(|(high, with)| range.high < high || (with && range.high == high));
        above && below
    }

    pub(super) fn excludes(&self, range: Range) -> bool {
        let below =
            self.low.is_some_and(|(low, with)| range.high < low || (!with && range.high == low));
        let above =
            self.high.is_some_and(|(high, with)| range.low > high || (!with && range.low == high));
        above || below
    }

    /// The distance from `place` to the nearest end.
    fn distance(&self, place: f64) -> f64 {
        let ends = [self.low, self.high].into_iter().flatten();
        ends.map(|(end, _)| (place - end).abs()).fold(f64::INFINITY, f64::min)
    }

    /// Half of its width; infinite if it has one end.
    fn half_width(&self) -> f64 {
        match (self.low, self.high) {
            (Some((low, _)), Some((high, _))) => (high - low) / 2.0,
            _ => f64::INFINITY,
        }
    }
}

/// The region of a relation on the scale of the quantity.
///
/// # Errors
/// If a limit has a unit that the figures do not have.
pub(super) fn region_of(relation: &Relation, measured: &Measured) -> Result<ScaledRegion, String> {
    let place = |limit: &Limit| -> Result<(f64, bool), String> {
        let place = match &measured.kind {
            Kind::One(_, scale) => match relation.quantity {
                Quantity::Value => scale.of(amount_in(limit, &measured.unit)?),
                _ => scale.of(limit.number),
            },
            Kind::Slope(_) => limit.number,
            Kind::Steps(_) => limit.number.ln(),
            Kind::Curve(..) => {
                let x = limit_x(limit).ok_or("its limit is no value of the parameter")?;
                x.ln()
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
    /// Why nothing can be decided by it.
    pub(super) fn of(group: &Group, statement: &Statement) -> Result<Self, String> {
        let quantity = &statement.relation.value.quantity;
        let pairs: Vec<&Pair> = group.pairs.iter().map(|(_, pair)| pair).collect();
        let ln_x: Vec<f64> = group.pairs.iter().map(|(x, _)| x.ln()).collect();
        let floor = floor_of(quantity, &pairs);
        let first = pairs.first().ok_or("it has no figures")?;
        let scale = match quantity {
            Quantity::Value if !is_positive(&first.a) => Scale::Linear,
            _ => Scale::Log,
        };
        let logs: Vec<Vec<(f64, Figure)>> =
            pairs.iter().map(|pair| terms(pair, scale)).collect::<Result<_, _>>()?;
        let at = |at: usize, factor: f64| {
            logs[at].iter().map(move |(own, figure)| (own * factor, *figure)).collect::<Vec<_>>()
        };
        let kind = match quantity {
            Quantity::Value | Quantity::Ratio => Kind::One(Contrast::of(&logs[0], floor), scale),
            Quantity::Slope { .. } => {
                let factors = slope_factors(&ln_x);
                let terms: Vec<_> =
                    factors.iter().enumerate().flat_map(|(i, factor)| at(i, *factor)).collect();
                let largest = factors.iter().fold(0.0, |most: f64, factor| most.max(factor.abs()));
                Kind::Slope(Contrast::of(&terms, floor * largest))
            }
            Quantity::Steps { rising, .. } => {
                let sign = if *rising { 1.0 } else { -1.0 };
                let step =
                    |i: usize| Contrast::of(&[at(i, -sign), at(i + 1, sign)].concat(), floor);
                Kind::Steps((0..logs.len() - 1).map(step).collect())
            }
            Quantity::Crossing { .. } => {
                let ratios = logs.iter().map(|terms| Contrast::of(terms, floor)).collect();
                Kind::Curve(ln_x, ratios)
            }
        };
        let datum = &first.a;
        let unit = match datum.count {
            Some(_) => super::per_op::UNIT.to_owned(),
            None => datum.result.unit.clone(),
        };
        Ok(Self { kind, unit })
    }

    /// The quantity itself.
    fn center(&self) -> f64 {
        match &self.kind {
            Kind::One(one, _) | Kind::Slope(one) => one.center,
            Kind::Steps(steps) => least(steps.iter().map(|step| step.center)),
            Kind::Curve(ln_x, ratios) => located(ln_x, ratios.iter().map(|ratio| ratio.center)),
        }
    }

    /// Its interval, which misses the truth at each end with half of this chance at most.
    ///
    /// The smallest of several steps is below the least lower end only if its own step is; it is above the least upper end
    /// only if some step is above its own, so that these are corrected. The crossing of a curve moves with the curve: the
    /// crossings of the lower and the upper end of a simultaneous band are its bounds.
    pub(super) fn range(&self, chance: f64) -> Range {
        match &self.kind {
            Kind::One(one, _) | Kind::Slope(one) => one.range(chance),
            Kind::Steps(steps) => {
                let each = chance / steps.len() as f64;
                Range {
                    low: least(steps.iter().map(|step| step.range(chance).low)),
                    high: least(steps.iter().map(|step| step.range(each).high)),
                }
            }
            Kind::Curve(ln_x, ratios) => {
                let band = ratios.iter().map(|ratio| ratio.range(chance / ratios.len() as f64));
                let band: Vec<Range> = band.collect();
                let (first, last) = (ln_x[0], ln_x[ln_x.len() - 1]);
                // Nothing is known beyond the measured values.
                let low = located(ln_x, band.iter().map(|range| range.low)).min(last);
                let high = located(ln_x, band.iter().map(|range| range.high)).max(first);
                Range { low, high }
            }
        }
    }

    /// The quantity and its interval as numbers, `(mid, low, high)`.
    pub(super) fn numbers(&self, range: Range) -> (f64, f64, f64) {
        let number = |place: f64| match &self.kind {
            Kind::One(_, scale) => scale.number(place),
            Kind::Slope(_) => place,
            Kind::Steps(_) | Kind::Curve(..) => place.exp(),
        };
        (number(self.center()), number(range.low), number(range.high))
    }

    /// What would decide it, if its interval with this chance does not.
    pub(super) fn what_would_decide(&self, region: &ScaledRegion, chance: f64) -> String {
        let floor = match &self.kind {
            Kind::One(one, _) | Kind::Slope(one) => one.floor,
            Kind::Steps(all) | Kind::Curve(_, all) => {
                all.iter().map(|one| one.floor).fold(0.0, f64::max)
            }
        };
        let half = match &self.kind {
            Kind::One(one, _) | Kind::Slope(one) => one.half(chance),
            Kind::Steps(steps) => {
                let each = chance / steps.len() as f64;
                steps.iter().map(|step| step.half(each)).fold(0.0, f64::max)
            }
            Kind::Curve(..) => return self.what_would_decide_a_crossing(region),
        };
        let share = match self.kind {
            Kind::Slope(_) | Kind::One(_, Scale::Linear) => None,
            _ => Some(floor.exp_m1() * 100.0),
        };
        let varies = match share {
            Some(percent) => format!("the machine itself varies by {percent:.1} %"),
            None => format!("the machine itself varies by {floor:.2}"),
        };
        let center = self.center();
        let range = self.range(chance);
        if !range.low.is_finite() || !range.high.is_finite() {
            return "the load generator or the receiver was the bottleneck, so that the figure is only a bound".to_owned();
        }
        if region.half_width() <= floor {
            return format!("{varies}: a wider margin would decide it");
        }
        let room = region.distance(center) - floor;
        if room <= 0.0 {
            return format!(
                "{varies}, and the figure is no farther from the limit: a quieter machine or another limit would decide it"
            );
        }
        times_as_many((half / room).powi(2))
    }

    /// The number of rounds by which every ratio next to the crossing is certainly above or below 1.
    fn what_would_decide_a_crossing(&self, region: &ScaledRegion) -> String {
        let Kind::Curve(ln_x, _) = &self.kind else { return String::new() };
        let (first, last) = (ln_x[0].exp(), ln_x[ln_x.len() - 1].exp());
        let outside = |limit: Option<(f64, bool)>| {
            limit.is_some_and(|(place, _)| place.exp() < first || place.exp() > last)
        };
        match outside(region.low) || outside(region.high) {
            true => {
                format!("values of the parameter beyond {first:.0} to {last:.0} would decide it")
            }
            false => {
                "more rounds, or more values of the parameter about the limit, would decide it"
                    .to_owned()
            }
        }
    }
}

/// The advice to measure this many times as many rounds.
fn times_as_many(times: f64) -> String {
    if times > MOST_TIMES {
        "no number of rounds would decide it: the figure lies on the limit".to_owned()
    } else {
        format!("about {:.0} times as many rounds would decide it", times.max(2.0).ceil())
    }
}

/// The figures of a pair with their factors, in the unit that both can be compared in.
fn terms(pair: &Pair, scale: Scale) -> Result<Vec<(f64, Figure)>, String> {
    let in_cycles = are_in_cycles(pair);
    let mut terms = vec![(1.0, Figure::of(&pair.a, scale, in_cycles)?)];
    if let Some(b) = &pair.b {
        terms.push((-1.0, Figure::of(b, scale, in_cycles)?));
    }
    Ok(terms)
}

/// Cycles are compared with cycles of the same processor only.
fn are_in_cycles(pair: &Pair) -> bool {
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

/// What the machine itself can add to a ratio, as a logarithm: the floor of all comparisons, and between runs the difference
/// of the machine's speed.
fn floor_of(quantity: &Quantity, pairs: &[&Pair]) -> f64 {
    let of_pair = |pair: &&Pair| {
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

/// The factors of the values in the slope of a straight line through them (least squares).
fn slope_factors(x: &[f64]) -> Vec<f64> {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let squares: f64 = x.iter().map(|x| (x - mean).powi(2)).sum();
    x.iter().map(|x| (x - mean) / squares).collect()
}

/// The place, by logarithms, from which these logarithms of ratios stay below 0.
fn located(ln_x: &[f64], logs: impl Iterator<Item = f64>) -> f64 {
    // An open end of the band is farther than any figure.
    const FAR: f64 = 1e3;
    let ratios: Vec<f64> = logs.map(|log| log.clamp(-FAR, FAR)).collect();
    locate(ln_x, &ratios)
}

fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

//! Figures on the scale on which they are compared, and contrasts of them: sums with factors, such as the difference of two
//! logarithms, which is that of a ratio.

use measure::stats::t_quantile;
use measure::{Combine, Direction};
use results::{CaseResult, LEAST_ROUNDS};

use super::found::Datum;
use crate::change::{DISTURBED_FLOOR, Scale, Side};
use crate::spread::grid_step;

/// The largest difference that rounding makes, in steps of the grid.
const GRID_STEPS: f64 = 1.5;

/// A figure with its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Figure {
    pub(super) center: f64,
    /// The standard error; 0 for a fact.
    pub(super) error: f64,
    /// Degrees of freedom of the error.
    pub(super) degrees: f64,
    /// What the machine's drift and rounding can add.
    pub(super) floor: f64,
    /// Whether the true figure may be any greater one: something else limited it.
    pub(super) is_lower_bound: bool,
    /// Whether it has no variance, such as a number of system calls.
    pub(super) is_fact: bool,
    /// Whether too few rounds were quiet, which is part of `floor`.
    pub(super) is_disturbed: bool,
}

impl Figure {
    /// The figure of a datum, in core cycles if `in_cycles`.
    ///
    /// # Errors
    /// Why nothing can be decided by it.
    pub(super) fn of(datum: &Datum, scale: Scale, in_cycles: bool) -> Result<Self, String> {
        if let Some(count) = datum.count {
            return Self::fact(count, scale);
        }
        let result = datum.result;
        let factor = result.cycles_per_ns().filter(|_| in_cycles).unwrap_or(1.0);
        let side = Side::of(result, factor);
        let side = side.ok_or_else(|| format!("{} has no figure", result.label()))?;
        if is_fact(result) {
            return Self::fact(side.estimate.median, scale);
        }
        let is_lower_bound = datum.is_lower_bound && result.better == Direction::Higher;
        if let Some(why) = datum.held_back.as_ref().filter(|_| !is_lower_bound) {
            return Err(why.clone());
        }
        let center = side.estimate.median;
        let is_not_positive = |value: &f64| *value <= 0.0;
        if scale == Scale::Logarithms && side.rounds.iter().chain([&center]).any(is_not_positive) {
            return Err(format!("{} has figures that are not above 0", result.label()));
        }
        let spread = side.spread(scale);
        let spread =
            spread.ok_or_else(|| format!("{} has no interval from its rounds", result.label()))?;
        if side.rounds.len() < LEAST_ROUNDS {
            let had = side.rounds.len();
            return Err(format!("{had} rounds are too few: at least {LEAST_ROUNDS} are needed"));
        }
        let rounding = rounding(result, scale, factor);
        let is_disturbed = datum.is_disturbed || side.has_few_quiet_rounds;
        let disturbance = match (is_disturbed, scale) {
            (false, _) => 0.0,
            (true, Scale::Logarithms) => DISTURBED_FLOOR.ln_1p(),
            (true, Scale::Figures) => DISTURBED_FLOOR * center.abs(),
        };
        Ok(Self {
            center: scale.of(center),
            error: spread.error,
            degrees: spread.degrees,
            floor: spread.drift.max(rounding).max(disturbance),
            is_lower_bound,
            is_fact: false,
            is_disturbed,
        })
    }

    fn fact(number: f64, scale: Scale) -> Result<Self, String> {
        if scale == Scale::Logarithms && number <= 0.0 {
            return Err("a figure is 0, so that there is no ratio".to_owned());
        }
        Ok(Self {
            center: scale.of(number),
            error: 0.0,
            degrees: f64::INFINITY,
            floor: 0.0,
            is_lower_bound: false,
            is_fact: true,
            is_disturbed: false,
        })
    }
}

/// Whether the figure has no variance: the step of a clock, the sum of events that should never happen.
fn is_fact(result: &CaseResult) -> bool {
    let combine = cases::metric(&result.case, &result.metric).map(|metric| metric.combine);
    let one_value = || {
        result.round_values.is_empty()
            && result.estimate.is_some_and(|estimate| estimate.low == estimate.high)
    };
    combine.is_some_and(|combine| combine != Combine::Median) || one_value()
}

/// What the rounding of times can add.
fn rounding(result: &CaseResult, scale: Scale, factor: f64) -> f64 {
    let Some(estimate) = result.estimate.filter(|_| result.unit.starts_with("ns")) else {
        return 0.0;
    };
    let step = grid_step(&result.round_values) * GRID_STEPS;
    match scale {
        Scale::Figures => step * factor,
        Scale::Logarithms if step > 0.0 => (step / estimate.median).ln_1p(),
        Scale::Logarithms => 0.0,
    }
}

/// A sum of figures with factors, and its error (Welch 1947, Satterthwaite 1946).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Contrast {
    pub(super) center: f64,
    error: f64,
    degrees: f64,
    /// What the machine itself can add.
    pub(super) floor: f64,
    /// Whether the true sum may be any lower one.
    open_below: bool,
    /// Whether the true sum may be any greater one.
    open_above: bool,
    /// Whether too few rounds of some figure were quiet.
    pub(super) is_disturbed: bool,
}

/// A range on the scale of a quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Contrast {
    /// One that may be anything.
    pub(super) const UNKNOWN: Self = Self {
        center: 0.0,
        error: 0.0,
        degrees: f64::INFINITY,
        floor: 0.0,
        open_below: true,
        open_above: true,
        is_disturbed: false,
    };

    /// The sum of these figures, each multiplied by its factor; `floor` is added to what the machine itself can add, unless all
    /// are facts.
    pub(super) fn of(terms: &[(f64, Figure)], floor: f64) -> Self {
        let variance = |(factor, figure): &(f64, Figure)| (factor * figure.error).powi(2);
        let all: f64 = terms.iter().map(variance).sum();
        let by_degrees: f64 =
            terms.iter().map(|term| variance(term).powi(2) / term.1.degrees).sum();
        let drift = terms.iter().map(|(factor, figure)| factor.abs() * figure.floor);
        let bound = |sign: f64| {
            terms.iter().any(|(factor, figure)| figure.is_lower_bound && factor * sign > 0.0)
        };
        let are_facts = terms.iter().all(|(_, figure)| figure.is_fact);
        Self {
            center: terms.iter().map(|(factor, figure)| factor * figure.center).sum(),
            error: all.sqrt(),
            degrees: if by_degrees > 0.0 { all.powi(2) / by_degrees } else { f64::INFINITY },
            floor: drift.fold(if are_facts { 0.0 } else { floor }, f64::max),
            open_below: bound(-1.0),
            open_above: bound(1.0),
            is_disturbed: terms.iter().any(|(_, figure)| figure.is_disturbed),
        }
    }

    /// Half of the interval's width that comes from the rounds; `chance` is that of both ends together.
    fn half(&self, chance: f64) -> f64 {
        if self.error == 0.0 {
            return 0.0;
        }
        // Beyond a thousand, Student's t is normal.
        t_quantile(1.0 - chance / 2.0, self.degrees.min(1e3)) * self.error
    }

    /// The interval that misses the truth with this chance at most, at each end with half of it.
    pub(super) fn range(&self, chance: f64) -> Range {
        let reach = self.half(chance) + self.floor;
        Range {
            low: if self.open_below { f64::NEG_INFINITY } else { self.center - reach },
            high: if self.open_above { f64::INFINITY } else { self.center + reach },
        }
    }
}

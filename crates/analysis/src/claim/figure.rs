//! Figures on the scale on which they are compared, and contrasts: sums of figures with factors. A difference of two logarithms
//! is that of a ratio.

use std::rc::Rc;

use measure::{Combine, Direction, Role};
use results::{CaseResult, GROUP, LEAST_ROUNDS, PointKey};

use super::found::Datum;
use crate::change::{
    DISTURBED_FLOOR, ENTRY_STATES, Scatter, Side, entries_per_cycle, interval_with,
    is_mostly_between_visits,
};
use crate::evidence::{Moderation, Variance};
use crate::next_run::between_visits;
use crate::paired::{Rounds, paired};
use crate::scale::Scale;
use crate::spread::{grid_step, welch};

/// Largest difference that rounding causes, in steps of the grid.
const GRID_STEPS: f64 = 1.5;

/// Difference of shares of the CPUs, in logarithms, up to which they count as equal: other threads of the trial itself take this
/// much.
const UNEQUAL: f64 = 0.05;

/// A figure with its error.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    pub(super) center: f64,
    /// Rounds of the figure, if their start times are known.
    rounds: Option<Rc<Rounds>>,
    /// The id of its run; for several systems in turn, that of the first run.
    run: String,
    /// Variance between visits of the machine.
    between: Variance,
    /// The measured point.
    point: PointKey,
    /// System calls per core cycle of the operation; 0 if cycles are not compared.
    entries: f64,
    /// Standard error; 0 for a fact.
    pub(super) error: f64,
    /// Degrees of freedom of the error.
    pub(super) degrees: f64,
    /// Difference that the machine's drift and rounding can cause.
    pub(super) floor: f64,
    /// By how much the figure of a quiet machine may be lower, and higher: disturbances lengthen times and lower rates.
    below: f64,
    above: f64,
    /// Share of the CPU time of an idle machine that the trial had, on the scale; `None` if unknown.
    cpu_share: Option<f64>,
    /// Standard error that rounding adds.
    rounding: f64,
    /// Whether the true figure may be any greater one, since something else limited it.
    pub(super) is_lower_bound: bool,
    /// Whether the figure has no variance, such as a number of system calls.
    pub(super) is_fact: bool,
    /// Whether too few rounds were quiet.
    pub(super) is_disturbed: bool,
}

impl Figure {
    /// The figure of a datum, in core cycles if `in_cycles`.
    ///
    /// # Errors
    /// The reason why the figure decides nothing.
    pub(super) fn of(datum: &Datum, scale: Scale, in_cycles: bool) -> Result<Self, String> {
        let result = datum.result;
        if let Some(count) = datum.count {
            return Self::fact(datum, count, scale);
        }
        let factor = result.cycles_per_ns().filter(|_| in_cycles).unwrap_or(1.0);
        let side = Side::of(result, factor);
        let side = side.ok_or_else(|| format!("{} has no figure", result.label()))?;
        if is_fact(result) {
            return Self::fact(datum, side.estimate.median, scale);
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
            rounds: Rounds::of(result, factor, scale).map(Rc::new),
            run: run_of(datum),
            between: between_visits(datum.document, result, scale),
            point: result.point(),
            entries: entries_per_cycle(result).filter(|_| in_cycles).unwrap_or(0.0),
            center: scale.of(center),
            error: spread.error,
            degrees: spread.degrees,
            floor: spread.drift.max(rounding),
            below: if result.better == Direction::Higher { 0.0 } else { disturbance },
            above: if result.better == Direction::Lower { 0.0 } else { disturbance },
            cpu_share: cpu_share(datum).filter(|_| scale == Scale::Logarithms).map(f64::ln),
            // The standard deviation of a uniform distribution within a step; `rounding` is a multiple of a step.
            rounding: rounding / GRID_STEPS / 12f64.sqrt(),
            is_lower_bound,
            is_fact: false,
            is_disturbed,
        })
    }

    fn fact(datum: &Datum, number: f64, scale: Scale) -> Result<Self, String> {
        if scale == Scale::Logarithms && number <= 0.0 {
            return Err("a figure is 0, so that there is no ratio".to_owned());
        }
        Ok(Self {
            rounds: None,
            run: run_of(datum),
            between: Variance { value: 0.0, degrees: f64::INFINITY },
            point: datum.result.point(),
            entries: 0.0,
            center: scale.of(number),
            error: 0.0,
            degrees: f64::INFINITY,
            floor: 0.0,
            below: 0.0,
            above: 0.0,
            cpu_share: None,
            rounding: 0.0,
            is_lower_bound: false,
            is_fact: true,
            is_disturbed: false,
        })
    }
}

/// The id of the run, or of the first of several that were measured in turn.
fn run_of(datum: &Datum) -> String {
    let run = &datum.document.run;
    run.asked.get(GROUP).unwrap_or(&run.id).clone()
}

/// The reach of a term in one direction: the figure's own reach is `own` in that direction and `other` in the opposite one.
fn toward(factor: f64, own: f64, other: f64) -> f64 {
    factor.abs() * if factor >= 0.0 { own } else { other }
}

/// The CPU time of a trial divided by that of the same trial on an idle machine, if both are known.
fn cpu_share(datum: &Datum) -> Option<f64> {
    let is_beside = |result: &&CaseResult| {
        let metric = || catalog::metric(&result.case, &result.metric);
        result.case == datum.result.case
            && result.params == datum.result.params
            && metric().is_some_and(|metric| metric.role == Role::CpuShare)
    };
    let estimate = datum.document.results.iter().find(is_beside)?.estimate?;
    let result = datum.result;
    let trials = catalog::trials_of(&result.case, &result.params)?;
    let on_idle_machine = (trials.keeps_busy)(&result.params, result.cpus.len())?;
    Some(estimate.median / on_idle_machine).filter(|share| *share > 0.0)
}

/// Whether the figure has no variance: the step of a clock, the sum of events that should never happen.
fn is_fact(result: &CaseResult) -> bool {
    let combine = catalog::metric(&result.case, &result.metric).map(|metric| metric.combine);
    let one_value = || {
        result.round_values.is_empty()
            && result.estimate.is_some_and(|estimate| estimate.low == estimate.high)
    };
    combine.is_some_and(|combine| combine != Combine::Median) || one_value()
}

/// Difference that the rounding of times can cause.
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

/// Whether all figures that vary are of one run, or of runs in turn.
fn are_of_one_run(terms: &[(f64, Figure)]) -> bool {
    let mut runs = terms.iter().filter(|(_, figure)| !figure.is_fact).map(|(_, it)| &it.run);
    let first = runs.next();
    runs.all(|run| Some(run) == first)
}

/// A sum of figures with factors, and its error: that of adjacent rounds if the figures are of one run, otherwise from the
/// figures' own errors (Welch 1947, Satterthwaite 1946).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Contrast {
    /// The sum of the figures.
    pub(super) center: f64,
    /// Middle of the interval: the mean over the blocks of adjacent rounds; without blocks, `center`.
    middle: f64,
    scatter: Scatter,
    /// Part of the standard error that comes from what differs between visits; 0 within one run, and for systems in turn.
    pub(super) between: f64,
    /// Ratio of the variance of a block to that of a difference of two figures.
    scale: f64,
    /// Difference that the machine itself can cause; 0 for adjacent rounds.
    pub(super) floor: f64,
    /// By how much the sum may be lower, and higher, on a quiet machine.
    below: f64,
    above: f64,
    /// Whether the true sum may be any lower one.
    open_below: bool,
    /// Whether the true sum may be any greater one.
    open_above: bool,
    /// Whether too few rounds of some figure were quiet and the rounds are not adjacent; or the rounds are adjacent, and load
    /// slowed the figures unequally.
    pub(super) is_disturbed: bool,
    /// Whether the rounds are adjacent, and most of them were disturbed.
    pub(super) is_beside_load: bool,
}

/// A range on the scale of a quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Contrast {
    /// A contrast that may have any value.
    pub(super) const UNKNOWN: Self = Self {
        center: 0.0,
        middle: 0.0,
        scatter: Scatter {
            variance: Variance { value: 0.0, degrees: f64::INFINITY },
            count: 1.0,
            fixed: 0.0,
            is_in_blocks: false,
        },
        between: 0.0,
        scale: 1.0,
        floor: 0.0,
        below: 0.0,
        above: 0.0,
        open_below: true,
        open_above: true,
        is_disturbed: false,
        is_beside_load: false,
    };

    /// A ratio of a figure to itself.
    pub(super) const ITSELF: Self = Self { open_below: false, open_above: false, ..Self::UNKNOWN };

    /// The sum of these figures, each multiplied by its factor. `floor` is the difference that the machine itself can cause,
    /// unless all are facts.
    pub(super) fn of(terms: &[(f64, Figure)], floor: f64) -> Self {
        Self::in_blocks(terms).unwrap_or_else(|| Self::of_errors(terms, floor))
    }

    /// Sums adjacent rounds; `None` unless at least two figures have such rounds.
    fn in_blocks(terms: &[(f64, Figure)]) -> Option<Self> {
        let varying = || terms.iter().filter(|(_, figure)| !figure.is_fact);
        let series: Option<Vec<(f64, &Rounds)>> =
            varying().map(|(factor, figure)| Some((*factor, figure.rounds.as_deref()?))).collect();
        let series = series.filter(|series| series.len() > 1 && are_of_one_run(terms))?;
        let found = paired(&series)?;
        let facts = terms.iter().filter(|(_, figure)| figure.is_fact);
        let facts: f64 = facts.map(|(factor, figure)| factor * figure.center).sum();
        let squares: f64 = series.iter().map(|(factor, _)| factor.powi(2)).sum();
        let rounding = |(factor, figure): &(f64, Figure)| (factor * figure.rounding).powi(2);
        let fixed = Self::by_states(terms).powi(2) + varying().map(rounding).sum::<f64>();
        Some(
            Self {
                center: terms.iter().map(|(factor, figure)| factor * figure.center).sum(),
                middle: found.center + facts,
                scatter: Scatter::of_blocks(&found, fixed),
                scale: squares / 2.0,
                floor: 0.0,
                is_disturbed: false,
                is_beside_load: found.is_beside_load,
                ..Self::bounds(terms)
            }
            .with_unequal_load(terms),
        )
    }

    /// Widens the interval for unequal shares of the CPUs: under load, trials with more threads get more of the CPUs. The sum on
    /// a quiet machine lies anywhere between this sum and one in which the figures are CPU times.
    fn with_unequal_load(self, terms: &[(f64, Figure)]) -> Self {
        let share = |(factor, figure): &(f64, Figure)| Some(factor * figure.cpu_share?);
        let shares: Option<f64> = terms.iter().map(share).sum();
        match shares.filter(|_| self.is_beside_load) {
            Some(moved) => Self {
                below: (-moved).max(0.0),
                above: moved.max(0.0),
                is_disturbed: moved.abs() > UNEQUAL,
                ..self
            },
            None => self,
        }
    }

    /// Standard deviation of the sum due to the states of entering the kernel; 0 for one operation on several systems, which are
    /// in the same state.
    fn by_states(terms: &[(f64, Figure)]) -> f64 {
        if terms.iter().all(|(_, figure)| figure.point == terms[0].1.point) {
            return 0.0;
        }
        ENTRY_STATES
            * terms.iter().map(|(factor, figure)| factor * figure.entries).sum::<f64>().abs()
    }

    /// Sums the figures, each with its own error, and those of separate runs with what differs from visit to visit of the machine.
    fn of_errors(terms: &[(f64, Figure)], floor: f64) -> Self {
        let variance = |(factor, figure): &(f64, Figure)| (factor * figure.error).powi(2);
        let all: f64 = terms.iter().map(variance).sum();
        let by_degrees: f64 =
            terms.iter().map(|term| variance(term).powi(2) / term.1.degrees).sum();
        let degrees = if by_degrees > 0.0 { all.powi(2) / by_degrees } else { f64::INFINITY };
        let of_visits = |(factor, it): &(f64, Figure)| factor.powi(2) * it.between.value;
        let between = match are_of_one_run(terms) {
            true => 0.0,
            false => terms.iter().map(of_visits).sum::<f64>().sqrt(),
        };
        // The degrees of freedom are not added, since the same visits may determine several variances.
        let few = terms.iter().map(|(_, it)| it.between.degrees).fold(f64::INFINITY, f64::min);
        let (error, degrees) = welch((all.sqrt(), degrees), (between, few));
        let drift = terms.iter().map(|(factor, figure)| factor.abs() * figure.floor);
        let are_facts = terms.iter().all(|(_, figure)| figure.is_fact);
        let center = terms.iter().map(|(factor, figure)| factor * figure.center).sum();
        Self {
            center,
            middle: center,
            scatter: Scatter::of_error(error, degrees),
            between,
            floor: drift.fold(if are_facts { 0.0 } else { floor }, f64::max),
            below: terms.iter().map(|(factor, it)| toward(*factor, it.below, it.above)).sum(),
            above: terms.iter().map(|(factor, it)| toward(*factor, it.above, it.below)).sum(),
            is_disturbed: terms.iter().any(|(_, figure)| figure.is_disturbed),
            ..Self::bounds(terms)
        }
    }

    /// Whether more rounds would hardly narrow the interval, since most of its variance is between visits.
    pub(super) fn is_mostly_between_visits(&self) -> bool {
        is_mostly_between_visits(self.between, self.scatter.error())
    }

    /// A contrast whose ends are open where figures are bounds.
    fn bounds(terms: &[(f64, Figure)]) -> Self {
        let bound = |sign: f64| {
            terms.iter().any(|(factor, figure)| figure.is_lower_bound && factor * sign > 0.0)
        };
        Self { open_below: bound(-1.0), open_above: bound(1.0), ..Self::UNKNOWN }
    }

    /// Whether a figure of the sum is only a bound.
    pub(super) fn is_bound(&self) -> bool {
        self.open_below || self.open_above
    }

    /// Variance of a difference of two figures, by the blocks of adjacent rounds; `None` without blocks.
    pub(super) fn variance(&self) -> Option<Variance> {
        let Variance { value, degrees } = self.scatter.variance;
        self.scatter.is_in_blocks.then_some(Variance { value: value / self.scale, degrees })
    }

    /// Moderates the variance by that of all points of the comparison.
    pub(super) fn moderated(self, moderation: Moderation) -> Self {
        match self.scatter.is_in_blocks {
            true => Self { scatter: self.scatter.moderated(moderation, self.scale), ..self },
            false => self,
        }
    }

    /// The interval that misses the true value with this chance at most, half of it at each end.
    pub(super) fn range(&self, chance: f64) -> Range {
        let reach = self.scatter.half_width(chance) + self.floor;
        let (low, high) = interval_with(self.center, self.middle, reach);
        Range {
            low: match self.open_below {
                true => f64::NEG_INFINITY,
                false => low - self.below,
            },
            high: match self.open_above {
                true => f64::INFINITY,
                false => high + self.above,
            },
        }
    }
}

//! The change of a figure from one run to another, its error, and the floor below which it is not significant.

use measure::stats::{LEVEL, median, t_quantile};
use results::{CaseResult, Document, Estimate, LEAST_ROUNDS, Outcome};
use serde::Serialize;

use crate::evidence::{Moderation, Variance, critical};
use crate::frequency::{Frequencies, cpu_differences, speed_shift};
use crate::next_run::{between_recorded, between_visits, is_same_machine};
use crate::paired::{Paired, Rounds, paired};
use crate::scale::Scale;
use crate::scope::{Points, References};
use crate::setting::nuisances;
use crate::spread::{Spread, grid_step, welch};

/// Smallest difference that is reported, as a share, whatever the spread of the rounds: the placement of a program and its data
/// in memory changes a figure by this share.
pub const FLOOR_AT_LEAST: f64 = 0.01;
/// Smallest difference that is reported of core cycles, which are independent of the core's frequency and of disturbances.
const CYCLES_FLOOR_AT_LEAST: f64 = 0.002;
/// Smallest difference (a factor of 2) that is reported between separate runs in which too few rounds were quiet: a neighbour
/// that never pauses, on the other hardware thread of the core, leaves about half of it.
pub(crate) const DISTURBED_FLOOR: f64 = 1.0;
/// Note on a difference below [`DISTURBED_FLOOR`].
pub(crate) const DISTURBED: &str = "too few rounds were quiet: a quieter machine would decide it";
/// Note on a verdict from adjacent rounds most of which were disturbed: load can slow the sides unequally.
pub(crate) const BESIDE_LOAD: &str = "beside load";
/// Largest difference that rounding causes between two runs, in steps of the grid; both values are rounded.
const GRID_STEPS: f64 = 1.5;

/// A ratio with the interval that decides the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratio {
    /// The ratio of the figures.
    pub mid: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Ratio {
    /// A ratio from its logarithm and the half-width of the interval.
    pub fn of_log(by: f64, half: f64) -> Self {
        Self::of_logs(by, (by - half, by + half))
    }

    /// A ratio from its logarithm and the ends of the interval of that.
    pub(crate) fn of_logs(by: f64, (low, high): (f64, f64)) -> Self {
        Self { mid: by.exp(), low: low.exp(), high: high.exp() }
    }

    /// The geometric mean of ratios whose intervals hold together, so that the mean of their ends is an interval of the mean;
    /// `None` without ratios.
    pub(crate) fn mean(ratios: &[Ratio]) -> Option<Ratio> {
        let mean = |end: &dyn Fn(&Ratio) -> f64| {
            let logs = ratios.iter().map(|ratio| end(ratio).ln());
            (logs.sum::<f64>() / ratios.len() as f64).exp()
        };
        (!ratios.is_empty()).then(|| Ratio {
            mid: mean(&|ratio| ratio.mid),
            low: mean(&|ratio| ratio.low),
            high: mean(&|ratio| ratio.high),
        })
    }

    /// The quotient of two ratios whose intervals hold together, so that the quotients of their ends are an interval of it.
    pub fn over(self, other: Self) -> Self {
        Self { mid: self.mid / other.mid, low: self.low / other.high, high: self.high / other.low }
    }

    /// The inverse ratio.
    pub fn inverse(self) -> Self {
        Self { mid: 1.0 / self.mid, low: 1.0 / self.high, high: 1.0 / self.low }
    }
}

/// Standard deviation, in core cycles, of the cost of one entry into the kernel from hour to hour on a processor with several
/// states: on an AMD EPYC (Zen 5) the cost has several values 12 cycles apart. Two operations in one run may be in different
/// states throughout; the same operation on two systems in turn is in the same state.
pub(crate) const ENTRY_STATES: f64 = 12.0;

/// Two runs, with the facts needed to compare any of their results.
pub(crate) struct Sides<'a> {
    same_cpu: bool,
    is_one_run: bool,
    in_turn: bool,
    frequencies: Frequencies,
    base: References<'a>,
    new: References<'a>,
    points: [Points<'a>; 2],
    runs: [&'a Document; 2],
    is_same_machine: bool,
    across_machines: bool,
}

impl<'a> Sides<'a> {
    pub(crate) fn of(base: &'a Document, new: &'a Document, across_machines: bool) -> Self {
        Self {
            // A run compared with itself is on one CPU, also if its description does not identify the CPU.
            same_cpu: std::ptr::eq(base, new) || cpu_differences(base, new).is_empty(),
            is_one_run: std::ptr::eq(base, new),
            in_turn: base.run.is_in_turn_with(&new.run),
            frequencies: Frequencies::of(base, new),
            base: References::of(base),
            new: References::of(new),
            points: [base, new].map(|run| Points::of(&[run])),
            runs: [base, new],
            is_same_machine: is_same_machine(&base.machine, &new.machine),
            across_machines: across_machines && !nuisances(base, new, &[]).is_empty(),
        }
    }

    /// The change between two results; `None` if one has no figure, or if their units differ.
    pub(crate) fn change(&self, base: &CaseResult, new: &CaseResult) -> Option<Change> {
        if base.unit != new.unit {
            return None;
        }
        let factors = base.cycles_per_ns().zip(new.cycles_per_ns()).filter(|_| self.same_cpu);
        let in_cycles = factors.is_some();
        let (base_factor, new_factor) = factors.unwrap_or((1.0, 1.0));
        let sides = [Side::of(base, base_factor)?, Side::of(new, new_factor)?];
        let is_positive = |side: &Side| {
            side.estimate.median > 0.0 && side.rounds.iter().all(|&round| round > 0.0)
        };
        let scale = if sides.iter().all(is_positive) { Scale::Logarithms } else { Scale::Figures };
        if let Some(change) = self.change_in_blocks(&sides, scale, in_cycles) {
            return Some(change);
        }
        let references = (self.base.beside(base), self.new.beside(new));
        let difference = Difference::of_medians(&sides, scale);
        // Rounds in turn find the same state of the machine, whose frequency does not affect cycles.
        let by_machine = match (in_cycles, self.in_turn) {
            (true, true) => 0.0,
            _ => speed_shift(base, new, references, &self.frequencies, in_cycles).exp_m1(),
        };
        let at_once = self.in_turn || self.is_one_run;
        let mut change = Change::of(&sides, difference, scale, in_cycles, by_machine);
        if !at_once {
            change.widen(self.between_visits(&sides, scale));
        }
        let [of_base, of_new] = &self.points;
        change.is_disturbed |= of_base.is_disturbed(base) || of_new.is_disturbed(new);
        Some(change)
    }

    /// Variance between visits of both figures of separate runs, each of which found the machine in a different state. If both
    /// are of one machine, the variance of the run that knows more visits is used for both; of different machines, at least that of
    /// recorded ones.
    fn between_visits(&self, sides: &[Side; 2], scale: Scale) -> [Variance; 2] {
        let known = [0, 1].map(|at| between_visits(self.runs[at], sides[at].result, scale));
        match self.is_same_machine {
            _ if self.across_machines => [0, 1].map(|at| {
                let recorded = between_recorded(self.runs[at], sides[at].result, scale);
                if recorded.value > known[at].value { recorded } else { known[at] }
            }),
            true if known[0].degrees < known[1].degrees => [known[1]; 2],
            true => [known[0]; 2],
            false => known,
        }
    }

    /// The change by adjacent rounds; `None` if there are too few, as in separate runs.
    fn change_in_blocks(&self, sides: &[Side; 2], scale: Scale, in_cycles: bool) -> Option<Change> {
        if !(self.in_turn || self.is_one_run) {
            return None;
        }
        let (found, scatter) = in_blocks(sides, scale, in_cycles)?;
        let [base, new] = sides;
        Some(Change {
            base: base.estimate,
            new: new.estimate,
            in_cycles,
            log: scale == Scale::Logarithms,
            by: scale.of(new.estimate.median) - scale.of(base.estimate.median),
            middle: found.center,
            scatter: Some(scatter),
            rounds: found.blocks,
            floor: 0.0,
            between: 0.0,
            is_disturbed: false,
            is_beside_load: found.is_beside_load,
            differences: found.differences,
        })
    }
}

/// The difference by adjacent rounds of one run or of systems in turn; `None` if there are too few.
fn in_blocks([base, new]: &[Side; 2], scale: Scale, in_cycles: bool) -> Option<(Paired, Scatter)> {
    let [of_base, of_new] = [base, new].map(|side| Rounds::of(side.result, side.factor, scale));
    let found = paired(&[(1.0, &of_new?), (-1.0, &of_base?)])?;
    let entries = |side: &Side| entries_per_cycle(side.result).filter(|_| in_cycles).unwrap_or(0.0);
    let by_states = match base.result.point() == new.result.point() {
        true => 0.0,
        false => ENTRY_STATES * (entries(new) - entries(base)),
    };
    let steps: f64 = [base, new].map(|side| side.rounding_error(scale).powi(2)).iter().sum();
    let scatter = Scatter::of_blocks(&found, by_states.powi(2) + steps);
    Some((found, scatter))
}

/// The ratio of two positive figures of one run, with its interval by their adjacent rounds at [`LEVEL`](measure::stats::LEVEL);
/// `None` if there are too few such rounds.
pub(crate) fn ratio_in_blocks(of: &CaseResult, to: &CaseResult) -> Option<Ratio> {
    let factors = to.cycles_per_ns().zip(of.cycles_per_ns());
    let (to_factor, of_factor) = factors.unwrap_or((1.0, 1.0));
    let sides = [Side::of(to, to_factor)?, Side::of(of, of_factor)?];
    let (found, scatter) = in_blocks(&sides, Scale::Logarithms, factors.is_some())?;
    let by = sides[1].estimate.median.ln() - sides[0].estimate.median.ln();
    let interval = interval_with(by, found.center, scatter.half_width(1.0 - LEVEL));
    Some(Ratio::of_logs(by, interval))
}

/// The interval of a difference of figures by adjacent rounds: `half` on both sides of `middle`, the mean over the blocks, and
/// extended to `by`, the difference of the figures that are shown. Figures of quiet rounds can differ by more or less than
/// the rounds that were made next to each other, if load slows one side more: then either may be the true difference.
pub(crate) fn interval_with(by: f64, middle: f64, half: f64) -> (f64, f64) {
    ((middle - half).min(by), (middle + half).max(by))
}

/// System calls per core cycle of the operation; `None` if either was not counted.
pub(crate) fn entries_per_cycle(result: &CaseResult) -> Option<f64> {
    Some(result.per_op.as_ref()?.syscalls? / result.cycles?.median)
}

/// Moderates the variances of relative changes by adjacent rounds: each point of the comparison borrows from the variances of all
/// points. Differences of figures that may be 0, such as shares of errors, have units, and so no variance in common with others.
pub(crate) fn moderate(changes: Vec<&mut Change>) {
    let in_blocks =
        |change: &Change| change.scatter.filter(|scatter| scatter.is_in_blocks && change.log);
    let variances: Vec<Variance> =
        changes.iter().filter_map(|change| Some(in_blocks(change)?.variance)).collect();
    let moderation = Moderation::of(&variances);
    for change in changes {
        if let Some(scatter) = in_blocks(change) {
            change.scatter = Some(scatter.moderated(moderation, 1.0));
        }
    }
}

/// Whether most of the variance of a standard error comes from its part between visits.
pub(crate) fn is_mostly_between_visits(between: f64, error: f64) -> bool {
    between > 0.0 && between.powi(2) > error.powi(2) / 2.0
}

/// Figures of one run in a row, in the compared unit.
pub(crate) struct Side<'a> {
    result: &'a CaseResult,
    pub(crate) estimate: Estimate,
    pub(crate) rounds: Vec<f64>,
    /// Whether `rounds` include disturbed ones, which do not contribute to the estimate.
    pub(crate) has_few_quiet_rounds: bool,
    factor: f64,
}

impl<'a> Side<'a> {
    /// The figures of a result; `None` if it was not measured. `factor` converts its unit to the compared one.
    pub(crate) fn of(result: &'a CaseResult, factor: f64) -> Option<Self> {
        let estimate = result.estimate.filter(|_| result.outcome == Outcome::Measured)?;
        let estimate = match result.cycles {
            Some(cycles) if factor != 1.0 => Estimate {
                median: cycles.median,
                low: cycles.low,
                high: cycles.high,
                level: estimate.level,
            },
            _ => estimate,
        };
        let (values, has_few_quiet_rounds) = judged_rounds(result);
        let rounds = values.iter().map(|value| value * factor).collect();
        Some(Self { result, estimate, rounds, has_few_quiet_rounds, factor })
    }

    /// The spread of the rounds; `None` for a figure that is not their median, such as a sum.
    pub(crate) fn spread(&self, scale: Scale) -> Option<Spread> {
        let apart = (median_of(&self.rounds)? - self.estimate.median).abs();
        let is_median = apart <= 1e-3 * self.estimate.median.abs();
        let rounds: Vec<f64> = self.rounds.iter().map(|&round| scale.of(round)).collect();
        Spread::of(&rounds).filter(|_| is_median || self.has_few_quiet_rounds)
    }

    /// The standard error that the rounding of times adds, on this scale.
    fn rounding_error(&self, scale: Scale) -> f64 {
        if !self.result.unit.starts_with("ns") {
            return 0.0;
        }
        let step = grid_step(&self.result.round_values) * self.factor;
        let uniform = step / 12f64.sqrt();
        match scale {
            Scale::Figures => uniform,
            Scale::Logarithms => uniform / self.estimate.median,
        }
    }

    /// The quartiles of the quiet samples, as logarithms.
    fn log_quartiles(&self) -> Option<[f64; 2]> {
        let quartiles = self.result.quiet_quartiles?.map(|quartile| (quartile * self.factor).ln());
        quartiles.iter().all(|log| log.is_finite()).then_some(quartiles)
    }
}

/// A difference between the figures of two runs, or between their logarithms if all values are above 0.
pub(crate) struct Change {
    pub(crate) base: Estimate,
    pub(crate) new: Estimate,
    pub(crate) in_cycles: bool,
    /// Whether `by`, and the values compared with it, are logarithms.
    pub(crate) log: bool,
    /// Difference of the figures.
    pub(crate) by: f64,
    /// Middle of the interval: the mean over the blocks of adjacent rounds; without blocks, `by`.
    pub(crate) middle: f64,
    /// Error of the difference; `None` without rounds in both runs.
    pub(crate) scatter: Option<Scatter>,
    /// The smaller number of rounds of the two runs; the number of blocks for adjacent rounds.
    pub(crate) rounds: usize,
    /// The difference that the machine and rounding can cause, as a share.
    pub(crate) floor: f64,
    /// Part of the standard error that comes from the variance between visits; 0 within one run, and for systems in turn.
    pub(crate) between: f64,
    /// Whether too few rounds were quiet, on either side, and the rounds are not adjacent.
    pub(crate) is_disturbed: bool,
    /// Whether the rounds are adjacent and most of them were disturbed.
    pub(crate) is_beside_load: bool,
    /// Start of each block of adjacent rounds in ms, with its difference; empty without blocks.
    pub(crate) differences: Vec<(i64, f64)>,
}

/// Error of a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scatter {
    /// Variance of a single difference, with its degrees of freedom; without blocks, that of the change itself.
    pub(crate) variance: Variance,
    /// Number of differences that the mean is computed from; 1 without blocks.
    pub(crate) count: f64,
    /// Variance that more rounds do not reduce.
    pub(crate) fixed: f64,
    /// Whether the rounds are adjacent, so that the interval holds at every look.
    pub(crate) is_in_blocks: bool,
}

impl Scatter {
    /// The error of a change that is no mean of differences.
    pub(crate) fn of_error(error: f64, degrees: f64) -> Self {
        let variance = Variance { value: error.powi(2), degrees };
        Self { variance, count: 1.0, fixed: 0.0, is_in_blocks: false }
    }

    /// The error of a mean over blocks, with variance that more rounds do not reduce.
    pub(crate) fn of_blocks(found: &Paired, fixed: f64) -> Self {
        Self { variance: found.variance, count: found.count, fixed, is_in_blocks: true }
    }

    /// Standard error of the change.
    pub(crate) fn error(&self) -> f64 {
        (self.variance.value / self.count + self.fixed).sqrt()
    }

    /// The error with the variance moderated by that of all points of the comparison. The variance is `factor` times that of a
    /// difference of two figures.
    pub(crate) fn moderated(self, moderation: Moderation, factor: f64) -> Self {
        let Variance { value, degrees } = self.variance;
        let moderated = moderation.moderate(Variance { value: value / factor, degrees });
        Self { variance: Variance { value: moderated.value * factor, ..moderated }, ..self }
    }

    /// Half-width of the interval that misses the true change with this probability.
    pub(crate) fn half_width(&self, chance: f64) -> f64 {
        let error = self.error();
        if error == 0.0 {
            return 0.0;
        }
        // Student's t is practically normal beyond a thousand degrees of freedom.
        let degrees = self.variance.degrees.min(1e3);
        match self.is_in_blocks {
            true => critical(self.count, degrees, chance) * error,
            false => t_quantile(1.0 - chance / 2.0, degrees) * error,
        }
    }
}

/// The difference between the rounds of two runs, on the scale of [`Change::by`].
struct Difference {
    by: f64,
    scatter: Option<Scatter>,
    rounds: usize,
    /// Change of the figures within the runs, from the first half to the second, beyond its own error.
    drift: f64,
    /// Part of `by` that a steady mode of the operation can cause by becoming more frequent.
    by_modes: f64,
}

impl Difference {
    /// The difference of the medians of both runs.
    fn of_medians([base, new]: &[Side; 2], scale: Scale) -> Self {
        let by = scale.of(new.estimate.median) - scale.of(base.estimate.median);
        let spreads = [base, new].map(|side| side.spread(scale));
        let scatter = spreads[0].zip(spreads[1]).map(|(base, new)| {
            let (error, degrees) = welch((base.error, base.degrees), (new.error, new.degrees));
            Scatter::of_error(error, degrees)
        });
        Self {
            by,
            scatter,
            rounds: base.rounds.len().min(new.rounds.len()),
            drift: spreads.iter().flatten().map(|spread| spread.drift).fold(0.0, f64::max),
            by_modes: match scale {
                Scale::Logarithms => unshared_shift(base, new, by),
                Scale::Figures => 0.0,
            },
        }
    }
}

impl Change {
    /// The change with its error and floor. `by_machine` is the difference that the machine itself can cause, as a share.
    fn of(
        sides: &[Side; 2],
        difference: Difference,
        scale: Scale,
        in_cycles: bool,
        by_machine: f64,
    ) -> Self {
        let [base, new] = sides;
        let Difference { by, scatter, rounds, drift, by_modes } = difference;
        let seen = match scale {
            Scale::Logarithms => drift.max(by_modes).exp_m1(),
            Scale::Figures => drift / scale_of(base.estimate, new.estimate),
        };
        Self {
            base: base.estimate,
            new: new.estimate,
            in_cycles,
            log: scale == Scale::Logarithms,
            by,
            middle: by,
            scatter,
            rounds,
            floor: seen.max(by_machine).max(rounding(base, new)),
            between: 0.0,
            is_disturbed: sides.iter().any(|side| side.has_few_quiet_rounds),
            is_beside_load: false,
            differences: Vec::new(),
        }
    }

    /// Half-width of the interval that misses the true change with this probability; `None` without rounds in both runs.
    pub(crate) fn half_width(&self, chance: f64) -> Option<f64> {
        Some(self.scatter?.half_width(chance))
    }

    /// The interval with this half-width.
    pub(crate) fn interval(&self, half: f64) -> (f64, f64) {
        interval_with(self.by, self.middle, half)
    }

    /// Whether the rounds are adjacent, so that the interval alone decides.
    pub(crate) fn is_in_blocks(&self) -> bool {
        self.scatter.is_some_and(|scatter| scatter.is_in_blocks)
    }

    /// Converts a share of the figures to the scale of `by`.
    pub(crate) fn of_share(&self, share: f64) -> f64 {
        if self.log { share.ln_1p() } else { share * scale_of(self.base, self.new) }
    }

    /// Adds the variance between visits of both figures to the error.
    fn widen(&mut self, of_sides: [Variance; 2]) {
        self.between = of_sides.iter().map(|variance| variance.value).sum::<f64>().sqrt();
        if let Some(scatter) = &mut self.scatter {
            // The degrees of freedom are not added, since the same visits determine both variances.
            let degrees = of_sides[0].degrees.min(of_sides[1].degrees);
            let (error, degrees) =
                welch((scatter.error(), scatter.variance.degrees), (self.between, degrees));
            *scatter = Scatter::of_error(error, degrees);
        }
    }

    /// Whether more rounds would hardly narrow the interval, since most of its variance is between visits.
    pub(crate) fn is_mostly_between_visits(&self) -> bool {
        is_mostly_between_visits(self.between, self.scatter.map_or(0.0, |scatter| scatter.error()))
    }

    /// Smallest difference of these figures that is reported, as a share.
    pub(crate) fn floor_at_least(&self) -> f64 {
        match self.between > 0.0 {
            _ if self.is_disturbed => DISTURBED_FLOOR,
            true => 0.0,
            false => floor_at_least(self.in_cycles),
        }
    }
}

/// Smallest difference that is reported of figures in core cycles or in other units, as a share.
pub(crate) fn floor_at_least(in_cycles: bool) -> f64 {
    if in_cycles { CYCLES_FLOOR_AT_LEAST } else { FLOOR_AT_LEAST }
}

/// The difference of the machine's own speed between the runs of two results, as a logarithm.
pub(crate) fn shift_between(
    (base, base_result): (&Document, &CaseResult),
    (new, new_result): (&Document, &CaseResult),
    in_cycles: bool,
) -> f64 {
    let references =
        (References::of(base).beside(base_result), References::of(new).beside(new_result));
    let frequencies = Frequencies::of(base, new);
    speed_shift(base_result, new_result, references, &frequencies, in_cycles)
}

/// The rounds by which a result is judged, and whether these are all rounds because too few were quiet.
fn judged_rounds(result: &CaseResult) -> (&[f64], bool) {
    let has_few = result.round_values.len() < LEAST_ROUNDS;
    match has_few && result.all_round_values.len() >= LEAST_ROUNDS {
        true => (&result.all_round_values, true),
        false => (&result.round_values, false),
    }
}

/// The value to which shares of figures that may be 0 refer.
fn scale_of(base: Estimate, new: Estimate) -> f64 {
    base.median.abs().max(new.median.abs()).max(f64::MIN_POSITIVE)
}

fn median_of(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| median(&mut values.to_vec()))
}

/// The part of a change of the median that the quartiles of the quiet samples do not share.
///
/// A slower operation moves all of its samples: both quartiles move as far as the median. If an operation has two
/// steady modes, the median may move from one to the other because one mode has become a little more frequent: then a
/// quartile does not move. The distance of the quartiles is not used, because coarse clocks and noise increase it too.
fn unshared_shift(base: &Side, new: &Side, by: f64) -> f64 {
    let (Some(base), Some(new)) = (base.log_quartiles(), new.log_quartiles()) else { return 0.0 };
    let shared = |at: usize| (new[at] - base[at]) * by.signum();
    (by.abs() - shared(0).min(shared(1)).max(0.0)).max(0.0)
}

/// The difference that the rounding of times can cause, as a share.
fn rounding(base: &Side, new: &Side) -> f64 {
    if !base.result.unit.starts_with("ns") {
        return 0.0;
    }
    let of_side = |side: &Side| grid_step(&side.result.round_values);
    let step = of_side(base).max(of_side(new));
    let least = [base, new].map(|side| side.estimate.median / side.factor);
    let least = least[0].min(least[1]);
    if step > 0.0 && least > 0.0 { GRID_STEPS * step / least } else { 0.0 }
}

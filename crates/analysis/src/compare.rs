//! Two runs of the same program on the same machine differ. Which differences mean something?
//!
//! The interval of a ratio comes from the spread between rounds, that is between fresh processes, of both runs
//! ([`Spread`]). All comparisons with one run share one chance of error (Bonferroni), so that their intervals hold
//! together. Holm's procedure would tell more only where most rows have changed, and has no intervals of its own.
//!
//! No verdict falls below the noise floor: what the machine itself was seen to change by, in the course of these runs
//! (`drift`), in its own speed from one to the other ([`speed_shift`]), in how often an operation came in which of its
//! steady modes ([`unshared_shift`]), and in earlier checks of equal against equal. What the thing under test can
//! change, such as the cost of a system call, is no part of the floor.

use measure::stats::{LEVEL, median, t_quantile};
use results::{CaseResult, Document, Estimate, Outcome};
use serde::Serialize;

use crate::frequency::{Frequencies, cpu_differences, speed_shift};
use crate::noise::NoiseCheck;
use crate::scope::{Points, References, is_unsupported, pairs};
use crate::spread::{Spread, grid_step, welch};
use crate::verdict::Verdict;

/// No difference below this share is called one, however sure the rounds are: where a program and
/// its data happen to lie in memory changes a figure by that much.
pub(crate) const FLOOR_AT_LEAST: f64 = 0.01;
/// The same for core cycles, from which the core's frequency and disturbances are gone.
const CYCLES_FLOOR_AT_LEAST: f64 = 0.002;
/// With fewer rounds in either run no difference is claimed: one time in 2^9 and more often, all rounds of one run
/// come in one steady mode of the operation by chance, and all of the other's in another.
const LEAST_ROUNDS: usize = 6;
/// What a rounded value may be off by, in steps of its grid, from one run to the other; both are rounded.
const GRID_STEPS: f64 = 1.5;

/// What documents of schema 1 call an injected slowdown.
const SLOW_DOWN_BEFORE: &str = "handicap";

/// How runs are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// A difference certainly within this share is called `same`.
    pub margin: f64,
    /// The chance of any wrong verdict among all comparisons with one run.
    pub chance: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { margin: 0.02, chance: 1.0 - LEVEL }
    }
}

/// One metric of one case, in the base run and another.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The case with its parameters.
    pub label: String,
    /// The metric.
    pub metric: String,
    /// The unit that was compared, and that both figures are in: `cycles/op` where cycles were compared.
    pub unit: String,
    /// The base's figure, if it has one.
    pub base: Option<Estimate>,
    /// The other run's figure, if it has one.
    pub new: Option<Estimate>,
    /// The other's by the base's; `None` where there is nothing to divide.
    pub ratio: Option<Ratio>,
    /// The smallest difference that could be told here, as a share.
    pub floor: f64,
    /// What can be said for certain.
    pub verdict: Verdict,
    /// What would settle it, or why it cannot be compared; may be empty.
    pub note: String,
}

/// A ratio with the interval on which the verdict stands.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratio {
    /// The ratio of the medians.
    pub mid: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

/// Something besides the measured things that differs between runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The fact's key.
    pub key: String,
    /// Each run's value, the base's first.
    pub values: Vec<String>,
}

/// Compares `new` with `base`, one row for each metric with a direction that either has, but for those that follow
/// from others. What both runs found unsupported is left out.
///
/// Times of which both runs have core cycles are compared in cycles if both were measured on the same CPU
/// ([`cpu_differences`]). A run compared with itself is the same in every row that has figures.
pub fn compare(
    base: &Document,
    new: &Document,
    noise: &NoiseCheck,
    settings: &Settings,
) -> Vec<Compared> {
    let mut rows: Vec<(Option<&CaseResult>, Option<&CaseResult>)> = pairs(base, new)
        .into_iter()
        .filter(|(base, new)| !(is_unsupported(base) && new.is_some_and(is_unsupported)))
        .map(|(base, new)| (Some(base), new))
        .collect();
    let only_new = pairs(new, base).into_iter().filter(|(_, base)| base.is_none());
    rows.extend(only_new.map(|(new, _)| (None, Some(new))));
    let sides = Sides::of(base, new);
    let of_row = |(base, new): (Option<&CaseResult>, Option<&CaseResult>)| {
        base.zip(new).and_then(|(base, new)| sides.change(base, new))
    };
    let changes: Vec<Option<Change>> = rows.iter().map(|row| of_row(*row)).collect();
    let comparable = changes.iter().flatten().filter(|change| change.scatter.is_some()).count();
    let judge = Judge {
        chance: settings.chance / comparable.max(1) as f64,
        points: Points::of(&[base, new]),
        noise,
        settings,
        is_itself: base.run.id == new.run.id && base.results == new.results,
    };
    let judged = rows.into_iter().zip(changes);
    judged.map(|((base, new), change)| judge.row(base, new, change)).collect()
}

/// Two runs, and what is to be known of them to compare any of their results.
pub(crate) struct Sides<'a> {
    same_cpu: bool,
    frequencies: Frequencies,
    base: References<'a>,
    new: References<'a>,
}

impl<'a> Sides<'a> {
    pub(crate) fn of(base: &'a Document, new: &'a Document) -> Self {
        Self {
            same_cpu: cpu_differences(base, new).is_empty(),
            frequencies: Frequencies::of(base, new),
            base: References::of(base),
            new: References::of(new),
        }
    }

    /// `None` where one of them has no figure, or their units differ.
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
        let log = sides.iter().all(is_positive);
        let references = (self.base.beside(base), self.new.beside(new));
        let shift = speed_shift(base, new, references, &self.frequencies, in_cycles);
        Some(Change::of(&sides, log, in_cycles, shift.exp_m1()))
    }
}

/// One run's figures of a row, in the unit that is compared.
struct Side<'a> {
    result: &'a CaseResult,
    estimate: Estimate,
    rounds: Vec<f64>,
    factor: f64,
}

impl<'a> Side<'a> {
    fn of(result: &'a CaseResult, factor: f64) -> Option<Self> {
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
        let rounds = result.round_values.iter().map(|value| value * factor).collect();
        Some(Self { result, estimate, rounds, factor })
    }

    /// The quartiles of the quiet samples, as logarithms.
    fn log_quartiles(&self) -> Option<[f64; 2]> {
        let quartiles = self.result.quiet_quartiles?.map(|quartile| (quartile * self.factor).ln());
        quartiles.iter().all(|log| log.is_finite()).then_some(quartiles)
    }
}

/// How one run's figure differs from the other's, as a logarithm, or as it is where values are not above 0.
pub(crate) struct Change {
    base: Estimate,
    new: Estimate,
    pub(crate) in_cycles: bool,
    /// Whether `by` and all that is compared with it are logarithms.
    pub(crate) log: bool,
    pub(crate) by: f64,
    /// How sure that is; `None` without rounds in both runs.
    scatter: Option<Scatter>,
    /// The rounds of the run that has fewer.
    rounds: usize,
    /// What the machine and the rounding of figures account for, as a share.
    floor: f64,
}

/// The standard error of a change.
#[derive(Clone, Copy)]
struct Scatter {
    error: f64,
    degrees: f64,
}

impl Change {
    fn of(sides: &[Side; 2], log: bool, in_cycles: bool, speed_shift: f64) -> Self {
        let [base, new] = sides;
        let to_scale = |value: f64| if log { value.ln() } else { value };
        let by = to_scale(new.estimate.median) - to_scale(base.estimate.median);
        let spreads = sides.each_ref().map(|side| {
            // A figure that is not its rounds' median, such as a sum over them, has no interval from them.
            let apart = (median_of(&side.rounds)? - side.estimate.median).abs();
            let rounds: Vec<f64> = side.rounds.iter().map(|&round| to_scale(round)).collect();
            Spread::of(&rounds).filter(|_| apart <= 1e-3 * side.estimate.median.abs())
        });
        let [of_base, of_new] = spreads;
        let scatter = of_base.zip(of_new).map(|(base, new)| {
            let (error, degrees) = welch((base.error, base.degrees), (new.error, new.degrees));
            Scatter { error, degrees }
        });
        let drift = spreads.iter().flatten().map(|spread| spread.drift).fold(0.0, f64::max);
        let seen = match log {
            true => drift.max(unshared_shift(base, new, by)).exp_m1(),
            false => drift / scale_of(base.estimate, new.estimate),
        };
        Self {
            base: base.estimate,
            new: new.estimate,
            in_cycles,
            log,
            by,
            scatter,
            rounds: base.rounds.len().min(new.rounds.len()),
            floor: seen.max(speed_shift).max(rounding(base, new)),
        }
    }

    /// A share of the figures as a difference that `by` can be compared with.
    fn of_share(&self, share: f64) -> f64 {
        if self.log { share.ln_1p() } else { share * scale_of(self.base, self.new) }
    }

    fn floor_at_least(&self) -> f64 {
        if self.in_cycles { CYCLES_FLOOR_AT_LEAST } else { FLOOR_AT_LEAST }
    }
}

/// What shares of figures that may be 0 are of.
fn scale_of(base: Estimate, new: Estimate) -> f64 {
    base.median.abs().max(new.median.abs()).max(f64::MIN_POSITIVE)
}

fn median_of(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| median(&mut values.to_vec()))
}

/// The part of a change of the median that the quartiles of the quiet samples do not share.
///
/// What makes an operation slower moves all of its samples: both quartiles move as far as the median. Where an
/// operation comes in two steady modes, the median may move from one to the other because one mode has become a
/// little more frequent: then a quartile stays where it was. How far apart the quartiles lie does not matter, as
/// clocks with coarse steps and noise set them apart too.
fn unshared_shift(base: &Side, new: &Side, by: f64) -> f64 {
    let (Some(base), Some(new)) = (base.log_quartiles(), new.log_quartiles()) else { return 0.0 };
    let shared = |at: usize| (new[at] - base[at]) * by.signum();
    (by.abs() - shared(0).min(shared(1)).max(0.0)).max(0.0)
}

/// What the rounding of times may account for, as a share.
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

/// What all rows of a comparison are judged by.
struct Judge<'a> {
    /// The chance of a wrong verdict in each row.
    chance: f64,
    points: Points<'a>,
    noise: &'a NoiseCheck,
    settings: &'a Settings,
    /// Whether a run is compared with itself.
    is_itself: bool,
}

impl Judge<'_> {
    fn row(
        &self,
        base: Option<&CaseResult>,
        new: Option<&CaseResult>,
        change: Option<Change>,
    ) -> Compared {
        let any = base.or(new).expect("a row has a result");
        let mut row = Compared {
            label: any.label(),
            metric: any.metric.clone(),
            unit: any.unit.clone(),
            base: base.and_then(|r| r.estimate),
            new: new.and_then(|r| r.estimate),
            ratio: None,
            floor: 0.0,
            verdict: Verdict::NotComparable,
            note: String::new(),
        };
        let Some(change) = change else {
            row.note = why_no_pair(base, new);
            return row;
        };
        (row.base, row.new) = (Some(change.base), Some(change.new));
        if change.in_cycles {
            row.unit = any.unit.replacen("ns", "cycles", 1);
        }
        let checked = self.noise.of(&row.label, &row.metric, &row.unit).unwrap_or(0.0);
        row.floor = change.floor_at_least().max(change.floor).max(checked);
        let half = change
            .scatter
            .map(|scatter| t_quantile(1.0 - self.chance / 2.0, scatter.degrees) * scatter.error);
        let half = if self.is_itself { Some(0.0) } else { half };
        row.ratio = half.filter(|_| change.log).map(|half| Ratio {
            mid: change.by.exp(),
            low: (change.by - half).exp(),
            high: (change.by + half).exp(),
        });
        (row.verdict, row.note) = match (self.points.held_back(any), half) {
            _ if self.is_itself => (Verdict::Same, String::new()),
            // A fact, such as the step of a clock, has no scatter that a disturbance could widen.
            (_, None) if change.rounds == 0 && change.by == 0.0 => (Verdict::Same, String::new()),
            (Some(why), _) => (Verdict::CannotTell, why),
            (None, Some(half)) => self.verdict(any, &change, half, row.floor),
            (None, None) => (Verdict::CannotTell, no_interval(&change)),
        };
        row
    }

    fn verdict(
        &self,
        result: &CaseResult,
        change: &Change,
        half: f64,
        floor: f64,
    ) -> (Verdict, String) {
        let (low, high) = (change.by - half, change.by + half);
        let (lowest, margin) = (change.of_share(floor), change.of_share(self.settings.margin));
        let differs = low > lowest || high < -lowest;
        let within = (low > -margin && high < margin) || (low == 0.0 && high == 0.0);
        let cannot_tell = |note: String| (Verdict::CannotTell, note);
        if differs && change.rounds < LEAST_ROUNDS {
            let (had, least) = (change.rounds, LEAST_ROUNDS);
            cannot_tell(format!("{had} rounds are too few to tell: at least {least} are needed"))
        } else if differs {
            let verdict = Verdict::of_change(&result.metric, result.better, low > lowest);
            (verdict, String::new())
        } else if within && floor <= self.settings.margin {
            (Verdict::Same, String::new())
        } else {
            cannot_tell(what_would_settle(change.by.abs(), half, (lowest, floor), margin))
        }
    }
}

/// The facts among `keys`, and the ways of measuring, in which the runs do not all agree.
pub fn also_differs(runs: &[&Document], keys: &[&str]) -> Vec<Difference> {
    let fact = |run: &Document, key: &str| match run.machine.get(key) {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => "unknown".to_owned(),
    };
    let asked = |run: &Document, key: &str| match run.run.asked.get(key) {
        Some(text) => text.clone(),
        None => "none".to_owned(),
    };
    let mut all: Vec<Difference> = Vec::new();
    let mut add = |key: &str, values: Vec<String>| {
        if values.windows(2).any(|pair| pair[0] != pair[1]) {
            all.push(Difference { key: key.to_owned(), values });
        }
    };
    for key in keys {
        add(key, runs.iter().map(|run| fact(run, key)).collect());
    }
    add("oscost", runs.iter().map(|run| run.run.oscost.clone()).collect());
    let slow_down = |run: &Document| match run.run.asked.get(SLOW_DOWN_BEFORE) {
        Some(text) => text.clone(),
        None => asked(run, "slow-down"),
    };
    add("asked slow-down", runs.iter().map(|run| slow_down(run)).collect());
    for key in ["cpu", "size", "precision"] {
        let name = format!("asked {key}");
        add(&name, runs.iter().map(|run| asked(run, key)).collect());
    }
    all
}

/// Why nothing says how sure the figures are.
fn no_interval(change: &Change) -> String {
    match change.rounds {
        0 => "one figure for a whole run tells no interval".to_owned(),
        1 => "one round tells no interval".to_owned(),
        _ => "a figure that is not its rounds' median has no interval from them".to_owned(),
    }
}

fn why_no_pair(base: Option<&CaseResult>, new: Option<&CaseResult>) -> String {
    let missing = |which: &str, result: Option<&CaseResult>| match result {
        None => Some(format!("the {which} run did not measure it")),
        Some(result) if result.outcome != Outcome::Measured => {
            let reason = result.reason.as_deref().unwrap_or("no reason given");
            Some(format!("{} in the {which} run: {reason}", result.outcome.word()))
        }
        Some(_) => None,
    };
    let units = || match (base, new) {
        (Some(base), Some(new)) if base.unit != new.unit => {
            format!("measured in {} and in {}", base.unit, new.unit)
        }
        _ => "without figures".to_owned(),
    };
    missing("base", base).or_else(|| missing("new", new)).unwrap_or_else(units)
}

/// How many times the rounds would do, or that the machine has to become quieter.
fn what_would_settle(
    distance: f64,
    half: f64,
    (floor, floor_share): (f64, f64),
    margin: f64,
) -> String {
    let floor_is_too_high = distance <= floor && floor > margin;
    let room = if distance > floor { distance - floor } else { margin - distance };
    // An interval shrinks with the root of the number of rounds.
    let times = (half / room).powi(2);
    if room <= 0.0 || floor_is_too_high {
        let floor = floor_share * 100.0;
        format!("the machine itself varies by {floor:.1} %: a quieter one would settle it")
    } else if times > 1_000.0 {
        "no number of rounds would settle it: it varies too much from round to round".to_owned()
    } else {
        format!("about {:.0} times as many rounds would settle it", times.max(2.0).ceil())
    }
}

#[cfg(test)]
mod tests;

//! Decides which differences between two runs are significant.
//!
//! The interval of a ratio comes from the spread between rounds, that is between fresh processes, of both runs
//! (`Spread`). All comparisons with one run share one chance of error (Bonferroni), so that their intervals are
//! simultaneous. Holm's procedure would find more only if most rows have changed, and provides no intervals.
//!
//! No verdict falls below the noise floor: the change of the machine itself, in the course of these runs (`drift`), in
//! its speed from one to the other (`speed_shift`), in the frequency of an operation's steady modes (`unshared_shift`),
//! and in earlier comparisons of equal runs. Figures that the system under test can change, such as the cost of a
//! system call, do not raise the floor.

use measure::stats::{LEVEL, t_quantile};
use results::{CaseResult, Document, Estimate, Outcome};
use serde::Serialize;

use crate::change::{Change, Ratio, Sides};
use crate::noise::NoiseCheck;
use crate::scope::{Points, is_unsupported, pairs};
use crate::verdict::Verdict;

/// With fewer rounds in either run no difference is reported: with a probability of 2^-9 or more, all rounds of one run
/// have one steady mode of the operation by chance, and all of the other's another.
const LEAST_ROUNDS: usize = 6;
/// The name of an injected slowdown in documents of schema 1.
const SLOW_DOWN_BEFORE: &str = "handicap";

/// How runs are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// A difference significantly within this share is `same`.
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
    /// The compared unit, which both figures have: `cycles/op` if cycles were compared.
    pub unit: String,
    /// The base's figure, if it has one.
    pub base: Option<Estimate>,
    /// The other run's figure, if it has one.
    pub new: Option<Estimate>,
    /// The other's divided by the base's; `None` if a figure is missing.
    pub ratio: Option<Ratio>,
    /// The smallest difference that can be reported here, as a share.
    pub floor: f64,
    /// The significant result.
    pub verdict: Verdict,
    /// What would decide it, or why it cannot be compared; may be empty.
    pub note: String,
}

/// A fact besides the measured figures that differs between runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The fact's key.
    pub key: String,
    /// Each run's value, the base's first.
    pub values: Vec<String>,
}

/// Compares `new` with `base`, one row for each metric with a direction that either has, except those that follow from
/// others. Cases that are unsupported in both runs are left out.
///
/// Times of which both runs have core cycles are compared in cycles if both were measured on the same CPU
/// ([`cpu_differences`](crate::cpu_differences)). A run compared with itself is the same in every row that has figures.
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

/// The rules that all rows of a comparison share.
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
            // A fact, such as the step of a clock, has no variance that a disturbance could increase.
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
            cannot_tell(format!("{had} rounds are too few: at least {least} are needed"))
        } else if differs {
            let verdict = Verdict::of_change(&result.metric, result.better, low > lowest);
            (verdict, String::new())
        } else if within && floor <= self.settings.margin {
            (Verdict::Same, String::new())
        } else {
            cannot_tell(what_would_decide(change.by.abs(), half, (lowest, floor), margin))
        }
    }
}

/// The facts among `keys`, and the options of measuring, that are not equal in all runs.
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

/// Why the figures have no interval.
fn no_interval(change: &Change) -> String {
    match change.rounds {
        0 => "one figure for a whole run has no interval".to_owned(),
        1 => "one round has no interval".to_owned(),
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

/// The factor by which more rounds would decide it, or that a quieter machine is needed.
fn what_would_decide(
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
        format!("the machine itself varies by {floor:.1} %: a quieter one would decide it")
    } else if times > 1_000.0 {
        "no number of rounds would decide it: the figures vary too much between rounds".to_owned()
    } else {
        format!("about {:.0} times as many rounds would decide it", times.max(2.0).ceil())
    }
}

#[cfg(test)]
mod tests;

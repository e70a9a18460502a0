//! Rules by which a pair of figures is judged, whichever dimension selected them.

use measure::stats::LEVEL;
use results::{
    CaseResult, Direction, Document, Estimate, LEAST_ROUNDS, Outcome, PointKey, serialize_label,
};
use serde::Serialize;

use crate::change::{BESIDE_LOAD, Change, DISTURBED, Ratio, moderate};
use crate::held_back::{HeldBack, Side};
use crate::setting::{Difference, nuisances, nuisances_in_words};
use crate::verdict::Verdict;

/// Settings of a comparison of runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Share within which a difference is `same`, if it is significantly so.
    pub margin: f64,
    /// Chance of any wrong verdict among all comparisons with one run.
    pub chance: f64,
    /// Whether runs of different machines, or measured in different ways, are judged.
    pub across_machines: bool,
}

impl Settings {
    /// The nuisances because of which two runs are not judged; `asked` are facts that the columns of a table stand for.
    pub(crate) fn apart(&self, base: &Document, new: &Document, asked: &[&str]) -> Vec<Difference> {
        match self.across_machines {
            true => Vec::new(),
            false => nuisances(base, new, asked),
        }
    }

    /// The line that announces that runs are of different machines, or were measured in different ways, and what follows for the
    /// column `name`; `None` if they are not.
    pub fn announcement(&self, base: &Document, new: &Document, name: &str) -> Option<String> {
        announcement(self.across_machines, &nuisances(base, new, &[]), name)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self { margin: 0.02, chance: 1.0 - LEVEL, across_machines: false }
    }
}

/// See [`Settings::announcement`].
pub(crate) fn announcement(is_judged: bool, apart: &[Difference], name: &str) -> Option<String> {
    let (is, facts) = nuisances_in_words(apart)?;
    let is = is.to_uppercase();
    Some(match is_judged {
        false => format!("{is} ({facts}): {name} is not judged; --across-machines judges it"),
        true => {
            format!("{is} ({facts}): verdicts on {name} include what that makes of the figures")
        }
    })
}

/// One metric of one case, in the base run and another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// The case with its parameters.
    #[serde(rename = "case", serialize_with = "serialize_label")]
    pub point: PointKey,
    /// The metric.
    pub metric: String,
    /// The compared unit, which both figures have: `cycles/op` if cycles were compared.
    pub unit: String,
    /// The base's figure, if it has one.
    pub base: Option<Estimate>,
    /// The other run's figure, if it has one.
    pub new: Option<Estimate>,
    /// The other run's figure divided by the base's; `None` if a figure is missing.
    pub ratio: Option<Ratio>,
    /// The smallest difference that can be reported here, as a share.
    pub floor: f64,
    /// The significant result.
    pub verdict: Verdict,
    /// Note on an open verdict that says what would decide it, or why the figures cannot be compared; may be empty.
    pub note: String,
    /// Largest share by which the other figure may be worse than the base's, for a gate; `None` if that is unknown.
    #[serde(skip)]
    pub worse_at_most: Option<f64>,
    /// Whether the other run has no figure because something went wrong, such as a crash.
    #[serde(skip)]
    pub has_failed: bool,
}

/// The rules that all rows of a comparison share.
pub(crate) struct Judge<'a> {
    /// Chance of a wrong verdict in each row.
    pub(crate) chance: f64,
    pub(crate) settings: &'a Settings,
}

/// Two results of a row, or one without a counterpart.
pub(crate) struct Pair<'a> {
    pub(crate) base: Option<&'a CaseResult>,
    pub(crate) new: Option<&'a CaseResult>,
    /// The change; `None` if a figure is missing, or if the units differ.
    pub(crate) change: Option<Change>,
    /// Reason why the pair gets no verdict, whatever its interval.
    pub(crate) held_back: Option<HeldBack>,
    /// Whether both are the same result of the same run.
    pub(crate) is_itself: bool,
}

/// Note on figures that have no interval.
pub(crate) const TOO_FEW_ROUNDS: &str = "a figure of too few rounds has no interval";

/// Note on a verdict where the load generator or the receiver limited the better side.
const AT_LEAST: &str = "at least: the load generator or the receiver limited the better side";

impl<'a> Judge<'a> {
    /// The judge of a family of comparisons. `changes` are those with figures: all of them share the chance of error, and each
    /// borrows from the variances of all.
    pub(crate) fn of<'c>(
        changes: impl Iterator<Item = &'c mut Change>,
        settings: &'a Settings,
    ) -> Self {
        let changes: Vec<&mut Change> = changes.collect();
        let comparable = changes.iter().filter(|change| change.scatter.is_some()).count();
        moderate(changes);
        Self { chance: settings.chance / comparable.max(1) as f64, settings }
    }

    /// The comparison of a pair; `no_pair` is the reason if the pair has no change.
    pub(crate) fn row(&self, pair: Pair, no_pair: impl FnOnce() -> String) -> Compared {
        let any = pair.base.or(pair.new).expect("a row has a result");
        let mut row = Compared {
            point: any.point(),
            metric: any.metric.clone(),
            unit: any.unit.clone(),
            base: pair.base.and_then(|r| r.estimate),
            new: pair.new.and_then(|r| r.estimate),
            ratio: None,
            floor: 0.0,
            verdict: Verdict::NotComparable,
            note: String::new(),
            worse_at_most: None,
            has_failed: pair.new.is_some_and(|result| {
                !matches!(result.outcome, Outcome::Measured | Outcome::Unsupported)
            }),
        };
        let have_intervals =
            [pair.base, pair.new].into_iter().flatten().all(CaseResult::has_interval);
        let Some(change) = pair.change else {
            row.note = no_pair();
            return row;
        };
        (row.base, row.new) = (Some(change.base), Some(change.new));
        if change.in_cycles {
            row.unit = any.unit.replacen("ns", "cycles", 1);
        }
        row.floor = floor(&change);
        let half = change.half_width(self.chance);
        let half = if pair.is_itself { Some(0.0) } else { half };
        // A figure without an interval has a ratio without one, which says nothing.
        let is_known = have_intervals || pair.is_itself;
        let logs = half.filter(|_| change.log && is_known).map(|half| change.interval(half));
        row.ratio = logs.map(|interval| Ratio::of_logs(change.by, interval));
        // A new figure that something else limited is at worst as bad as it was measured.
        let is_bound =
            |why: &HeldBack| matches!(why, HeldBack::Limited { only: Some(Side::New), .. });
        if have_intervals
            && pair.held_back.as_ref().is_none_or(is_bound)
            && !change.is_disturbed
            && change.rounds >= LEAST_ROUNDS
        {
            row.worse_at_most = row.ratio.and_then(|ratio| worse_at_most(any, ratio, row.floor));
        }
        (row.verdict, row.note) = match (pair.held_back, half) {
            (Some(why), _) if why.is_of_runs() => why.verdict(),
            _ if pair.is_itself => (Verdict::Same, String::new()),
            // A fact, such as the step of a clock, has no variance that a disturbance could increase.
            (_, None) if change.rounds == 0 && change.by == 0.0 => (Verdict::Same, String::new()),
            (Some(HeldBack::Limited { why, only: Some(side) }), Some(half)) if have_intervals => {
                let (verdict, _) = self.verdict(any, &change, half, row.floor);
                at_least(verdict, side).unwrap_or((Verdict::CannotTell, why))
            }
            (Some(why), _) => why.verdict(),
            (None, _) if !have_intervals => (Verdict::CannotTell, TOO_FEW_ROUNDS.to_owned()),
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
        let (low, high) = change.interval(half);
        let (lowest, margin) = (change.of_share(floor), change.of_share(self.settings.margin));
        let differs = low > lowest || high < -lowest;
        let within = (low > -margin && high < margin) || (low == 0.0 && high == 0.0);
        let cannot_tell = |note: String| (Verdict::CannotTell, note);
        let is_clear = is_clear(change.rounds, (low, high), change.log);
        if differs && change.rounds < LEAST_ROUNDS && !is_clear {
            let (had, least) = (change.rounds, LEAST_ROUNDS);
            cannot_tell(format!("{had} rounds are too few: at least {least} are needed"))
        } else if differs {
            let verdict = Verdict::of_change(&result.metric, result.better, low > lowest);
            let note = match (change.is_disturbed, change.is_beside_load) {
                _ if change.rounds < LEAST_ROUNDS => {
                    "few rounds, but it is more than a factor of 2"
                }
                (true, _) => "few rounds were quiet, but it is more than a factor of 2",
                (_, true) => BESIDE_LOAD,
                _ => "",
            };
            (verdict, note.to_owned())
        } else if within && floor <= self.settings.margin {
            let note = if change.is_beside_load { BESIDE_LOAD } else { "" };
            (Verdict::Same, note.to_owned())
        } else if change.is_disturbed {
            cannot_tell(DISTURBED.to_owned())
        } else if half > lowest && change.is_mostly_between_visits() {
            cannot_tell(more_visits(change.between))
        } else {
            cannot_tell(what_would_decide(change.by.abs(), half, (lowest, floor), margin))
        }
    }
}

/// The verdict on a side that is better although something else limited its figure, and its note.
fn at_least(verdict: Verdict, limited: Side) -> Option<(Verdict, String)> {
    let is_better = match limited {
        Side::Base => verdict.is_loss(),
        Side::New => verdict.is_gain(),
    };
    is_better.then(|| (verdict, AT_LEAST.to_owned()))
}

/// Whether a difference of logarithms has a verdict although there are fewer rounds than usual: at least three, and the whole
/// interval is beyond a factor of 2.
pub(crate) fn is_clear(rounds: usize, (low, high): (f64, f64), of_logs: bool) -> bool {
    const FEWEST_ROUNDS: usize = 3;
    let factor = 2f64.ln();
    of_logs && rounds >= FEWEST_ROUNDS && (low > factor || high < -factor)
}

/// Largest share by which the new figure may be worse, with the change of the machine that these figures show.
fn worse_at_most(result: &CaseResult, ratio: Ratio, floor: f64) -> Option<f64> {
    let worst = match result.better {
        Direction::Lower => ratio.high,
        Direction::Higher => 1.0 / ratio.low,
        Direction::Neither => return None,
    };
    Some(worst * (1.0 + floor) - 1.0)
}

/// Smallest difference that is reported, as a share: the change of the machine that these figures show; 0 for adjacent rounds.
pub(crate) fn floor(change: &Change) -> f64 {
    match change.is_in_blocks() {
        true => 0.0,
        false => change.floor_at_least().max(change.floor),
    }
}

/// Reason why the figures have no interval.
fn no_interval(change: &Change) -> String {
    match change.rounds {
        0 => "one figure for a whole run has no interval".to_owned(),
        1 => "one round has no interval".to_owned(),
        _ => "a figure that is not its rounds' median has no interval from them".to_owned(),
    }
}

/// The advice for separate runs whose difference has this standard deviation, as a logarithm, from visit to visit.
pub(crate) fn more_visits(between: f64) -> String {
    let percent = between.exp_m1() * 100.0;
    format!(
        "such runs differ by {percent:.1} % (standard deviation): more visits, or both in turn, would decide it"
    )
}

/// The advice to measure this many times as many rounds, as one of a few numbers, so that rows share a note.
pub(crate) fn more_rounds(times: f64) -> String {
    let digit = 10f64.powf(times.max(2.0).log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0].map(|step| step * digit).into_iter().find(|&t| t >= times);
    format!("about {:.0} times as many rounds would decide it", times.unwrap_or(digit).max(2.0))
}

/// Advice for an undecided comparison: the factor by which more rounds would decide it, or a quieter machine.
fn what_would_decide(
    distance: f64,
    half: f64,
    (floor, floor_share): (f64, f64),
    margin: f64,
) -> String {
    let floor_is_too_high = distance <= floor && floor > margin;
    let room = if distance > floor { distance - floor } else { margin - distance };
    // The width of an interval is proportional to the inverse root of the number of rounds.
    let times = (half / room).powi(2);
    if room <= 0.0 || floor_is_too_high {
        let floor = floor_share * 100.0;
        format!("the machine itself varies by {floor:.1} %: a quieter one would decide it")
    } else if times > 1_000.0 {
        "no number of rounds would decide it: the figures vary too much between rounds".to_owned()
    } else {
        more_rounds(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_rounds_are_rounded_up() {
        let said = [0.3, 2.0, 2.1, 9.0, 10.0, 48.0, 101.0].map(more_rounds);
        let times = said.iter().map(|text| text.split(' ').nth(1).unwrap());
        assert_eq!(times.collect::<Vec<_>>(), ["2", "2", "5", "10", "10", "50", "200"]);
    }
}

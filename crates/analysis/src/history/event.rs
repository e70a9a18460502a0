//! Changes that happened together.

use std::collections::BTreeMap;

use super::series::{FactChange, HistoryRun, RunSeries, fact_changes};
use super::trend::{Change, Kind, Trend};
use crate::change::Ratio;
use crate::next_run::Cause;
use measure::stats::median;

/// How far apart, in visits, the changes of one event may be placed, and how far an accepted event may move when later runs place
/// it more exactly.
const APART: usize = 1;

/// Changes of points with one cause, in one direction, at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its name, by which it is accepted: the first run after it, its cause and its direction.
    pub id: String,
    /// Number of the first visit after it in its series.
    pub visit: usize,
    /// Number of the first run after it.
    pub run: usize,
    /// What the changed points have in common.
    pub cause: Cause,
    /// Whether the later figures are worse.
    pub is_worse: bool,
    /// Whether most of its changes are steps or gradual.
    pub kind: Kind,
    /// The changes: index of the trend, and of the change in it.
    pub members: Vec<(usize, usize)>,
    /// The median of the ratios, with the medians of their ends; `None` if the figures have none.
    pub ratio: Option<Ratio>,
    /// By how many core cycles each entry into the kernel changed, in the median; only if the points enter the kernel.
    pub cycles_per_entry: Option<f64>,
    /// What changed of the machine, and of the tags, from the run before to the first one after.
    pub facts: Vec<FactChange>,
    /// Why a user has accepted it.
    pub accepted: Option<String>,
}

/// The events of the trends of one series, the oldest first. `accepted` has the reasons of accepted events by id.
pub fn events(
    trends: &[Trend],
    series: &RunSeries,
    runs: &[HistoryRun],
    accepted: &BTreeMap<String, String>,
) -> Vec<Event> {
    let mut changes: Vec<(&Cause, bool, usize, (usize, usize))> = Vec::new();
    for (of, trend) in trends.iter().enumerate() {
        for (nth, change) in trend.changes.iter().enumerate() {
            let visit = trend.visits[change.at].number;
            changes.push((&trend.cause, change.is_worse, visit, (of, nth)));
        }
    }
    changes.sort();
    let is_together = |one: &(&Cause, bool, usize, _), other: &(&Cause, bool, usize, _)| {
        (one.0, one.1) == (other.0, other.1) && other.2 - one.2 <= APART
    };
    let mut events: Vec<Event> = changes
        .chunk_by(is_together)
        .map(|together| {
            let members: Vec<(usize, usize)> = together.iter().map(|change| change.3).collect();
            let (cause, is_worse, ..) = together[0];
            let visit = most_frequent(together.iter().map(|change| change.2));
            Event::of(trends, series, runs, cause, is_worse, visit, members)
        })
        .collect();
    for event in &mut events {
        event.accepted = reason(event, series, runs, accepted);
    }
    events.sort_by(|one, other| (one.visit, &one.id).cmp(&(other.visit, &other.id)));
    events
}

impl Event {
    fn of(
        trends: &[Trend],
        series: &RunSeries,
        runs: &[HistoryRun],
        cause: &Cause,
        is_worse: bool,
        visit: usize,
        members: Vec<(usize, usize)>,
    ) -> Self {
        let run = series.visits[visit][0];
        let changes: Vec<(&Trend, &Change)> =
            members.iter().map(|&(of, nth)| (&trends[of], &trends[of].changes[nth])).collect();
        let creeps = changes.iter().filter(|(_, change)| change.kind == Kind::Creep).count();
        let before = visit.checked_sub(1).and_then(|visit| series.visits[visit].last());
        Self {
            id: id(&runs[run], cause, is_worse),
            visit,
            run,
            cause: cause.clone(),
            is_worse,
            kind: if 2 * creeps > changes.len() { Kind::Creep } else { Kind::Step },
            ratio: median_ratio(changes.iter().filter_map(|(_, change)| change.ratio)),
            cycles_per_entry: match cause {
                Cause::Entry => {
                    let per_entry = |(trend, change): &(&Trend, &Change)| {
                        Some(change.by / trend.syscalls.filter(|&calls| calls > 0.0)?)
                    };
                    median_of(changes.iter().filter_map(per_entry))
                }
                _ => None,
            },
            facts: before.map_or(Vec::new(), |&before| fact_changes(&runs[before], &runs[run])),
            members,
            accepted: None,
        }
    }
}

fn id(run: &HistoryRun, cause: &Cause, is_worse: bool) -> String {
    let cause = cause.to_string().replace(' ', "-");
    format!("{}/{cause}/{}", run.summary.id, if is_worse { "worse" } else { "better" })
}

/// The reason for which an event was accepted, whichever of the runs around it was then the first one after it.
fn reason(
    event: &Event,
    series: &RunSeries,
    runs: &[HistoryRun],
    accepted: &BTreeMap<String, String>,
) -> Option<String> {
    let from = event.visit.saturating_sub(APART);
    let to = (event.visit + APART + 1).min(series.visits.len());
    let mut around = series.visits[from..to].iter().flatten();
    around.find_map(|&run| accepted.get(&id(&runs[run], &event.cause, event.is_worse))).cloned()
}

fn most_frequent(visits: impl Iterator<Item = usize>) -> usize {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    visits.for_each(|visit| *counts.entry(visit).or_default() += 1);
    // The earliest visit wins among equal counts.
    counts.into_iter().rev().max_by_key(|&(_, count)| count).map_or(0, |(visit, _)| visit)
}

fn median_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    (!values.is_empty()).then(|| median(&mut values))
}

fn median_ratio(ratios: impl Iterator<Item = Ratio> + Clone) -> Option<Ratio> {
    Some(Ratio {
        mid: median_of(ratios.clone().map(|ratio| ratio.mid))?,
        low: median_of(ratios.clone().map(|ratio| ratio.low))?,
        high: median_of(ratios.map(|ratio| ratio.high))?,
    })
}

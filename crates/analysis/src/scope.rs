//! Selection of the results that are compared, and facts that apply to all metrics of a point.

use std::collections::{BTreeMap, BTreeSet};

use measure::{Doubt, Role};
use results::{CaseResult, Direction, Document, Outcome, Reference};

use crate::held_back::{HeldBack, Side};

type PointOf<'a> = (&'a str, &'a BTreeMap<String, String>);

/// The compared results of `base`, each with its counterpart in `new`.
pub(crate) fn pairs<'a>(
    base: &'a Document,
    new: &'a Document,
) -> Vec<(&'a CaseResult, Option<&'a CaseResult>)> {
    let identity = |r: &'a CaseResult| (&r.case, &r.params, &r.metric);
    let known: BTreeMap<_, _> = new.results.iter().map(|r| (identity(r), r)).collect();
    compared(base).map(|r| (r, known.get(&identity(r)).copied())).collect()
}

/// The results that are compared: those with a direction, except metrics that are derived from others.
pub(crate) fn compared(run: &Document) -> impl Iterator<Item = &CaseResult> {
    let metrics: BTreeSet<(PointOf, &str)> =
        run.results.iter().map(|r| ((r.case.as_str(), &r.params), r.metric.as_str())).collect();
    run.results.iter().filter(move |result| {
        let beside =
            |metric: &str| metrics.contains(&((result.case.as_str(), &result.params), metric));
        let is_said_otherwise = match role(result) {
            Role::Derived => true,
            Role::SameAs(other) => beside(other),
            Role::Figure | Role::OwnCost | Role::Failures | Role::CpuShare => false,
        };
        result.better != Direction::Neither && !is_said_otherwise
    })
}

/// Role of the result's metric in comparisons; a metric that this version does not know is compared by itself.
fn role(result: &CaseResult) -> Role {
    catalog::metric(&result.case, &result.metric).map_or(Role::Figure, |metric| metric.role)
}

pub(crate) fn is_unsupported(result: &CaseResult) -> bool {
    result.outcome == Outcome::Unsupported
}

/// Whether what was measured failed, so that its figures are not those of the work.
fn is_failure(doubt: &Doubt) -> bool {
    doubt.is_failure_under_load() || matches!(doubt, Doubt::CommandFailed { .. })
}

/// Facts about all points of the compared runs.
pub(crate) struct Points<'a> {
    points: BTreeMap<PointOf<'a>, PointFacts<'a>>,
}

/// Facts that apply to all metrics of a point.
#[derive(Debug, Default, Clone, Copy)]
struct PointFacts<'a> {
    /// Whether the point was disturbed nearly throughout in some run: its estimate comes from disturbed rounds.
    disturbed: bool,
    /// The doubt about saturation, if the other side limited the rate in some run.
    saturated: Option<&'a Doubt>,
    /// The doubt about failures under load, if there were any in some run.
    gave_way: Option<&'a Doubt>,
}

impl<'a> Points<'a> {
    pub(crate) fn of(runs: &[&'a Document]) -> Self {
        let mut points: BTreeMap<PointOf, PointFacts> = BTreeMap::new();
        for result in runs.iter().flat_map(|run| &run.results) {
            let point = points.entry((result.case.as_str(), &result.params)).or_default();
            point.disturbed |= result.disturbed;
            let doubt = |is_one: fn(&Doubt) -> bool| result.doubts.iter().find(|d| is_one(d));
            point.saturated = point.saturated.or(doubt(Doubt::is_saturated));
            point.gave_way = point.gave_way.or(doubt(is_failure));
        }
        Self { points }
    }

    /// Whether a rate of this point is only a lower bound, since something other than the measured program limited it.
    pub(crate) fn is_lower_bound(&self, result: &CaseResult) -> bool {
        let point = self.point(result);
        let is_bound = point.gave_way.is_none() && point.saturated.is_some();
        is_bound && !matches!(role(result), Role::OwnCost | Role::Failures)
    }

    /// Whether the result's point was disturbed nearly throughout.
    pub(crate) fn is_disturbed(&self, result: &CaseResult) -> bool {
        self.point(result).disturbed
    }

    /// Reason why this metric of its point gets no verdict, whatever its interval; `None` if it gets one.
    pub(crate) fn held_back(&self, result: &CaseResult) -> Option<String> {
        self.point(result).held_back(result)
    }

    /// Reason why the change from one result to another gets no verdict, each with the facts about its own run.
    pub(crate) fn either_held_back(sides: [(&Self, &CaseResult); 2]) -> Option<HeldBack> {
        let is_bound = sides.map(|(points, result)| points.is_lower_bound(result));
        let [base, new] = sides.map(|(points, result)| points.point(result));
        let only = match is_bound {
            [true, false] if new.gave_way.is_none() => Some(Side::Base),
            [false, true] if base.gave_way.is_none() => Some(Side::New),
            _ => None,
        };
        let either = PointFacts {
            saturated: base.saturated.or(new.saturated),
            gave_way: base.gave_way.or(new.gave_way),
            ..PointFacts::default()
        };
        Some(HeldBack::Limited { why: either.held_back(sides[0].1)?, only })
    }

    fn point(&self, result: &CaseResult) -> PointFacts<'a> {
        self.points.get(&(result.case.as_str(), &result.params)).copied().unwrap_or_default()
    }
}

impl PointFacts<'_> {
    fn held_back(&self, result: &CaseResult) -> Option<String> {
        if let Some(doubt) = self.saturated.filter(|_| role(result) != Role::OwnCost) {
            let bottleneck = match doubt {
                Doubt::ClientSaturated => "the load generator",
                _ => "the receiver",
            };
            let instead = metric_of(result, Role::OwnCost);
            let instead = instead.map(|metric| format!(": compare `{metric}` instead"));
            return Some(format!("{bottleneck} was the bottleneck{}", instead.unwrap_or_default()));
        }
        let gave_way = self.gave_way.filter(|_| role(result) != Role::Failures)?;
        let share = metric_of(result, Role::Failures);
        let share = share.map(|metric| format!(": `{metric}` has the share"));
        Some(format!("{gave_way}{}", share.unwrap_or_default()))
    }
}

/// Name of the case's metric with this role.
fn metric_of(result: &CaseResult, role: Role) -> Option<&'static str> {
    let case = catalog::find(&result.case)?;
    case.metrics.iter().find(|metric| metric.role == role).map(|metric| metric.name)
}

/// The sentinel's readings for each point of a run: those of the point's time apply to its other metrics too.
pub(crate) struct References<'a>(BTreeMap<PointOf<'a>, Reference>);

impl<'a> References<'a> {
    pub(crate) fn of(run: &'a Document) -> Self {
        let mut known = BTreeMap::new();
        for result in &run.results {
            if let Some(reference) = result.reference {
                known.entry((result.case.as_str(), &result.params)).or_insert(reference);
            }
        }
        Self(known)
    }

    pub(crate) fn beside(&self, result: &CaseResult) -> Option<Reference> {
        let of_point = || self.0.get(&(result.case.as_str(), &result.params)).copied();
        result.reference.or_else(of_point)
    }
}

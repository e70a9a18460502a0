//! The figures of a side in one run, and its points without a figure.

use std::collections::BTreeMap;

use catalog::{Counterpart, counterparts};
use results::{CaseResult, Document, Outcome, PointKey};

use super::location::Located;
use super::model::Side;
use super::per_op;
use super::systems::{name_of, names_of, os_of, runs_called};
use crate::param_value::{Kilo, same_value};
use crate::scope::Points;

/// Maximum number of points without a measurement that are named.
const NAMED_AT_MOST: usize = 20;

/// A result, with the count per operation if that is the figure.
pub(crate) type SelectedResult<'a> = (&'a CaseResult, Option<f64>);

/// A figure of a run, or a point without a figure.
#[derive(Debug, Clone)]
pub(super) struct Datum<'a> {
    /// The run.
    pub(super) document: &'a Document,
    /// The result; for a count per operation, the result that has the count.
    pub(super) result: &'a CaseResult,
    /// The point of the result, as its counterpart on Unix is named.
    pub(super) point: PointKey,
    /// The count per operation, if that is the figure.
    pub(super) count: Option<f64>,
    /// Reason why the point gets no verdict.
    pub(super) held_back: Option<String>,
    /// Whether the only reason is that the rate is a lower bound.
    pub(super) is_lower_bound: bool,
    /// Whether the point was disturbed nearly throughout.
    pub(super) is_disturbed: bool,
}

impl Datum<'_> {
    /// The figure itself, if there is one.
    pub(super) fn number(&self) -> Option<f64> {
        self.count.or(self.result.estimate.map(|estimate| estimate.median))
    }
}

/// Reason why nothing can be compared.
#[derive(Debug, Clone)]
pub(super) struct NoFigures {
    pub(super) why: String,
    /// Whether points were not measured, rather than unsupported or failed.
    pub(super) is_incomplete: bool,
}

impl NoFigures {
    /// The reason for points that were not measured.
    pub(super) fn not_measured(why: String) -> Self {
        Self { why, is_incomplete: true }
    }

    /// The reason for points without a figure in every run.
    pub(super) fn without(why: String) -> Self {
        Self { why, is_incomplete: false }
    }
}

/// Results that a run has for a side.
#[derive(Debug, Clone, Default)]
pub(super) struct Found<'a> {
    /// Figures; at least one.
    pub(super) data: Vec<Datum<'a>>,
    /// Points that the measured system lacks.
    pub(super) unsupported: Vec<Datum<'a>>,
    /// Points whose measurement failed.
    pub(super) failed: Vec<Datum<'a>>,
    /// Points that the side selects by values of its parameters and the run does not have.
    pub(super) not_measured: Vec<String>,
}

/// The runs of the system that a side names, or all runs if it names none.
///
/// # Errors
/// An error if no run is of that system.
fn runs_of<'a>(side: &Side, documents: &'a [Document]) -> Result<Vec<&'a Document>, NoFigures> {
    let Some(name) = &side.system else { return Ok(documents.iter().collect()) };
    let runs = runs_called(&name.value, documents);
    if !runs.is_empty() {
        return Ok(runs);
    }
    let only = match &names_of(documents)[..] {
        [] => String::new(),
        names => format!(", only {}", names.join(", ")),
    };
    Err(NoFigures::not_measured(format!("the system {:?} was not measured{only}", name.value)))
}

/// The runs of a side whose times may be judged.
///
/// # Errors
/// An error if there are none.
pub(super) fn judged_runs<'a>(
    side: &Side,
    documents: &'a [Document],
) -> Result<Vec<&'a Document>, NoFigures> {
    let of_system = runs_of(side, documents)?;
    let judged: Vec<&Document> =
        of_system.iter().copied().filter(|run| run.emulated().is_none()).collect();
    match (of_system.first(), judged.is_empty()) {
        (None, _) => Err(why_absent(side, &[])),
        (Some(run), true) => {
            let why = run.emulated().unwrap_or_default();
            Err(NoFigures::without(format!("the times of {} are not judged: {why}", name_of(run))))
        }
        (Some(_), false) => Ok(judged),
    }
}

/// The results that a run has for a side.
///
/// # Errors
/// The reason why the run has no figure.
pub(super) fn found<'a>(side: &Side, document: &'a Document) -> Result<Found<'a>, NoFigures> {
    let points = Points::of(&[document]);
    let rows = rows(side, document);
    let mut found = Found { not_measured: not_measured(side, &rows), ..Found::default() };
    for (result, count) in rows {
        let is_measured = result.outcome == Outcome::Measured;
        let datum = Datum {
            document,
            result,
            point: point_on_unix(result),
            count,
            held_back: points.held_back(result).filter(|_| is_measured),
            is_lower_bound: points.is_lower_bound(result),
            is_disturbed: points.is_disturbed(result),
        };
        match result.outcome {
            Outcome::Measured => found.data.push(datum),
            Outcome::Unsupported => found.unsupported.push(datum),
            _ => found.failed.push(datum),
        }
    }
    if !found.data.is_empty() {
        return Ok(found);
    }
    match found.failed.first().or(found.unsupported.first()) {
        Some(datum) => {
            let is_incomplete = !found.not_measured.is_empty();
            Err(NoFigures { why: why_not(datum.result), is_incomplete })
        }
        None => Err(why_absent(side, &[document])),
    }
}

/// The side's results from the first run with a figure, otherwise from the first run with any; with the count if the figure is a
/// count per operation.
///
/// # Errors
/// The reason why there are none.
pub(crate) fn figures_of_side<'a>(
    side: &Side,
    documents: &'a [Document],
) -> Result<Vec<SelectedResult<'a>>, String> {
    let runs = runs_of(side, documents).map_err(|none| none.why)?;
    let mut of_runs: Vec<Vec<SelectedResult>> =
        runs.iter().map(|run| rows(side, run)).filter(|rows| !rows.is_empty()).collect();
    let is_measured = |(result, _): &SelectedResult| result.outcome == Outcome::Measured;
    let with_figure = of_runs.iter().position(|rows| rows.iter().any(is_measured));
    match of_runs.is_empty() {
        true => Err(why_absent(side, &runs).why),
        false => Ok(of_runs.swap_remove(with_figure.unwrap_or(0))),
    }
}

impl Side {
    /// Whether the side selects a point of this case with these parameters.
    pub fn selects(&self, case: &str, params: &BTreeMap<String, String>) -> bool {
        if self.case.value != case {
            return false;
        }
        let has = |(name, values): (&String, &Located<Vec<String>>)| {
            values.value.iter().any(|value| has_value(case, params, name, value))
        };
        self.params.iter().all(has)
    }
}

/// Whether a point has this value of a parameter.
fn has_value(case: &str, params: &BTreeMap<String, String>, name: &str, value: &str) -> bool {
    let is_it = |own: &String| own == value || same_value(own, value, Kilo::of(case, name));
    params.get(name).is_some_and(is_it)
}

/// Reason why a result is no figure.
pub(super) fn why_not(result: &CaseResult) -> String {
    let reason = result.reason.as_deref().unwrap_or("no reason given");
    format!("{} is {}: {reason}", result.label(), result.outcome.word())
}

/// Reason why no run has a figure of this side.
fn why_absent(side: &Side, documents: &[&Document]) -> NoFigures {
    let case = &side.case.value;
    let of_case = |document: &&Document| document.results.iter().any(|result| &result.case == case);
    let missing_here = catalog::find(case).and_then(|case| case.missing_here());
    let only_by = catalog::find(case).and_then(catalog::only_by);
    NoFigures::not_measured(match (documents.iter().any(of_case), missing_here, only_by) {
        (true, ..) => {
            let params = side.params.iter();
            let params =
                params.map(|(name, values)| (name.clone(), values.value.join(" or "))).collect();
            was_not_measured(side, &params)
        }
        (false, Some(reason), _) => format!("{case} is missing: {reason}"),
        (false, None, Some(command)) => format!("{case} was not measured; `{command}` measures it"),
        (false, None, None) => format!("{case} was not measured"),
    })
}

fn was_not_measured(side: &Side, params: &BTreeMap<String, String>) -> String {
    format!(
        "{} of {} was not measured",
        side.metric.value,
        results::label(&side.case.value, params)
    )
}

/// Whether another point takes the place of this one on Windows, where it does not exist.
fn is_of_unix(result: &CaseResult) -> bool {
    counterparts().any(|pair| {
        pair.unix.case == pair.windows.case && pair.unix.matches(&result.case, &result.params)
    })
}

/// The point of a result, with the parameters that its counterpart on Unix has if both are of one case: an event loop is `epoll`
/// there and `iocp` on Windows.
fn point_on_unix(result: &CaseResult) -> PointKey {
    let PointKey { case, params } = result.point();
    let is_it =
        |pair: &&Counterpart| pair.unix.case == case && pair.windows.matches(&case, &params);
    match counterparts().find(is_it) {
        Some(pair) => PointKey { params: pair.on_unix(params), case },
        None => PointKey { case, params },
    }
}

/// The results of a run that a side selects; on Windows, its counterparts of points that only Unix has. A count per operation is
/// taken from the result of the time. A point that has no figures has one result for all metrics, with the reason.
fn rows<'a>(side: &Side, document: &'a Document) -> Vec<SelectedResult<'a>> {
    let metric = &side.metric.value;
    let is_own = |r: &CaseResult| r.case == side.case.value && &r.metric == metric;
    let is_count = per_op::is_count(metric) && !document.results.iter().any(is_own);
    let is_without_figures = |result: &CaseResult| {
        let is_same_point = |r: &CaseResult| is_own(r) && r.params == result.params;
        result.outcome != Outcome::Measured
            && result.metric == measure::TIME.name
            && !document.results.iter().any(is_same_point)
    };
    let row = |result: &'a CaseResult| {
        if &result.metric == metric || is_without_figures(result) {
            return Some((result, None));
        }
        let has_counts = is_count && result.metric == measure::TIME.name;
        let counts = result.per_op.as_ref().filter(|_| has_counts)?;
        Some((result, Some(per_op::count(counts, metric)?)))
    };
    let is_on_windows = os_of(document) == Some("Windows");
    let is_selected = |r: &&CaseResult| match is_on_windows {
        true if is_of_unix(r) => false,
        true => side.selects(&r.case, &r.params) || side.selects(&r.case, &point_on_unix(r).params),
        false => side.selects(&r.case, &r.params),
    };
    document.results.iter().filter(is_selected).filter_map(row).collect()
}

/// Combinations of the values that a side gives for which there are no results.
fn not_measured(side: &Side, rows: &[SelectedResult]) -> Vec<String> {
    let on_unix: Vec<PointKey> = rows.iter().map(|(result, _)| point_on_unix(result)).collect();
    let is_there = |params: &BTreeMap<String, String>| {
        rows.iter().zip(&on_unix).any(|((result, _), on_unix)| {
            let has = |(name, value): (&String, &String)| {
                let has = |of: &BTreeMap<_, _>| has_value(&result.case, of, name, value);
                has(&result.params) || has(&on_unix.params)
            };
            params.iter().all(has)
        })
    };
    // Among one combination more than there are results, at least one has no result, so that the search is bounded.
    let missing = combinations(side).take(rows.len() + NAMED_AT_MOST).filter(|one| !is_there(one));
    missing.take(NAMED_AT_MOST).map(|params| was_not_measured(side, &params)).collect()
}

/// All combinations of the values that a side gives.
fn combinations(side: &Side) -> impl Iterator<Item = BTreeMap<String, String>> {
    let count = side.params.values().map(|values| values.value.len());
    let count = count.fold(1_usize, usize::saturating_mul);
    (0..count).map(|number| {
        let mut rest = number;
        let pick = |(name, values): (&String, &Located<Vec<String>>)| {
            let at = rest % values.value.len();
            rest /= values.value.len();
            (name.clone(), values.value[at].clone())
        };
        side.params.iter().map(pick).collect()
    })
}

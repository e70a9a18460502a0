//! Pairs the figures of both sides of a claim that names its systems, and finds the run that has them.

use std::collections::BTreeMap;

use results::Document;

use super::found::{Datum, Found, NoFigures, found, judged_runs, why_not};
use super::model::{Side, Statement};
use crate::param_value::{Kilo, parse_x, same_value};

/// A figure of side `a`, with its counterpart of side `b` if the claim has one.
#[derive(Debug, Clone)]
pub(super) struct DatumPair<'a> {
    pub(super) a: Datum<'a>,
    pub(super) b: Option<Datum<'a>>,
}

/// Figures that are compared, for one combination of the values of the open parameters.
#[derive(Debug, Clone)]
pub(super) struct Group<'a> {
    /// One pair for each value of the parameter of the relation, ascending; just one if the relation has no such parameter.
    pub(super) pairs: Vec<(f64, DatumPair<'a>)>,
    /// For a claim with a rank: how the pairs, one for each two systems, make one quantity.
    pub(super) ranking: Option<Ranking>,
}

/// The pairs of a group as a table of systems: the quantity is the extreme of its rows, each of which is that of its pairs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ranking {
    /// Number of pairs of each system of side `a`, in the order of the pairs.
    pub(super) row_lengths: Vec<usize>,
    /// Which row counts.
    pub(super) of_rows: Extreme,
    /// Which pair of a row counts.
    pub(super) of_pairs: Extreme,
    /// Number of different comparisons among the pairs: `x / y` and `y / x` are one.
    pub(super) comparisons: usize,
    /// Number of systems that have a figure.
    pub(super) systems: usize,
}

/// An end of ordered numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extreme {
    Least,
    Greatest,
}

impl<'a> Group<'a> {
    /// The figures of both sides.
    pub(super) fn data(&self) -> impl Iterator<Item = &Datum<'a>> {
        self.pairs.iter().flat_map(|(_, pair)| std::iter::once(&pair.a).chain(&pair.b))
    }

    /// Index of the pair to show while nothing can be decided: that of the claimed ranks by the figures alone, else the last.
    pub(super) fn shown_pair(&self) -> usize {
        let number = |at: usize| {
            let pair = &self.pairs[at].1;
            let figure = |datum: &Datum| datum.number().unwrap_or(f64::NAN);
            figure(&pair.a) / pair.b.as_ref().map_or(1.0, figure)
        };
        match &self.ranking {
            Some(ranking) if (0..self.pairs.len()).all(|at| !number(at).is_nan()) => {
                ranking.chosen(number).0
            }
            _ => self.pairs.len() - 1,
        }
    }
}

/// Figures that a claim compares, and those that are missing.
#[derive(Debug, Clone, Default)]
pub(super) struct Selected<'a> {
    pub(super) groups: Vec<Group<'a>>,
    /// Reasons for points without a figure of a case that the system has.
    pub(super) missing: Vec<String>,
    /// Reasons for points that the system lacks. The claim is judged by the others.
    pub(super) left_out: Vec<String>,
    /// Whether some of the missing points were not measured.
    pub(super) is_incomplete: bool,
}

/// Finds the figures of a statement without ranks in runs, each of one system. If both sides name the same system, or none, one
/// run must have both.
///
/// # Errors
/// The missing points, if nothing can be compared.
pub(super) fn select_named<'a>(
    statement: &Statement,
    documents: &'a [Document],
) -> Result<Selected<'a>, NoFigures> {
    let runs_of_a = judged_runs(&statement.a, documents)?;
    let is_whole = |found: &Found| found.not_measured.is_empty();
    match statement.b.as_ref().filter(|b| !is_same_system(&statement.a, b)) {
        Some(b) => {
            let runs_of_b = judged_runs(b, documents)?;
            let of_a = first_complete(&runs_of_a, |run| found(&statement.a, run), is_whole)?;
            let of_b = first_complete(&runs_of_b, |run| found(b, run), is_whole)?;
            selected(statement, of_a, Some(of_b))
        }
        None => {
            let of_run = |run| {
                let of_a = found(&statement.a, run)?;
                let of_b = statement.b.as_ref().map(|b| found(b, run)).transpose()?;
                selected(statement, of_a, of_b)
            };
            first_complete(&runs_of_a, of_run, |selected| !selected.is_incomplete)
        }
    }
}

/// The result of `of_run` for the first run that is complete, otherwise for the first with any result.
///
/// # Errors
/// The reason why no run has a result; points that were measured take precedence.
pub(super) fn first_complete<'a, T>(
    runs: &[&'a Document],
    of_run: impl Fn(&'a Document) -> Result<T, NoFigures>,
    is_complete: impl Fn(&T) -> bool,
) -> Result<T, NoFigures> {
    let mut best: Option<Result<T, NoFigures>> = None;
    for run in runs {
        let found = of_run(run);
        let is_better = match (&found, &best) {
            (Ok(one), _) if is_complete(one) => return found,
            (_, None) | (Ok(_), Some(Err(_))) => true,
            (Err(one), Some(Err(other))) => other.is_incomplete && !one.is_incomplete,
            (_, Some(Ok(_))) => false,
        };
        if is_better {
            best = Some(found);
        }
    }
    best.unwrap_or_else(|| Err(NoFigures::not_measured("no run was given".to_owned())))
}

/// Whether two sides are of one system: both name none, or the same. Two sides of a rank each have a system of their own.
pub fn is_same_system(a: &Side, b: &Side) -> bool {
    let name = |side: &Side| side.system.as_ref().map(|name| name.value.clone());
    name(a) == name(b) && a.rank().is_none()
}

/// Pairs the figures of both sides.
fn selected<'a>(
    statement: &Statement,
    a: Found<'a>,
    b: Option<Found<'a>>,
) -> Result<Selected<'a>, NoFigures> {
    let over = statement.relation.value.quantity.over();
    let reasons = |data: &[Datum]| data.iter().map(|datum| why_not(datum.result)).collect();
    let mut missing: Vec<String> = reasons(&a.failed);
    let mut not_measured = a.not_measured;
    let mut left_out: Vec<String> = reasons(&a.unsupported);
    let mut pairs = Vec::new();
    match statement.b.as_ref().zip(b) {
        None => pairs.extend(a.data.into_iter().map(|a| DatumPair { a, b: None })),
        Some((side, b)) => {
            missing.extend(reasons(&b.failed));
            not_measured.extend(b.not_measured);
            for a in a.data {
                let fits = |b: &&Datum| is_partner(&a, b, side, &statement.a, over);
                let partners = b.data.iter().filter(fits);
                let of_a: Vec<DatumPair> =
                    partners.map(|b| DatumPair { a: a.clone(), b: Some(b.clone()) }).collect();
                let lacking: Vec<&Datum> = b.unsupported.iter().filter(fits).collect();
                left_out.extend(lacking.iter().map(|datum| why_not(datum.result)));
                let has_none =
                    of_a.is_empty() && lacking.is_empty() && !b.failed.iter().any(|b| fits(&b));
                if has_none {
                    let (a, b) = (a.result.label(), &side.case.value);
                    not_measured.push(format!("{a} has no counterpart in {b}"));
                }
                pairs.extend(of_a);
            }
        }
    }
    left_out.sort();
    left_out.dedup();
    let is_incomplete = !not_measured.is_empty();
    missing.extend(not_measured);
    if pairs.is_empty() {
        let why = missing.into_iter().chain(left_out).next().unwrap_or_default();
        return Err(NoFigures { why, is_incomplete });
    }
    let groups = grouped(pairs, over)?;
    Ok(Selected { groups, missing, left_out, is_incomplete })
}

/// Whether `b` is a counterpart of `a`: of the same run if the sides name no system, with the same values of all parameters that
/// side `b` does not give itself.
fn is_partner(a: &Datum, b: &Datum, side: &Side, side_of_a: &Side, over: Option<&str>) -> bool {
    let same_run = std::ptr::eq(a.document, b.document);
    (same_run || !is_same_system(side, side_of_a))
        && !is_itself(a, b)
        && has_params_of(a, b, side, over)
}

/// Whether two data are one figure.
pub(super) fn is_itself(a: &Datum, b: &Datum) -> bool {
    std::ptr::eq(a.result, b.result) && a.count == b.count
}

/// Whether `b` has the values that `a` has of all parameters that side `b` does not give itself.
pub(super) fn has_params_of(a: &Datum, b: &Datum, side: &Side, over: Option<&str>) -> bool {
    b.point.params.iter().all(|(name, value)| {
        let is_own = side.params.contains_key(name) && over != Some(name);
        let of_a = a.point.params.get(name);
        is_own || of_a.is_none_or(|of_a| same_value(of_a, value, Kilo::Either))
    })
}

/// The pairs grouped by the values of all parameters except that of the relation.
fn grouped<'a>(pairs: Vec<DatumPair<'a>>, over: Option<&str>) -> Result<Vec<Group<'a>>, NoFigures> {
    let Some(over) = over else {
        let alone = |pair| Group { pairs: vec![(0.0, pair)], ranking: None };
        return Ok(pairs.into_iter().map(alone).collect());
    };
    type Params = BTreeMap<String, String>;
    let key_of = |datum: &Datum| {
        let mut params = datum.result.params.clone();
        params.remove(over);
        params
    };
    let mut groups: BTreeMap<(Params, Params), Vec<(f64, DatumPair)>> = BTreeMap::new();
    for pair in pairs {
        let x = pair.a.result.params.get(over).and_then(|value| parse_x(value));
        let Some(x) = x else {
            let label = pair.a.result.label();
            return Err(NoFigures::without(format!("{over} of {label} is not a number")));
        };
        let key = (key_of(&pair.a), pair.b.as_ref().map(key_of).unwrap_or_default());
        groups.entry(key).or_default().push((x, pair));
    }
    for pairs in groups.values_mut() {
        pairs.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        pairs.dedup_by(|(one, _), (other, _)| one == other);
    }
    groups.retain(|_, pairs| pairs.len() > 1);
    match groups.is_empty() {
        true => {
            let why = format!("fewer than two values of {over} were measured");
            Err(NoFigures::not_measured(why))
        }
        false => Ok(groups.into_values().map(|pairs| Group { pairs, ranking: None }).collect()),
    }
}

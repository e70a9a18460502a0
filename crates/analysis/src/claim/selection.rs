//! Finds the figures of a claim in the runs.

use std::collections::{BTreeMap, BTreeSet};

use results::{CaseResult, Document, Outcome};

use super::location::Located;
use super::model::{Side, Statement};
use super::per_op;
use super::unit::{parse_x, same_value};
use crate::scope::Points;

/// A figure of a run.
#[derive(Debug, Clone)]
pub(super) struct Datum<'a> {
    /// The run.
    pub(super) document: &'a Document,
    /// The result; of a count per operation, the one that has it.
    pub(super) result: &'a CaseResult,
    /// The count per operation, if that is the figure.
    pub(super) count: Option<f64>,
    /// Why its point gets no verdict.
    pub(super) held_back: Option<String>,
    /// Whether that is only because the rate is a lower bound.
    pub(super) is_lower_bound: bool,
}

/// A figure of side `a`, with its counterpart of side `b` if the claim has one.
#[derive(Debug, Clone)]
pub(super) struct Pair<'a> {
    pub(super) a: Datum<'a>,
    pub(super) b: Option<Datum<'a>>,
}

/// The figures that are compared, for one combination of the values of the open parameters.
#[derive(Debug, Clone)]
pub(super) struct Group<'a> {
    /// One for each value of the parameter that the relation is over, ascending; just one if it is over none.
    pub(super) pairs: Vec<(f64, Pair<'a>)>,
}

/// What a claim compares, and what is missing from it.
#[derive(Debug, Clone, Default)]
pub(super) struct Selected<'a> {
    pub(super) groups: Vec<Group<'a>>,
    /// Points that have no figure although the system has the case: why.
    pub(super) missing: Vec<String>,
}

/// Finds the figures of a statement in runs, each of one system.
///
/// # Errors
/// What is missing, if nothing can be compared.
pub(super) fn select<'a>(
    statement: &Statement,
    documents: &'a [Document],
) -> Result<Selected<'a>, String> {
    let over = statement.relation.value.quantity.over();
    let (a, mut missing) = found(&statement.a, documents)?;
    let mut pairs = Vec::new();
    let mut without = Vec::new();
    match &statement.b {
        None => pairs.extend(a.into_iter().map(|a| Pair { a, b: None })),
        Some(side) => {
            let (b, missing_of_b) = found(side, documents)?;
            missing.extend(missing_of_b);
            for a in a {
                let fits = |b: &&Datum| is_partner(&a, b, side, &statement.a, over);
                let partners: Vec<Pair> = b
                    .iter()
                    .filter(fits)
                    .map(|b| Pair { a: a.clone(), b: Some(b.clone()) })
                    .collect();
                if partners.is_empty() {
                    without.push(format!(
                        "{} has no counterpart in {}",
                        a.result.label(),
                        side.case.value
                    ));
                }
                pairs.extend(partners);
            }
        }
    }
    if pairs.is_empty() {
        return Err(without.into_iter().chain(missing).next().unwrap_or_default());
    }
    missing.extend(without);
    let groups = grouped(pairs, over)?;
    Ok(Selected { groups, missing })
}

/// The figures of a side, and why others of its points have none.
fn found<'a>(
    side: &Side,
    documents: &'a [Document],
) -> Result<(Vec<Datum<'a>>, Vec<String>), String> {
    let of_system: Vec<&Document> = documents
        .iter()
        .filter(|document| side.system.as_ref().is_none_or(|name| is_system(document, &name.value)))
        .collect();
    if let (Some(name), true) = (&side.system, of_system.is_empty()) {
        return Err(format!("the system {:?} was not measured", name.value));
    }
    let judged: Vec<&Document> =
        of_system.iter().copied().filter(|document| document.emulated().is_none()).collect();
    if let (Some(document), true) = (of_system.first(), judged.is_empty()) {
        let why = document.emulated().unwrap_or_default();
        return Err(format!("the times of {} are not judged: {why}", name_of(document)));
    }
    let document = judged.iter().find(|document| rows(side, document).next().is_some());
    let Some(document) = document else { return Err(why_absent(side, &judged)) };
    let points = Points::of(&[document]);
    let (mut data, mut missing, mut unsupported) = (Vec::new(), Vec::new(), None);
    for (result, count) in rows(side, document) {
        match result.outcome {
            Outcome::Measured => data.push(Datum {
                document,
                result,
                count,
                held_back: points.held_back(result),
                is_lower_bound: points.is_lower_bound(result),
            }),
            Outcome::Unsupported => unsupported = Some(why_not(result)),
            _ => missing.push(why_not(result)),
        }
    }
    match data.is_empty() {
        true => Err(missing.into_iter().next().or(unsupported).unwrap_or_default()),
        false => Ok((data, missing)),
    }
}

/// The results that a side selects, of the first run that has any, with the count where it is one per operation. They may be of
/// points that could not be measured.
///
/// # Errors
/// Why there are none.
pub(crate) fn figures_of_side<'a>(
    side: &Side,
    documents: &'a [Document],
) -> Result<Vec<(&'a CaseResult, Option<f64>)>, String> {
    let is_meant = |document: &&Document| {
        side.system.as_ref().is_none_or(|name| is_system(document, &name.value))
    };
    let of_system: Vec<&Document> = documents.iter().filter(is_meant).collect();
    if let (Some(name), true) = (&side.system, of_system.is_empty()) {
        return Err(format!("the system {:?} was not measured", name.value));
    }
    let document = of_system.iter().find(|document| rows(side, document).next().is_some());
    let document = document.ok_or_else(|| why_absent(side, &of_system))?;
    Ok(rows(side, document).collect())
}

impl Side {
    /// Whether it selects a point of this case with these parameters.
    pub fn selects(&self, case: &str, params: &BTreeMap<String, String>) -> bool {
        let has = |(name, values): (&String, &Located<Vec<String>>)| {
            let own = params.get(name);
            own.is_some_and(|own| values.value.iter().any(|value| same_value(value, own)))
        };
        self.case.value == case && self.params.iter().all(has)
    }
}

fn why_not(result: &CaseResult) -> String {
    let reason = result.reason.as_deref().unwrap_or("no reason given");
    format!("{} is {}: {reason}", result.label(), result.outcome.word())
}

/// Why no run has a figure of this side.
fn why_absent(side: &Side, documents: &[&Document]) -> String {
    let (case, metric) = (&side.case.value, &side.metric.value);
    let of_case = |document: &&Document| document.results.iter().any(|result| &result.case == case);
    let missing_here = cases::find(case).and_then(|case| case.missing_here());
    let params: BTreeMap<String, String> = side
        .params
        .iter()
        .map(|(name, values)| (name.clone(), values.value.join(" or ")))
        .collect();
    let label = results::label(case, &params);
    let only_by = cases::find(case).and_then(cases::only_by);
    match (documents.iter().any(of_case), missing_here, only_by) {
        (true, ..) => format!("{metric} of {label} was not measured"),
        (false, Some(reason), _) => format!("{case} is missing: {reason}"),
        (false, None, Some(command)) => format!("{case} was not measured; `{command}` measures it"),
        (false, None, None) => format!("{case} was not measured"),
    }
}

/// The results of a run that a side selects; a count per operation is taken from the result of the time.
fn rows<'a>(
    side: &Side,
    document: &'a Document,
) -> impl Iterator<Item = (&'a CaseResult, Option<f64>)> {
    let (case, metric) = (side.case.value.clone(), side.metric.value.clone());
    let params = side.params.clone();
    let has_params = move |result: &CaseResult| {
        params.iter().all(|(name, values)| {
            let own = result.params.get(name);
            own.is_some_and(|own| values.value.iter().any(|value| same_value(value, own)))
        })
    };
    let of_case = move |result: &&CaseResult| result.case == case && has_params(result);
    let is_own = document.results.iter().any(|r| r.case == side.case.value && r.metric == metric);
    document.results.iter().filter(of_case).filter_map(move |result| {
        if result.metric == metric {
            return Some((result, None));
        }
        let is_count = !is_own && per_op::is_count(&metric);
        let has_counts = is_count && result.metric == measure::TIME.name;
        let counts = result.per_op.as_ref().filter(|_| has_counts)?;
        Some((result, Some(per_op::count(counts, &metric)?)))
    })
}

/// Whether `b` is a counterpart of `a`: of the same run if the sides name no system, with the same values of all parameters
/// that side `b` does not give itself.
fn is_partner(a: &Datum, b: &Datum, side: &Side, side_of_a: &Side, over: Option<&str>) -> bool {
    let same_side = side.system.as_ref().map(|name| &name.value)
        == side_of_a.system.as_ref().map(|name| &name.value);
    let same_run = std::ptr::eq(a.document, b.document);
    let is_itself = std::ptr::eq(a.result, b.result) && a.count == b.count;
    let has_value = |(name, value): (&String, &String)| {
        let is_own = side.params.contains_key(name) && over != Some(name);
        let of_a = a.result.params.get(name);
        is_own || of_a.is_none_or(|of_a| same_value(of_a, value))
    };
    (same_run || !same_side) && !is_itself && b.result.params.iter().all(has_value)
}

/// The pairs by the values of all parameters but the one that the relation is over.
fn grouped<'a>(pairs: Vec<Pair<'a>>, over: Option<&str>) -> Result<Vec<Group<'a>>, String> {
    let Some(over) = over else {
        return Ok(pairs.into_iter().map(|pair| Group { pairs: vec![(0.0, pair)] }).collect());
    };
    type Params = BTreeMap<String, String>;
    let key_of = |datum: &Datum| {
        let mut params = datum.result.params.clone();
        params.remove(over);
        params
    };
    let mut groups: BTreeMap<(Params, Params), Vec<(f64, Pair)>> = BTreeMap::new();
    for pair in pairs {
        let x = pair.a.result.params.get(over).and_then(|value| parse_x(value));
        let Some(x) = x else {
            return Err(format!("{over} of {} is not a number", pair.a.result.label()));
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
        true => Err(format!("fewer than two values of {over} were measured")),
        false => Ok(groups.into_values().map(|pairs| Group { pairs }).collect()),
    }
}

/// Whether a claim names the system of this run so: as the user did, or by its operating system.
pub(crate) fn is_system(document: &Document, name: &str) -> bool {
    const NATIVE: &str = "native";
    let os = || fact(document, "os").is_some_and(|os| os.eq_ignore_ascii_case(name));
    match document.system() {
        Some(own) if own != NATIVE => own == name,
        _ => name == NATIVE || os(),
    }
}

/// The system of a run, for messages.
pub(super) fn name_of(document: &Document) -> String {
    let name = document.system().or_else(|| fact(document, "os"));
    name.unwrap_or("the system").to_owned()
}

fn fact<'a>(document: &'a Document, key: &str) -> Option<&'a str> {
    document.machine.get(key).and_then(|value| value.as_str())
}

/// The names of the systems of these runs, each once.
pub(super) fn systems(documents: &[Document]) -> BTreeSet<String> {
    documents.iter().map(name_of).collect()
}

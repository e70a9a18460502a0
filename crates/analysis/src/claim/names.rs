//! Checks the names of claims: cases, parameters and their values, metrics and units.
//!
//! A name is known if a case of this oscost has it, or one of the given documents, which another version may have written.

use catalog::{Case, Param, Takes};
use measure::count::{parse_count, parse_duration, parse_size};
use results::{CaseResult, Document};

use super::location::{FileError, Located, Location};
use super::model::{Claim, Content, Side, Statement};
use super::per_op;
use super::relation::{Limit, Quantity};
use super::unit::amount_in;
use crate::param_value::{Kilo, parse_x, same_value};

/// Minimum similarity of a name that is suggested.
const SIMILAR: f64 = 0.8;

/// Checks all names of these claims.
///
/// # Errors
/// The first name that neither this oscost nor a document has.
pub fn check_names(claims: &[Claim], documents: &[Document]) -> Result<(), FileError> {
    for claim in claims {
        if let Content::Statement(statement) = &claim.content {
            check_statement(statement, documents)?;
        }
    }
    Ok(())
}

/// Checks the names of a side by itself.
///
/// # Errors
/// The first name that this oscost does not have.
pub(crate) fn check_side(side: &Side) -> Result<(), FileError> {
    let known = Known::of(side, &[])?;
    known.check_params()?;
    known.unit().map(drop)
}

fn check_statement(statement: &Statement, documents: &[Document]) -> Result<(), FileError> {
    let relation = &statement.relation;
    let over = relation.value.quantity.over();
    let sides = std::iter::once(&statement.a).chain(&statement.b);
    let mut units = Vec::new();
    for side in sides {
        let known = Known::of(side, documents)?;
        known.check_params()?;
        if let Some(over) = over {
            known.check_over(over, relation.at)?;
        }
        units.push(known.unit()?);
    }
    match &units[..] {
        // Only the unit without `/op` counts: the step of a clock can be compared with the time of an operation.
        [of_a, of_b] if per_operation(of_a) != per_operation(of_b) => {
            let at = statement.b.as_ref().map_or(relation.at, |b| b.metric.at);
            Err(FileError::new(at, format!("a is in {of_a} and b in {of_b}: they have no ratio")))
        }
        [unit, ..] => check_limits(statement, unit),
        [] => Ok(()),
    }
}

/// A unit without `/op`.
fn per_operation(unit: &str) -> &str {
    unit.strip_suffix("/op").unwrap_or(unit)
}

/// Checks the units of the relation's limits.
fn check_limits(statement: &Statement, unit: &str) -> Result<(), FileError> {
    let relation = &statement.relation;
    let region = &relation.value.region;
    let number = |limit: &Limit| {
        match &relation.value.quantity {
        Quantity::Value => amount_in(limit, unit),
        Quantity::Crossing { over, .. } => limit_x(limit, statement, over).ok_or_else(|| {
            let unit = limit.unit.as_deref().unwrap_or_default();
            format!("{unit:?} is no unit of {over}: ns, us, ms or s for a duration, k or none for a count")
        }),
        Quantity::Ratio | Quantity::Slope { .. } | Quantity::Steps { .. } => Ok(limit.number),
    }
    };
    let checked = |limit: &Option<Limit>| limit.as_ref().map(number).transpose();
    let low_and_high = checked(&region.low).and_then(|low| Ok((low, checked(&region.high)?)));
    match low_and_high {
        Err(problem) => Err(FileError::new(relation.at, problem)),
        Ok((Some(low), Some(high))) if low > high => {
            Err(FileError::new(relation.at, "its lower end is above its upper end"))
        }
        Ok(_) => Ok(()),
    }
}

/// A limit of a crossing over the parameter `over` as a number, on the scale of [`parse_x`].
pub(super) fn limit_x(limit: &Limit, statement: &Statement, over: &str) -> Option<f64> {
    match limit.unit.as_deref() {
        None => Some(limit.number),
        Some("k" | "K") => Some(limit.number * Kilo::of(&statement.a.case.value, over).factor()),
        Some(unit) => parse_x(&format!("1{unit}")).map(|scale| scale * limit.number),
    }
}

/// Known facts about the case of a side.
struct Known<'a> {
    side: &'a Side,
    case: Option<&'static Case>,
    /// The results of the case in the documents.
    results: Vec<&'a CaseResult>,
}

impl<'a> Known<'a> {
    fn of(side: &'a Side, documents: &'a [Document]) -> Result<Self, FileError> {
        let case = catalog::find(&side.case.value);
        let results = documents.iter().flat_map(|document| &document.results);
        let results: Vec<_> = results.filter(|result| result.case == side.case.value).collect();
        if case.is_none() && results.is_empty() {
            let name = &side.case.value;
            let hint = suggestion(name, catalog::all().iter().map(|case| case.label()));
            let problem = format!("no case is named {name:?}{hint}; `oscost list` shows all cases");
            return Err(FileError::new(side.case.at, problem));
        }
        Ok(Self { side, case, results })
    }

    fn param(&self, name: &str) -> Option<&'static Param> {
        self.case?.params.iter().find(|param| param.name == name)
    }

    fn is_param(&self, name: &str) -> bool {
        self.param(name).is_some() || self.results.iter().any(|r| r.params.contains_key(name))
    }

    fn check_params(&self) -> Result<(), FileError> {
        self.side.params.iter().try_for_each(|(name, values)| self.check_param(name, values))
    }

    fn check_param(&self, name: &str, values: &Located<Vec<String>>) -> Result<(), FileError> {
        if !self.is_param(name) {
            return Err(FileError::new(values.at, self.no_param(name)));
        }
        let measured = |value: &str| {
            let kilo = Kilo::of(&self.side.case.value, name);
            let is_it = |own: &String| same_value(own, value, kilo);
            self.results.iter().any(|result| result.params.get(name).is_some_and(is_it))
        };
        let Some(param) = self.param(name) else { return Ok(()) };
        for value in values.value.iter().filter(|value| !measured(value)) {
            if let Err(problem) = check_value(param, value) {
                let problem = format!("{name} cannot be {value:?}: {problem}");
                return Err(FileError::new(values.at, problem));
            }
        }
        Ok(())
    }

    fn no_param(&self, name: &str) -> String {
        let mut names: Vec<&str> =
            self.case.iter().flat_map(|case| case.params).map(|p| p.name).collect();
        names.extend(
            self.results.iter().flat_map(|result| result.params.keys().map(String::as_str)),
        );
        names.sort_unstable();
        names.dedup();
        let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!("{} has no parameter {name:?}: it has {has}", self.side.case.value)
    }

    /// Checks that the parameter of a relation is left open, or has several values.
    fn check_over(&self, over: &str, at: Location) -> Result<(), FileError> {
        if !self.is_param(over) {
            return Err(FileError::new(at, self.no_param(over)));
        }
        let Some(Located { value: values, at }) = self.side.params.get(over) else { return Ok(()) };
        let problem = match values.iter().find(|value| parse_x(value).is_none()) {
            _ if values.len() < 2 => {
                format!("the relation is over {over}: it needs several values")
            }
            Some(value) => format!("{value:?} is no count and no duration"),
            None => return Ok(()),
        };
        Err(FileError::new(*at, problem))
    }

    /// The unit of the side's metric.
    fn unit(&self) -> Result<String, FileError> {
        let name = &self.side.metric.value;
        let of_case = catalog::metric(&self.side.case.value, name).filter(|_| self.case.is_some());
        if let Some(metric) = of_case {
            return Ok(metric.unit.to_owned());
        }
        if let Some(result) = self.results.iter().find(|result| &result.metric == name) {
            return Ok(result.unit.clone());
        }
        if per_op::is_count(name) {
            return Ok(per_op::UNIT.to_owned());
        }
        let mut names = vec![measure::TIME.name.to_owned()];
        names.extend(self.case.iter().flat_map(|case| case.metrics).map(|m| m.name.to_owned()));
        names.extend(self.results.iter().map(|result| result.metric.clone()));
        names.extend(per_op::NAMES.map(str::to_owned));
        let mut seen = std::collections::BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        let (case, has) = (&self.side.case.value, names.join(", "));
        let problem = format!("{case} has no metric {name:?}: it has {has}");
        Err(FileError::new(self.side.metric.at, problem))
    }
}

/// Checks the value of a parameter. Values that depend on the machine are checked when a run is planned.
fn check_value(param: &Param, value: &str) -> Result<(), String> {
    match param.takes {
        Takes::Words(further) => {
            let mut known: Vec<&str> = [param.default, param.full, further].concat();
            let mut seen = std::collections::BTreeSet::new();
            known.retain(|word| seen.insert(*word));
            match known.contains(&value) {
                true => Ok(()),
                false => Err(format!("choose among {}", known.join(", "))),
            }
        }
        Takes::Count(_) => {
            parse_count(value).map(drop).map_err(|error| format!("it {}", error.problem()))
        }
        Takes::Size(_) => {
            parse_size(value).map(drop).map_err(|error| format!("it {}", error.problem()))
        }
        Takes::Footprint(_) | Takes::CpuPair | Takes::Directory | Takes::ServerWork => Ok(()),
        Takes::Work(further) if value == "none" || further.contains(&value) => Ok(()),
        Takes::Length | Takes::Work(_) => {
            parse_duration(value).map(drop).map_err(|error| format!("it {}", error.problem()))
        }
    }
}

/// A suggestion such as ` (did you mean lock/futex?)`, or an empty text.
fn suggestion(name: &str, known: impl Iterator<Item = String>) -> String {
    let ranked = known.map(|label| (strsim::jaro_winkler(name, &label), label));
    match ranked.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((likeness, label)) if likeness >= SIMILAR => format!(" (did you mean {label}?)"),
        _ => String::new(),
    }
}

//! Results of one or several runs as a table: the values of a dimension are its columns, and the results that are equal in
//! everything else are a row.
//!
//! Between systems, operations with different names are matched: those of [`catalog::counterparts`], and those that the user
//! has paired ([`Renaming`]).

use std::collections::{BTreeMap, BTreeSet};

use catalog::counterparts;
use measure::{Params, TIME};
use results::{CaseResult, Direction, Document, Outcome, PointKey};
use thiserror::Error;

use crate::dimension::{Condition, Dimension, Selection, system_name};
use crate::scope::compared;

/// Definition of a comparison.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Question {
    /// Results that are compared.
    pub at: Selection,
    /// Cases with different names that are matched.
    pub map: Vec<Renaming>,
    /// Value with which the others are compared; if `None`, that of the first run, or the one with the most figures.
    pub base: Option<String>,
}

/// A pair `OLD=NEW`: the case `OLD` in the base is matched with the case `NEW` in the other columns. A column that has only one
/// of them uses it on both sides. Between runs each may be a point with parameters ([`mapped`](crate::mapped)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renaming {
    /// Name in the base.
    pub old: String,
    /// Name in the other columns.
    pub new: String,
}

impl Renaming {
    /// Parses `OLD=NEW`, where each is a name `area/name`, or a point `area/name{parameter=value}`.
    ///
    /// # Errors
    /// [`TableError::NoRenaming`] for any other text.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let is_case = |name: &str| {
            let parts = name.split_once('/');
            parts.is_some_and(|(area, name)| !area.is_empty() && !name.is_empty())
        };
        let mut open = 0;
        let middle = text.char_indices().find(|(_, c)| {
            open += i32::from(*c == '{') - i32::from(*c == '}');
            *c == '=' && open == 0
        });
        let sides = middle.map(|(at, _)| (&text[..at], &text[at + 1..]));
        let sides = sides.filter(|(old, new)| is_case(old) && is_case(new));
        let none = || TableError::NoRenaming(text.to_owned());
        let (old, new) = sides.ok_or_else(none)?;
        Ok(Self { old: old.to_owned(), new: new.to_owned() })
    }

    /// Whether either side has parameters.
    pub fn has_params(&self) -> bool {
        self.old.contains('{') || self.new.contains('{')
    }
}

/// Reason why there is no table.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TableError {
    /// The text is not `OLD=NEW`.
    #[error("{0:?} is not OLD=NEW with two cases, such as lock/sysv-sem=lock/futex")]
    NoRenaming(String),
    /// The dimension cannot form columns.
    #[error("figures of different metrics cannot be compared: choose one with --at metric=NAME")]
    ByMetric,
    /// No result was selected.
    #[error("no result is selected: {0}")]
    Nothing(String),
    /// No result has the dimension.
    #[error("no selected result has {dimension:?}; the results have {known}")]
    NoValue {
        /// The dimension.
        dimension: String,
        /// Dimensions that are possible.
        known: String,
    },
    /// There is only one column.
    #[error("all selected results have {dimension} {value}: there is nothing to compare it with")]
    OneColumn {
        /// The dimension.
        dimension: String,
        /// Only value of the dimension.
        value: String,
    },
    /// The base is not among the columns.
    #[error("{base} is not a value of {dimension}: the values are {known}")]
    NoBase {
        /// Requested base.
        base: String,
        /// The dimension.
        dimension: String,
        /// Names of the columns.
        known: String,
    },
    /// Two runs form the same column.
    #[error(
        "the runs {first} and {second} have the same {dimension} {value}: compare by run, or choose one with --at run=ID"
    )]
    TwoRuns {
        /// The dimension.
        dimension: String,
        /// Value that both runs have.
        value: String,
        /// Id of one run.
        first: String,
        /// Id of the other run.
        second: String,
    },
    /// The columns would be cases of several areas.
    #[error(
        "cases of one area can be compared, and these are of {0}: choose one, such as --at case=lock"
    )]
    SeveralAreas(String),
}

/// A table of results.
#[derive(Debug, Clone)]
pub struct Table<'a> {
    /// Dimension whose values are the columns.
    pub by: Dimension,
    /// Runs to which the cells refer.
    pub runs: &'a [Document],
    /// Values of the columns, the base first.
    pub columns: Vec<String>,
    /// Rows, in the order of the results.
    pub rows: Vec<Row<'a>>,
    /// Parameters that the selection fixes at one value, which labels therefore need not repeat.
    pub fixed: Params,
}

/// Results that are equal in everything but the dimension of the columns.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    /// Name of the case, `area/name`; `area/*` if the columns are cases.
    pub case: String,
    /// Parameters, without that of the columns.
    pub params: Params,
    /// Index of the run to which all cells belong; `None` if the columns are runs.
    pub run: Option<usize>,
    /// The metric.
    pub metric: String,
    /// Unit of the metric.
    pub unit: String,
    /// Better direction of the metric.
    pub better: Direction,
    /// One cell for each column.
    pub cells: Vec<Cell<'a>>,
}

/// One cell of a table.
#[derive(Debug, Clone)]
pub enum Cell<'a> {
    /// The column has a result, which may be a failure with its reason.
    Found(Found<'a>),
    /// The column has no result, because the run lacks the point.
    NotMeasured,
}

/// A result and its run.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// Index of the run in [`Table::runs`].
    pub run: usize,
    /// The result.
    pub result: &'a CaseResult,
}

impl<'a> Cell<'a> {
    /// The result, if there is one.
    pub fn found(&self) -> Option<Found<'a>> {
        match self {
            Self::Found(found) => Some(*found),
            Self::NotMeasured => None,
        }
    }

    /// The result, if it was measured.
    pub fn measured(&self) -> Option<Found<'a>> {
        self.found().filter(|found| found.result.outcome == Outcome::Measured)
    }

    /// Reason why the cell has no figure; `None` if it has one.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::NotMeasured => Some("not measured".to_owned()),
            Self::Found(found) => match found.result.outcome {
                Outcome::Measured => None,
                outcome => {
                    let reason = found.result.reason.as_deref().unwrap_or("no reason given");
                    Some(format!("{}: {reason}", outcome.word()))
                }
            },
        }
    }
}

impl Row<'_> {
    /// The point of the row, without the parameters that the selection fixes. If the cells belong to one of several runs, the
    /// point has the run's system as a parameter.
    pub fn point(&self, table: &Table) -> PointKey {
        let mut params = self.params.clone();
        params.retain(|key, value| table.fixed.get(key) != Some(value));
        if let Some(run) = self.run.filter(|_| table.runs.len() > 1) {
            let (key, value) = table.name_of_run(run);
            params.insert(key.to_owned(), value);
        }
        PointKey { case: self.case.clone(), params }
    }

    /// The area of the row.
    pub fn area(&self) -> &str {
        self.case.split('/').next().unwrap_or(&self.case)
    }
}

impl Table<'_> {
    /// The key and value that distinguish a run from the others: its system if no other has the same, otherwise its id.
    pub fn name_of_run(&self, run: usize) -> (&'static str, String) {
        let system = system_name(&self.runs[run]);
        match self.runs.iter().filter(|other| system_name(other) == system).count() {
            1 => ("system", system),
            _ => ("run", self.runs[run].run.id.clone()),
        }
    }
}

/// Properties that the results of a row share: case, parameters, metric, and the run if runs do not form the columns. The unit is
/// not part of the key, so that a changed unit is detected instead of looking like a missing result.
type Key = (String, Params, String, Option<usize>);

/// A table of the results of `runs` with a column for each value of `by`, without derived results (as in
/// [`compare`](crate::compare)) and without rows that no column supports. Within runs, results without a counterpart in another
/// column are left out.
///
/// # Errors
/// An error if nothing is selected, or the columns cannot be formed.
pub fn tabulate<'a>(
    runs: &'a [Document],
    by: &Dimension,
    question: &Question,
) -> Result<Table<'a>, TableError> {
    if *by == Dimension::Metric {
        return Err(TableError::ByMetric);
    }
    let chosen = chosen(runs, by, question)?;
    let columns = columns(by, runs, &chosen, question)?;
    let at = |value: &str| columns.iter().position(|column| column == value);
    let mut rows: Vec<(Key, Vec<Candidates>)> = Vec::new();
    let mut known: BTreeMap<Key, usize> = BTreeMap::new();
    for (found, value) in chosen {
        let Some(column) = at(&value) else { continue };
        let (case, params, rank) = identity(by, found.result, column == 0, &question.map);
        let run = (!by.is_of_runs()).then_some(found.run);
        let key = (case, params, found.result.metric.clone(), run);
        let row = *known.entry(key.clone()).or_insert_with(|| {
            rows.push((key, vec![Vec::new(); columns.len()]));
            rows.len() - 1
        });
        rows[row].1[column].push((rank, found));
    }
    let rows: Vec<Row> = rows.into_iter().filter_map(|(key, cells)| row(by, key, cells)).collect();
    if rows.is_empty() {
        let why = format!("no two results differ in {by} only");
        return Err(TableError::Nothing(why));
    }
    Ok(Table { by: by.clone(), runs, columns, rows, fixed: fixed(&question.at) })
}

/// Parameters with exactly one value in the selection.
fn fixed(at: &Selection) -> Params {
    let values = at.0.iter().filter_map(|condition| match &condition.dimension {
        Dimension::Param(name) => Some((name, &condition.value)),
        _ => None,
    });
    let values: Vec<(&String, &String)> = values.collect();
    let is_only = |(name, _): &&(&String, &String)| {
        values.iter().filter(|(other, _)| other == name).count() == 1
    };
    let only = values.iter().filter(is_only);
    only.map(|(name, value)| ((*name).clone(), (*value).clone())).collect()
}

/// Candidates for one cell, each with a preference: the lowest one is used.
type Candidates<'a> = Vec<(usize, Found<'a>)>;

fn row<'a>(by: &Dimension, key: Key, candidates: Vec<Candidates<'a>>) -> Option<Row<'a>> {
    let is_missing = |found: &Found| found.result.outcome != Outcome::Measured;
    let best = |all: Candidates<'a>| {
        let best = all.into_iter().min_by_key(|(rank, found)| (is_missing(found), *rank));
        best.map_or(Cell::NotMeasured, |(_, found)| Cell::Found(found))
    };
    let cells: Vec<Cell> = candidates.into_iter().map(best).collect();
    let found: Vec<Found> = cells.iter().filter_map(Cell::found).collect();
    let supported = |found: &Found| found.result.outcome != Outcome::Unsupported;
    let has_counterpart = by.is_of_runs() || found.iter().filter(|f| supported(f)).count() > 1;
    if !found.iter().any(supported) || !has_counterpart {
        return None;
    }
    let any = found.iter().find(|found| !is_missing(found)).unwrap_or(&found[0]).result;
    let (case, params, metric, run) = key;
    let (unit, better) = (any.unit.clone(), any.better);
    Some(Row { case, params, run, metric, unit, better, cells })
}

/// The selected results, with their values of the dimension.
fn chosen<'a>(
    runs: &'a [Document],
    by: &Dimension,
    question: &Question,
) -> Result<Vec<(Found<'a>, String)>, TableError> {
    let all: Vec<Found> = runs
        .iter()
        .enumerate()
        .flat_map(|(run, document)| compared(document).map(move |result| Found { run, result }))
        .filter(|found| question.at.includes(&runs[found.run], found.result))
        .collect();
    if all.is_empty() {
        return Err(TableError::Nothing(why_nothing(runs, &question.at)));
    }
    let valued = all.iter().filter_map(|found| {
        let value = by.value(&runs[found.run], found.result)?;
        Some((*found, value))
    });
    let valued: Vec<(Found, String)> = valued.collect();
    if valued.is_empty() {
        return Err(TableError::NoValue {
            dimension: by.to_string(),
            known: dimensions(&all, runs),
        });
    }
    one_run_for_each(by, &valued, runs)?;
    one_area(by, &valued)?;
    Ok(valued)
}

/// Which condition excludes all results that those before it leave, and the values that they have instead.
fn why_nothing(runs: &[Document], at: &Selection) -> String {
    let mut left: Vec<(&Document, &CaseResult)> =
        runs.iter().flat_map(|run| compared(run).map(move |result| (run, result))).collect();
    for Condition { dimension, .. } in &at.0 {
        let of_dimension = at.0.iter().filter(|other| other.dimension == *dimension);
        let asked = Selection(of_dimension.cloned().collect());
        let valued = left.iter().filter_map(|(run, result)| dimension.value(run, result));
        let present: BTreeSet<String> = valued.collect();
        left.retain(|(run, result)| asked.includes(run, result));
        if left.is_empty() && !present.is_empty() {
            let asked: Vec<&str> = asked.0.iter().map(|one| one.value.as_str()).collect();
            let asked = asked.join(" or ");
            return format!("none has {dimension} {asked}, but {}", some_of(present));
        }
        if left.is_empty() {
            return format!("none has {dimension:?}", dimension = dimension.to_string());
        }
    }
    "the runs have no results".to_owned()
}

/// Values in ascending order, numbers by size; of many the first ones and how many more there are.
fn some_of(values: BTreeSet<String>) -> String {
    const AT_MOST: usize = 12;
    let mut values: Vec<String> = values.into_iter().collect();
    values.sort_by_key(|value| value.parse::<u64>().unwrap_or(u64::MAX));
    let more = values.len().saturating_sub(AT_MOST);
    values.truncate(AT_MOST);
    let listed = values.join(", ");
    if more == 0 { listed } else { format!("{listed} and {more} more") }
}

/// The dimensions that the results have.
fn dimensions(all: &[Found], runs: &[Document]) -> String {
    let params = all.iter().flat_map(|found| found.result.params.keys().cloned());
    let tags = runs.iter().flat_map(|run| run.run.tags.keys().map(|key| format!("tag.{key}")));
    let mut names: Vec<String> = params.chain(tags).collect();
    names.sort_unstable();
    names.dedup();
    let fixed = ["system", "run", "case"].map(str::to_owned);
    fixed.into_iter().chain(names).collect::<Vec<_>>().join(", ")
}

fn one_run_for_each(
    by: &Dimension,
    valued: &[(Found, String)],
    runs: &[Document],
) -> Result<(), TableError> {
    let mut of_value: BTreeMap<&str, usize> = BTreeMap::new();
    for (found, value) in valued.iter().filter(|_| by.is_of_runs()) {
        let first = *of_value.entry(value).or_insert(found.run);
        if first != found.run {
            return Err(TableError::TwoRuns {
                dimension: by.to_string(),
                value: value.clone(),
                first: runs[first].run.id.clone(),
                second: runs[found.run].run.id.clone(),
            });
        }
    }
    Ok(())
}

fn one_area(by: &Dimension, valued: &[(Found, String)]) -> Result<(), TableError> {
    if *by != Dimension::Case {
        return Ok(());
    }
    let mut areas: Vec<&str> = Vec::new();
    for (_, case) in valued {
        let area = case.split('/').next().unwrap_or(case);
        if !areas.contains(&area) {
            areas.push(area);
        }
    }
    match areas.len() {
        1 => Ok(()),
        _ => Err(TableError::SeveralAreas(areas.join(", "))),
    }
}

/// The values in the order in which they appear, or by size if all are numbers; the base first.
fn columns(
    by: &Dimension,
    runs: &[Document],
    chosen: &[(Found, String)],
    question: &Question,
) -> Result<Vec<String>, TableError> {
    // A run without results, such as of a system that cannot be started, forms a column too.
    let runs = runs.iter().filter(|run| question.at.includes_run(run));
    let mut columns: Vec<(String, usize)> = Vec::new();
    let of_runs = runs.filter_map(|run| by.value_of_run(run)).map(|value| (value, 0));
    let of_results = chosen.iter().map(|(found, value)| {
        (value.clone(), usize::from(found.result.outcome == Outcome::Measured))
    });
    for (value, figures) in of_runs.chain(of_results) {
        match columns.iter_mut().find(|(known, _)| *known == value) {
            Some((_, all)) => *all += figures,
            None => columns.push((value, figures)),
        }
    }
    // A value without any figure forms no column: the system lacks it altogether.
    if columns.iter().filter(|(_, figures)| *figures > 0).count() > 1 && !by.is_of_runs() {
        columns.retain(|(_, figures)| *figures > 0);
    }
    if let [(value, _)] = &columns[..] {
        return Err(TableError::OneColumn { dimension: by.to_string(), value: value.clone() });
    }
    let number = |(value, _): &(String, usize)| value.parse::<f64>().ok();
    if columns.iter().all(|column| number(column).is_some()) {
        columns.sort_by(|a, b| number(a).partial_cmp(&number(b)).expect("numbers"));
    }
    let base = match &question.base {
        Some(base) => {
            columns.iter().position(|(value, _)| is_meant(by, base, value)).ok_or_else(|| {
                let known: Vec<&str> = columns.iter().map(|(value, _)| value.as_str()).collect();
                TableError::NoBase {
                    base: base.clone(),
                    dimension: by.to_string(),
                    known: known.join(", "),
                }
            })?
        }
        None if by.is_of_runs() => 0,
        None => {
            let wins = |value: &String| match by {
                Dimension::Case => times_fastest(value, chosen),
                _ => partners(by, value, chosen),
            };
            let ranks = columns.iter().map(|(value, figures)| (wins(value), *figures));
            let ranks: Vec<(usize, usize)> = ranks.collect();
            ranks.iter().position(|rank| Some(rank) == ranks.iter().max()).unwrap_or(0)
        }
    };
    let base = columns.remove(base);
    columns.insert(0, base);
    Ok(columns.into_iter().map(|(value, _)| value).collect())
}

/// Number of figures of other values that stand beside one of this value: in the same case, at the same other parameters. A value that
/// exists in one area only has none in others.
fn partners(by: &Dimension, value: &str, chosen: &[(Found, String)]) -> usize {
    let key = |found: &Found| {
        let (case, params, _) = identity(by, found.result, false, &[]);
        (case, params, found.result.metric.clone(), found.run)
    };
    let measured = || chosen.iter().filter(|(found, _)| found.result.outcome == Outcome::Measured);
    let own: BTreeSet<_> =
        measured().filter(|(_, other)| other == value).map(|(found, _)| key(found)).collect();
    measured().filter(|(found, other)| other != value && own.contains(&key(found))).count()
}

/// Number of points at which this case has the shortest time: the others are then compared with one that a user would select.
fn times_fastest(case: &str, chosen: &[(Found, String)]) -> usize {
    let times = || {
        let is_time =
            |found: &Found| found.result.metric == TIME.name && found.result.has_interval();
        chosen.iter().map(|(found, _)| *found).filter(is_time)
    };
    let median = |found: &Found| found.result.estimate.map_or(f64::INFINITY, |time| time.median);
    let is_fastest = |own: &Found| {
        let is_same =
            |other: &Found| other.run == own.run && other.result.params == own.result.params;
        let beside: Vec<Found> = times().filter(is_same).collect();
        beside.len() > 1 && beside.iter().all(|other| median(own) <= median(other))
    };
    times().filter(|own| own.result.case == case).filter(is_fastest).count()
}

/// Whether the user's `base` means the value of the dimension; a case may be named without its area, since all cases are of one
/// area.
fn is_meant(by: &Dimension, base: &str, value: &str) -> bool {
    let name = value.split_once('/').map_or(value, |(_, name)| name);
    base == value || (*by == Dimension::Case && base == name)
}

/// The case and the parameters under which a result is matched, and its preference among the results of a cell.
fn identity(
    by: &Dimension,
    result: &CaseResult,
    in_base: bool,
    map: &[Renaming],
) -> (String, Params, usize) {
    let mut params = result.params.clone();
    match by {
        Dimension::Param(name) => drop(params.remove(name)),
        Dimension::Case => {
            let area = result.case.split('/').next().unwrap_or(&result.case);
            return (format!("{area}/*"), params, 0);
        }
        _ => {}
    }
    // The user's pairs take precedence over the built-in ones.
    if let Some(pair) = map.iter().find(|pair| [&pair.old, &pair.new].contains(&&result.case)) {
        let is_preferred = (result.case == pair.old) == in_base;
        return (pair.new.clone(), params, usize::from(!is_preferred));
    }
    // Built-in pairs are used between runs only: within a run, both cases would be in the same column.
    let mut pairs = counterparts().filter(|_| by.is_of_runs());
    if let Some(pair) = pairs.find(|pair| pair.windows.matches(&result.case, &params)) {
        return (pair.unix.case.to_owned(), pair.on_unix(params), 1);
    }
    (result.case.clone(), params, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dimension::Condition;
    use simulated::{document, rounds_of, unsupported};

    fn by(name: &str) -> Dimension {
        Dimension::parse(name).unwrap()
    }

    fn at(conditions: &[&str]) -> Question {
        let all = conditions.iter().map(|text| Condition::parse(text).unwrap());
        Question { at: Selection(all.collect()), ..Question::default() }
    }

    /// The rows as text: label, and the medians or reasons of the cells.
    fn shown(table: &Table) -> Vec<String> {
        let cell = |cell: &Cell| match cell.measured() {
            Some(found) => found.result.estimate.unwrap().median.to_string(),
            None => cell.reason().unwrap(),
        };
        let row = |row: &Row| {
            let cells: Vec<String> = row.cells.iter().map(cell).collect();
            format!("{}: {}", row.point(table), cells.join(" | "))
        };
        table.rows.iter().map(row).collect()
    }

    #[test]
    fn systems_are_columns_and_missing_cells_have_a_reason() {
        let runs = [
            document(
                "native",
                vec![rounds_of("a/x", &[1.0]), rounds_of(("a/y", [("n", "1")]), &[2.0])],
            ),
            document("wine", vec![unsupported("a/x", "no such call"), rounds_of("a/z", &[4.0])]),
        ];
        let table = tabulate(&runs, &by("system"), &Question::default()).unwrap();
        assert_eq!(table.columns, ["native", "wine"]);
        let expected = [
            "a/x: 1 | unsupported: no such call",
            "a/y{n=1}: 2 | not measured",
            "a/z: not measured | 4",
        ];
        assert_eq!(shown(&table), expected);
        let base = Question { base: Some("wine".to_owned()), ..Question::default() };
        assert_eq!(tabulate(&runs, &by("system"), &base).unwrap().columns, ["wine", "native"]);
        let base = Question { base: Some("uml".to_owned()), ..Question::default() };
        let error = tabulate(&runs, &by("system"), &base).unwrap_err().to_string();
        assert_eq!(error, "uml is not a value of system: the values are native, wine");
    }

    #[test]
    fn a_parameter_of_one_run_forms_columns_and_the_rest_is_matched() {
        let runs = [document(
            "native",
            vec![
                rounds_of(("net/answer", [("arch", "fork"), ("connections", "1")]), &[9.0]),
                rounds_of(("net/answer", [("arch", "epoll"), ("connections", "1")]), &[3.0]),
                rounds_of(("net/answer", [("arch", "epoll"), ("connections", "10")]), &[2.0]),
                rounds_of(("net/answer", [("arch", "threads"), ("connections", "10")]), &[4.0]),
                rounds_of(("net/answer", [("arch", "epoll"), ("connections", "99")]), &[1.0]),
                unsupported(
                    ("net/answer", [("arch", "iocp"), ("connections", "10")]),
                    "exists only on Windows",
                ),
                rounds_of("lock/futex", &[1.0]),
            ],
        )];
        let table = tabulate(&runs, &by("arch"), &Question::default()).unwrap();
        // The architecture with the most figures is the base.
        assert_eq!(table.columns, ["epoll", "fork", "threads"]);
        let expected = [
            "net/answer{connections=1}: 3 | 9 | not measured",
            "net/answer{connections=10}: 2 | not measured | 4",
        ];
        assert_eq!(shown(&table), expected);
        let one = tabulate(&runs, &by("arch"), &at(&["connections=10"])).unwrap();
        assert_eq!(shown(&one), ["net/answer: 2 | 4"]);
        let table = tabulate(&runs, &by("connections"), &at(&["arch=epoll"])).unwrap();
        assert_eq!(table.columns, ["1", "10", "99"]);
        assert_eq!(shown(&table), ["net/answer: 3 | 2 | 1"]);
    }

    #[test]
    fn cases_of_one_area_are_columns() {
        let runs = [document(
            "native",
            vec![
                rounds_of(("lock/futex", [("workers", "1")]), &[1.0; 6]),
                rounds_of(("lock/sysv", [("workers", "1")]), &[2.0; 6]),
                rounds_of(("lock/sysv", [("workers", "2")]), &[2.0; 6]),
                rounds_of("clock/x", &[1.0; 6]),
            ],
        )];
        let error = tabulate(&runs, &by("case"), &Question::default()).unwrap_err();
        assert_eq!(error, TableError::SeveralAreas("lock, clock".to_owned()));
        let table = tabulate(&runs, &by("case"), &at(&["case=lock"])).unwrap();
        assert_eq!(table.columns, ["lock/futex", "lock/sysv"], "the fastest is the base");
        assert_eq!(shown(&table), ["lock/*{workers=1}: 1 | 2"]);
        let from_sysv = Question { base: Some("sysv".to_owned()), ..at(&["case=lock"]) };
        let table = tabulate(&runs, &by("case"), &from_sysv).unwrap();
        assert_eq!(table.columns, ["lock/sysv", "lock/futex"]);
    }

    #[test]
    fn within_several_runs_only_results_of_the_same_run_are_matched() {
        let with = |system: &str, of: f64| {
            let results = [("threads", of), ("processes", of + 1.0)];
            let of_place = |(place, ns)| rounds_of(("lock/futex", [("as", place)]), &[ns]);
            document(system, results.map(of_place).to_vec())
        };
        let runs = [with("native", 1.0), with("gvisor", 5.0)];
        let table = tabulate(&runs, &by("as"), &Question::default()).unwrap();
        assert_eq!(
            shown(&table),
            ["lock/futex{system=native}: 1 | 2", "lock/futex{system=gvisor}: 5 | 6"]
        );
    }

    #[test]
    fn counterparts_of_other_systems_are_matched() {
        simulated::areas::install();
        let runs = [
            document(
                "linux",
                vec![
                    rounds_of(("clock/gettimeofday", [("via", "vdso")]), &[25.0]),
                    rounds_of(("clock/gettimeofday", [("via", "syscall")]), &[90.0]),
                    unsupported("clock/query-performance-counter", "exists only on Windows"),
                    rounds_of(
                        ("lock/pthread-mutex", [("as", "threads"), ("workers", "1")]),
                        &[9.0],
                    ),
                ],
            ),
            document(
                "windows",
                vec![
                    unsupported(
                        ("clock/gettimeofday", [("via", "vdso")]),
                        "measured on Linux only",
                    ),
                    rounds_of("clock/query-performance-counter", &[95.0]),
                    rounds_of(
                        ("lock/critical-section", [("as", "threads"), ("workers", "1")]),
                        &[8.0],
                    ),
                ],
            ),
        ];
        let expected = [
            "clock/gettimeofday{via=vdso}: 25 | 95",
            "clock/gettimeofday{via=syscall}: 90 | not measured",
            "lock/pthread-mutex{as=threads,workers=1}: 9 | 8",
        ];
        let table = tabulate(&runs, &by("system"), &Question::default()).unwrap();
        assert_eq!(shown(&table), expected);
    }

    #[test]
    fn a_pair_of_the_user_compares_the_old_case_of_the_base_with_the_new_one() {
        let with = |system: &str, x: f64| {
            let results = vec![
                rounds_of(("lock/sysv-sem", [("workers", "1")]), &[x]),
                rounds_of(("lock/futex", [("workers", "1")]), &[x + 1.0]),
            ];
            document(system, results)
        };
        let runs = [with("old", 10.0), with("new", 20.0)];
        let map = vec![Renaming::parse("lock/sysv-sem=lock/futex").unwrap()];
        let question = Question { map, ..Question::default() };
        let table = tabulate(&runs, &by("system"), &question).unwrap();
        assert_eq!(shown(&table), ["lock/futex{workers=1}: 10 | 21"]);
        for text in ["", "a=b", "lock/futex", "lock/=lock/x", "=lock/x"] {
            assert!(Renaming::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_compared_is_an_error_with_a_remedy() {
        let one = |point| document("native", vec![rounds_of(point, &[1.0])]);
        let error = |runs: &[Document], name: &str, question: &Question| {
            tabulate(runs, &by(name), question).unwrap_err().to_string()
        };
        let any = Question::default();
        let run = [one(("lock/futex", [("workers", "1")]))];
        assert_eq!(
            error(&run, "workers", &any),
            "all selected results have workers 1: there is nothing to compare it with"
        );
        assert_eq!(
            error(&run, "arch", &any),
            "no selected result has \"arch\"; the results have system, run, case, workers"
        );
        assert!(error(&run, "metric", &any).contains("--at metric=NAME"));
        let both = [one(("lock/futex", [("workers", "10")])), run[0].clone()];
        let none = error(&both, "workers", &at(&["case=lock", "workers=2", "workers=3"]));
        assert_eq!(none, "no result is selected: none has workers 2 or 3, but 1, 10");
        let none = error(&both, "workers", &at(&["arch=epoll"]));
        assert_eq!(none, "no result is selected: none has \"arch\"");
        let mut other = one(("lock/futex", [("workers", "1")]));
        other.run.id = "other".to_owned();
        let twice = error(&[run[0].clone(), other], "system", &any);
        let nothing = [run[0].clone(), document("broken", Vec::new())];
        let table = tabulate(&nothing, &by("system"), &any).unwrap();
        assert_eq!(shown(&table), ["lock/futex{workers=1}: 1 | not measured"]);
        assert!(twice.starts_with("the runs native and other have the same system"), "{twice}");
    }

    #[test]
    fn the_base_is_of_the_area_that_has_most_to_compare() {
        let point = |case, arch| rounds_of((case, [("arch", arch)]), &[1.0, 2.0, 3.0]);
        let of_mail = [("loop", 5), ("processes", 1)].map(|(arch, metrics)| {
            (0..metrics).map(move |n| CaseResult {
                metric: format!("metric-{n}"),
                ..point("mail/send", arch)
            })
        });
        let servers = ["epoll", "fork", "threads"].map(|arch| point("net/answer", arch));
        let results = of_mail.into_iter().flatten().chain(servers).collect();
        let runs = [document("linux", results)];
        let table = tabulate(&runs, &by("arch"), &Question::default()).unwrap();
        assert_eq!(table.columns[0], "epoll", "mail has more figures, but fewer pairs");
    }
}

//! Tables of cases that are swept over one parameter, with a row for each value of another: servers or senders by architecture,
//! over numbers of connections.

pub mod blocks;
pub mod failures;
pub mod levels;
pub mod pairs;
pub mod rates;
pub mod wording;

use measure::{Doubt, Metric, Role};
use results::{CaseResult, Estimate, Outcome};

use crate::first_seen;
use crate::footnotes::Reason;
use crate::rows::{COST, ending_words, is_described, measured, reason, reasons};

/// Parameters of the rows and columns of an area's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axes {
    /// Parameter whose values are the rows.
    pub rows: &'static str,
    /// Parameter whose values, all counts, are the columns. Derived results lack it.
    pub columns: &'static str,
}

/// Maximum lengths of names and numbers that tables can show.
const LONGEST_NAME: usize = 16;
const LONGEST_NUMBER: usize = 6;

/// Points of one case that differ only in the parameters of the axes.
pub struct Sweep<'r> {
    /// The case.
    pub case: &'r str,
    /// The axes.
    pub axes: Axes,
    /// Other parameters.
    pub params: Vec<(&'static str, &'r str)>,
    /// Values of the columns, ascending.
    pub levels: Vec<u32>,
    /// Rows that this system supports, in the order of the results.
    pub rows: Vec<SweptRow<'r>>,
    /// Rows that this system does not support, by reason.
    pub missing: Vec<(String, Vec<&'r str>)>,
    /// Results that are derived from several points.
    pub derived: Vec<&'r CaseResult>,
}

/// A row: a point for each level of its sweep.
pub struct SweptRow<'r> {
    /// Value of the parameter of the rows.
    pub name: &'r str,
    /// The points, by level.
    pub points: Vec<Point<'r>>,
}

/// A row at one level; without results if it was not in the run.
#[derive(Default, Clone)]
pub struct Point<'r> {
    results: Vec<&'r CaseResult>,
}

/// Whether `result` is derived from other results of its run.
pub fn is_derived(result: &CaseResult) -> bool {
    let metric = catalog::metric(&result.case, &result.metric);
    metric.is_some_and(|metric| metric.role == Role::Derived)
}

/// Whether these tables can show `result`: it has the parameters of the axes, and others that its case declares.
pub fn is_known(result: &CaseResult, axes: Axes) -> bool {
    let Some(case) = catalog::find(&result.case) else { return false };
    let has = |key: &str| result.params.contains_key(key);
    let is_declared = |key: &String| case.params.iter().any(|param| param.name == key);
    let derived = is_derived(result);
    let is_printable = |(key, value): (&String, &String)| match key == axes.columns {
        true => number(value).is_some(),
        false => is_name(&value.replace(':', "-")),
    };
    is_described(result)
        && has(axes.rows)
        && has(axes.columns) != derived
        && (derived || result.params.keys().all(is_declared))
        && result.params.iter().all(is_printable)
}

/// The value of a parameter, or its default in results that lack it.
pub fn param<'r>(result: &'r CaseResult, key: &str) -> &'r str {
    result.params.get(key).map_or_else(|| usual(&result.case, key), String::as_str)
}

/// The first value that a default run measures; empty if the case does not declare the parameter.
fn usual(case: &str, key: &str) -> &'static str {
    let params = catalog::find(case).map_or(&[][..], |case| case.params);
    let param = params.iter().find(|param| param.name == key);
    param.and_then(|param| param.default.first()).copied().unwrap_or_default()
}

/// Whether a value is short and has only characters that names may have.
pub fn is_name(text: &str) -> bool {
    let usual = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(usual)
}

/// A value as a count; `None` for any other text.
pub fn number(text: &str) -> Option<u32> {
    let is_plain = text.len() <= LONGEST_NUMBER && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|number: &u32| is_plain && *number > 0 && number.to_string() == text)
}

/// Sweeps of `results` of known shapes, by case and by parameters other than those of the axes, in the order of the cases.
pub fn sweeps<'r>(results: &[&'r CaseResult], axes: Axes) -> Vec<Sweep<'r>> {
    type Named<'r> = (&'r str, Vec<(&'static str, &'r str)>);
    let named = |&result: &&'r CaseResult| {
        let params = catalog::find(&result.case).map_or(&[][..], |case| case.params).iter();
        let others = params.filter(|param| ![axes.rows, axes.columns].contains(&param.name));
        let others = others.map(|other| (other.name, param(result, other.name))).collect();
        ((result.case.as_str(), others), result)
    };
    let mut groups = first_seen::grouped(results.iter().map(named));
    let place = |case: &str| catalog::all().iter().position(|known| known.label() == case);
    groups.sort_by_cached_key(|((case, _), _)| place(case));
    let sweep = |((case, params), results): (Named<'r>, Vec<&'r CaseResult>)| {
        Sweep::of(case, axes, params, &results)
    };
    groups.into_iter().map(sweep).collect()
}

impl<'r> Sweep<'r> {
    /// The points among `results` with these other parameters.
    pub fn of(
        case: &'r str,
        axes: Axes,
        params: Vec<(&'static str, &'r str)>,
        results: &[&'r CaseResult],
    ) -> Self {
        let (derived, points): (Vec<&CaseResult>, _) =
            results.iter().copied().partition(|r| is_derived(r));
        let named = |result: &'r CaseResult| {
            let level = number(&result.params[axes.columns]).unwrap_or(0);
            (result.params[axes.rows].as_str(), (level, result))
        };
        let of_row = |(row, results): (&'r str, Vec<(u32, &'r CaseResult)>)| {
            let levels = first_seen::grouped(results).into_iter();
            (row, levels.map(|(level, results)| (level, Point { results })).collect::<Vec<_>>())
        };
        let (missing, existing): (Vec<_>, Vec<_>) =
            first_seen::grouped(points.into_iter().map(named)).into_iter().map(of_row).partition(
                |(_, points)| points.iter().all(|(_, point)| point.unsupported().is_some()),
            );
        let mut levels: Vec<u32> =
            existing.iter().flat_map(|(_, points)| points).map(|(level, _)| *level).collect();
        levels.sort_unstable();
        levels.dedup();
        let row = |(name, points): (&'r str, Vec<(u32, Point<'r>)>)| {
            let of =
                |level: &u32| points.iter().find(|(at, _)| at == level).map(|(_, p)| p.clone());
            SweptRow {
                name,
                points: levels.iter().map(|level| of(level).unwrap_or_default()).collect(),
            }
        };
        let rows = existing.into_iter().map(row).collect();
        Self { case, axes, params, levels, rows, missing: by_reason(missing), derived }
    }

    /// A title with the case, the content of the table and the parameters that differ from their defaults.
    pub fn title(&self, what: &str) -> String {
        let odd = self.params.iter().filter(|(key, value)| *value != usual(self.case, key));
        let odd: Vec<String> = odd.map(|(key, value)| format!("{key}={value}")).collect();
        let odd = if odd.is_empty() { String::new() } else { format!(" ({})", odd.join(", ")) };
        let what = if what.is_empty() { String::new() } else { format!(": {what}") };
        format!("{}{odd}{what}", self.case)
    }

    /// The row with this name.
    pub fn row(&self, name: &str) -> Option<&SweptRow<'r>> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// Whether a point of any shown row was not in the run.
    pub fn has_gaps(&self) -> bool {
        self.rows.iter().flat_map(|row| &row.points).any(Point::is_empty)
    }
}

/// The names of unsupported rows by reason.
fn by_reason<'r>(missing: Vec<(&'r str, Vec<(u32, Point<'r>)>)>) -> Vec<(String, Vec<&'r str>)> {
    first_seen::grouped(missing.into_iter().map(|(row, points)| {
        let why = points.first().and_then(|(_, point)| point.unsupported()).unwrap_or_default();
        (why.to_owned(), row)
    }))
}

impl SweptRow<'_> {
    /// Doubts about the point's figures, each once, except failures under load, which are listed separately.
    pub fn reasons(&self) -> Vec<Reason> {
        first_seen::distinct(self.points.iter().flat_map(Point::reasons))
    }
}

impl<'r> Point<'r> {
    /// The result of a metric.
    pub fn result(&self, metric: &Metric) -> Option<&'r CaseResult> {
        self.results.iter().copied().find(|result| result.metric == metric.name)
    }

    /// The figure of a metric that was measured.
    pub fn estimate(&self, metric: &Metric) -> Option<Estimate> {
        measured(self.result(metric)?)
    }

    /// The result of a metric that was measured.
    pub fn measured(&self, metric: &Metric) -> Option<&'r CaseResult> {
        self.result(metric).filter(|result| measured(result).is_some())
    }

    /// The values of a measured metric by round.
    pub fn round_values(&self, metric: &Metric) -> Option<&'r [f64]> {
        let result = self.result(metric).filter(|result| measured(result).is_some())?;
        (!result.round_values.is_empty()).then_some(&result.round_values)
    }

    /// Whether the point was not in the run.
    pub fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    /// Whether the load generator or the receiver was the bottleneck.
    pub fn is_saturated(&self) -> bool {
        self.doubts().any(Doubt::is_saturated)
    }

    fn doubts(&self) -> impl Iterator<Item = &'r Doubt> {
        self.results.iter().flat_map(|result| &result.doubts)
    }

    /// The outcome of the point, if it has no cost.
    pub fn ending(&self) -> Option<&'r CaseResult> {
        let ended = |result: &&CaseResult| result.outcome != Outcome::Measured;
        let figure = self.results.iter().any(|result| measured(result).is_some());
        self.results.iter().copied().find(ended).filter(|result| result.metric == COST || !figure)
    }

    fn unsupported(&self) -> Option<&'r str> {
        let ending = self.ending().filter(|result| result.outcome == Outcome::Unsupported)?;
        Some(reason(ending))
    }

    /// The point's failures under load.
    pub fn gave_way(&self) -> Vec<Reason> {
        let ending = self.ending().map(|ending| Reason::Missing(ending_words(ending)));
        let doubts = self.doubts().filter(|doubt| doubt.is_failure_under_load());
        first_seen::distinct(ending.into_iter().chain(doubts.cloned().map(Reason::Doubt)))
    }

    fn reasons(&self) -> Vec<Reason> {
        let ended = self.ending().is_some();
        let is_listed_elsewhere = |reason: &Reason| match reason {
            Reason::Doubt(doubt) => doubt.is_saturated() || doubt.is_failure_under_load(),
            Reason::Missing(_) => ended,
            Reason::Note(_) => false,
        };
        let all = self.results.iter().flat_map(|result| reasons(result));
        all.filter(|reason| !is_listed_elsewhere(reason)).collect()
    }
}

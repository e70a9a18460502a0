//! Results as rows: one per case with its parameters, grouped by area.

use catalog::Only;
use measure::TIME;
use results::{CaseResult, Estimate, Outcome};

use crate::first_seen::{distinct, grouped};
use crate::footnotes::Reason;
use crate::labels::{self, Label, Param};
use crate::marks::is_marked;

/// The metric that is a row's cost.
pub const COST: &str = TIME.name;

/// The results of one case with its parameters: one per metric.
#[derive(Debug)]
pub struct Row<'a> {
    /// The case with its parameters.
    pub label: Label,
    /// Results, one per metric.
    pub results: Vec<&'a CaseResult>,
}

/// The rows of one area, grouped by case.
#[derive(Debug)]
pub struct Area<'a> {
    /// The name of the area.
    pub name: String,
    /// Parameters that all rows share; labels do not repeat them.
    pub shared: Vec<Param>,
    /// The rows.
    pub rows: Vec<Row<'a>>,
}

/// A column of figures, by name and unit: metrics with different units have different columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric<'a> {
    /// Name of the metric.
    pub name: &'a str,
    /// Its unit.
    pub unit: &'a str,
}

/// The reason for which a case is unsupported on operating systems on which it does not exist; `None` if it exists on all.
fn foreign_reason(case: &str) -> Option<&'static str> {
    match catalog::find(case)?.only {
        Only::Linux(reason) | Only::Unix(reason) | Only::Windows(reason) => Some(reason),
        Only::Everywhere | Only::X86_64(_) => None,
    }
}

impl<'a> Row<'a> {
    /// The result for `metric`. A result without a figure may lack the unit.
    pub fn result(&self, metric: Metric) -> Option<&'a CaseResult> {
        let same = |r: &&&CaseResult| {
            let unit_matters = r.outcome == Outcome::Measured;
            r.metric == metric.name && (r.unit == metric.unit || !unit_matters)
        };
        self.results.iter().find(same).copied()
    }

    /// The result for the metric of this name, whatever its unit.
    pub fn by_name(&self, metric: &str) -> Option<&'a CaseResult> {
        self.results.iter().find(|r| r.metric == metric).copied()
    }

    /// The result that is this row's cost.
    pub fn cost(&self) -> Option<&'a CaseResult> {
        self.by_name(COST)
    }

    /// The only result of a case that ended without any figure.
    pub fn ending(&self) -> Option<&'a CaseResult> {
        match self.results.as_slice() {
            [only] if only.outcome != Outcome::Measured && only.metric == COST => Some(only),
            _ => None,
        }
    }

    /// The outcome of the row: `Measured` if the row has any figure, otherwise the most serious outcome.
    pub fn outcome(&self) -> Outcome {
        const BY_WEIGHT: [Outcome; 4] =
            [Outcome::Failed, Outcome::TimedOut, Outcome::Implausible, Outcome::Measured];
        let has = |outcome: &Outcome| self.results.iter().any(|r| r.outcome == *outcome);
        BY_WEIGHT.into_iter().find(has).unwrap_or(Outcome::Unsupported)
    }

    /// Whether the case exists on other operating systems only, and was left out for that reason.
    pub fn is_of_other_system(&self) -> bool {
        let [only] = self.results.as_slice() else { return false };
        is_of_other_system(only)
    }

    /// Whether no round of the row was begun before the run ended.
    pub fn is_not_begun(&self) -> bool {
        self.results.iter().all(|result| !result.was_begun())
    }

    /// The reasons why figures of the row are missing or doubtful.
    pub fn reasons(&self) -> Vec<Reason> {
        self.results.iter().flat_map(|result| reasons(result)).collect()
    }

    /// Whether any figure of the row has a mark.
    pub fn is_marked(&self) -> bool {
        self.results.iter().any(|result| is_marked(result))
    }
}

impl<'a> Metric<'a> {
    /// The metric of a result.
    pub fn of(result: &'a CaseResult) -> Metric<'a> {
        Metric { name: &result.metric, unit: &result.unit }
    }
}

impl Area<'_> {
    /// Groups the rows by case, and removes the shared parameters from their labels.
    fn tidy(&mut self) {
        let labels: Vec<Label> = self.rows.iter().map(|row| row.label.clone()).collect();
        self.shared = labels::shared(&labels);
        for row in &mut self.rows {
            row.label = row.label.without(&self.shared);
        }
        self.rows.sort_by_cached_key(|row| labels::rank(&row.label, &labels));
    }

    /// Name of the area with the shared parameters, such as `lock (place=spread)`.
    pub fn title(&self) -> String {
        labels::title(&self.name, &self.shared)
    }

    /// Metrics other than the cost, in the order of first appearance.
    pub fn further_metrics(&self) -> Vec<Metric<'_>> {
        let results = || self.rows.iter().flat_map(|row| &row.results).filter(|r| r.metric != COST);
        let measured =
            |metric: &str| results().find(|r| r.outcome == Outcome::Measured && r.metric == metric);
        distinct(results().map(|result| match result.outcome {
            Outcome::Measured => Metric::of(result),
            _ => Metric::of(measured(&result.metric).unwrap_or(result)),
        }))
    }
}

/// `results` as rows by area; areas and rows are in the order of first appearance.
pub fn areas<'a>(results: impl IntoIterator<Item = &'a CaseResult>) -> Vec<Area<'a>> {
    let labelled = results.into_iter().map(|result| {
        let label = Label::of(&result.point());
        (label.area.clone(), (label, result))
    });
    let area = |(name, results): (String, Vec<(Label, &'a CaseResult)>)| {
        let mut area = Area { name, shared: Vec::new(), rows: Vec::new() };
        results.into_iter().for_each(|(label, result)| add(&mut area.rows, label, result));
        area.tidy();
        area
    };
    grouped(labelled).into_iter().map(area).collect()
}

/// Adds `result` to its row. A second value of the same metric starts a new row.
fn add<'a>(rows: &mut Vec<Row<'a>>, label: Label, result: &'a CaseResult) {
    let same =
        |r: &CaseResult| r.metric == result.metric && (r.unit == result.unit || r.metric == COST);
    let fits = |row: &&mut Row| row.label == label && !row.results.iter().any(|r| same(r));
    match rows.iter_mut().find(fits) {
        Some(row) => row.results.push(result),
        None => rows.push(Row { label, results: vec![result] }),
    }
}

/// Whether the case exists on other operating systems only, and was left out for that reason.
pub(crate) fn is_of_other_system(result: &CaseResult) -> bool {
    result.outcome == Outcome::Unsupported
        && result.reason.as_deref() == foreign_reason(&result.case)
}

/// The reasons why `result` has no figure, or why its figure is doubtful.
pub fn reasons(result: &CaseResult) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if result.outcome != Outcome::Measured {
        reasons.push(Reason::Missing(ending_words(result)));
    }
    reasons.extend(result.doubts.iter().cloned().map(Reason::Doubt));
    reasons
}

/// Reason why a result has no figure.
pub fn reason(result: &CaseResult) -> &str {
    result.reason.as_deref().unwrap_or("no reason was given")
}

/// The outcome of a result without a figure, with the reason.
pub fn ending_words(result: &CaseResult) -> String {
    format!("{}: {}", ending_word(result), reason(result))
}

/// The figure of a measured result, with the interval of the next run if it is known. A property with the same value in all
/// rounds has no interval.
pub fn measured(result: &CaseResult) -> Option<Estimate> {
    result.figure()
}

/// The figure of a measured result, with the interval of its own run, which serves to compare figures of one run.
pub fn of_this_run(result: &CaseResult) -> Option<Estimate> {
    result.estimate.filter(|_| result.outcome == Outcome::Measured)
}

/// Whether the definition of the case has the metric of `result` with that unit, and the result has a figure or a
/// reason.
///
/// A foreign file may contain anything.
pub fn is_described(result: &CaseResult) -> bool {
    let has_figure = result.outcome != Outcome::Measured || result.estimate.is_some();
    let metric = catalog::metric(&result.case, &result.metric);
    has_figure && metric.is_some_and(|metric| metric.unit == result.unit)
}

/// The word for a point that was planned, and of which no round was begun before the run ended.
pub const NOT_BEGUN: &str = "not begun";

/// The word for the outcome of a result.
pub fn ending_word(result: &CaseResult) -> &'static str {
    if result.was_begun() { word(result.outcome) } else { NOT_BEGUN }
}

/// The word for an outcome within a sentence.
pub fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::TimedOut => "timed out",
        outcome => outcome.word(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Doubt;
    use results::Direction;

    fn result(case: &str, metric: &str, outcome: Outcome) -> CaseResult {
        let blank = CaseResult::blank(case, Default::default(), metric, metric, Direction::Lower);
        CaseResult { outcome, ..blank }
    }

    #[test]
    fn metrics_of_a_case_share_its_row_and_repeats_get_their_own() {
        let metrics = ["time", "pairs/s", "time"];
        let results = metrics.map(|metric| result("lock/spin", metric, Outcome::Measured));
        let areas = areas(&results);
        let counts: Vec<usize> = areas[0].rows.iter().map(|row| row.results.len()).collect();
        assert_eq!((areas.len(), counts), (1, vec![2, 1]));
    }

    #[test]
    fn a_row_ends_as_badly_as_its_worst_metric() {
        let results = [
            result("lock/spin", "time", Outcome::Measured),
            result("lock/spin", "pairs/s", Outcome::Failed),
            result("lock/srw", "time", Outcome::Unsupported),
        ];
        let areas = areas(&results);
        let outcomes: Vec<Outcome> = areas[0].rows.iter().map(Row::outcome).collect();
        assert_eq!(outcomes, [Outcome::Failed, Outcome::Unsupported]);
        assert_eq!(areas[0].rows[1].ending(), Some(&results[2]));
        assert_eq!(areas[0].rows[0].ending(), None);
    }

    #[test]
    fn reasons_name_what_went_wrong_and_every_doubt() {
        let mut doubtful = result("lock/spin", "time", Outcome::Measured);
        doubtful.doubts.push(Doubt::FewRounds);
        doubtful.converged = Some(false);
        assert_eq!(reasons(&doubtful), [Reason::Doubt(Doubt::FewRounds)]);
        let failed = result("lock/spin", "time", Outcome::TimedOut);
        assert_eq!(reasons(&failed), [Reason::Missing("timed out: no reason was given".into())]);
    }

    #[test]
    fn rows_of_a_case_come_together_in_the_order_of_their_parameters() {
        let orders = [("4", "threads"), ("16", "threads"), ("4", "processes"), ("1", "threads")];
        let mut results = Vec::new();
        for (workers, kind) in orders {
            for case in ["lock/spin", "lock/futex"] {
                let mut result = result(case, "time", Outcome::Measured);
                let params = [("as", kind), ("place", "spread"), ("workers", workers)];
                result.params = simulated::params(&params);
                results.push(result);
            }
        }
        let area = areas(&results).remove(0);
        assert_eq!(area.title(), "lock (place=spread)");
        let names: Vec<String> = area.rows.iter().map(|row| row.label.short()).collect();
        let spin = ["threads workers=1", "threads workers=4", "threads workers=16"];
        let spin = spin.iter().chain(&["processes workers=4"]).map(|p| format!("spin {p}"));
        assert_eq!(names[..4], spin.collect::<Vec<_>>());
    }
}

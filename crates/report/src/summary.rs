//! The summary of a run: one page with the machine, the costs of common operations, and conclusions.
//!
//! Each area defines its rows and conclusions (`catalog::Area::summary` and `findings`).

use std::collections::BTreeSet;
use std::time::Duration;

use analysis::{Ratio, answer, ratio};
use catalog::{Area, Finding, Select, SummaryRow};
use measure::count::parse_size;
use measure::{Doubt, Metric};
use results::{CaseResult, Document, Estimate, Interval, Outcome};

use crate::answers;
use crate::footnotes::{Footnotes, Reason};
use crate::grid::{self, Cell, Column};
use crate::interval::{Uncertain, interval_columns, interval_line};
use crate::marks::{few_rounds_line, in_brackets, marked_doubts, marks_line, width_line};
use crate::measured::value_cell;
use crate::page::{Ink, Page};
use crate::quantity::{cycles_figure, factor, figure, half_width, measured_half_width};
use crate::results_table::closing_line;
use crate::rows::{COST, measured};

/// Two figures are reported as equal only if the whole interval of their ratio is within this share of 1.
const EQUAL_WITHIN: f64 = 0.1;

/// Maximum number of lines of the page.
const LINES_AT_MOST: usize = 55;

/// Seed of the bootstrap; it is constant, so that a document always gives the same page.
const SEED: u64 = 1;

/// The page at the end of a run of all areas.
pub fn summary(
    document: &Document,
    areas: &[&'static Area],
    took: Option<Duration>,
    page: &Page,
) -> String {
    let results = &document.results;
    let machine = machine(document, page);
    let answers = answers_block(results, areas, page);
    let (mut costs, legend) = costs(results, areas, page);
    let closing = closing(document, took, page);
    // Each part takes one more line, for the empty line before it.
    let mut taken: usize =
        [&machine, &answers, &costs, &closing].map(|part| part.lines().count() + 1).iter().sum();
    let of_legend = legend.lines().count();
    if taken + of_legend <= LINES_AT_MOST {
        taken += of_legend;
        costs.push_str(&legend);
    }
    let findings = findings(results, areas, LINES_AT_MOST.saturating_sub(taken), page);
    let parts = [machine, answers, costs, findings, closing];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn machine(document: &Document, page: &Page) -> String {
    let mut text = page.heading(&machine_line(document));
    if let Some(line) = marks_line(&document.run.id, &document.results) {
        text.push_str(&page.prose(Ink::Doubt, &line));
    }
    text
}

/// A line with the machine, and the frequency of its core during the run.
pub(crate) fn machine_line(document: &Document) -> String {
    let fact = |key: &str| document.machine.get(key).and_then(|value| value.as_str());
    let known = |key: &str| fact(key).filter(|text| !["unknown", "none"].contains(text));
    let mut line = document.machine_line();
    for (key, name) in [("hypervisor", "under "), ("container", "in "), ("compat", "under ")] {
        if let Some(value) = known(key) {
            line.push_str(&format!(", {name}{value}"));
        }
    }
    if let Some(clock) = document.run.core_clock_ghz {
        let (low, high) = (clock.low, clock.high);
        line.push_str(&format!(", {:.2} GHz ({low:.2} to {high:.2})", clock.median));
    }
    line
}

/// Which design is the fastest in each situation.
fn answers_block(results: &[CaseResult], areas: &[&'static Area], page: &Page) -> String {
    let answers = answer::answers(results, areas);
    let sentences = answers.iter().filter_map(answers::sentence);
    let mut block: String =
        sentences.map(|sentence| page.hanging("- ", &page.signs(&sentence))).collect();
    if !block.is_empty() {
        block.insert_str(0, &page.heading("The fastest design here"));
    }
    if let Some(line) = answers::undecided_line(&answers) {
        block.push_str(&page.prose(Ink::Faint, &line));
    }
    block
}

/// The table with a row per cost that was measured or failed, and the meanings of the marks in it.
fn costs(results: &[CaseResult], areas: &[&'static Area], page: &Page) -> (String, String) {
    let rows = cost_rows(results, areas);
    if rows.is_empty() {
        return (String::new(), String::new());
    }
    let labels = rows.iter().map(|(row, _)| row.label);
    let results_of = || rows.iter().map(|(_, result)| *result);
    let reasons = |result: &'_ CaseResult| -> Vec<Reason> {
        let doubts = marked_doubts(results, result).into_iter().cloned();
        let is_measured = result.outcome == Outcome::Measured;
        doubts.filter(|_| is_measured).map(Reason::Doubt).collect()
    };
    let reasons: Vec<Vec<Reason>> = results_of().map(reasons).collect();
    let notes = Footnotes::of(&reasons);
    let mut columns = vec![
        Column::words("cost of one", labels).wrapping(),
        Column::figures("time", results_of().map(value_cell)),
    ];
    columns.extend(interval_columns(results_of().map(Uncertain::of), page));
    columns
        .extend([notes.column(&reasons), Column::figures("core cycles", results_of().map(cycles))]);
    columns.retain(|column| !column.is_blank());
    (grid::table(columns, page), notes.lines(page))
}

/// The costs of the summary that were measured or failed.
pub(crate) fn cost_rows<'r>(
    results: &'r [CaseResult],
    areas: &[&'static Area],
) -> Vec<(&'static SummaryRow, &'r CaseResult)> {
    let rows = areas.iter().flat_map(|area| area.summary);
    rows.filter_map(|row| Some((row, find(results, &row.point, row.metric)?)))
        .filter(|(_, result)| result.outcome != Outcome::Unsupported)
        .collect()
}

/// The results of the costs on the first page, in its order; without those that this system does not support.
pub fn first_page(results: &[CaseResult], areas: &[&'static Area]) -> Vec<CaseResult> {
    cost_rows(results, areas).into_iter().map(|(_, result)| result.clone()).collect()
}

fn cycles(result: &CaseResult) -> Option<Cell> {
    let Interval { median, low, high } = result.cycles?;
    Some(Cell::figure(cycles_figure(median, measured_half_width(median, low, high))))
}

/// The findings whose figures were measured, in the order of the areas. If there is not enough room for all, the first finding of
/// each area precedes the second one of any area.
fn findings(results: &[CaseResult], areas: &[&Area], mut room: usize, page: &Page) -> String {
    let of_area = |area: &&Area| -> Vec<String> {
        let sentences = area.findings.iter().filter_map(|finding| sentence(results, finding));
        let lines = |text: String| page.hanging("- ", &page.signs(&text));
        sentences.map(lines).collect()
    };
    let all: Vec<Vec<String>> = areas.iter().map(of_area).collect();
    let ranks = 0..all.iter().map(Vec::len).max().unwrap_or(0);
    let by_rank = ranks.flat_map(|rank| (0..all.len()).map(move |area| (area, rank)));
    let mut chosen = BTreeSet::new();
    for (area, rank) in by_rank {
        let Some(lines) = all[area].get(rank).map(|text| text.lines().count()) else { continue };
        if lines <= room {
            room -= lines;
            chosen.insert((area, rank));
        }
    }
    chosen.into_iter().map(|(area, rank)| all[area][rank].as_str()).collect()
}

/// All findings whose figures were measured, as sentences in the order of the areas.
pub(crate) fn sentences(results: &[CaseResult], areas: &[&Area]) -> Vec<String> {
    let findings = areas.iter().flat_map(|area| area.findings);
    findings.filter_map(|finding| sentence(results, finding)).collect()
}

/// The finding as a sentence; `None` if its figures are missing or inconclusive.
pub(crate) fn sentence(results: &[CaseResult], finding: &Finding) -> Option<String> {
    match finding {
        Finding::Value { point, metric, says } => {
            value_sentence(results, find(results, point, metric)?, says)
        }
        Finding::Crossing { point, metric, param, of, to, says, always, never } => {
            let crossing = find(results, point, metric)?;
            let side = || match side(results, point, param, of, to)? {
                Side { is_below: true, least, .. } => Some(always.replacen("{}", least, 1)),
                Side { greatest, .. } => Some(never.replacen("{}", greatest, 1)),
            };
            value_sentence(results, crossing, says).or_else(side)
        }
        Finding::Ratio { of, to, metric, greater, less, equal } => {
            let of = find(results, of, metric)?;
            let to = find_beside(results, to, of)?;
            let ratio = ratio(of, to, SEED)?;
            let marks = in_brackets(results, &[of, to]);
            let [of_bound, to_bound] = [of, to].map(|r| r.doubts.iter().any(Doubt::is_saturated));
            // A saturated rate is a lower bound, so that it can only be the greater one of the two.
            let (says, ratio, is_bound) = match ratio {
                Ratio { low, .. } if low > 1.0 && !to_bound => (greater, ratio, of_bound),
                Ratio { high, .. } if high < 1.0 && !of_bound => (less, ratio.inverse(), to_bound),
                Ratio { low, high, .. }
                    if low > 1.0 - EQUAL_WITHIN
                        && high < 1.0 + EQUAL_WITHIN
                        && !(of_bound || to_bound) =>
                {
                    let text = format!("{low:.2} to {high:.2} times");
                    return Some(filled(equal, &text) + &marks);
                }
                _ => return None,
            };
            Some(filled(says, &factor(ratio, is_bound)) + &marks)
        }
    }
}

/// A sentence with the value of a result; `None` if the result has no value.
fn value_sentence(results: &[CaseResult], result: &CaseResult, says: &str) -> Option<String> {
    let e = measured(result).filter(Estimate::has_interval)?;
    let shown = |value| figure(value, half_width(e.median, e.low, e.high), &result.unit);
    let value = format!("{} ({} to {})", shown(e.median), shown(e.low), shown(e.high));
    Some(filled(says, &value) + &in_brackets(results, &[result]))
}

/// Whether one metric is certainly below or above another one at all values of a parameter, from `least` to `greatest`.
struct Side<'r> {
    is_below: bool,
    least: &'r str,
    greatest: &'r str,
}

/// The side of `to` on which `of` is; `None` if the sides differ, if one is uncertain, or if fewer than two values were measured.
fn side<'r>(
    results: &'r [CaseResult],
    point: &Select,
    param: &str,
    of: &Metric,
    to: &Metric,
) -> Option<Side<'r>> {
    let measured = |r: &&CaseResult| r.outcome == Outcome::Measured && is_at(point, r);
    let mut sides: Vec<(u64, &str, bool)> = Vec::new();
    for to in results.iter().filter(measured).filter(|r| r.metric == to.name) {
        let Some(value) = to.params.get(param) else { continue };
        let is_beside = |r: &&CaseResult| r.metric == of.name && r.params == to.params;
        let of = results.iter().filter(measured).find(is_beside)?;
        let ratio = ratio(of, to, SEED)?;
        if ratio.low <= 1.0 && ratio.high >= 1.0 {
            return None;
        }
        sides.push((parse_size(value).ok()?, value, ratio.high < 1.0));
    }
    sides.sort_unstable();
    let [(_, least, is_below), .., (_, greatest, _)] = sides[..] else { return None };
    let same = sides.iter().all(|(.., side)| *side == is_below);
    same.then_some(Side { is_below, least, greatest })
}

fn filled(says: &str, figure: &str) -> String {
    says.replacen("{}", figure, 1)
}

/// Whether a result belongs to the point.
fn is_at(point: &Select, result: &CaseResult) -> bool {
    point.matches(&result.case, &result.params)
}

/// The result for the metric at the first point that matches.
fn find<'r>(results: &'r [CaseResult], point: &Select, metric: &Metric) -> Option<&'r CaseResult> {
    results.iter().find(|r| r.metric == metric.name && is_at(point, r))
}

/// The result for the same metric at the point that matches and shares all parameters that are not named with `other`.
fn find_beside<'r>(
    results: &'r [CaseResult],
    point: &Select,
    other: &CaseResult,
) -> Option<&'r CaseResult> {
    let is_beside = |r: &&CaseResult| {
        r.metric == other.metric
            && r.outcome == Outcome::Measured
            && is_at(point, r)
            && point.is_beside(&r.params, &other.params)
    };
    results.iter().find(is_beside).filter(|_| other.outcome == Outcome::Measured)
}

/// Closing lines: the number of uncertain figures, what disturbed them, and the command for all tables.
fn closing(document: &Document, took: Option<Duration>, page: &Page) -> String {
    let results = &document.results;
    let mut text = closing_line(results, took, page);
    for line in [few_rounds_line(results), width_line(results)].into_iter().flatten() {
        text.push_str(&page.prose(Ink::Faint, &line));
    }
    if let Some(line) = disturbance_line(results) {
        text.push_str(&page.prose(Ink::Faint, &line));
    }
    let intervals = interval_line(results).map_or(String::new(), |line| page.signs(&line) + " ");
    let line = format!("{intervals}All tables: oscost show {} --tables", document.run.id);
    text.push_str(&page.prose(Ink::Faint, &line));
    text
}

/// A line with the share of time in which the cores were undisturbed, and with the disturbances if it is less than half.
pub(crate) fn disturbance_line(results: &[CaseResult]) -> Option<String> {
    let measured = results.iter().filter(|r| r.outcome == Outcome::Measured);
    let mut shares: Vec<f64> =
        measured.filter(|r| r.metric == COST).filter_map(|r| r.quiet_share).collect();
    shares.sort_unstable_by(f64::total_cmp);
    let median = shares.get(shares.len() / 2).copied().filter(|share| *share < 0.5)?;
    Some(format!(
        "The cores were quiet for only {:.0} % of the time (median of the points): other programs disturbed them, or another virtual \
         machine on the same core.",
        median * 100.0
    ))
}

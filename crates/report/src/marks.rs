//! Marks: words in the rows of figures whose interval itself may be wrong. A wide interval needs no mark.

use measure::{Doubt, TIME};
use results::{CaseResult, Outcome};

use crate::first_seen::distinct;
use crate::text;

/// Relative half-width from which an interval counts as wide.
const WIDE: f64 = 0.1;

/// Marks of a figure: the words of its [`marked_doubts`].
pub fn marks(results: &[CaseResult], result: &CaseResult) -> Vec<&'static str> {
    distinct(marked_doubts(results, result).into_iter().filter_map(Doubt::mark))
}

/// The doubts of a figure that have a mark: its own, and those of the time of its point, since a disturbance affects all metrics of
/// a point.
pub fn marked_doubts<'r>(results: &'r [CaseResult], result: &'r CaseResult) -> Vec<&'r Doubt> {
    let of_point = |r: &&CaseResult| {
        r.metric == TIME.name && r.case == result.case && r.params == result.params
    };
    let time = results.iter().find(of_point).filter(|time| !std::ptr::eq(*time, result));
    let doubts = result.doubts.iter().chain(time.into_iter().flat_map(|time| &time.doubts));
    doubts.filter(|doubt| doubt.mark().is_some()).collect()
}

/// The marks in brackets, for the end of a sentence. Saturation is left out: sentences state it as "at least".
pub fn in_brackets(results: &[CaseResult], of: &[&CaseResult]) -> String {
    let is_saturation = |mark: &&str| ["client", "receiver"].contains(mark);
    let all = of.iter().flat_map(|result| marks(results, result));
    let marks = distinct(all.filter(|mark| !is_saturation(mark)));
    if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) }
}

/// Whether one of the figure's own doubts has a mark.
pub fn is_marked(result: &CaseResult) -> bool {
    result.outcome == Outcome::Measured && result.doubts.iter().any(|doubt| doubt.mark().is_some())
}

/// A line such as `23 of 469 points may lie beyond their ±: modes 17, busy 4, rounds 2 (oscost show ID --doubtful)`; `None` if
/// no figure has a mark.
pub fn marks_line(run: &str, results: &[CaseResult]) -> Option<String> {
    let figures =
        || results.iter().filter(|r| r.outcome == Outcome::Measured && r.metric == TIME.name);
    let marked = figures().filter(|result| is_marked(result)).count();
    if marked == 0 {
        return None;
    }
    let words = |result: &CaseResult| distinct(result.doubts.iter().filter_map(Doubt::mark));
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for word in figures().flat_map(words) {
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let counts: Vec<String> =
        counts.into_iter().map(|(word, count)| format!("{word} {count}")).collect();
    let all = figures().count();
    let counts = counts.join(", ");
    Some(format!(
        "{marked} of {all} points may lie beyond their ±: {counts} (oscost show {run} --doubtful)"
    ))
}

/// A line with the number of times whose interval is wider than 10 %, and the advice for narrowing them; `None` if there are
/// none.
pub fn width_line(results: &[CaseResult]) -> Option<String> {
    let times = results.iter().filter(|r| r.outcome == Outcome::Measured && r.metric == TIME.name);
    let estimates = times.filter_map(|result| result.estimate);
    let half =
        |e: &results::Estimate| (e.high - e.median).max(e.median - e.low) > WIDE * e.median.abs();
    let wide = estimates.filter(results::Estimate::has_interval).filter(half).count();
    let are = if wide == 1 { "interval is" } else { "intervals are" };
    (wide > 0).then(|| format!("{wide} {are} wider than ±10 %: a longer --budget narrows them."))
}

/// A line with the points that have fewer rounds than an interval needs; `None` if there are none. Tables show the number of
/// rounds of each.
pub fn few_rounds_line(results: &[CaseResult]) -> Option<String> {
    /// Maximum number of cases that are named; further ones are counted.
    const NAMED: usize = 5;
    let left = results.iter().filter(|r| r.doubts.contains(&Doubt::FewRounds));
    let cases: Vec<&str> = left.map(|result| result.case.as_str()).collect();
    let points_of = |name: &str| cases.iter().filter(|case| **case == name).count();
    let mut names = distinct(cases.iter().copied());
    names.sort_by_key(|name| std::cmp::Reverse(points_of(name)));
    let counted = names.into_iter().map(|name| match points_of(name) {
        1 => name.to_owned(),
        points => format!("{points} of {name}"),
    });
    let names = text::listed(counted.collect(), NAMED);
    let figures = match cases.len() {
        0 => return None,
        1 => "1 figure is of fewer than three rounds and has".to_owned(),
        points => format!("{points} figures are of fewer than three rounds and have"),
    };
    Some(format!("{figures} no interval: {names}. A longer --budget measures all."))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use results::{Direction, Estimate};

    use super::*;

    fn time(case: &str, doubts: Vec<Doubt>, half: f64) -> CaseResult {
        let (low, high) = (100.0 - half, 100.0 + half);
        CaseResult {
            estimate: Some(Estimate { median: 100.0, low, high, level: 0.95 }),
            doubts,
            ..CaseResult::blank(case, BTreeMap::new(), TIME.name, "ns/op", Direction::Lower)
        }
    }

    #[test]
    fn figures_are_marked_by_what_may_be_wrong_and_not_by_their_width() {
        let results = [
            time("a/a", vec![Doubt::SeveralModes], 1.0),
            time("a/b", vec![Doubt::Disturbed, Doubt::SeldomQuiet], 30.0),
            time("a/c", vec![Doubt::SyncTooFast], 40.0),
            time("a/d", Vec::new(), f64::INFINITY),
            time("a/e", Vec::new(), 1.0),
        ];
        let line = marks_line("x", &results).unwrap();
        let expected =
            "2 of 5 points may lie beyond their ±: modes 1, busy 1 (oscost show x --doubtful)";
        assert_eq!(line, expected);
        let line = width_line(&results).unwrap();
        assert!(line.starts_with("2 intervals are wider than ±10 %: a longer"), "{line}");
        assert_eq!((marks_line("x", &results[4..]), width_line(&results[4..])), (None, None));
        assert_eq!(in_brackets(&results, &[&results[0], &results[1]]), " (modes, busy)");
    }

    #[test]
    fn figures_of_too_few_rounds_are_named_by_their_cases() {
        let few = |case| time(case, vec![Doubt::FewRounds], f64::INFINITY);
        let one = "1 figure is of fewer than three rounds and has no interval: a/a. A longer --budget \
                   measures all.";
        assert_eq!(few_rounds_line(&[few("a/a"), time("a/b", Vec::new(), 1.0)]).unwrap(), one);
        let three = "3 figures are of fewer than three rounds and have no interval: 2 of a/b and a/a. A \
                     longer --budget measures all.";
        assert_eq!(few_rounds_line(&[few("a/a"), few("a/b"), few("a/b")]).unwrap(), three);
        assert_eq!(few_rounds_line(&[time("a/a", vec![Doubt::Disturbed], 1.0)]), None);
    }

    #[test]
    fn a_mark_of_the_time_is_one_of_all_metrics_of_its_point() {
        let turnaround = CaseResult {
            metric: "turnaround".to_owned(),
            doubts: Vec::new(),
            ..time("a/a", Vec::new(), 1.0)
        };
        let results = [time("a/a", vec![Doubt::Disturbed], 1.0), turnaround];
        assert_eq!(marks(&results, &results[1]), ["busy"]);
    }
}

//! Checks of a text on a page of some width, and arbitrary doubts in it.

use std::collections::BTreeMap;

use measure::Doubt;
use measure::doubt::Axis;
use proptest::prelude::*;
use results::{CaseResult, Direction, Estimate, Outcome};
use unicode_width::UnicodeWidthStr;

/// Short and long doubts, some of which are listed beside the tables.
pub fn any_doubt() -> impl Strategy<Value = Doubt> {
    prop_oneof![
        Just(Doubt::ClientSaturated),
        Just(Doubt::ConnectionsReset),
        Just(Doubt::FewRounds),
        "[a-z ]{1,90}".prop_map(|reason| Doubt::Emulated { reason }),
        "[a-z ]{1,90}".prop_map(|lowest| Doubt::MayLieBelow { axis: Axis::Work, lowest }),
    ]
}

/// A nameless time of any size, or what a point ended with instead and why; with some doubts.
pub fn any_ending() -> impl Strategy<Value = CaseResult> {
    use Outcome::{Failed, Implausible, Measured, TimedOut, Unsupported};
    const OUTCOMES: [Outcome; 5] = [Measured, Unsupported, Failed, TimedOut, Implausible];
    let estimate = (-3.0f64..12.0, 0.0f64..2.0, 0.0f64..2.0);
    let doubts = prop::collection::vec(any_doubt(), 0..3);
    (estimate, prop::sample::select(&OUTCOMES[..]), "\\PC{0,90}", doubts).prop_map(
        |((exponent, below, above), outcome, reason, doubts)| {
            let measured = outcome == Measured;
            let median = 10f64.powf(exponent);
            let (low, high) = (median * (1.0 - below), median * (1.0 + above));
            CaseResult {
                outcome,
                reason: (!measured).then_some(reason),
                estimate: measured.then_some(Estimate { median, low, high, level: 0.95 }),
                doubts,
                ..CaseResult::blank("", BTreeMap::new(), "time", "ns/op", Direction::Lower)
            }
        },
    )
}

/// The text without its ANSI sequences.
pub fn without_colour(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or("").to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').map_or("", |(_, rest)| rest))
}

/// Checks that no line is wider than `width` or ends with a blank, that the text contains each of `words`, and
/// where `unicode` is false only ASCII.
///
/// # Errors
///
/// If not, with the text.
pub fn check(
    text: &str,
    width: usize,
    unicode: bool,
    words: impl IntoIterator<Item = String>,
) -> Result<(), TestCaseError> {
    prop_assert!(unicode || text.is_ascii(), "{text}");
    for line in text.lines() {
        prop_assert!(line.width() <= width, "{} of {}:\n{text}", line.width(), width);
        prop_assert_eq!(line, line.trim_end());
    }
    for word in words {
        prop_assert!(text.contains(&word), "{word} is not in\n{text}");
    }
    Ok(())
}

/// Checks that the text has the figures of the measured results that `is_shown` accepts, in any unit.
///
/// # Errors
///
/// If not, with the text.
///
/// # Panics
///
/// If a measured result has no figure.
pub fn check_figures(
    text: &str,
    results: &[CaseResult],
    is_shown: impl Fn(&CaseResult) -> bool,
) -> Result<(), TestCaseError> {
    let parts = text.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == ','));
    let numbers: Vec<f64> = parts.filter_map(|part| part.replace(',', "").parse().ok()).collect();
    let measured = results.iter().filter(|r| r.outcome == Outcome::Measured && is_shown(r));
    for result in measured {
        let value = result.estimate.expect("a figure").median.abs();
        let is_there = [1.0, 1e-2, 1e3, 1e6, 1e9].iter().any(|scale| {
            numbers.iter().any(|number| (number * scale - value).abs() <= 0.03 * value)
        });
        prop_assert!(is_there, "{value} of {} {}:\n{text}", result.label(), result.metric);
    }
    Ok(())
}

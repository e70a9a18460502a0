//! Checks of a text on pages of all widths.

use proptest::prelude::*;
use report::Page;
use results::{CaseResult, Outcome};
use unicode_width::UnicodeWidthStr;

/// A page of any usual width.
pub fn page() -> impl Strategy<Value = Page> {
    (60usize..240, any::<bool>()).prop_map(|(width, unicode)| Page {
        width,
        colour: false,
        unicode,
        this_run: unicode,
    })
}

/// Checks that no line is wider than the page or ends with a blank, that a plain page has plain characters, and that the text
/// contains each of `words`.
pub fn check(
    text: &str,
    page: &Page,
    words: impl IntoIterator<Item = String>,
) -> Result<(), TestCaseError> {
    prop_assert!(page.unicode || text.is_ascii(), "{text}");
    for line in text.lines() {
        prop_assert!(line.width() <= page.width, "{} of {}:\n{text}", line.width(), page.width);
        prop_assert_eq!(line, line.trim_end());
    }
    for word in words {
        prop_assert!(text.contains(&word), "{word} is not in\n{text}");
    }
    Ok(())
}

/// Checks that the text has the figures of the measured results that `is_shown` accepts, in any unit.
#[allow(dead_code, reason = "not every text has figures of results")]
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

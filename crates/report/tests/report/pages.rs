//! Pages of usual widths, and of any width.

use proptest::prelude::*;
use report::{Page, closing_line, results_tables};
use results::CaseResult;
use simulated::text;

pub const NARROW: Page = Page { width: 80, colour: false, unicode: true, this_run: false };
pub const WIDE: Page = Page { width: 140, ..NARROW };
pub const ASCII: Page = Page { unicode: false, ..NARROW };

/// A page of any usual width.
pub fn any_page() -> impl Strategy<Value = Page> {
    let page = |(width, unicode)| Page { width, colour: false, unicode, this_run: unicode };
    (60usize..240, any::<bool>()).prop_map(page)
}

/// Checks lines and characters of the text, and that it contains each of `words`.
pub fn check(
    text: &str,
    page: &Page,
    words: impl IntoIterator<Item = String>,
) -> Result<(), TestCaseError> {
    text::check(text, page.width, page.unicode, words)
}

/// Checks that all lines about the results fit the page.
pub fn check_results(results: &[CaseResult], page: &Page) -> Result<(), TestCaseError> {
    let shown = results_tables(results, page) + &closing_line(results, None, page);
    prop_assert!(shown.ends_with('\n'));
    // Names of parameters and reasons may have any characters.
    text::check(&shown, page.width, true, [])
}

/// Checks that colour adds nothing but colour.
pub fn check_colour(shown: impl Fn(&Page) -> String) {
    let (plain, coloured) = (shown(&NARROW), shown(&Page { colour: true, ..NARROW }));
    assert_ne!(coloured, plain);
    assert_eq!(text::without_colour(&coloured), plain);
}

//! Text from outside with invisible characters made visible, and identifiers of elements made from names.

use std::collections::HashSet;
use std::fmt::Write;

use maud::{Markup, PreEscaped, Render, html};

pub(super) use crate::text::visible;

/// Maximum length of an identifier before its number.
const LONGEST_ID: usize = 60;

/// Text from outside, escaped, with invisible characters written as `[U+202E]`.
///
/// Directional marks would reorder the text around them, and control characters are not allowed in HTML.
pub(super) struct Text<'a>(pub &'a str);

impl Render for Text<'_> {
    fn render_to(&self, buffer: &mut String) {
        maud::Escaper::new(buffer).write_str(&visible(self.0)).expect("a string takes all text");
    }
}

/// Identifiers of elements, each used once.
#[derive(Debug, Default)]
pub(super) struct Ids {
    taken: HashSet<String>,
    charts: usize,
}

impl Ids {
    /// The identifier of the next chart.
    pub(super) fn chart(&mut self) -> String {
        self.charts += 1;
        format!("c{}", self.charts)
    }

    /// The identifier for a name: `p.lock.spin.workers-4` for `lock/spin{workers=4}`. All reports about the same points have the
    /// same identifiers, so that links remain valid.
    pub(super) fn of(&mut self, name: &str) -> String {
        let mut id = String::new();
        for c in name.chars() {
            match c {
                c if c.is_ascii_alphanumeric() || matches!(c, '_' | '+') => id.push(c),
                '/' | '{' | ',' if !id.ends_with('.') => id.push('.'),
                '}' | '/' | '{' | ',' => {}
                _ if id.ends_with(['-', '.']) => {}
                _ => id.push('-'),
            }
            if id.len() >= LONGEST_ID {
                break;
            }
        }
        let base = format!("p.{}", id.trim_matches(['-', '.']));
        let numbered = (2..).map(|number| format!("{base}~{number}"));
        let free = std::iter::once(base.clone()).chain(numbered);
        let id = free.into_iter().find(|id| !self.taken.contains(id)).unwrap_or(base);
        self.taken.insert(id.clone());
        id
    }
}

/// Sentences as paragraphs, one each.
pub(super) fn paragraphs(lines: &[String]) -> Markup {
    html! { @for line in lines { p { (Text(line)) } } }
}

/// An SVG path element with this outline, in the shortest form that HTML and XML permit.
pub(super) fn path(class: &str, outline: &str) -> PreEscaped<String> {
    PreEscaped(format!("<path class=\"{class}\" d=\"{outline}\"/>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_is_escaped_and_visible() {
        let text = html! { (Text("<script>\"'&\u{feff}")) }.into_string();
        assert_eq!(text, "&lt;script&gt;&quot;'&amp;[U+FEFF]");
    }

    #[test]
    fn identifiers_are_readable_and_differ() {
        let mut ids = Ids::default();
        assert_eq!(ids.of("lock/spin{as=threads,workers=4}"), "p.lock.spin.as-threads.workers-4");
        assert_eq!(ids.of("lock/spin{as=threads,workers=4}"), "p.lock.spin.as-threads.workers-4~2");
        assert_eq!(ids.of("\" onload=<x>"), "p.onload-x");
        assert_eq!(ids.of(""), "p.");
        assert!(ids.of(&"x".repeat(10_000)).len() < 70);
    }
}

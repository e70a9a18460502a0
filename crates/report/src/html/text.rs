//! Text from outside with invisible characters made visible, and identifiers of elements made from names.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write;

use maud::{Markup, PreEscaped, Render, html};

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

/// `text` with invisible characters written as `[U+202E]`. Line ends and tabs become spaces.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| is_invisible(c) || c.is_control()) {
        return Cow::Borrowed(text);
    }
    let mut seen = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => seen.push(' '),
            c if c.is_control() || is_invisible(c) => {
                let _ = write!(seen, "[U+{:04X}]", u32::from(c));
            }
            c => seen.push(c),
        }
    }
    Cow::Owned(seen)
}

/// Whether the character is a directional mark, of zero width, a tag, or a noncharacter.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    ) || u32::from(c) & 0xfffe == 0xfffe
        || matches!(c, '\u{fdd0}'..='\u{fdef}')
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
    fn invisible_characters_become_visible() {
        assert_eq!(visible("a\u{202e}b\0\u{7f}"), "a[U+202E]b[U+0000][U+007F]");
        assert_eq!(visible("a\nb\tc"), "a b c");
        assert_eq!(visible("±0.2 % größer"), "±0.2 % größer");
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

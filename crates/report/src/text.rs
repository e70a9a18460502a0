//! Wrapping and cleaning of text.

use std::borrow::Cow;
use std::fmt::Write;

use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter};
use unicode_width::UnicodeWidthStr;

/// The width of `text` on a terminal in columns.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Selector that makes the previous character an emoji of double width, which the wrapping library does not know.
const EMOJI_SELECTOR: char = '\u{fe0f}';

/// `text` on one line: control characters and white space (a foreign file may contain any) are replaced by spaces, and invisible
/// characters are written as `[U+202E]`.
pub fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for c in text.chars().filter(|c| *c != EMOJI_SELECTOR) {
        match c {
            c if c.is_control() || c.is_whitespace() => cleaned.push(' '),
            c if is_invisible(c) => push_code(&mut cleaned, c),
            c => cleaned.push(c),
        }
    }
    cleaned
}

/// `text` with control characters and invisible ones written as `[U+202E]`. Line ends and tabs become spaces.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| c.is_control() || is_invisible(c);
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => written.push(' '),
            c if is_hidden(c) => push_code(&mut written, c),
            c => written.push(c),
        }
    }
    Cow::Owned(written)
}

/// A page of text with invisible characters, and control characters but line ends, tabs and the page's own colours, written as
/// `[U+202E]`: what was read from anywhere does not steer the terminal.
pub fn visible_page(text: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| is_invisible(c) || c.is_control() && !matches!(c, '\n' | '\t');
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = COLOURS.iter().find(|colour| rest.starts_with(**colour));
        match colour {
            Some(colour) => written.push_str(colour),
            None if is_hidden(c) => push_code(&mut written, c),
            None => written.push(c),
        }
        rest = &rest[colour.map_or(c.len_utf8(), |colour| colour.len())..];
    }
    Cow::Owned(written)
}

/// The sequences by which [`Ink`](crate::page::Ink) colours texts and cells of tables.
const COLOURS: [&str; 11] = [
    "\x1b[0m",
    "\x1b[1m",
    "\x1b[2m",
    "\x1b[22m",
    "\x1b[31m",
    "\x1b[32m",
    "\x1b[33m",
    "\x1b[39m",
    "\x1b[38;5;1m",
    "\x1b[38;5;2m",
    "\x1b[38;5;3m",
];

fn push_code(text: &mut String, c: char) {
    let _ = write!(text, "[U+{:04X}]", u32::from(c));
}

/// Whether the character is a directional mark, which reorders the text around it, of zero width, a tag, or a noncharacter.
pub fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    ) || u32::from(c) & 0xfffe == 0xfffe
        || matches!(c, '\u{fdd0}'..='\u{fdef}')
}

/// `text` with at most `widest` characters: a longer one is shortened before its last third, where command lines differ least.
pub fn shortened(text: &str, widest: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= widest {
        return text.to_owned();
    }
    let end = widest / 3;
    let begin = widest.saturating_sub(end + 3);
    let part = |chars: &[char]| chars.iter().collect::<String>();
    format!("{} … {}", part(&chars[..begin]), part(&chars[chars.len() - end..]))
}

/// `text` wrapped to `width`: the first line begins with `first`, the others with as many spaces.
pub fn hanging(first: &str, text: &str, width: usize) -> String {
    let indent = " ".repeat(self::width(first));
    let options = options(width)
        .initial_indent(first)
        .subsequent_indent(&indent)
        .word_separator(WordSeparator::Custom(between_words));
    let mut wrapped = textwrap::fill(clean(text).trim(), options);
    wrapped.truncate(wrapped.trim_end().len());
    wrapped.push('\n');
    wrapped
}

/// A number with its noun: `1 fact`, `2 facts`.
pub fn number_of(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Names as a list: `A`, `A and B`, `A, B and C`; if there are more than `most`, `A, B and 4 others`.
pub fn listed(mut names: Vec<String>, most: usize) -> String {
    if names.len() > most {
        let others = names.split_off(most - 1).len();
        names.push(format!("{others} others"));
    }
    joined(&names, "and")
}

/// All names as a list with this word before the last one: `A`, `A or B`, `A, B or C`.
pub fn joined<S: AsRef<str>>(names: &[S], word: &str) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => {
            format!("{} {word} {last}", others.join(", "))
        }
        _ => names.concat(),
    }
}

/// `text` with a capital letter at its beginning.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().to_string() + letters.as_str())
}

/// The lines of a table cell of `width` columns; breaks after commas and `{` too, as labels have no spaces.
pub fn cell_lines(text: &str, width: usize) -> Vec<String> {
    let options = options(width)
        .subsequent_indent("  ")
        .word_separator(WordSeparator::Custom(between_parts_of_labels));
    textwrap::wrap(text, options).into_iter().map(|line| line.into_owned()).collect()
}

fn options(width: usize) -> Options<'static> {
    Options::new(width)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
}

/// Breaks at spaces, but neither before the mark of a doubtful figure nor between a number and its unit.
fn between_words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    const WITH_THE_WORD_BEFORE: [&str; 10] =
        ["?", "%", "ns", "us", "ms", "s", "min", "GHz", "KiB", "MiB"];
    let belongs_before = |rest: &str| {
        let word = rest.split(' ').next().unwrap_or_default();
        WITH_THE_WORD_BEFORE.contains(&word.trim_end_matches([',', '.', ';', ':', ')']))
    };
    let mut rest = line;
    Box::new(std::iter::from_fn(move || {
        let is_break = |&(at, _): &(usize, &str)| {
            let next = rest[at..].trim_start_matches(' ');
            !next.is_empty() && !belongs_before(next)
        };
        let end = rest
            .match_indices(' ')
            .find(is_break)
            .map_or(rest.len(), |(at, _)| rest.len() - rest[at..].trim_start_matches(' ').len());
        let (word, remaining) = rest.split_at(end);
        rest = remaining;
        (!word.is_empty()).then(|| Word::from(word))
    }))
}

fn between_parts_of_labels(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    Box::new(line.split_inclusive([' ', ',', '{']).map(Word::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Ink, Page};

    #[test]
    fn long_texts_are_shortened_in_the_middle() {
        assert_eq!(shortened("grep foo", 8), "grep foo");
        let short = shortened("grep foo a.c b.c c.c d.c", 12);
        assert_eq!((short.as_str(), short.chars().count()), ("grep  …  d.c", 12));
    }

    #[test]
    fn hanging_text_lines_up_under_its_first_word() {
        let text = hanging("a  ", "stopped before the asked precision was reached", 24);
        assert_eq!(text, "a  stopped before the\n   asked precision was\n   reached\n");
    }

    #[test]
    fn marks_and_units_stay_with_what_they_belong_to() {
        let text = hanging("- ", "It takes 1.1 times as long without huge pages. ?", 48);
        assert_eq!(text, "- It takes 1.1 times as long without huge\n  pages. ?\n");
        let text = hanging("", "pays off for jobs  longer than 91 us (67 us to 130 us). ?", 32);
        assert_eq!(text, "pays off for jobs  longer than\n91 us (67 us to 130 us). ?\n");
        assert_eq!(hanging("", "answers 2.5 ?, 8.5 times", 13), "answers\n2.5 ?, 8.5\ntimes\n");
    }

    #[test]
    fn labels_break_before_parameters() {
        let lines = cell_lines("sysv-sem{as=threads,place=same-cpu,workers=4}", 24);
        assert_eq!(lines, ["sysv-sem{as=threads,", "  place=same-cpu,", "  workers=4}"]);
        let lines = cell_lines("net/requests{arch=epoll,connections=1000}", 19);
        assert_eq!(lines, ["net/requests{", "  arch=epoll,", "  connections=1000}"]);
    }

    #[test]
    fn nothing_from_a_file_can_move_the_cursor() {
        assert_eq!(clean("a\u{1b}[2J\r\nb"), "a [2J  b");
        assert_eq!(clean("a\u{202e}b\u{2028}c\u{200b}"), "a[U+202E]b c[U+200B]");
    }

    #[test]
    fn invisible_characters_become_visible() {
        assert_eq!(visible("a\u{202e}b\0\u{7f}"), "a[U+202E]b[U+0000][U+007F]");
        assert_eq!(visible("a\nb\tc"), "a b c");
        assert_eq!(visible("±0.2 % größer"), "±0.2 % größer");
        assert_eq!(
            visible_page("\u{1b}[1ma\u{2066}b\u{1b}[0m\n"),
            "\u{1b}[1ma[U+2066]b\u{1b}[0m\n"
        );
    }

    #[test]
    fn what_was_read_does_not_steer_the_terminal() {
        let title = "\u{1b}]0;owned\u{7}\u{1b}[2Ja\rb\u{9b}5n\u{1b}[8mhidden\n";
        let shown = "[U+001B]]0;owned[U+0007][U+001B][2Ja[U+000D]b[U+009B]5n[U+001B][8mhidden\n";
        assert_eq!(visible_page(title), shown);
    }

    /// The page's own colours pass, of texts and of cells.
    #[test]
    fn all_inks_pass() {
        use comfy_table::{Cell, Table};
        let inks = [Ink::Plain, Ink::Heading, Ink::Faint, Ink::Good, Ink::Bad, Ink::Doubt];
        let page = Page { width: 80, colour: true, unicode: true, this_run: false };
        for ink in inks {
            let mut table = Table::new();
            table.enforce_styling().add_row([ink.on_cell(Cell::new("x"))]);
            let text = format!("{}\n{table}\n", page.paint(ink, "text"));
            assert_eq!(text.contains('\u{1b}'), ink != Ink::Plain, "{ink:?}");
            assert_eq!(visible_page(&text), text, "{ink:?}");
        }
    }

    #[test]
    fn characters_that_become_wider_as_emoji_stay_as_they_are() {
        let text = hanging("", &"#\u{fe0f}".repeat(30), 20);
        assert!(text.lines().all(|line| width(line) <= 20), "{text}");
    }
}

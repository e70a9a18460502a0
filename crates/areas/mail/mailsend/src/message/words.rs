//! Text in headers: words, encoded if they are not ASCII (RFC 2047), in folded lines (RFC 5322 2.2.3).

use std::ops::Range;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// Maximum octets of a header's line that can be folded (RFC 5322 2.1.1).
const LINE_OCTETS: usize = 78;
/// Maximum octets of text in an encoded word, which has at most 75 characters (RFC 2047 section 2).
const WORD_OCTETS: usize = 45;
/// Octets of an encoded word besides its text.
const AROUND_OCTETS: usize = 12;
/// Maximum octets of a plain word: a longer one is encoded, since its line could not be folded otherwise.
const PLAIN_OCTETS: usize = 500;
/// Maximum number of spaces in a row; more are dropped.
const SPACES: usize = 60;

/// A value as one line of a header: control characters that separate words become spaces, others are removed.
pub fn one_line(value: &str) -> impl Iterator<Item = char> + '_ {
    let separates = |c: char| matches!(c, '\r' | '\n' | '\t' | '\u{b}' | '\u{c}' | '\u{85}');
    value.chars().filter_map(move |c| match c {
        c if separates(c) => Some(' '),
        c if c.is_control() => None,
        c => Some(c),
    })
}

/// Adds unstructured text, folded, after a header's name. Words in the `hidden` ranges are encoded even if they are ASCII.
pub fn push_unstructured(text: &str, hidden: &[Range<usize>], into: &mut Vec<u8>) {
    let words = words_of(text, hidden);
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let is_encoded = word.is_encoded;
        let run =
            words[at..].iter().take_while(|other| is_encoded && other.is_encoded).count().max(1);
        let spaces = if at == 0 { 0 } else { word.spaces.min(SPACES) };
        let mut line = line_octets(into) + spaces;
        if at > 0 && line + word.octets_at_least() > LINE_OCTETS {
            into.extend_from_slice(b"\r\n");
            line = spaces;
        }
        into.extend(std::iter::repeat_n(b' ', spaces));
        if is_encoded {
            let (first, last) = (&words[at], &words[at + run - 1]);
            // Readers drop spaces between encoded words, so these spaces go into one of the words.
            let is_after = at > 0 && words[at - 1].is_one_already;
            let start = if is_after { first.start - first.spaces } else { first.start };
            let next = words.get(at + run).filter(|next| next.is_one_already);
            let end = next.map_or(last.end, |next| last.end + next.spaces);
            into.extend_from_slice(encoded(&text[start..end], line).as_bytes());
        } else {
            into.extend_from_slice(&text.as_bytes()[word.start..word.end]);
        }
        at += run;
    }
}

/// Octets of the last line of `text`.
fn line_octets(text: &[u8]) -> usize {
    text.len() - memchr::memrchr(b'\n', text).map_or(0, |end| end + 1)
}

struct Word {
    /// Number of spaces before the word.
    spaces: usize,
    start: usize,
    end: usize,
    /// Whether the word must be encoded.
    is_encoded: bool,
    /// Whether the word is encoded in the message already.
    is_one_already: bool,
}

impl Word {
    /// Minimum octets of the word on a line: an encoded word may be split.
    fn octets_at_least(&self) -> usize {
        if self.is_encoded { AROUND_OCTETS + 12 } else { self.end - self.start }
    }
}

fn words_of(text: &str, hidden: &[Range<usize>]) -> Vec<Word> {
    let mut words = Vec::new();
    let mut spaces = 0;
    let mut start = 0;
    for part in text.split([' ', '\t']) {
        let end = start + part.len();
        if !part.is_empty() {
            let is_hidden = hidden.iter().any(|range| range.start < end && start < range.end);
            let is_encoded = is_hidden || !part.is_ascii() || part.len() > PLAIN_OCTETS;
            let is_one_already = !is_encoded && part.starts_with("=?") && part.ends_with("?=");
            words.push(Word { spaces, start, end, is_encoded, is_one_already });
            spaces = 0;
        }
        spaces += 1;
        start = end + 1;
    }
    words
}

/// Adds the name before an address in brackets.
pub fn push_phrase(text: &str, into: &mut Vec<u8>) {
    let text = text.trim();
    let is_atom = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~ ".contains(&b);
    if !text.is_ascii() || text.contains("=?") || text.len() > PLAIN_OCTETS {
        into.extend_from_slice(encoded(text, line_octets(into)).as_bytes());
    } else if text.bytes().all(is_atom) {
        into.extend_from_slice(text.as_bytes());
    } else {
        into.push(b'"');
        for octet in text.bytes() {
            if matches!(octet, b'"' | b'\\') {
                into.push(b'\\');
            }
            into.push(octet);
        }
        into.push(b'"');
    }
}

/// `text` as encoded words, each on its own line; the first line already has `line` octets.
fn encoded(text: &str, line: usize) -> String {
    let mut made = String::new();
    let mut rest = text;
    let room = LINE_OCTETS.saturating_sub(line + AROUND_OCTETS) / 4 * 3;
    let mut octets = if room < 4 { WORD_OCTETS } else { room.min(WORD_OCTETS) };
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.floor_char_boundary(octets));
        if !made.is_empty() {
            made.push_str("\r\n ");
        }
        made.push_str("=?UTF-8?B?");
        BASE64_STANDARD.encode_string(word, &mut made);
        made.push_str("?=");
        rest = after;
        octets = WORD_OCTETS;
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unstructured(text: &str, hidden: &[Range<usize>]) -> String {
        let mut into = b"Subject: ".to_vec();
        push_unstructured(text, hidden, &mut into);
        String::from_utf8(into).unwrap()
    }

    #[test]
    fn plain_text_is_folded_between_words() {
        assert_eq!(unstructured("Hello  you", &[]), "Subject: Hello  you");
        let text = "word ".repeat(60);
        let made = unstructured(&text, &[]);
        assert!(made.lines().all(|line| line.len() <= 78), "{made}");
        assert_eq!(made.replace("\r\n", ""), format!("Subject: {}", text.trim_end()));
        assert_eq!(unstructured("", &[]), "Subject: ");
    }

    #[test]
    fn what_is_not_ascii_is_encoded() {
        assert_eq!(
            unstructured("Hi Jürgen Groß now", &[]),
            "Subject: Hi =?UTF-8?B?SsO8cmdlbiBHcm/Dnw==?= now"
        );
        let made = unstructured("=?UTF-8?Q?Gr=C3=BC=C3=9Fe?= Jürg =?UTF-8?Q?=C3=BC?=", &[]);
        assert_eq!(
            made,
            "Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?= =?UTF-8?B?IErDvHJnIA==?=\r\n =?UTF-8?Q?=C3=BC?="
        );
        let hidden = std::slice::from_ref(&(2..7));
        assert_eq!(unstructured("a =?x?= b", hidden), "Subject: a =?UTF-8?B?PT94Pz0=?= b");
        let long = unstructured(&"ü".repeat(200), &[]);
        assert!(long.lines().all(|line| line.len() <= 78), "{long}");
    }

    #[test]
    fn names_are_quoted_where_they_must_be() {
        let phrase = |text: &str| {
            let mut into = Vec::new();
            push_phrase(text, &mut into);
            String::from_utf8(into).unwrap()
        };
        assert_eq!(phrase(" Jo Smith "), "Jo Smith");
        assert_eq!(phrase("Smith, \"Jo\" \\"), r#""Smith, \"Jo\" \\""#);
        assert_eq!(phrase("Jö"), "=?UTF-8?B?SsO2?=");
        assert_eq!(phrase("=?UTF-8?B?SsO2?="), "=?UTF-8?B?PT9VVEYtOD9CP1NzTzI/PQ==?=");
    }
}

//! Parsing replies, for a client (RFC 5321, section 4.2).

use std::fmt;

use memchr::memchr;
use thiserror::Error;

use crate::address::is_unwritten;

/// Maximum length of a line, in octets with its end. RFC 5321 4.5.3.1.5 allows 512; some servers send more.
pub const LINE_OCTETS: usize = 2_048;
/// Maximum number of lines of a reply: the reply to EHLO has some 20.
pub const LINES: usize = 100;
/// Maximum size of a reply, in octets.
pub const REPLY_OCTETS: usize = 65_536;
/// Maximum number of characters of a reply's text where it is shown, counted and stored.
const SHOWN_CHARACTERS: usize = 1_000;
/// Number of characters of a malformed line that an error quotes.
const QUOTED_CHARACTERS: usize = 80;

/// A whole reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Three digits; the first is the class.
    pub code: u16,
    /// The text of each line, without code and line end; no control characters. At least one, maybe empty.
    pub lines: Vec<String>,
}

impl Reply {
    /// Success (2yz).
    pub fn is_positive(&self) -> bool {
        self.code / 100 == 2
    }

    /// More input is expected (3yz).
    pub fn is_intermediate(&self) -> bool {
        self.code / 100 == 3
    }

    /// Temporary failure (4yz).
    pub fn is_transient(&self) -> bool {
        self.code / 100 == 4
    }

    /// Permanent failure (5yz).
    pub fn is_permanent(&self) -> bool {
        self.code / 100 == 5
    }

    /// The enhanced status code at the beginning of the text, such as `5.1.1` (RFC 3463), if its class is the reply code's.
    pub fn enhanced(&self) -> Option<&str> {
        let first = self.lines.first()?.split(' ').next()?;
        let mut parts = first.split('.');
        let (class, subject, detail) = (parts.next()?, parts.next()?, parts.next()?);
        let is_number =
            |s: &str| (1..=3).contains(&s.len()) && s.bytes().all(|b| b.is_ascii_digit());
        let is_of_code = matches!(class, "2" | "4" | "5") && class.parse() == Ok(self.code / 100);
        let is_one =
            is_of_code && is_number(subject) && is_number(detail) && parts.next().is_none();
        is_one.then_some(first)
    }

    /// The text as one line.
    pub fn text(&self) -> String {
        self.lines.join(" ")
    }
}

/// The reply as one line. Of a long text the beginning is enough, for people and for counts of equal replies.
impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        let mut left = SHOWN_CHARACTERS;
        for line in self.lines.iter().filter(|line| !line.is_empty()) {
            if let Some((cut, _)) = line.char_indices().nth(left) {
                return write!(f, " {}…", &line[..cut]);
            }
            write!(f, " {line}")?;
            left -= line.chars().count();
        }
        Ok(())
    }
}

/// The input is not a reply. The connection must be closed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Malformed {
    /// A line does not begin with a reply code.
    #[error("the server should have sent a reply such as \"250 OK\", but sent \"{0}\"")]
    NoReply(String),
    /// The code of a later line differs from the first line's.
    #[error("a reply that began with code {first} goes on with \"{line}\"")]
    OtherCode {
        /// The code of the first line.
        first: u16,
        /// The line with the other code.
        line: String,
    },
    /// The reply exceeds a limit.
    #[error("the server sends a reply without end: {limit}, the last line beginning \"{line}\"")]
    TooLong {
        /// The limit.
        limit: &'static str,
        /// The beginning of the last line.
        line: String,
    },
}

/// Assembles replies from input in pieces of any size.
#[derive(Debug, Default)]
pub struct ReplyReader {
    /// The beginning of a line whose end has not arrived.
    partial: Vec<u8>,
    /// The reply whose last line has not arrived.
    begun: Option<Reply>,
    /// Octets of the reply so far, without `partial`.
    octets: usize,
}

impl ReplyReader {
    /// Reads input up to the end of one reply, or all of it. Returns the number of bytes used, and the reply if it is
    /// complete. After [`Malformed`] the reader starts again.
    pub fn read(&mut self, bytes: &[u8]) -> (usize, Option<Result<Reply, Malformed>>) {
        let mut taken = 0;
        while let Some(end) = memchr(b'\n', &bytes[taken..]) {
            let rest = &bytes[taken..=taken + end];
            taken += rest.len();
            let read = if self.partial.is_empty() {
                self.take_line(rest)
            } else {
                let mut line = std::mem::take(&mut self.partial);
                line.extend_from_slice(&rest[..rest.len().min(LINE_OCTETS)]);
                self.take_line(&line)
            };
            match read {
                Ok(None) => {}
                Ok(Some(reply)) => return (taken, Some(Ok(reply))),
                Err(e) => return (taken, Some(Err(self.give_up(e)))),
            }
        }
        let rest = &bytes[taken..];
        if self.partial.len() + rest.len() > LINE_OCTETS {
            self.partial.extend_from_slice(&rest[..rest.len().min(LINE_OCTETS)]);
            let line = quote(&self.partial);
            let e = Malformed::TooLong { limit: "a line of more than 2,048 octets", line };
            return (bytes.len(), Some(Err(self.give_up(e))));
        }
        self.partial.extend_from_slice(rest);
        (bytes.len(), None)
    }

    /// Whether a reply has begun to arrive.
    pub fn is_within_reply(&self) -> bool {
        self.begun.is_some() || !self.partial.is_empty()
    }

    fn give_up(&mut self, why: Malformed) -> Malformed {
        *self = Self::default();
        why
    }

    /// Handles a line with its end; returns the reply if it was the last line.
    fn take_line(&mut self, line: &[u8]) -> Result<Option<Reply>, Malformed> {
        self.octets += line.len();
        let too_long = |limit| Malformed::TooLong { limit, line: quote(line) };
        if line.len() > LINE_OCTETS {
            return Err(too_long("a line of more than 2,048 octets"));
        }
        if self.octets > REPLY_OCTETS {
            return Err(too_long("more than 65,536 octets"));
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (code, is_last, text) =
            split_line(line).ok_or_else(|| Malformed::NoReply(quote(line)))?;
        let reply = match &mut self.begun {
            None => self.begun.insert(Reply { code, lines: vec![harmless(text)] }),
            Some(reply) if reply.code != code => {
                return Err(Malformed::OtherCode { first: reply.code, line: quote(line) });
            }
            Some(reply) if reply.lines.len() == LINES => {
                return Err(too_long("more than 100 lines"));
            }
            Some(reply) => {
                reply.lines.push(harmless(text));
                reply
            }
        };
        debug_assert!(reply.lines.len() <= LINES);
        if !is_last {
            return Ok(None);
        }
        self.octets = 0;
        Ok(self.begun.take())
    }
}

/// Splits a line without its end: its code, whether it is the reply's last line, and its text.
fn split_line(line: &[u8]) -> Option<(u16, bool, &[u8])> {
    let (code, rest) = line.split_at_checked(3)?;
    if !matches!(code[0], b'2'..=b'5') || !code.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let code = code.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    match rest.split_first() {
        None => Some((code, true, rest)),
        Some((b' ', text)) => Some((code, true, text)),
        Some((b'-', text)) => Some((code, false, text)),
        Some(_) => None,
    }
}

/// `text` made safe for a terminal or a log: valid UTF-8 without control characters, and without invisible ones, which may reorder
/// the text around them.
fn harmless(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    if !text.contains(|c: char| c.is_control() || is_unwritten(c)) {
        return text.into_owned();
    }
    text.chars().map(harmless_char).collect()
}

fn harmless_char(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() || is_unwritten(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

/// The beginning of a line, with all but plain text escaped.
fn quote(line: &[u8]) -> String {
    let beginning = &line[..line.len().min(QUOTED_CHARACTERS * 4)];
    let text = String::from_utf8_lossy(beginning);
    let mut escaped = text.chars().flat_map(char::escape_debug);
    let mut quoted: String = escaped.by_ref().take(QUOTED_CHARACTERS).collect();
    if escaped.next().is_some() || beginning.len() < line.len() {
        quoted.push('…');
    }
    quoted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_one(bytes: &[u8]) -> Reply {
        let (taken, reply) = ReplyReader::default().read(bytes);
        assert_eq!(taken, bytes.len());
        reply.expect("it is whole").expect("it is well-formed")
    }

    fn fault(bytes: &[u8]) -> Malformed {
        ReplyReader::default().read(bytes).1.expect("all is there").expect_err("it is malformed")
    }

    #[test]
    fn a_long_reply_is_shown_in_part() {
        let line = format!("550-{}\r\n", "ü".repeat(900));
        let shown = read_one((line.repeat(30) + "550 end\r\n").as_bytes()).to_string();
        assert_eq!(shown, format!("550 {} {}…", "ü".repeat(900), "ü".repeat(100)));
        assert_eq!(read_one(b"250-a\r\n250-\r\n250 b\r\n").to_string(), "250 a b");
    }

    #[test]
    fn reads_what_servers_say() {
        let reply = read_one(b"250 2.1.5 OK\r\n");
        assert_eq!((reply.code, reply.enhanced()), (250, Some("2.1.5")));
        assert_eq!(reply.to_string(), "250 2.1.5 OK");
        let reply = read_one(b"250-mx.test\r\n250-SIZE 1000\n250 PIPELINING\r\n");
        assert_eq!(reply.lines, ["mx.test", "SIZE 1000", "PIPELINING"]);
        assert_eq!(reply.text(), "mx.test SIZE 1000 PIPELINING");
        for bare in [&b"250\r\n"[..], b"250 \r\n", b"250\n"] {
            assert_eq!(read_one(bare), Reply { code: 250, lines: vec![String::new()] });
            assert_eq!(read_one(bare).to_string(), "250");
        }
    }

    #[test]
    fn the_first_digit_says_how_it_went() {
        let of = |code| {
            let reply = Reply { code, lines: vec![] };
            let is = [reply.is_positive(), reply.is_intermediate(), reply.is_transient()];
            (is, reply.is_permanent())
        };
        assert_eq!(of(250), ([true, false, false], false));
        assert_eq!(of(354), ([false, true, false], false));
        assert_eq!(of(421), ([false, false, true], false));
        assert_eq!(of(550), ([false, false, false], true));
    }

    #[test]
    fn an_enhanced_code_is_of_its_replys_class() {
        let of = |line: &str| read_one(line.as_bytes()).enhanced().map(str::to_owned);
        assert_eq!(of("550 5.1.1 none\r\n").as_deref(), Some("5.1.1"));
        assert_eq!(of("550 5.1.1\r\n").as_deref(), Some("5.1.1"));
        for none in ["550 4.1.1 x", "550 5.1 x", "550 5.1.1.1 x", "550 5.1.1x y", "550 5..1 x"] {
            assert_eq!(of(&format!("{none}\r\n")), None, "{none}");
        }
        assert_eq!(of("550 5.1.1000 x\r\n"), None);
        assert_eq!(of("354 3.0.0 x\r\n"), None);
    }

    #[test]
    fn says_what_is_no_reply() {
        for bad in
            ["\r\n", "25\r\n", "hello\r\n", "250_OK\r\n", "150 x\r\n", "2x0 x\r\n", "600 x\n"]
        {
            assert!(matches!(fault(bad.as_bytes()), Malformed::NoReply(_)), "{bad:?}");
        }
        let other = fault(b"250-a\r\n251 b\r\n");
        assert_eq!(other, Malformed::OtherCode { first: 250, line: "251 b".into() });
        let quoted = fault(b"\x1b[31m\xffHTTP/1.1\r\n").to_string();
        assert!(quoted.contains("HTTP/1.1") && !quoted.contains('\x1b'), "{quoted}");
    }

    #[test]
    fn what_has_no_end_is_given_up() {
        let is_too_long = |bytes: &[u8]| matches!(fault(bytes), Malformed::TooLong { .. });
        assert!(is_too_long(&b"2".repeat(LINE_OCTETS + 1)));
        assert!(is_too_long(&[&b"250 "[..], &b"a".repeat(LINE_OCTETS), b"\r\n"].concat()));
        assert!(is_too_long(&b"250-a\r\n".repeat(LINES + 1)));
        let long = [&b"250-"[..], &b"a".repeat(2_000), b"\r\n"].concat();
        assert!(is_too_long(&long.repeat(REPLY_OCTETS / 2_000 + 1)));
        let longest = [&b"250 "[..], &b"a".repeat(LINE_OCTETS - 6), b"\r\n"].concat();
        assert_eq!(read_one(&longest).text().len(), LINE_OCTETS - 6);
        let mut endless = ReplyReader::default();
        let read = (0..LINE_OCTETS + 1).map(|_| endless.read(b"2").1).find_map(|read| read);
        assert!(matches!(read, Some(Err(Malformed::TooLong { .. }))));
    }

    #[test]
    fn stops_at_the_end_of_the_first_and_begins_anew() {
        let mut reader = ReplyReader::default();
        let both = b"250 a\r\n354 b\r\n";
        let (taken, first) = reader.read(both);
        assert_eq!((taken, first.unwrap().unwrap().code), (7, 250));
        assert_eq!(reader.read(&both[taken..]).1.unwrap().unwrap().code, 354);
        assert!(reader.read(b"nonsense\r\n").1.unwrap().is_err());
        assert!(!reader.is_within_reply());
        assert_eq!(reader.read(b"220"), (3, None));
        assert!(reader.is_within_reply());
    }

    #[test]
    fn control_characters_are_made_harmless() {
        let reply = read_one(b"550 a\x1b[2J\tb\x00\xc2\x9b\xff\rc\r\n");
        assert!(!reply.text().contains(char::is_control), "{reply:?}");
        assert!(reply.text().starts_with("a\u{fffd}[2J b"), "{reply:?}");
        let reply = read_one("550 a\u{202e}b\u{2066}c\r\n".as_bytes());
        assert_eq!(reply.text(), "a\u{fffd}b\u{fffd}c");
    }

    /// The replies in `bytes`, up to a malformed one, fed in pieces that end at `cuts`.
    fn read_in_pieces(bytes: &[u8], cuts: &[usize]) -> Vec<Result<Reply, Malformed>> {
        let mut reader = ReplyReader::default();
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        ends.push(bytes.len());
        ends.sort_unstable();
        let (mut at, mut all) = (0, Vec::new());
        for end in ends {
            while at < end {
                let (taken, read) = reader.read(&bytes[at..end]);
                assert!(taken > 0 && taken <= end - at);
                at += taken;
                let is_over = matches!(read, Some(Err(_)));
                all.extend(read);
                if is_over {
                    return all;
                }
            }
        }
        all
    }

    proptest! {
        #[test]
        fn a_split_changes_nothing(
            bytes in r"((250|354|450)[- ][ -~]{0,20}\r?\n|[ -~]{0,3}\n){0,6}",
            cuts in proptest::collection::vec(0..100_usize, 0..8),
        ) {
            let whole = read_in_pieces(bytes.as_bytes(), &[]);
            prop_assert_eq!(&read_in_pieces(bytes.as_bytes(), &cuts), &whole);
            let each: Vec<usize> = (0..bytes.len()).collect();
            prop_assert_eq!(read_in_pieces(bytes.as_bytes(), &each), whole);
        }

        #[test]
        fn whatever_comes_is_harmless(bytes in proptest::collection::vec(any::<u8>(), 0..3_000)) {
            for read in read_in_pieces(&bytes, &[]) {
                let shown = read.map_or_else(|e| e.to_string(), |reply| reply.to_string());
                prop_assert!(!shown.contains(char::is_control));
            }
        }

        #[test]
        fn text_is_kept(code in 200..600_u16, lines in proptest::collection::vec("[ -~]{0,60}", 1..9)) {
            let last = lines.len() - 1;
            let wire: String = lines
                .iter()
                .enumerate()
                .map(|(i, line)| format!("{code}{}{line}\r\n", if i == last { ' ' } else { '-' }))
                .collect();
            prop_assert_eq!(read_one(wire.as_bytes()), Reply { code, lines });
        }
    }
}

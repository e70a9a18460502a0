//! The wire form of messages: line ends and dot-stuffing (RFC 5321, sections 2.3.8 and 4.5.2).

use memchr::{memchr, memchr2, memrchr};

/// Maximum length of a message's line, in octets without its end (RFC 5322 2.1.1). Servers may truncate or reject longer
/// lines.
pub const LINE_OCTETS: usize = 998;

/// `message` in wire form: every line end (CRLF, bare LF, bare CR) becomes CRLF, and the last line gets one.
pub fn to_wire(message: &[u8]) -> Vec<u8> {
    let mut wire = Vec::with_capacity(message.len() + message.len() / 32 + 2);
    extend_wire(&mut wire, message);
    if !wire.ends_with(b"\r\n") {
        wire.extend_from_slice(b"\r\n");
    }
    wire
}

/// Appends `text` with every line end as CRLF; adds none to the last line.
pub fn extend_wire(wire: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    while let Some(at) = memchr2(b'\r', b'\n', rest) {
        wire.extend_from_slice(&rest[..at]);
        wire.extend_from_slice(b"\r\n");
        let is_pair = rest[at] == b'\r' && rest.get(at + 1) == Some(&b'\n');
        rest = &rest[at + 1 + usize::from(is_pair)..];
    }
    wire.extend_from_slice(rest);
}

/// The content of a text file without the byte order mark with which editors on Windows begin it.
pub fn without_mark(content: &[u8]) -> &[u8] {
    content.strip_prefix("\u{feff}".as_bytes()).unwrap_or(content)
}

/// Whether the message has bytes beyond ASCII: the server must then offer 8BITMIME (RFC 6152).
pub fn needs_8bit(message: &[u8]) -> bool {
    !message.is_ascii()
}

/// A line that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongLine {
    /// Number of the line in the message, from 1.
    pub line: usize,
    /// Octets of the line, without its end.
    pub octets: usize,
}

/// The longest line of a message in wire form, if it has more than [`LINE_OCTETS`].
pub fn too_long(wire: &[u8]) -> Option<LongLine> {
    let mut longest = LongLine { line: 0, octets: LINE_OCTETS };
    let mut line = 1;
    let mut start = 0;
    // The loop skips lines shorter than the longest: only the last line end within its length matters.
    while wire.len() - start > longest.octets {
        let window = &wire[start..start + longest.octets + 1];
        if let Some(end) = memrchr(b'\n', window) {
            line += memchr::memchr_iter(b'\n', &window[..=end]).count();
            start += end + 1;
            continue;
        }
        let end = memchr(b'\n', &wire[start..]).map_or(wire.len(), |at| start + at);
        let text = &wire[start..end];
        let octets = text.strip_suffix(b"\r").unwrap_or(text).len();
        if octets > longest.octets {
            longest = LongLine { line, octets };
        }
        line += 1;
        start = (end + 1).min(wire.len());
    }
    (longest.line > 0).then_some(longest)
}

/// Appends a message as it is sent after DATA: with leading dots doubled, and the final dot.
///
/// No other line can be taken for the end, whatever the server accepts as line ends: a message that is not in wire form is
/// converted.
pub fn stuffed(wire: &[u8], into: &mut Vec<u8>) {
    into.reserve(wire.len() + wire.len() / 64 + 5);
    let begun = into.len();
    let mut rest = wire;
    while let Some(at) = memchr2(b'\r', b'\n', rest) {
        let (line, after) = rest.split_at(at);
        let Some(after) = after.strip_prefix(b"\r\n") else {
            into.truncate(begun);
            return stuffed(&to_wire(wire), into);
        };
        push_line(line, into);
        rest = after;
    }
    if !rest.is_empty() || wire.is_empty() {
        push_line(rest, into);
    }
    into.extend_from_slice(b".\r\n");
}

fn push_line(line: &[u8], into: &mut Vec<u8>) {
    if line.starts_with(b".") {
        into.push(b'.');
    }
    into.extend_from_slice(line);
    into.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stuff(message: &[u8]) -> Vec<u8> {
        let mut into = Vec::new();
        stuffed(message, &mut into);
        into
    }

    #[test]
    fn line_ends_are_repaired() {
        let cases: [(&[u8], &[u8]); 8] = [
            (b"a\r\nb\r\n", b"a\r\nb\r\n"),
            (b"a\nb", b"a\r\nb\r\n"),
            (b"a\rb\r", b"a\r\nb\r\n"),
            (b"a\r\r\nb", b"a\r\n\r\nb\r\n"),
            (b"a\n\rb", b"a\r\n\r\nb\r\n"),
            (b"\n", b"\r\n"),
            (b"", b"\r\n"),
            (b"a\0b", b"a\0b\r\n"),
        ];
        for (message, wire) in cases {
            assert_eq!(to_wire(message), wire, "{message:?}");
        }
    }

    #[test]
    fn dots_are_doubled_and_the_end_is_told() {
        assert_eq!(stuff(b"a\r\n.b\r\n.\r\n..\r\n"), b"a\r\n..b\r\n..\r\n...\r\n.\r\n");
        assert_eq!(stuff(b".a"), b"..a\r\n.\r\n");
        assert_eq!(stuff(b""), b"\r\n.\r\n");
        assert_eq!(stuff(b"a\n.\nb\r.\r"), b"a\r\n..\r\nb\r\n..\r\n.\r\n");
        let mut into = b"before".to_vec();
        stuffed(b"a\n", &mut into);
        assert_eq!(into, b"beforea\r\n.\r\n");
    }

    #[test]
    fn tells_what_the_server_must_take() {
        assert!(!needs_8bit(b"a~\r\n\0"));
        assert!(needs_8bit("ü".as_bytes()));
        let line = |octets: usize| [&b"a".repeat(octets)[..], b"\r\n"].concat();
        assert_eq!(too_long(&line(998).repeat(3)), None);
        let long = [line(998), line(1_000), line(3), line(999), line(2_000), line(7)].concat();
        assert_eq!(too_long(&long), Some(LongLine { line: 5, octets: 2_000 }));
        assert_eq!(too_long(&line(999)), Some(LongLine { line: 1, octets: 999 }));
        assert_eq!(too_long(b""), None);
    }

    /// Reads the data after DATA line by line, as a server does: returns the message, and the bytes after its end.
    fn unstuff(mut data: &[u8]) -> Option<(Vec<u8>, &[u8])> {
        let mut message = Vec::new();
        loop {
            let end = data.windows(2).position(|pair| pair == b"\r\n")?;
            let (line, rest) = (&data[..end], &data[end + 2..]);
            data = rest;
            match line {
                b"." => return Some((message, data)),
                [b'.', line @ ..] => message.extend_from_slice(line),
                line => message.extend_from_slice(line),
            }
            message.extend_from_slice(b"\r\n");
        }
    }

    fn any_message() -> impl Strategy<Value = Vec<u8>> {
        let nasty = prop_oneof![
            4 => Just(b'.'), 4 => Just(b'\r'), 4 => Just(b'\n'), 2 => Just(b'a'), 1 => any::<u8>()
        ];
        proptest::collection::vec(nasty, 0..60)
    }

    proptest! {
        #[test]
        fn a_server_gets_the_repaired_message_and_nothing_after(message in any_message()) {
            let wire = to_wire(&message);
            let data = stuff(&wire);
            prop_assert_eq!(unstuff(&data), Some((wire.clone(), &b""[..])));
            prop_assert_eq!(&stuff(&message), &data);
            prop_assert_eq!(to_wire(&wire), wire);
        }

        #[test]
        fn only_the_end_looks_like_one(message in any_message()) {
            let data = stuff(&message);
            let ends: [&[u8]; 8] = [
                b"\r\n.\r\n", b"\n.\n", b"\r.\r", b"\n.\r\n", b"\r\n.\n", b"\r.\r\n", b"\r\n.\r", b"\r.\n",
            ];
            for end in ends {
                let found = data.windows(end.len()).position(|part| part == end);
                prop_assert!(found.is_none_or(|at| at + 5 >= data.len()), "{:?} in {:?}", end, data);
            }
            prop_assert!(data.ends_with(b"\r\n.\r\n"));
            for (i, b) in data.iter().enumerate() {
                prop_assert!(*b != b'\n' || data[i - 1] == b'\r');
                prop_assert!(*b != b'\r' || data[i + 1] == b'\n');
            }
        }

        #[test]
        fn the_longest_line_is_found(octets in proptest::collection::vec(0..2_500_usize, 0..9)) {
            let wire: Vec<u8> =
                octets.iter().flat_map(|n| [&b"a".repeat(*n)[..], b"\r\n"].concat()).collect();
            let longest = octets.iter().copied().max().filter(|n| *n > LINE_OCTETS);
            prop_assert_eq!(too_long(&wire).map(|long| long.octets), longest);
            if let Some(long) = too_long(&wire) {
                prop_assert_eq!(octets[long.line - 1], long.octets);
            }
        }
    }
}

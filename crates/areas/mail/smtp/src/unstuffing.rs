//! Removes dot-stuffing from a message after DATA, and finds its end (RFC 5321, section 4.5.2).

/// Removes dot-stuffing and finds the end of a message that arrives in pieces. Only CR LF `.` CR LF is the end (RFC 5321,
/// section 4.1.1.4): a server that accepts less can be made to see two messages where others see one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unstuffing {
    at: At,
}

/// The parser's position in a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum At {
    /// The beginning of a line, after CR LF.
    #[default]
    Start,
    /// The text of a line.
    Text,
    /// The place after a CR, which may begin a line end.
    Cr,
    /// The place after a dot at the beginning of a line, which is not part of the message.
    Dot,
    /// The place after a dot at the beginning and a CR, which is either text or part of the end of the message.
    DotCr,
}

impl Unstuffing {
    /// Processes bytes, and passes the message's to `take`, in pieces. When the end is found, returns the number of bytes
    /// up to and including it.
    pub fn feed(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) -> Option<usize> {
        let mut next = 0;
        while let Some(&byte) = bytes.get(next) {
            match (self.at, byte) {
                (At::Start, b'.') => {
                    self.at = At::Dot;
                    next += 1;
                }
                (At::Dot, b'\r') => {
                    self.at = At::DotCr;
                    next += 1;
                }
                (At::DotCr, b'\n') => {
                    self.at = At::Start;
                    return Some(next + 1);
                }
                (At::DotCr, _) => {
                    take(b"\r");
                    self.at = At::Cr;
                }
                (At::Cr, b'\n') => {
                    take(b"\n");
                    self.at = At::Start;
                    next += 1;
                }
                (At::Start | At::Dot | At::Cr | At::Text, _) => {
                    next += self.text(&bytes[next..], &mut take);
                }
            }
        }
        None
    }

    /// Processes text up to the next line that begins with a dot. Returns the number of bytes processed.
    fn text(&mut self, bytes: &[u8], take: &mut impl FnMut(&[u8])) -> usize {
        if let Some(found) = memchr::memmem::find(bytes, b"\r\n.") {
            take(&bytes[..found + 2]);
            self.at = At::Dot;
            return found + 3;
        }
        take(bytes);
        self.at = match bytes {
            [.., b'\r', b'\n'] => At::Start,
            [.., b'\r'] => At::Cr,
            _ => At::Text,
        };
        bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Feeds `bytes` in pieces of `size`; returns the message, and the number of bytes used if it ended.
    fn in_pieces(bytes: &[u8], size: usize) -> (Vec<u8>, Option<usize>) {
        let (mut unstuffing, mut message) = (Unstuffing::default(), Vec::new());
        let mut before = 0;
        for piece in bytes.chunks(size.max(1)) {
            if let Some(used) = unstuffing.feed(piece, |some| message.extend_from_slice(some)) {
                return (message, Some(before + used));
            }
            before += piece.len();
        }
        (message, None)
    }

    #[test]
    fn dots_go_and_the_end_is_found() {
        for (sent, message, rest) in [
            (&b".\r\n"[..], &b""[..], &b""[..]),
            (b"a\r\n.\r\nQUIT\r\n", b"a\r\n", b"QUIT\r\n"),
            (b"..\r\n...a\r\n.b\r\n.\r\n", b".\r\n..a\r\nb\r\n", b""),
            (b"a.\r\n\r\n.\r\nx", b"a.\r\n\r\n", b"x"),
            (b".\r\r\n.\r\n", b"\r\r\n", b""),
        ] {
            for size in 1..=sent.len() {
                let expected = (message.to_vec(), Some(sent.len() - rest.len()));
                assert_eq!(in_pieces(sent, size), expected, "{sent:?} by {size}");
            }
        }
    }

    #[test]
    fn nothing_less_is_an_end() {
        let ends: [&[u8]; 7] =
            [b"\n.\n", b"\n.\r\n", b"\r\n.\n", b"\r.\r", b"\r.\r\n", b"\n.\r", b"\r\n.\r"];
        for almost in ends {
            let sent = [b"a", almost, b"MAIL FROM:<smuggled@x>"].concat();
            for size in 1..=sent.len() {
                assert_eq!(in_pieces(&sent, size).1, None, "{almost:?} by {size}");
            }
        }
    }

    /// Puts dots before lines that begin with one, line by line: the inverse of unstuffing, written independently.
    fn stuffed(message: &[u8]) -> Vec<u8> {
        let mut sent = Vec::new();
        for (at, &byte) in message.iter().enumerate() {
            let begins = at == 0 || message[..at].ends_with(b"\r\n");
            if begins && byte == b'.' {
                sent.push(b'.');
            }
            sent.push(byte);
        }
        sent
    }

    proptest! {
        #[test]
        fn any_message_arrives_as_it_was(
            message in proptest::collection::vec(
                prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'.'), Just(b'a')], 0..60),
            size in 1_usize..20,
        ) {
            let mut message = message;
            if !message.is_empty() {
                message.extend_from_slice(b"\r\n");
            }
            let sent = [stuffed(&message), b".\r\nNOOP".to_vec()].concat();
            let (got, used) = in_pieces(&sent, size);
            prop_assert_eq!(got, message);
            prop_assert_eq!(used, Some(sent.len() - 4));
        }
    }
}

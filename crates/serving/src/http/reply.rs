//! Heads of replies, as a client reads them.

use httparse::Status;

use super::fields::{Encoding, Fields};
use super::{FIELDS_AT_MOST, Misframed};

/// The head of a final reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyHead {
    /// The status.
    pub status: u16,
    /// The length of the head in bytes, with that of interim replies before it.
    pub length: usize,
    /// How the content is delimited.
    pub content: Delimited,
    /// Whether the server closes the connection after the reply.
    pub closes: bool,
}

/// How the content of a reply is delimited (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delimited {
    /// It has this number of octets.
    Length(u64),
    /// It is chunked: see [`Chunked`](super::Chunked).
    Chunks,
    /// It ends with the connection.
    Close,
}

/// The reason why bytes are no head of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// The bytes are malformed.
    #[error("it is no HTTP ({0})")]
    NoHttp(httparse::Error),
    /// The end of the reply is unknown.
    #[error(transparent)]
    Misframed(#[from] Misframed),
}

impl ReplyHead {
    /// The head of the reply to a GET at the beginning of `bytes`; `None` if it is incomplete. Interim replies (1xx) before it
    /// are skipped, as a client must (RFC 9110, section 15.2).
    ///
    /// # Errors
    /// If the bytes are no head.
    pub fn find(bytes: &[u8]) -> Result<Option<Self>, ReplyError> {
        let mut before = 0;
        loop {
            let mut headers = [httparse::EMPTY_HEADER; FIELDS_AT_MOST];
            let mut parsed = httparse::Response::new(&mut headers);
            let length = match parsed.parse(&bytes[before..]).map_err(ReplyError::NoHttp)? {
                Status::Complete(length) => before + length,
                Status::Partial => return Ok(None),
            };
            let status = parsed.code.unwrap_or(0);
            // 101 is final: the connection speaks another protocol after it (RFC 9110, section 7.8).
            if matches!(status, 100 | 102..=199) {
                before = length;
                continue;
            }
            let is_old = parsed.version == Some(0);
            let fields = Fields::of(parsed.headers)?;
            let content = content_of(status, &fields, is_old)?;
            let closes = match is_old {
                true => fields.closes || !fields.keeps_alive,
                false => fields.closes,
            };
            let closes = closes || content == Delimited::Close;
            return Ok(Some(Self { status, length, content, closes }));
        }
    }
}

/// The delimiter of the content. A transfer coding overrides a length.
fn content_of(status: u16, fields: &Fields, is_old: bool) -> Result<Delimited, Misframed> {
    Ok(match (fields.encoding, fields.length) {
        _ if matches!(status, 204 | 304) => Delimited::Length(0),
        (Some(_), _) if is_old => return Err(Misframed::OldWithEncoding),
        (Some(Encoding::Chunked), _) => Delimited::Chunks,
        (None, Some(length)) => Delimited::Length(length),
        (Some(Encoding::Other), _) | (None, None) => Delimited::Close,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn head(text: &str) -> ReplyHead {
        ReplyHead::find(text.as_bytes()).expect("a head").expect("a whole one")
    }

    #[test]
    fn content_is_delimited_as_the_standard_says() {
        let content = |status: u16, fields: &str| {
            head(&format!("HTTP/1.1 {status} X\r\n{fields}\r\n")).content
        };
        assert_eq!(content(200, "Content-Length: 3\r\n"), Delimited::Length(3));
        assert_eq!(content(200, ""), Delimited::Close);
        assert_eq!(content(200, "Transfer-Encoding: chunked\r\n"), Delimited::Chunks);
        let both = "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n";
        assert_eq!(content(200, both), Delimited::Chunks);
        assert_eq!(content(200, "Transfer-Encoding: gzip\r\n"), Delimited::Close);
        for without in [204, 304] {
            assert_eq!(content(without, "Content-Length: 3\r\n"), Delimited::Length(0));
            assert_eq!(content(without, ""), Delimited::Length(0));
        }
        let wrong = |head: &[u8]| ReplyHead::find(head).unwrap_err();
        let old = b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(wrong(old), ReplyError::Misframed(Misframed::OldWithEncoding));
        let two = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n";
        assert_eq!(wrong(two), ReplyError::Misframed(Misframed::Length));
    }

    #[test]
    fn interim_replies_are_skipped() {
        let last = "HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\n";
        let hints = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
        let all = ["HTTP/1.1 100 Continue\r\n\r\n", hints, last, "no"].concat();
        let found = head(&all);
        assert_eq!((found.status, found.length), (503, all.len() - 2));
        for end in 0..all.len() - 2 {
            assert_eq!(ReplyHead::find(&all.as_bytes()[..end]), Ok(None), "{end}");
        }
        assert_eq!(head("HTTP/1.1 101 Switching Protocols\r\n\r\n").status, 101);
    }

    #[test]
    fn the_close_is_announced_by_any_line_or_by_the_version() {
        let closes = |version, fields: &str| {
            head(&format!("HTTP/1.{version} 200 X\r\nContent-Length: 0\r\n{fields}\r\n")).closes
        };
        assert!(!closes(1, "") && !closes(1, "Connection: keep-alive\r\n"));
        assert!(closes(1, "Connection: Upgrade\r\nConnection: close\r\n"));
        assert!(closes(1, "Connection: x, Close\r\n") && !closes(1, "Connection: closed\r\n"));
        assert!(closes(0, "") && !closes(0, "Connection: Keep-Alive\r\n"));
        assert!(head("HTTP/1.1 200 OK\r\n\r\n").closes);
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), begins: bool) {
            let begin: &[u8] = if begins { b"HTTP/1.1 100 A\r\n\r\nHTTP/1.0 200 B\r\n" } else { b"" };
            let bytes = [begin, &bytes].concat();
            if let Ok(Some(head)) = ReplyHead::find(&bytes) {
                prop_assert!(head.length <= bytes.len());
            }
        }
    }
}

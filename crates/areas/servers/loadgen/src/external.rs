//! Checks replies of an external HTTP server, whose contents are not known in advance.

use std::borrow::Cow;

use serving::http::{Chunked, Delimited, Misframed, ReplyError, ReplyHead};

use crate::verdict::{Progress, Verdict, shown, surplus};

/// Maximum length of a reply, interim replies, head and body, in bytes.
const REPLY_AT_MOST: usize = 64 * 1024;

/// Checks of a server's replies: all must have the same status and body.
#[derive(Debug)]
pub(crate) struct ExternalReplies {
    status: u16,
    /// The first body; all others must equal it.
    body: Option<Vec<u8>>,
    /// The last complete and correct reply that does not end with its connection. The next one is usually equal, except for
    /// its date.
    same: Vec<u8>,
    /// Whether the reply in `same` announced that the server closes the connection.
    same_closes: bool,
}

impl ExternalReplies {
    /// Expects replies with `status`.
    pub fn new(status: u16) -> Self {
        Self { status, body: None, same: Vec::new(), same_closes: false }
    }

    /// Processes the next bytes of a reply.
    pub fn take(&mut self, progress: &mut Progress, bytes: &[u8]) -> Verdict {
        if progress.partial.is_empty() && bytes == self.same {
            return Verdict::Whole { closes: self.same_closes || progress.last };
        }
        let mut reply = progress.partial.take();
        reply.extend_from_slice(bytes);
        match self.judge(&reply, false) {
            Ok(None) => match progress.partial.keep(reply) {
                true => Verdict::More,
                false => Verdict::Wrong("it is one of too many that are not complete".into()),
            },
            Ok(Some(closes)) => {
                (self.same, self.same_closes) = (reply, closes);
                Verdict::Whole { closes: closes || progress.last }
            }
            Err(how) => Verdict::Wrong(how),
        }
    }

    /// Processes the end of the connection: it may be that of the reply.
    pub fn ended(&mut self, progress: &mut Progress) -> Verdict {
        let reply = progress.partial.take();
        match self.judge(&reply, true) {
            Ok(None) => Verdict::More,
            Ok(Some(_)) => Verdict::Whole { closes: true },
            Err(how) => Verdict::Wrong(how),
        }
    }

    /// Judges the received part of a reply, and whether the connection has ended after it: `None` if the reply is incomplete;
    /// else whether the server closes the connection after it. An error describes what is wrong.
    fn judge(&mut self, reply: &[u8], is_end: bool) -> Result<Option<bool>, String> {
        let head = ReplyHead::find(reply).map_err(|error| match error {
            ReplyError::NoHttp(_) => format!("{error}: {}", shown(reply)),
            ReplyError::Misframed(_) => error.to_string(),
        })?;
        let Some(head) = head else {
            return match reply.len() < REPLY_AT_MOST {
                true => Ok(None),
                false => Err("its head has no end".into()),
            };
        };
        if head.status != self.status {
            return Err(format!("its status is {}, not {}", head.status, self.status));
        }
        let Some((body, beyond)) = body(&reply[head.length..], head.content, is_end)? else {
            return match reply.len() < REPLY_AT_MOST {
                true => Ok(None),
                false => Err(format!("it is longer than {REPLY_AT_MOST} bytes, too long to check")),
            };
        };
        if !beyond.is_empty() {
            return Err(surplus(beyond));
        }
        let first = self.body.get_or_insert_with(|| body.to_vec());
        if *first != *body {
            return Err(format!("its body is {}, the first was {}", shown(&body), shown(first)));
        }
        Ok(Some(head.closes))
    }
}

/// A body, and the bytes after it.
type Body<'a> = (Cow<'a, [u8]>, &'a [u8]);

/// The body in the bytes after a head; `None` if it is incomplete.
fn body(bytes: &[u8], content: Delimited, is_end: bool) -> Result<Option<Body<'_>>, String> {
    Ok(match content {
        Delimited::Length(length) => match usize::try_from(length) {
            Ok(length) if length <= bytes.len() => {
                let (body, beyond) = bytes.split_at(length);
                Some((body.into(), beyond))
            }
            Ok(length) if length <= REPLY_AT_MOST => None,
            _ => return Err(format!("its body of {length} bytes is too long to check")),
        },
        Delimited::Chunks => {
            let mut body = Vec::new();
            let read = Chunked::default().read(bytes, |data| body.extend_from_slice(data));
            let (used, is_over) = read.map_err(|error: Misframed| error.to_string())?;
            is_over.then(|| (body.into(), &bytes[used..]))
        }
        Delimited::Close => is_end.then_some((bytes.into(), &[])),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: &str, headers: &str, body: &str) -> Vec<u8> {
        format!("HTTP/1.1 {status}\r\n{headers}\r\n{body}").into_bytes()
    }

    #[test]
    fn wrong_replies_are_described() {
        let mut external = ExternalReplies::new(503);
        let mut take = |bytes: &[u8]| external.take(&mut Progress::default(), bytes);
        let good = reply("503 No", "Content-Length: 2\r\n", "no");
        assert_eq!(take(&good), Verdict::Whole { closes: false });
        let close = reply("503 No", "content-length: 2\r\nconnection: Close\r\n", "no");
        assert_eq!(take(&close), Verdict::Whole { closes: true });
        assert_eq!(take(&good[..good.len() - 1]), Verdict::More);
        for (bytes, how) in [
            (reply("200 OK", "Content-Length: 2\r\n", "no"), "its status is 200, not 503"),
            (reply("101 Other", "", ""), "its status is 101, not 503"),
            (
                reply("503 No", "Content-Length: 2\r\nContent-Length: 3\r\n", "no"),
                "its Content-Length is no single number",
            ),
            (reply("503 No", "Transfer-Encoding: chunked\r\n", "no"), "its chunks are malformed"),
            (
                reply("503 No", "Content-Length: 2\r\n", "on"),
                "its body is \"on\", the first was \"no\"",
            ),
            (
                reply("503 No", "Content-Length: 9999999\r\n", ""),
                "its body of 9999999 bytes is too long to check",
            ),
            (
                b"450 too busy\r\n".to_vec(),
                "it is no HTTP (invalid HTTP version): \"450 too busy\\r\\n\"",
            ),
            (vec![b'\n'; REPLY_AT_MOST], "its head has no end"),
            (
                reply("503 No", "", &"x".repeat(REPLY_AT_MOST)),
                "it is longer than 65536 bytes, too long to check",
            ),
        ] {
            assert_eq!(take(&bytes), Verdict::Wrong(how.into()));
        }
    }

    /// The verdict on a reply that arrives in pieces before its connection ends, and whether the end was needed for it.
    fn verdict_on(external: &mut ExternalReplies, reply: &[u8], piece: usize) -> (Verdict, bool) {
        let mut progress = Progress::default();
        let mut verdict = Verdict::More;
        for piece in reply.chunks(piece) {
            verdict = external.take(&mut progress, piece);
        }
        match verdict {
            Verdict::More => (external.ended(&mut progress), true),
            other => (other, false),
        }
    }

    #[test]
    fn replies_are_delimited_in_each_way_of_the_standard() {
        let mut external = ExternalReplies::new(503);
        let whole = |closes| (Verdict::Whole { closes }, closes);
        let chunked = "Transfer-Encoding: chunked\r\n";
        for piece in [1, 3, 1_000] {
            let of = &mut |reply: &[u8]| verdict_on(&mut external, reply, piece);
            assert_eq!(of(&reply("503 No", "Content-Length: 2\r\n", "no")), whole(false));
            assert_eq!(of(&reply("503 No", chunked, "2\r\nno\r\n0\r\n\r\n")), whole(false));
            assert_eq!(
                of(&reply("503 No", chunked, "1\r\nn\r\n1\r\no\r\n0\r\nX: y\r\n\r\n")),
                whole(false)
            );
            assert_eq!(of(&reply("503 No", "", "no")), whole(true));
            let with_interim = [
                reply("103 Hints", "Link: x\r\n", ""),
                reply("503 No", "Content-Length: 2\r\n", "no"),
            ];
            assert_eq!(of(&with_interim.concat()), whole(false));
            let lines = "Connection: x\r\nConnection: close\r\nContent-Length: 2\r\n";
            let closes = (Verdict::Whole { closes: true }, false);
            assert_eq!(of(&reply("503 No", lines, "no")), closes);
            // The connection ends before the reply does.
            let (early, _) = of(&reply("503 No", "Content-Length: 2\r\n", "n"));
            assert_eq!(early, Verdict::More);
            assert_eq!(of(&reply("503 No", chunked, "2\r\nno\r\n")).0, Verdict::More);
            let (other, _) = of(&reply("503 No", "", "on"));
            assert_eq!(other, Verdict::Wrong("its body is \"on\", the first was \"no\"".into()));
        }
    }
}

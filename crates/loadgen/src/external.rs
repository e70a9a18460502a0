//! Checks replies of an external HTTP server, whose contents are not known in advance.

use crate::verdict::{Progress, Verdict, shown, surplus};

/// Maximum number of headers of a reply.
const HEADERS_AT_MOST: usize = 64;
/// Maximum length of a reply, head and body, in bytes.
const REPLY_AT_MOST: usize = 64 * 1024;

/// Checks of a server's replies: all must have the same status and body.
#[derive(Debug)]
pub(crate) struct ExternalReplies {
    status: u16,
    /// The first body; all others must equal it.
    body: Option<Vec<u8>>,
    /// The last complete and correct reply. The next one is usually equal, except for its date.
    same: Vec<u8>,
    /// Whether the reply in `same` announced that the server closes the connection.
    same_closes: bool,
}

/// A complete head, and the length of its body.
struct Head {
    length: usize,
    body: usize,
    closes: bool,
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
        let mut reply = std::mem::take(&mut progress.partial);
        reply.extend_from_slice(bytes);
        match self.judge(&reply) {
            Ok(None) => {
                progress.partial = reply;
                Verdict::More
            }
            Ok(Some(closes)) => {
                (self.same, self.same_closes) = (reply, closes);
                Verdict::Whole { closes: closes || progress.last }
            }
            Err(how) => Verdict::Wrong(how),
        }
    }

    /// Judges the received part of a reply: `None` if it is incomplete; else whether the server closes the connection after
    /// it. An error describes what is wrong.
    fn judge(&mut self, reply: &[u8]) -> Result<Option<bool>, String> {
        let Some(head) = self.head(reply)? else { return Ok(None) };
        let body = &reply[head.length..];
        if body.len() < head.body {
            return Ok(None);
        }
        let (body, beyond) = body.split_at(head.body);
        if !beyond.is_empty() {
            return Err(surplus(beyond));
        }
        let first = self.body.get_or_insert_with(|| body.to_vec());
        if first != body {
            return Err(format!("its body is {}, the first was {}", shown(body), shown(first)));
        }
        Ok(Some(head.closes))
    }

    fn head(&self, reply: &[u8]) -> Result<Option<Head>, String> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_AT_MOST];
        let mut parsed = httparse::Response::new(&mut headers);
        let length = match parsed.parse(reply) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if reply.len() < REPLY_AT_MOST => return Ok(None),
            Ok(httparse::Status::Partial) => return Err("its head has no end".into()),
            Err(error) => return Err(format!("it is no HTTP ({error}): {}", shown(reply))),
        };
        let status = parsed.code.unwrap_or(0);
        if status != self.status {
            return Err(format!("its status is {status}, not {}", self.status));
        }
        let value = |name: &str| {
            let header = parsed.headers.iter().find(|h| h.name.eq_ignore_ascii_case(name))?;
            std::str::from_utf8(header.value).ok().map(str::trim)
        };
        let bare = matches!(status, 204 | 304);
        let body = match value("content-length").map(str::parse::<usize>) {
            Some(Ok(body)) if body <= REPLY_AT_MOST.saturating_sub(length) => body,
            Some(Ok(body)) => return Err(format!("its body of {body} bytes is too long to check")),
            _ if bare => 0,
            _ => return Err("it does not say how long it is (Content-Length)".into()),
        };
        let options = value("connection").map(str::to_ascii_lowercase).unwrap_or_default();
        let closes = match parsed.version {
            Some(0) => !options.contains("keep-alive"),
            _ => options.contains("close"),
        };
        Ok(Some(Head { length, body: if bare { 0 } else { body }, closes }))
    }
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
            (reply("503 No", "", "no"), "it does not say how long it is (Content-Length)"),
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
        ] {
            assert_eq!(take(&bytes), Verdict::Wrong(how.into()));
        }
    }
}

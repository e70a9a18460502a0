//! Requests, as a server reads them that discards their content.

use std::mem::MaybeUninit;
use std::time::SystemTime;

use httparse::Status;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;

use super::fields::{Encoding, Fields};
use super::{Chunked, FIELDS_AT_MOST, HEAD_AT_MOST, Misframed};

/// Reads the requests of a connection, one after the other.
#[derive(Debug, Default)]
pub struct Requests {
    content: Content,
    /// The request whose content is being read; meaningless if none is.
    request: Request,
}

/// The rest of a request's content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Content {
    /// No request was begun, or only its head in part.
    #[default]
    None,
    /// This number of octets.
    Octets(u64),
    Chunked(Chunked),
}

/// A request, as far as its reply depends on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Request {
    /// Whether the reply must have no content: the method is HEAD (RFC 9110, section 9.3.2).
    pub wants_head_only: bool,
    /// What the client expects of the connection.
    pub persistence: Persistence,
}

/// Whether the connection persists after the reply (RFC 9112, section 9.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Persistence {
    /// It does, unless the reply says otherwise.
    #[default]
    Persists,
    /// It does if the reply says so: the client speaks HTTP/1.0 and has sent `keep-alive`.
    IfConfirmed,
    /// It does not.
    Closes,
}

/// What the received bytes mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A request is complete.
    Request(Request),
    /// The client waits for the reply 100 before it sends the content (RFC 9110, section 10.1.1).
    Continue,
    /// More bytes are needed.
    Incomplete,
    /// A request must be refused, and the connection closed.
    Refused(Refusal),
}

/// The reason to refuse a request, by status (RFC 9110, section 15.5; RFC 6585, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// 400: it is malformed, or its end is unknown.
    BadRequest,
    /// 414: its target is too long.
    UriTooLong,
    /// 431: its head is too long, or has too many fields.
    FieldsTooLarge,
}

impl Refusal {
    /// The reply, which announces the close. It has a `Date`, as all replies from 200 to 499 must have of a server with a clock
    /// (RFC 9110, section 6.6.1); a reply of 503 need not.
    pub fn reply(self, now: SystemTime) -> Vec<u8> {
        let status = match self {
            Self::BadRequest => "400 Bad Request",
            Self::UriTooLong => "414 URI Too Long",
            Self::FieldsTooLarge => "431 Request Header Fields Too Large",
        };
        // A time outside of the years 0 to 9999 is that of no clock.
        let printed = |now| DateTimePrinter::new().timestamp_to_rfc9110_string(&now);
        let date = Timestamp::try_from(now).and_then(printed);
        let date = date.map(|date| format!("Date: {date}\r\n")).unwrap_or_default();
        format!("HTTP/1.1 {status}\r\n{date}Content-Length: 0\r\nConnection: close\r\n\r\n")
            .into_bytes()
    }
}

impl Requests {
    /// Reads the next event from the beginning of `bytes`. Returns how many bytes were used. After
    /// [`Event::Incomplete`] the other bytes, fewer than [`HEAD_AT_MOST`], must come again with more; after
    /// [`Event::Refused`] nothing more can be read.
    pub fn next(&mut self, bytes: &[u8]) -> (usize, Event) {
        match self.content {
            Content::None if bytes.is_empty() => (0, Event::Incomplete),
            Content::None => self.head(bytes),
            Content::Octets(left) => {
                let now = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                (now, self.after(Content::Octets(left - now as u64), left == now as u64))
            }
            Content::Chunked(mut chunked) => match chunked.read(bytes, |_| {}) {
                Ok((used, is_over)) => (used, self.after(Content::Chunked(chunked), is_over)),
                Err(_) => (0, Event::Refused(Refusal::BadRequest)),
            },
        }
    }

    /// Whether a request's head was read, but not all of its content.
    pub fn is_in_content(&self) -> bool {
        self.content != Content::None
    }

    /// The event after reading content, with the rest of it.
    fn after(&mut self, rest: Content, is_over: bool) -> Event {
        self.content = if is_over { Content::None } else { rest };
        if is_over { Event::Request(self.request) } else { Event::Incomplete }
    }

    fn head(&mut self, bytes: &[u8]) -> (usize, Event) {
        let head = &bytes[..bytes.len().min(HEAD_AT_MOST)];
        let mut fields = [const { MaybeUninit::uninit() }; FIELDS_AT_MOST];
        let mut parsed = httparse::Request::new(&mut []);
        let length = match parsed.parse_with_uninit_headers(head, &mut fields) {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) if head.len() < HEAD_AT_MOST => return (0, Event::Incomplete),
            Ok(Status::Partial) => return (0, Event::Refused(too_long(head))),
            Err(httparse::Error::TooManyHeaders) => {
                return (0, Event::Refused(Refusal::FieldsTooLarge));
            }
            Err(_) => return (0, Event::Refused(Refusal::BadRequest)),
        };
        let is_old = parsed.version == Some(0);
        let Ok(read) = Fields::of(parsed.headers) else {
            return (0, Event::Refused(Refusal::BadRequest));
        };
        // A request has exactly one Host from HTTP/1.1 on (RFC 9112, section 3.2).
        let has_host = read.hosts == 1 || is_old && read.hosts == 0;
        let content = content_of(&read, is_old);
        let (true, Ok(content)) = (has_host, content) else {
            return (0, Event::Refused(Refusal::BadRequest));
        };
        self.request = Request {
            wants_head_only: parsed.method == Some("HEAD"),
            persistence: match (read.closes, is_old, read.keeps_alive) {
                (true, ..) | (_, true, false) => Persistence::Closes,
                (false, true, true) => Persistence::IfConfirmed,
                (false, false, _) => Persistence::Persists,
            },
        };
        self.content = content;
        match content {
            Content::None => (length, Event::Request(self.request)),
            // A client that has sent some of the content does not wait.
            _ if read.expects_continue && !is_old && bytes.len() == length => {
                (length, Event::Continue)
            }
            _ => {
                let (more, event) = self.next(&bytes[length..]);
                (length + more, event)
            }
        }
    }
}

/// The content of a request with these fields (RFC 9112, section 6.3). A length beside a transfer coding is refused, as may
/// be done: requests are smuggled through proxies in this way.
fn content_of(fields: &Fields, is_old: bool) -> Result<Content, Misframed> {
    match (fields.encoding, fields.length) {
        (None, None | Some(0)) => Ok(Content::None),
        (None, Some(length)) => Ok(Content::Octets(length)),
        (Some(_), _) if is_old => Err(Misframed::OldWithEncoding),
        (Some(Encoding::Chunked), None) => Ok(Content::Chunked(Chunked::default())),
        (Some(_), _) => Err(Misframed::Chunks),
    }
}

/// The refusal of a head that is too long: because of its request line, or of its fields.
fn too_long(head: &[u8]) -> Refusal {
    let line = head.trim_ascii_start();
    if line.contains(&b'\n') { Refusal::FieldsTooLarge } else { Refusal::UriTooLong }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    const PERSISTS: Event =
        Event::Request(Request { wants_head_only: false, persistence: Persistence::Persists });
    const BAD: Event = Event::Refused(Refusal::BadRequest);

    /// All events but `Incomplete`, when the bytes arrive in pieces.
    fn events(bytes: &[u8], piece: usize) -> Vec<Event> {
        let (mut requests, mut kept, mut events) = (Requests::default(), Vec::new(), Vec::new());
        for piece in bytes.chunks(piece) {
            kept.extend_from_slice(piece);
            loop {
                let (used, event) = requests.next(&kept);
                kept.drain(..used);
                match event {
                    Event::Incomplete => break,
                    Event::Refused(_) => {
                        events.push(event);
                        return events;
                    }
                    _ => events.push(event),
                }
            }
            assert!(kept.len() < HEAD_AT_MOST + piece.len());
        }
        events
    }

    #[track_caller]
    fn all(text: &str, expected: &[Event]) {
        // A long head is parsed again with each piece.
        let pieces = if text.len() < 1_000 { [1, 2, 7] } else { [999, 8_191, 8_192] };
        for piece in pieces.into_iter().chain([text.len()]) {
            let found = events(text.as_bytes(), piece);
            let found: Vec<_> = found.into_iter().filter(|e| *e != Event::Continue).collect();
            assert_eq!(found, expected, "{text:?} in pieces of {piece}");
        }
    }

    #[test]
    fn content_is_skipped() {
        let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        all(&get.repeat(3), &[PERSISTS; 3]);
        let post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n{\"a\":1}";
        all(&[post, get, post].concat(), &[PERSISTS; 3]);
        let empty = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
        all(&[empty, get].concat(), &[PERSISTS; 2]);
        let chunked = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWiki\r\n0\r\nX: y\r\n\r\n";
        all(&[chunked, get, chunked].concat(), &[PERSISTS; 3]);
        // An empty line may come before a request (RFC 9112, section 2.2).
        all(&[post, "\r\n", get].concat(), &[PERSISTS; 2]);
        all(&post[..post.len() - 1], &[]);
    }

    #[test]
    fn persistence_follows_version_and_options() {
        let persistence = |head: &str| match events(head.as_bytes(), 9)[..] {
            [Event::Request(request)] => request.persistence,
            ref other => panic!("{head:?}: {other:?}"),
        };
        for (head, expected) in [
            ("GET / HTTP/1.1\r\nHost: x\r\nConnection: Close\r\n\r\n", Persistence::Closes),
            ("GET / HTTP/1.1\r\nHost: x\r\nConnection: TE, close\r\n\r\n", Persistence::Closes),
            ("GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n", Persistence::Persists),
            ("GET / HTTP/1.0\r\n\r\n", Persistence::Closes),
            ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", Persistence::IfConfirmed),
            ("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", Persistence::Closes),
        ] {
            assert_eq!(persistence(head), expected, "{head:?}");
        }
    }

    #[test]
    fn the_method_head_and_no_other_wants_no_content() {
        let only = |method: &str| {
            let head = format!("{method} / HTTP/1.1\r\nHost: x\r\n\r\n");
            matches!(events(head.as_bytes(), 99)[..], [Event::Request(r)] if r.wants_head_only)
        };
        assert!(only("HEAD") && !only("GET") && !only("head") && !only("HEADER"));
    }

    #[test]
    fn a_client_that_expects_100_gets_it_before_it_sends_content() {
        let head = |version| {
            format!(
                "PUT / HTTP/1.{version}\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
            )
        };
        let mut requests = Requests::default();
        let now = head(1);
        assert_eq!(requests.next(now.as_bytes()), (now.len(), Event::Continue));
        assert!(requests.is_in_content());
        assert_eq!(requests.next(b""), (0, Event::Incomplete));
        assert_eq!(requests.next(b"abGET"), (2, PERSISTS));
        assert!(!requests.is_in_content());
        // A client of HTTP/1.0, and one that has sent some of the content, do not wait.
        assert_eq!(Requests::default().next(head(0).as_bytes()).1, Event::Incomplete);
        assert_eq!(Requests::default().next((head(1) + "a").as_bytes()).1, Event::Incomplete);
        let none = "GET / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n";
        assert_eq!(Requests::default().next(none.as_bytes()).1, PERSISTS);
    }

    #[test]
    fn requests_whose_end_is_unknown_are_refused() {
        let chunked = "Transfer-Encoding: chunked\r\n";
        for fields in [
            "Content-Length: x\r\n",
            "Content-Length: 1\r\nContent-Length: 2\r\n",
            "Content-Length: -1\r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Transfer-Encoding: gzip\r\n",
            "Transfer-Encoding: chunked, gzip\r\n",
            &format!("{chunked}Content-Length: 3\r\n"),
            "Host: y\r\n",
            "Content-Length : 3\r\n",
            "X: folded\r\n line\r\n",
        ] {
            all(&format!("POST / HTTP/1.1\r\nHost: x\r\n{fields}\r\n"), &[BAD]);
        }
        all("GET / HTTP/1.1\r\n\r\n", &[BAD]);
        all("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", &[BAD]);
        all(&format!("POST / HTTP/1.0\r\n{chunked}\r\n"), &[BAD]);
        all(&format!("POST / HTTP/1.1\r\nHost: x\r\n{chunked}\r\nxyz"), &[BAD]);
        all("\x16\x03\x01garbage\0\r\n\r\n", &[BAD]);
        all("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &[BAD]);
    }

    #[test]
    fn heads_that_are_too_long_are_refused_by_their_reason() {
        let long = "x".repeat(HEAD_AT_MOST);
        let uri = Event::Refused(Refusal::UriTooLong);
        all(&format!("GET /{long} HTTP/1.1\r\nHost: x\r\n\r\n"), &[uri]);
        let fields = Event::Refused(Refusal::FieldsTooLarge);
        all(&format!("GET / HTTP/1.1\r\nHost: x\r\nX: {long}\r\n\r\n"), &[fields]);
        let many = "X: y\r\n".repeat(FIELDS_AT_MOST);
        all(&format!("GET / HTTP/1.1\r\nHost: x\r\n{many}\r\n"), &[fields]);
        let target = "x".repeat(8_000);
        all(&format!("GET /{target} HTTP/1.1\r\nHost: x\r\n\r\n"), &[PERSISTS]);
    }

    #[test]
    fn refusals_have_the_status_and_the_date_of_the_standard() {
        // The example of RFC 9110, section 5.6.7.
        let example: Timestamp = "1994-11-06T08:49:37Z".parse().unwrap();
        let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT";
        for (refusal, status) in [
            (Refusal::BadRequest, "400 Bad Request"),
            (Refusal::UriTooLong, "414 URI Too Long"),
            (Refusal::FieldsTooLarge, "431 Request Header Fields Too Large"),
        ] {
            let reply = String::from_utf8(refusal.reply(example.into())).unwrap();
            let lines: Vec<&str> = reply.split("\r\n").collect();
            let status = format!("HTTP/1.1 {status}");
            let expected = [&status, date, "Content-Length: 0", "Connection: close", "", ""];
            assert_eq!(lines, expected);
        }
        let year_10_000 = SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_800);
        let without = Refusal::BadRequest.reply(year_10_000);
        assert!(!String::from_utf8(without).unwrap().contains("Date"));
    }

    /// A request with content, in one of the ways to send it.
    fn request() -> impl Strategy<Value = Vec<u8>> {
        let content = prop::collection::vec(any::<u8>(), 0..200);
        (content, 0usize..3, 1usize..50, any::<bool>()).prop_map(|(content, how, chunk, expect)| {
            let expect = if expect { "Expect: 100-continue\r\n" } else { "" };
            let head = format!("POST /x HTTP/1.1\r\nhost: x\r\n{expect}");
            match how {
                0 => format!("{head}\r\n").into_bytes(),
                1 => {
                    let head = format!("{head}Content-Length: {}\r\n\r\n", content.len());
                    [head.as_bytes(), &content].concat()
                }
                _ => {
                    let mut bytes =
                        format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
                    for data in content.chunks(chunk) {
                        bytes.extend(format!("{:X};x=y\r\n", data.len()).into_bytes());
                        bytes.extend(data.iter().chain(b"\r\n"));
                    }
                    [&bytes[..], b"0\r\n\r\n"].concat()
                }
            }
        })
    }

    proptest! {
        #[test]
        fn each_request_is_one_whatever_its_content(requests in prop::collection::vec(request(), 1..6), piece in 1usize..300) {
            let found = events(&requests.concat(), piece);
            let found: Vec<_> = found.into_iter().filter(|e| *e != Event::Continue).collect();
            prop_assert_eq!(found, vec![PERSISTS; requests.len()]);
        }

        #[test]
        fn no_bytes_cause_a_panic(parts in prop::collection::vec(prop::sample::select(&[
            "GET / HTTP/1.1\r\n", "POST / HTTP/1.0\r\n", "Host: x\r\n", "Content-Length: ", "Transfer-Encoding: chunked\r\n",
            "Expect: 100-continue\r\n", "\r\n", "5", "0", "a", "\0", "\u{fffd}",
        ][..]), 0..30), piece in 1usize..50) {
            let bytes = parts.concat().into_bytes();
            let of = |piece| -> Vec<Event> {
                events(&bytes, piece).into_iter().filter(|e| *e != Event::Continue).collect()
            };
            prop_assert_eq!(of(piece), of(bytes.len().max(1)));
        }
    }
}

//! The server's side of the protocols, without I/O.

use std::borrow::Cow;

use serving::protocol::{
    BAD_REQUEST, ExchangeKind, HEAD_AT_MOST, Protocol, TOO_BUSY, UNAVAILABLE, UNAVAILABLE_CLOSE,
};

/// The readiness that an exchange waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    /// Data from the client.
    Read,
    /// Space to send to the client.
    Write,
    /// No readiness: the connection must be closed.
    Close,
}

/// An exchange with one client.
#[derive(Debug)]
pub struct Exchange {
    protocol: Protocol,
    /// Number of replies left; `None` for no limit.
    left: Option<u32>,
    /// The part of an HTTP request that was received.
    head: Vec<u8>,
    /// Number of received bytes of an echo request.
    echoed: usize,
    out: Cow<'static, [u8]>,
    sent: usize,
    over: bool,
}

impl Exchange {
    /// An exchange with a client that has just connected. If the server sends first, calls `work` before the reply is
    /// ready.
    pub fn new(protocol: Protocol, work: &dyn Fn()) -> Self {
        let speaks_first = protocol.kind == ExchangeKind::TooBusy;
        if speaks_first {
            work();
        }
        Self {
            protocol,
            left: protocol.requests,
            head: Vec::new(),
            echoed: 0,
            out: Cow::Borrowed(if speaks_first { TOO_BUSY } else { &[] }),
            sent: 0,
            over: speaks_first,
        }
    }

    /// The bytes to send.
    pub fn to_send(&self) -> &[u8] {
        &self.out[self.sent..]
    }

    /// Records that the first `bytes` of [`Exchange::to_send`] were sent.
    pub fn was_sent(&mut self, bytes: usize) {
        self.sent += bytes;
        debug_assert!(self.sent <= self.out.len());
        if self.sent == self.out.len() {
            self.sent = 0;
            match &mut self.out {
                Cow::Borrowed(_) => self.out = Cow::Borrowed(&[]),
                Cow::Owned(bytes) => bytes.clear(),
            }
        }
    }

    /// Takes the bytes to send out of the exchange, for a loop that sends and receives at the same time.
    #[cfg_attr(
        not(any(target_os = "linux", windows)),
        expect(dead_code, reason = "only io_uring and iocp do that")
    )]
    pub fn take_to_send(&mut self) -> Cow<'static, [u8]> {
        debug_assert_eq!(self.sent, 0);
        std::mem::replace(&mut self.out, Cow::Borrowed(&[]))
    }

    /// Processes received bytes; calls `work` for each complete request, before its reply is ready. Loops receive only
    /// after everything was sent, so that a client that does not read cannot exhaust the memory.
    pub fn received(&mut self, bytes: &[u8], work: &dyn Fn()) {
        match self.protocol.kind {
            ExchangeKind::TooBusy => {}
            ExchangeKind::Echo { size } => self.echo(bytes, size, work),
            ExchangeKind::Http => self.http(bytes, work),
        }
    }

    /// Records that the client will send no more; the replies so far are still sent.
    pub fn ended(&mut self) {
        self.over = true;
    }

    /// Makes the next reply the last, since the server stops; the reply announces the close if the protocol can.
    pub fn finish_soon(&mut self) {
        if self.protocol.kind == ExchangeKind::Http {
            self.left = Some(1);
        }
    }

    /// The readiness that the exchange waits for.
    pub fn wants(&self) -> Wants {
        match (self.to_send().is_empty(), self.over) {
            (false, _) => Wants::Write,
            (true, false) => Wants::Read,
            (true, true) => Wants::Close,
        }
    }

    /// Whether a request was received in part.
    pub fn is_in_request(&self) -> bool {
        self.echoed > 0 || !self.head.is_empty()
    }

    fn echo(&mut self, bytes: &[u8], size: usize, work: &dyn Fn()) {
        let wanted = self.left.map_or(usize::MAX, |left| size * left as usize - self.echoed);
        let bytes = &bytes[..bytes.len().min(wanted)];
        self.out.to_mut().extend_from_slice(bytes);
        let whole = (self.echoed + bytes.len()) / size;
        self.echoed = (self.echoed + bytes.len()) % size;
        (0..whole).for_each(|_| work());
        self.answered(whole);
    }

    fn answered(&mut self, replies: usize) {
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(u32::try_from(replies).unwrap_or(u32::MAX));
            self.over |= *left == 0;
        }
    }

    fn http(&mut self, bytes: &[u8], work: &dyn Fn()) {
        if self.head.is_empty() {
            let rest = self.answer_all(bytes, work);
            self.head.extend_from_slice(rest);
        } else {
            let mut head = std::mem::take(&mut self.head);
            head.extend_from_slice(bytes);
            let rest = self.answer_all(&head, work);
            self.head.extend_from_slice(rest);
        }
        if self.head.len() > HEAD_AT_MOST && !self.over {
            self.refuse();
        }
    }

    /// Answers the complete requests in `bytes`, and returns the rest.
    fn answer_all<'a>(&mut self, mut bytes: &'a [u8], work: &dyn Fn()) -> &'a [u8] {
        while !bytes.is_empty() && !self.over {
            match request_in(bytes) {
                Request::Whole { length, is_last } => {
                    bytes = &bytes[length..];
                    self.over |= is_last;
                    work();
                    self.answered(1);
                    self.reply(if self.over { UNAVAILABLE_CLOSE } else { UNAVAILABLE });
                }
                Request::Part => return bytes,
                Request::Garbage => self.refuse(),
            }
        }
        &[]
    }

    fn refuse(&mut self) {
        self.over = true;
        self.reply(BAD_REQUEST);
    }

    fn reply(&mut self, bytes: &'static [u8]) {
        if self.out.is_empty() {
            self.out = Cow::Borrowed(bytes);
        } else {
            self.out.to_mut().extend_from_slice(bytes);
        }
    }
}

/// The beginning of received bytes, as a request.
enum Request {
    Whole { length: usize, is_last: bool },
    Part,
    Garbage,
}

/// Maximum number of headers of a request.
const HEADERS_AT_MOST: usize = 64;

fn request_in(bytes: &[u8]) -> Request {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_AT_MOST];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => {
            let has = |name: &str, value: &[u8]| {
                request.headers.iter().any(|header| {
                    header.name.eq_ignore_ascii_case(name)
                        && header.value.eq_ignore_ascii_case(value)
                })
            };
            let is_old = request.version == Some(0) && !has("connection", b"keep-alive");
            Request::Whole { length, is_last: is_old || has("connection", b"close") }
        }
        Ok(httparse::Status::Partial) => Request::Part,
        Err(_) => Request::Garbage,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sends `parts` and receives the replies, until the exchange is over or nothing is left.
    fn replies(protocol: Protocol, parts: &[&[u8]]) -> (Vec<u8>, Wants) {
        let mut exchange = Exchange::new(protocol, &|| ());
        let mut received = Vec::new();
        let mut parts = parts.iter();
        loop {
            while exchange.wants() == Wants::Write {
                // The reply is taken a byte at a time: the result must not depend on how much is sent at once.
                received.push(exchange.to_send()[0]);
                exchange.was_sent(1);
            }
            match (exchange.wants(), parts.next()) {
                (Wants::Read, Some(part)) => exchange.received(part, &|| ()),
                (wants, _) => return (received, wants),
            }
        }
    }

    const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

    #[test]
    fn too_busy_is_sent_at_once() {
        assert_eq!(replies(Protocol::TOO_BUSY, &[]), (TOO_BUSY.to_vec(), Wants::Close));
    }

    #[test]
    fn http_persists_or_closes_as_requested() {
        let answers = |n| UNAVAILABLE.repeat(n);
        assert_eq!(replies(Protocol::HTTP, &[GET, GET]), (answers(2), Wants::Read));
        let pipelined = [GET, GET].concat();
        assert_eq!(replies(Protocol::HTTP, &[&pipelined]), (answers(2), Wants::Read));
        let last = (UNAVAILABLE_CLOSE.to_vec(), Wants::Close);
        assert_eq!(replies(Protocol::HTTP_CLOSE, &[GET, GET]), last);
        for asks_to_close in
            ["GET / HTTP/1.1\r\nCoNnection: Close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"]
        {
            assert_eq!(replies(Protocol::HTTP, &[asks_to_close.as_bytes()]), last);
        }
        let keeps = b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
        assert_eq!(replies(Protocol::HTTP, &[keeps]), (answers(1), Wants::Read));
    }

    #[test]
    fn malformed_requests_and_endless_heads_are_rejected() {
        let refused = (BAD_REQUEST.to_vec(), Wants::Close);
        assert_eq!(replies(Protocol::HTTP, &[b"\x16\x03\x01garbage\0\r\n\r\n"]), refused);
        let endless = vec![b'a'; HEAD_AT_MOST + 1];
        assert_eq!(replies(Protocol::HTTP, &[b"GET /", &endless]), refused);
    }

    #[test]
    fn a_stopping_server_announces_the_close_with_its_next_reply() {
        let mut exchange = Exchange::new(Protocol::HTTP, &|| ());
        exchange.finish_soon();
        assert_eq!(exchange.wants(), Wants::Read);
        exchange.received(GET, &|| ());
        assert_eq!(exchange.to_send(), UNAVAILABLE_CLOSE);
    }

    #[test]
    fn an_echo_closes_after_its_last_request() {
        let protocol = Protocol::echo(3, Some(2));
        assert_eq!(replies(protocol, &[b"ab", b"cd"]), (b"abcd".to_vec(), Wants::Read));
        assert_eq!(replies(protocol, &[b"abcdef and more"]), (b"abcdef".to_vec(), Wants::Close));
    }

    #[test]
    fn work_is_done_once_for_each_request_that_is_answered() {
        let done = std::cell::Cell::new(0);
        let work = || done.set(done.get() + 1);
        let count = |protocol: Protocol, bytes: &[u8]| {
            done.set(0);
            Exchange::new(protocol, &work).received(bytes, &work);
            done.get()
        };
        assert_eq!(count(Protocol::TOO_BUSY, b"ignored"), 1);
        assert_eq!(count(Protocol::HTTP, &[GET, GET, &GET[..9]].concat()), 2);
        assert_eq!(count(Protocol::HTTP_CLOSE, &[GET, GET].concat()), 1);
        assert_eq!(count(Protocol::HTTP, b"\x16\x03\r\n\r\n"), 0);
        assert_eq!(count(Protocol::echo(3, None), b"abcdefgh"), 2);
    }

    #[test]
    fn a_client_that_half_closes_gets_its_replies() {
        let mut exchange = Exchange::new(Protocol::echo(4, None), &|| ());
        exchange.received(b"abcd", &|| ());
        exchange.ended();
        assert_eq!((exchange.wants(), exchange.to_send()), (Wants::Write, &b"abcd"[..]));
        exchange.was_sent(4);
        assert_eq!(exchange.wants(), Wants::Close);
    }

    proptest! {
        #[test]
        fn replies_do_not_depend_on_segmentation(cuts in prop::collection::vec(1usize..40, 1..30)) {
            let bytes = GET.repeat(5);
            let mut parts: Vec<&[u8]> = Vec::new();
            let mut rest = &bytes[..];
            for cut in cuts.into_iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (part, after) = rest.split_at(cut.min(rest.len()));
                parts.push(part);
                rest = after;
            }
            prop_assert_eq!(replies(Protocol::HTTP, &parts), (UNAVAILABLE.repeat(5), Wants::Read));
            prop_assert_eq!(replies(Protocol::echo(7, None), &parts), (bytes.clone(), Wants::Read));
        }

        #[test]
        fn garbage_neither_panics_nor_exhausts_memory(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..600), 0..40)) {
            let mut exchange = Exchange::new(Protocol::HTTP, &|| ());
            for part in parts {
                if exchange.wants() == Wants::Close {
                    break;
                }
                exchange.received(&part, &|| ());
                prop_assert!(exchange.head.len() <= HEAD_AT_MOST + 600);
                exchange.was_sent(exchange.to_send().len());
            }
        }
    }
}

//! The server's side of the protocols, without I/O.

use std::borrow::Cow;
use std::time::SystemTime;

use serving::http::{Event, Persistence, Refusal, Request, Requests};
use serving::protocol::{
    CONTINUE, ExchangeKind, Protocol, TOO_BUSY, UNAVAILABLE, UNAVAILABLE_CLOSE,
    UNAVAILABLE_CONTENT, UNAVAILABLE_KEEP_ALIVE,
};

/// The readiness that an exchange waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    /// Data from the client.
    Read,
    /// Space to send to the client.
    Write,
    /// No readiness: the sending side must be shut down, and then [`Exchange::was_shut`] called.
    Shut,
    /// No readiness: the connection must be closed.
    Close,
}

/// An exchange with one client.
#[derive(Debug)]
pub struct Exchange {
    protocol: Protocol,
    /// Number of replies left; `None` for no limit.
    left: Option<u32>,
    requests: Requests,
    /// The received part of an HTTP request's head, or of a line between chunks.
    partial: Vec<u8>,
    /// Number of received bytes of an echo request.
    echoed: usize,
    out: Cow<'static, [u8]>,
    sent: usize,
    over: bool,
    closing: Closing,
}

/// How the connection is closed after the last reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    /// At once: the client has sent nothing that was not read.
    AtOnce,
    /// In stages, because the client has sent more: the system would answer that with a reset, by which the client could lose
    /// the reply (RFC 9112, section 9.6). The sending side is shut down first.
    InStages,
    /// The sending side is shut down; what arrives is discarded until the client closes or times out.
    Discarding,
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
            requests: Requests::default(),
            partial: Vec::new(),
            echoed: 0,
            out: Cow::Borrowed(if speaks_first { TOO_BUSY } else { &[] }),
            sent: 0,
            over: speaks_first,
            closing: Closing::AtOnce,
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
            _ if self.over => {}
            ExchangeKind::TooBusy => {}
            ExchangeKind::Echo { size } => self.echo(bytes, size, work),
            ExchangeKind::Http => self.http(bytes, work),
        }
    }

    /// Records that the client will send no more; the replies so far are still sent.
    pub fn ended(&mut self) {
        self.over = true;
        self.closing = Closing::AtOnce;
    }

    /// Records that the sending side was shut down.
    pub fn was_shut(&mut self) {
        debug_assert_eq!(self.closing, Closing::InStages);
        self.closing = Closing::Discarding;
    }

    /// Makes the next reply the last, since the server stops; the reply announces the close if the protocol can.
    pub fn finish_soon(&mut self) {
        if self.protocol.kind == ExchangeKind::Http {
            self.left = Some(1);
        }
    }

    /// The readiness that the exchange waits for.
    pub fn wants(&self) -> Wants {
        match (self.to_send().is_empty(), self.over, self.closing) {
            (false, ..) => Wants::Write,
            (true, false, _) | (true, true, Closing::Discarding) => Wants::Read,
            (true, true, Closing::InStages) => Wants::Shut,
            (true, true, Closing::AtOnce) => Wants::Close,
        }
    }

    /// Whether a request was received in part, or the client's close is awaited: more time is given only after that.
    pub fn is_in_request(&self) -> bool {
        self.echoed > 0
            || !self.partial.is_empty()
            || self.requests.is_in_content()
            || self.closing != Closing::AtOnce
    }

    fn echo(&mut self, bytes: &[u8], size: usize, work: &dyn Fn()) {
        let wanted = self.left.map_or(usize::MAX, |left| size * left as usize - self.echoed);
        let (bytes, beyond) = bytes.split_at(bytes.len().min(wanted));
        self.out.to_mut().extend_from_slice(bytes);
        let whole = (self.echoed + bytes.len()) / size;
        self.echoed = (self.echoed + bytes.len()) % size;
        (0..whole).for_each(|_| work());
        self.answered(whole);
        if !beyond.is_empty() {
            self.closing = Closing::InStages;
        }
    }

    fn answered(&mut self, replies: usize) {
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(u32::try_from(replies).unwrap_or(u32::MAX));
            self.over |= *left == 0;
        }
    }

    fn http(&mut self, bytes: &[u8], work: &dyn Fn()) {
        if self.partial.is_empty() {
            let rest = self.answer_all(bytes, work);
            self.partial.extend_from_slice(rest);
        } else {
            let mut partial = std::mem::take(&mut self.partial);
            partial.extend_from_slice(bytes);
            let rest = self.answer_all(&partial, work);
            self.partial.extend_from_slice(rest);
        }
    }

    /// Answers the complete requests in `bytes`, and returns the rest.
    fn answer_all<'a>(&mut self, mut bytes: &'a [u8], work: &dyn Fn()) -> &'a [u8] {
        loop {
            let (used, event) = self.requests.next(bytes);
            bytes = &bytes[used..];
            match event {
                Event::Request(request) => self.answer(request, work),
                Event::Continue => self.reply(CONTINUE),
                Event::Incomplete => return bytes,
                Event::Refused(refusal) => self.refuse(refusal),
            }
            if self.over {
                if !bytes.is_empty() {
                    self.closing = Closing::InStages;
                }
                return &[];
            }
        }
    }

    fn answer(&mut self, request: Request, work: &dyn Fn()) {
        work();
        self.answered(1);
        self.over |= request.persistence == Persistence::Closes;
        let whole = match request.persistence {
            _ if self.over => UNAVAILABLE_CLOSE,
            Persistence::IfConfirmed => UNAVAILABLE_KEEP_ALIVE,
            _ => UNAVAILABLE,
        };
        let content = if request.wants_head_only { UNAVAILABLE_CONTENT.len() } else { 0 };
        self.reply(&whole[..whole.len() - content]);
    }

    fn refuse(&mut self, refusal: Refusal) {
        self.over = true;
        // The rest of the request may still be on its way.
        self.closing = Closing::InStages;
        self.out.to_mut().extend(refusal.reply(SystemTime::now()));
    }

    fn reply(&mut self, bytes: &'static [u8]) {
        if self.out.is_empty() {
            self.out = Cow::Borrowed(bytes);
        } else {
            self.out.to_mut().extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;
    use serving::http::HEAD_AT_MOST;

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
            if exchange.wants() == Wants::Shut {
                return (received, Wants::Shut);
            }
            match (exchange.wants(), parts.next()) {
                (Wants::Read, Some(part)) => exchange.received(part, &|| ()),
                (wants, _) => return (received, wants),
            }
        }
    }

    const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    const POST: &[u8] = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n{\"a\":1}";
    const CHUNKED: &[u8] =
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{\"a\":1}\r\n0\r\n\r\n";

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
        for asks_to_close in [
            "GET / HTTP/1.1\r\nHost: x\r\nCoNnection: Close\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nConnection: TE, close\r\n\r\n",
            "GET / HTTP/1.0\r\n\r\n",
        ] {
            assert_eq!(replies(Protocol::HTTP, &[asks_to_close.as_bytes()]), last);
        }
        // A client of HTTP/1.0 keeps the connection only if the reply says so.
        let keeps = b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
        let kept = (UNAVAILABLE_KEEP_ALIVE.repeat(2), Wants::Read);
        assert_eq!(replies(Protocol::HTTP, &[keeps, keeps]), kept);
        assert_eq!(replies(Protocol::HTTP_CLOSE, &[keeps]), last);
    }

    #[test]
    fn http_with_content_is_answered_once_and_persists() {
        let answers = |n| (UNAVAILABLE.repeat(n), Wants::Read);
        assert_eq!(replies(Protocol::HTTP, &[POST, GET, CHUNKED, GET]), answers(4));
        let pipelined = [POST, CHUNKED, GET, POST].concat();
        assert_eq!(replies(Protocol::HTTP, &[&pipelined]), answers(4));
        let (head, content) = POST.split_at(POST.len() - 7);
        assert_eq!(replies(Protocol::HTTP, &[head]), (vec![], Wants::Read));
        let last = (UNAVAILABLE_CLOSE.to_vec(), Wants::Close);
        assert_eq!(replies(Protocol::HTTP_CLOSE, &[head, content]), last);
    }

    #[test]
    fn a_reply_to_head_has_no_content() {
        let head = b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n";
        let bare = &UNAVAILABLE[..UNAVAILABLE.len() - 9];
        assert!(bare.ends_with(b"Content-Length: 9\r\n\r\n"));
        let (replies, _) = replies(Protocol::HTTP, &[head, GET]);
        assert_eq!(replies, [bare, UNAVAILABLE].concat());
    }

    #[test]
    fn a_client_that_waits_for_100_gets_it() {
        let head =
            b"PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
        let both = [CONTINUE, UNAVAILABLE].concat();
        assert_eq!(replies(Protocol::HTTP, &[head, b"ab", b"c"]), (both, Wants::Read));
    }

    #[test]
    fn a_connection_with_unread_data_is_closed_in_stages() {
        let close = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        for (protocol, sent) in [
            (Protocol::HTTP, [&close[..], GET].concat()),
            (Protocol::HTTP_CLOSE, GET.repeat(2)),
            (Protocol::HTTP, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n".into()),
            (Protocol::echo(3, Some(1)), b"abcd".into()),
        ] {
            let mut exchange = Exchange::new(protocol, &|| ());
            exchange.received(&sent, &|| ());
            assert_eq!(exchange.wants(), Wants::Write);
            exchange.was_sent(exchange.to_send().len());
            assert_eq!(exchange.wants(), Wants::Shut);
            exchange.was_shut();
            for _ in 0..3 {
                assert_eq!(exchange.wants(), Wants::Read);
                assert!(exchange.is_in_request(), "the client gets no more time");
                exchange.received(GET, &|| panic!("work for what is discarded"));
            }
            exchange.ended();
            assert_eq!(exchange.wants(), Wants::Close);
        }
    }

    #[test]
    fn malformed_requests_and_endless_heads_are_rejected() {
        // The reply without its date, which must be the present one.
        let of = |parts: &[&[u8]]| {
            let before = Timestamp::now().as_second();
            let (reply, wants) = replies(Protocol::HTTP, parts);
            assert_eq!(wants, Wants::Shut);
            let reply = String::from_utf8(reply).unwrap();
            let (until_date, rest) = reply.split_once("Date: ").unwrap();
            let (date, rest) = rest.split_once("\r\n").unwrap();
            let date = jiff::fmt::rfc2822::parse(date).unwrap().timestamp().as_second();
            assert!((before..=Timestamp::now().as_second()).contains(&date), "{reply}");
            format!("{until_date}{rest}")
        };
        let refused =
            |status| format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        assert_eq!(of(&[b"\x16\x03\x01garbage\0\r\n\r\n"]), refused("400 Bad Request"));
        let endless = vec![b'a'; HEAD_AT_MOST];
        assert_eq!(of(&[b"GET /", &endless]), refused("414 URI Too Long"));
        let too_large = refused("431 Request Header Fields Too Large");
        assert_eq!(of(&[b"GET / HTTP/1.1\r\nX: ", &endless]), too_large);
        // What came before is answered.
        let served = String::from_utf8(UNAVAILABLE.to_vec()).unwrap();
        assert_eq!(of(&[&[GET, b"\0"].concat()]), served + &refused("400 Bad Request"));
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
        assert_eq!(replies(protocol, &[b"abcdef"]), (b"abcdef".to_vec(), Wants::Close));
        assert_eq!(replies(protocol, &[b"abcdef and more"]), (b"abcdef".to_vec(), Wants::Shut));
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
        assert_eq!(count(Protocol::HTTP, &[POST, CHUNKED, &POST[..POST.len() - 1]].concat()), 2);
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
            let bytes = [GET, POST, CHUNKED, GET, CHUNKED].concat();
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
                prop_assert!(exchange.partial.len() <= HEAD_AT_MOST + 600);
                exchange.was_sent(exchange.to_send().len());
            }
        }
    }
}

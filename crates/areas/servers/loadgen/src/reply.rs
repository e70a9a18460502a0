//! The client's side of the protocols, without I/O: requests, and the comparison of replies byte for byte.

use serving::SplitMix64;
use serving::protocol::{self, ExchangeKind, Protocol, TOO_BUSY, UNAVAILABLE, UNAVAILABLE_CLOSE};

use crate::external::ExternalReplies;
use crate::verdict::{Progress, Verdict, shown, surplus};

/// Number of offsets of echo requests, which are windows into twice as many random bytes, so that no two consecutive
/// requests are equal.
const WINDOWS: usize = protocol::SIZE_AT_MOST;

/// The requests and the expected replies of a protocol.
#[derive(Debug)]
pub(crate) struct Exchange {
    protocol: Protocol,
    request: Vec<u8>,
    /// The request after whose reply the server must close.
    last_request: Vec<u8>,
    /// The random bytes of echoes; empty for other protocols.
    random: Vec<u8>,
    external: Option<ExternalReplies>,
}

impl Exchange {
    /// The exchange of `protocol` with the server `host`; with `status`, with any HTTP server whose replies have that
    /// status.
    pub fn new(protocol: Protocol, status: Option<u16>, host: &str) -> Self {
        let (mut request, mut last_request) = (Vec::new(), Vec::new());
        if protocol.kind == ExchangeKind::Http {
            request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes();
            last_request =
                format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").into_bytes();
        }
        let random = match protocol.kind {
            ExchangeKind::Echo { .. } => random_bytes(2 * WINDOWS),
            _ => Vec::new(),
        };
        let external =
            status.filter(|_| protocol.kind == ExchangeKind::Http).map(ExternalReplies::new);
        Self { protocol, request, last_request, random, external }
    }

    /// Whether the client sends first.
    pub fn client_sends_first(&self) -> bool {
        self.protocol.client_sends_first()
    }

    /// The largest request, in bytes.
    pub fn largest_request(&self) -> usize {
        match self.protocol.kind {
            ExchangeKind::Echo { size } => size,
            _ => self.last_request.len(),
        }
    }

    /// Begins the exchange with the number `serial`, after `earlier` ones on its connection.
    pub fn begin(&self, progress: &mut Progress, serial: u32, earlier: u32) {
        progress.serial = serial;
        progress.got = 0;
        progress.partial.take();
        progress.last = self.protocol.requests.is_some_and(|all| earlier + 1 >= all);
    }

    /// The request.
    pub fn request(&self, progress: &Progress) -> &[u8] {
        match self.protocol.kind {
            ExchangeKind::TooBusy => &[],
            ExchangeKind::Http if progress.last => &self.last_request,
            ExchangeKind::Http => &self.request,
            ExchangeKind::Echo { size } => self.window(progress.serial, size),
        }
    }

    fn window(&self, serial: u32, size: usize) -> &[u8] {
        // The factor is odd, so that each offset occurs once before any occurs again.
        let at = (serial.wrapping_mul(40_503) as usize) % WINDOWS;
        &self.random[at..at + size]
    }

    /// Compares the next bytes of a reply.
    pub fn take(&mut self, progress: &mut Progress, bytes: &[u8]) -> Verdict {
        if let Some(external) = &mut self.external {
            return external.take(progress, bytes);
        }
        let expected = match self.protocol.kind {
            ExchangeKind::TooBusy => TOO_BUSY,
            ExchangeKind::Http if progress.last => UNAVAILABLE_CLOSE,
            ExchangeKind::Http => UNAVAILABLE,
            ExchangeKind::Echo { size } => self.window(progress.serial, size),
        };
        let rest = &expected[progress.got as usize..];
        let (now, beyond) = bytes.split_at(bytes.len().min(rest.len()));
        if now != &rest[..now.len()] {
            return Verdict::Wrong(difference(progress.got as usize, now, rest));
        }
        if !beyond.is_empty() {
            return Verdict::Wrong(surplus(beyond));
        }
        progress.got += now.len() as u32;
        match now.len() == rest.len() {
            true => Verdict::Whole { closes: progress.last },
            false => Verdict::More,
        }
    }

    /// Judges the end of the connection before the reply was complete: the reply may end with it.
    pub fn ended(&mut self, progress: &mut Progress) -> Verdict {
        self.external.as_mut().map_or(Verdict::More, |external| external.ended(progress))
    }
}

/// Describes where the bytes after the first `before` bytes of a reply differ from the expected ones.
fn difference(before: usize, came: &[u8], expected: &[u8]) -> String {
    let at = came.iter().zip(expected).take_while(|(came, expected)| came == expected).count();
    let shown = |bytes: &[u8]| shown(&bytes[at.min(bytes.len())..]);
    format!("from byte {} on it was {}, not {}", before + at, shown(came), shown(expected))
}

/// Pseudorandom bytes, the same in each run.
fn random_bytes(length: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(0, 0);
    std::iter::repeat_with(|| random.next().to_le_bytes()).flatten().take(length).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EXTERNAL: &[u8] = b"HTTP/1.1 503 Service Temporarily Unavailable\r\nServer: x\r\n\
        Content-Length: 12\r\nConnection: keep-alive\r\n\r\nnot now, no\n";

    /// The exchanges of all protocols, each with a whole correct reply.
    fn all() -> Vec<(Exchange, Progress, Vec<u8>)> {
        let known = ["450", "echo:1", "echo:100", "echo:65536/1", "http", "http-close"];
        let mut all: Vec<_> = known
            .iter()
            .map(|text| {
                let exchange = Exchange::new(text.parse().unwrap(), None, "here");
                let mut progress = Progress::default();
                exchange.begin(&mut progress, 7, 0);
                let reply = match exchange.protocol.kind {
                    ExchangeKind::TooBusy => TOO_BUSY.to_vec(),
                    ExchangeKind::Http if progress.last => UNAVAILABLE_CLOSE.to_vec(),
                    ExchangeKind::Http => UNAVAILABLE.to_vec(),
                    ExchangeKind::Echo { .. } => exchange.request(&progress).to_vec(),
                };
                (exchange, progress, reply)
            })
            .collect();
        let external = Exchange::new(Protocol::HTTP, Some(503), "here");
        all.push((external, Progress::default(), EXTERNAL.to_vec()));
        all
    }

    fn took(exchange: &mut Exchange, progress: &mut Progress, parts: &[&[u8]]) -> Verdict {
        let mut verdict = Verdict::More;
        for part in parts.iter().filter(|part| !part.is_empty()) {
            assert_eq!(verdict, Verdict::More);
            verdict = exchange.take(progress, part);
            if matches!(verdict, Verdict::Wrong(_)) {
                break;
            }
        }
        verdict
    }

    #[test]
    fn a_split_reply_is_complete_only_at_its_last_byte() {
        for (mut exchange, mut progress, reply) in all() {
            for at in (0..reply.len()).step_by(1 + reply.len() / 500) {
                exchange.begin(&mut progress, 7, 0);
                let (first, second) = reply.split_at(at);
                let verdict = took(&mut exchange, &mut progress, &[first, second]);
                assert_eq!(verdict, Verdict::Whole { closes: progress.last });
            }
        }
    }

    #[test]
    fn a_wrong_byte_is_found_at_any_offset() {
        for (mut exchange, mut progress, reply) in all().into_iter().take(6) {
            for at in (0..reply.len()).step_by(1 + reply.len() / 500) {
                let mut wrong = reply.clone();
                wrong[at] ^= 1;
                exchange.begin(&mut progress, 7, 0);
                let Verdict::Wrong(how) = exchange.take(&mut progress, &wrong) else {
                    panic!("a wrong byte {at} was not found");
                };
                assert!(how.starts_with(&format!("from byte {at} on it was ")), "{how}");
                assert!(how.len() < 600, "{how}");
            }
        }
    }

    #[test]
    fn data_after_the_reply_is_wrong() {
        for (mut exchange, mut progress, mut reply) in all() {
            reply.push(b'x');
            exchange.begin(&mut progress, 7, 0);
            let verdict = exchange.take(&mut progress, &reply);
            assert_eq!(verdict, Verdict::Wrong("more came after the whole reply: \"x\"".into()));
        }
    }

    #[test]
    fn consecutive_echoes_differ() {
        let exchange = Exchange::new(Protocol::echo(4, None), None, "here");
        let of = |serial| exchange.window(serial, 4);
        assert!((0..70_000).all(|serial| of(serial) != of(serial + 1)));
    }

    #[test]
    fn the_last_request_requests_the_close() {
        let exchange = Exchange::new("http/3".parse().unwrap(), None, "here");
        let mut progress = Progress::default();
        let asks = [0, 1, 2].map(|earlier| {
            exchange.begin(&mut progress, 1, earlier);
            String::from_utf8(exchange.request(&progress).to_vec()).unwrap().contains("close")
        });
        assert_eq!(asks, [false, false, true]);
    }

    proptest! {
        #[test]
        fn any_segmentation_of_a_reply_is_accepted(
            which in 0usize..7,
            cuts in prop::collection::vec(0.0f64..1.0, 0..8),
        ) {
            let (mut exchange, mut progress, reply) = all().swap_remove(which);
            let mut cuts: Vec<usize> = cuts.iter().map(|c| (c * reply.len() as f64) as usize).collect();
            cuts.extend([0, reply.len()]);
            cuts.sort_unstable();
            let parts: Vec<&[u8]> = cuts.windows(2).map(|pair| &reply[pair[0]..pair[1]]).collect();
            let closes = progress.last;
            prop_assert_eq!(took(&mut exchange, &mut progress, &parts), Verdict::Whole { closes });
        }

        #[test]
        fn no_bytes_cause_a_panic(
            which in 0usize..7,
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            at in 0usize..200,
        ) {
            let (mut exchange, mut progress, mut reply) = all().swap_remove(which);
            reply.truncate(at);
            if !reply.is_empty() && exchange.take(&mut progress, &reply) == Verdict::More {
                exchange.take(&mut progress, &bytes);
            }
        }
    }
}

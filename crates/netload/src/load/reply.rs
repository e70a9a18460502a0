//! What the client says, and whether the answer is right, byte for byte.

use crate::protocol::{TOO_BUSY, UNAVAILABLE, UNAVAILABLE_CLOSE};
use crate::{Kind, Protocol};

use super::foreign::Foreign;

/// So many bytes of a wrong reply are shown.
const SHOWN: usize = 60;
/// Echoes are windows into twice as many random bytes, each at another place, so that none is like the
/// one before.
const WINDOWS: usize = crate::protocol::SIZE_AT_MOST;

/// Both sides of an exchange, as the client knows them.
#[derive(Debug)]
pub(super) struct Exchange {
    protocol: Protocol,
    request: Vec<u8>,
    /// The request after whose reply the server is to close.
    last_request: Vec<u8>,
    /// What echoes are taken from; empty for others.
    noise: Vec<u8>,
    foreign: Option<Foreign>,
}

/// Which exchange it is, and how much of its reply has come.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Number of the exchange: what its contents depend on.
    pub serial: u32,
    /// Whether the server closes the connection after it.
    pub last: bool,
    /// Bytes of the reply that came and were right.
    pub got: u32,
    /// The part of a reply that came, of a server whose words are not known beforehand.
    pub partial: Vec<u8>,
}

/// What bytes of a reply mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Right so far.
    More,
    /// The reply is whole and right; whether the server closes the connection now.
    Whole { closes: bool },
    /// It is wrong, and how.
    Wrong(String),
}

impl Exchange {
    /// The exchange of `protocol` with a server called `host`; of `status`, with any HTTP server whose
    /// replies have that status.
    pub fn new(protocol: Protocol, status: Option<u16>, host: &str) -> Self {
        let (mut request, mut last_request) = (Vec::new(), Vec::new());
        if protocol.kind == Kind::Http {
            request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes();
            last_request =
                format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").into_bytes();
        }
        let noise = match protocol.kind {
            Kind::Echo { .. } => noise(2 * WINDOWS),
            _ => Vec::new(),
        };
        let foreign = status.filter(|_| protocol.kind == Kind::Http).map(Foreign::new);
        Self { protocol, request, last_request, noise, foreign }
    }

    /// Whether the client says something first.
    pub fn client_begins(&self) -> bool {
        self.protocol.client_begins()
    }

    /// The largest request, in bytes.
    pub fn largest_request(&self) -> usize {
        match self.protocol.kind {
            Kind::Echo { size } => size,
            _ => self.last_request.len(),
        }
    }

    /// The progress of the exchange `serial`, before which there were `earlier` on its connection.
    pub fn begin(&self, progress: &mut Progress, serial: u32, earlier: u32) {
        progress.serial = serial;
        progress.got = 0;
        progress.partial = Vec::new();
        progress.last = self.protocol.requests.is_some_and(|all| earlier + 1 >= all);
    }

    /// What the client says.
    pub fn request(&self, progress: &Progress) -> &[u8] {
        match self.protocol.kind {
            Kind::TooBusy => &[],
            Kind::Http if progress.last => &self.last_request,
            Kind::Http => &self.request,
            Kind::Echo { size } => self.window(progress.serial, size),
        }
    }

    fn window(&self, serial: u32, size: usize) -> &[u8] {
        // An odd factor, so that each place comes once before any comes again.
        let at = (serial.wrapping_mul(40_503) as usize) % WINDOWS;
        &self.noise[at..at + size]
    }

    /// Takes the next bytes of a reply.
    pub fn take(&mut self, progress: &mut Progress, bytes: &[u8]) -> Verdict {
        if let Some(foreign) = &mut self.foreign {
            return foreign.take(progress, bytes);
        }
        let expected = match self.protocol.kind {
            Kind::TooBusy => TOO_BUSY,
            Kind::Http if progress.last => UNAVAILABLE_CLOSE,
            Kind::Http => UNAVAILABLE,
            Kind::Echo { size } => self.window(progress.serial, size),
        };
        let rest = &expected[progress.got as usize..];
        let (now, beyond) = bytes.split_at(bytes.len().min(rest.len()));
        if now != &rest[..now.len()] {
            return Verdict::Wrong(difference(progress.got as usize, now, rest));
        }
        if !beyond.is_empty() {
            return Verdict::Wrong(too_much(beyond));
        }
        progress.got += now.len() as u32;
        match now.len() == rest.len() {
            true => Verdict::Whole { closes: progress.last },
            false => Verdict::More,
        }
    }
}

/// Where bytes differ from those expected after the first `before` of a reply.
fn difference(before: usize, came: &[u8], expected: &[u8]) -> String {
    let at = came.iter().zip(expected).take_while(|(came, expected)| came == expected).count();
    let shown = |bytes: &[u8]| shown(&bytes[at.min(bytes.len())..]);
    format!("from byte {} on it was {}, not {}", before + at, shown(came), shown(expected))
}

/// More came than a whole reply.
pub(super) fn too_much(beyond: &[u8]) -> String {
    format!("more came after the whole reply: {}", shown(beyond))
}

/// The beginning of some bytes as people can read it.
pub(super) fn shown(bytes: &[u8]) -> String {
    let more = if bytes.len() > SHOWN { ".." } else { "" };
    format!("\"{}\"{more}", bytes[..bytes.len().min(SHOWN)].escape_ascii())
}

/// Bytes without any pattern, the same each time (SplitMix64, Steele et al. 2014).
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0u64;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    std::iter::repeat_with(|| next().to_le_bytes()).flatten().take(length).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FOREIGN: &[u8] = b"HTTP/1.1 503 Service Temporarily Unavailable\r\nServer: x\r\n\
        Content-Length: 12\r\nConnection: keep-alive\r\n\r\nnot now, no\n";

    /// The exchanges of all protocols, each with a whole right reply.
    fn all() -> Vec<(Exchange, Progress, Vec<u8>)> {
        let known = ["450", "echo:1", "echo:100", "echo:65536/1", "http", "http-close"];
        let mut all: Vec<_> = known
            .iter()
            .map(|text| {
                let exchange = Exchange::new(text.parse().unwrap(), None, "here");
                let mut progress = Progress::default();
                exchange.begin(&mut progress, 7, 0);
                let reply = match exchange.protocol.kind {
                    Kind::TooBusy => TOO_BUSY.to_vec(),
                    Kind::Http if progress.last => UNAVAILABLE_CLOSE.to_vec(),
                    Kind::Http => UNAVAILABLE.to_vec(),
                    Kind::Echo { .. } => exchange.request(&progress).to_vec(),
                };
                (exchange, progress, reply)
            })
            .collect();
        let foreign = Exchange::new(Protocol::HTTP, Some(503), "here");
        all.push((foreign, Progress::default(), FOREIGN.to_vec()));
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
    fn a_reply_split_anywhere_is_whole_at_its_last_byte_only() {
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
    fn a_wrong_byte_is_found_wherever_it_is() {
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
    fn what_comes_after_the_reply_is_wrong() {
        for (mut exchange, mut progress, mut reply) in all() {
            reply.push(b'x');
            exchange.begin(&mut progress, 7, 0);
            let verdict = exchange.take(&mut progress, &reply);
            assert_eq!(verdict, Verdict::Wrong("more came after the whole reply: \"x\"".into()));
        }
    }

    #[test]
    fn no_echo_is_like_the_one_before() {
        let exchange = Exchange::new(Protocol::echo(4, None), None, "here");
        let of = |serial| exchange.window(serial, 4);
        assert!((0..70_000).all(|serial| of(serial) != of(serial + 1)));
    }

    #[test]
    fn the_last_request_asks_for_the_end() {
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
        fn any_chunking_of_a_reply_is_taken(
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
        fn no_bytes_at_all_make_it_panic(
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

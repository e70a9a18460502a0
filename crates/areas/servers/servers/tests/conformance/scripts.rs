//! The steps of the clients of each protocol.

use std::time::Duration;

use servers::{ExchangeKind, Protocol};

use crate::crowd::Step;

pub const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
pub const TOO_BUSY: &[u8] = b"450 too busy\r\n";
pub const UNAVAILABLE: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\n\r\ntoo busy\n";
pub const UNAVAILABLE_CLOSE: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo busy\n";

/// A reproducible generator of pseudorandom numbers: xorshift64* (Marsaglia 2003; Vigna 2016).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize) % limit
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(256) as u8).collect()
    }

    fn pause(&mut self) -> Step {
        Step::Wait(Duration::from_millis(self.below(4) as u64))
    }
}

/// The steps of a correct client, which closes in one of the permitted ways.
pub fn good(protocol: Protocol, dice: &mut Dice) -> Vec<Step> {
    let mut steps = Vec::new();
    let times = protocol.requests.map_or(3, |requests| requests.min(4) as usize);
    match protocol.kind {
        ExchangeKind::TooBusy => steps.push(Step::talk(b"", TOO_BUSY)),
        ExchangeKind::Echo { size } => {
            for _ in 0..times {
                let bytes = dice.bytes(size);
                in_parts(&mut steps, dice, &bytes, bytes.clone(), b"");
            }
        }
        ExchangeKind::Http if protocol.requests == Some(1) => {
            let request = request(dice);
            in_parts(&mut steps, dice, &request, UNAVAILABLE_CLOSE.into(), b"");
        }
        ExchangeKind::Http => {
            for _ in 0..times {
                let request = request(dice);
                in_parts(&mut steps, dice, &request, UNAVAILABLE.into(), UNAVAILABLE_CLOSE);
            }
        }
    }
    match (protocol.requests, dice.below(2)) {
        (None, 0) => {} // the client only closes
        (None, _) => steps.extend([Step::HalfClose, Step::End]),
        (Some(_), _) => steps.push(Step::End),
    }
    steps
}

fn request(dice: &mut Dice) -> Vec<u8> {
    let path = "x".repeat(1 + dice.below(300));
    format!("GET /{path} HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n").into_bytes()
}

/// A request, whole or in two parts.
fn in_parts(
    steps: &mut Vec<Step>,
    dice: &mut Dice,
    bytes: &[u8],
    expect: Vec<u8>,
    or_last: &'static [u8],
) {
    let mut rest = bytes;
    // The reply to the first part of an echo may arrive at once, and is received with the rest.
    if bytes.len() > 1 && dice.below(3) > 0 {
        let (first, second) = bytes.split_at(1 + dice.below(bytes.len() - 1));
        steps.extend([Step::send(first), dice.pause()]);
        rest = second;
    }
    steps.push(Step::Talk { send: rest.into(), expect, or_last });
}

/// Sends many requests before it receives anything, then half-closes; all replies must arrive, then the end.
pub fn half_closing(protocol: Protocol, dice: &mut Dice) -> Vec<Step> {
    let (send, expect) = match protocol.kind {
        ExchangeKind::TooBusy => (Vec::new(), TOO_BUSY.to_vec()),
        ExchangeKind::Echo { size } => {
            // The last request is incomplete, and is sent back nevertheless.
            let bytes = dice.bytes(size * 5 + size / 2);
            (bytes.clone(), bytes)
        }
        ExchangeKind::Http if protocol.requests == Some(1) => {
            (request(dice), UNAVAILABLE_CLOSE.to_vec())
        }
        ExchangeKind::Http => ((0..5).flat_map(|_| request(dice)).collect(), UNAVAILABLE.repeat(5)),
    };
    let pause = dice.pause();
    vec![Step::send(&send), Step::HalfClose, pause, Step::talk(b"", &expect), Step::End]
}

/// Resets the connection at some time: before sending, in a request, or while the reply arrives.
pub fn resetting(protocol: Protocol, dice: &mut Dice) -> Vec<Step> {
    let mut steps = match protocol.kind {
        ExchangeKind::TooBusy => vec![],
        ExchangeKind::Echo { size } => {
            let bytes = dice.bytes(size);
            vec![Step::send(&bytes[..1 + dice.below(size)])]
        }
        ExchangeKind::Http => {
            let request = request(dice);
            let length = 1 + dice.below(request.len());
            vec![Step::send(&request[..length])]
        }
    };
    match dice.below(4) {
        0 => steps.clear(),
        1 => {}
        _ => steps.push(dice.pause()),
    }
    steps.push(Step::Reset);
    steps
}

/// Sends a malformed request, then receives anything until the end.
pub fn garbage(dice: &mut Dice) -> Vec<Step> {
    let mut steps = Vec::new();
    match dice.below(4) {
        0 => {
            let length = 1 + dice.below(20_000);
            steps.push(Step::Push(dice.bytes(length)));
        }
        1 => steps.push(Step::Push(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec())),
        2 => steps.push(Step::Push([b"GET / HTTP/1.1\r\nX: ", &vec![b'y'; 20_000][..]].concat())),
        _ => {
            let length = 1 + dice.below(50);
            steps.extend([Step::Push(dice.bytes(length)), dice.pause(), Step::Push(vec![0; 100])]);
        }
    }
    if dice.below(2) == 0 {
        steps.push(Step::HalfClose);
    }
    steps.push(Step::UntilClosed);
    steps
}

/// Holds the connection: is silent, sends a byte at a time, or does not receive the replies.
pub fn slow(protocol: Protocol, dice: &mut Dice, kind: usize) -> Vec<Step> {
    let every = Duration::from_millis(100 + dice.below(100) as u64);
    match (protocol.kind, kind % 100) {
        (ExchangeKind::TooBusy, _) => {
            vec![Step::Wait(Duration::from_millis(500)), Step::UntilClosed]
        }
        // Neither a request of the echo nor a head of HTTP is complete within the timeout.
        (_, 0..20) => vec![Step::Trickle(b'a', every)],
        (ExchangeKind::Echo { size }, 20) => vec![Step::Stuff(vec![7; size])],
        (ExchangeKind::Http, 20) if protocol.requests.is_none() => {
            vec![Step::Stuff(request(dice).repeat(20))]
        }
        _ => vec![Step::UntilClosed],
    }
}

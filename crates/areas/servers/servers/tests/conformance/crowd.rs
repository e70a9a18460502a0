//! Many clients in one thread, each with its own steps, independent of the load generator, which is tested against the same
//! servers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use servers::hosted::Hosted;
use socket2::SockRef;
use testing::PATIENCE;

/// One step of a client. The next step follows when it is done.
#[derive(Debug, Clone)]
pub enum Step {
    /// Sends `send` and receives at the same time, until all is sent and exactly `expect` is received. If `or_last` is
    /// received instead, the server must close next, and no further step is done. `?` in `expect` stands for any byte.
    Talk { send: Vec<u8>, expect: Vec<u8>, or_last: &'static [u8] },
    /// Sends as much as possible, without receiving: the server may have closed already.
    Push(Vec<u8>),
    /// Does nothing for a while.
    Wait(Duration),
    /// Shuts down sending.
    HalfClose,
    /// Waits for the server's close; the server must not send anything before.
    End,
    /// Receives anything until the server closes or resets the connection.
    UntilClosed,
    /// Sends a byte at an interval, until the server closes or resets the connection.
    Trickle(u8, Duration),
    /// Sends bytes repeatedly without receiving, until the connection breaks.
    Stuff(Vec<u8>),
    /// Resets the connection.
    Reset,
    /// Counts the client: it has come so far.
    Count,
}

impl Step {
    pub fn talk(send: &[u8], expect: &[u8]) -> Self {
        Self::Talk { send: send.into(), expect: expect.into(), or_last: b"" }
    }

    pub fn send(bytes: &[u8]) -> Self {
        Self::talk(bytes, b"")
    }
}

/// The outcome of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All steps are done.
    Done,
    /// The client was never connected.
    NotConnected,
    /// Something else happened than the steps expect.
    Failed(String),
}

/// The connections of clients to a server.
pub struct Calls {
    address: SocketAddr,
    /// Maximum number of clients at the same time.
    at_once: usize,
    /// Time limit for all clients.
    within: Duration,
    connected: AtomicUsize,
    counted: AtomicUsize,
    is_over: AtomicBool,
}

impl Calls {
    pub fn to(server: &Hosted, at_once: usize) -> Self {
        let [connected, counted] = [0, 0].map(AtomicUsize::new);
        let (address, is_over) = (server.address(), AtomicBool::new(false));
        Self { address, at_once, within: PATIENCE, connected, counted, is_over }
    }

    pub fn within(self, within: Duration) -> Self {
        Self { within, ..self }
    }

    /// Number of clients that were connected so far.
    pub fn connected(&self) -> usize {
        self.connected.load(Ordering::SeqCst)
    }

    /// Number of clients that have done [`Step::Count`] so far.
    pub fn counted(&self) -> usize {
        self.counted.load(Ordering::SeqCst)
    }

    /// Closes the connections of clients that are not done; they have no outcome.
    pub fn leave(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    /// Runs the clients that `next` returns, until it returns `None`.
    pub fn make(&self, mut next: impl FnMut() -> Option<Vec<Step>>) -> Vec<Outcome> {
        let until = Instant::now() + self.within;
        let mut poll = Poll::new().expect("a poll");
        let mut events = Events::with_capacity(1024);
        let mut clients: Vec<Option<Client>> = Vec::new();
        clients.resize_with(self.at_once, || None);
        let mut free: Vec<usize> = (0..self.at_once).collect();
        let mut ends = Vec::new();
        let mut buffer = vec![0; 64 * 1024];
        let mut more = true;
        let mut ready: Vec<usize> = Vec::new();
        // When clients wait; also those that have gone on meanwhile, which do nothing then.
        let mut timers = BinaryHeap::new();
        loop {
            while more && let Some(&slot) = free.last() {
                let Some(steps) = next() else {
                    more = false;
                    break;
                };
                match Client::call(self.address, steps, &poll, Token(slot)) {
                    Ok(client) => clients[slot] = Some(client),
                    Err(_) => {
                        ends.push(Outcome::NotConnected);
                        continue;
                    }
                }
                free.pop();
            }
            if !more && free.len() == clients.len() || self.is_over.load(Ordering::SeqCst) {
                return ends;
            }
            let now = Instant::now();
            if now > until {
                for client in clients.iter().flatten() {
                    ends.push(Outcome::Failed(format!("nothing more came: {client:?}")));
                }
                return ends;
            }
            let wait = timers.peek().map_or(Duration::from_millis(100), |&Reverse((at, _))| {
                Instant::saturating_duration_since(&at, now)
                    .clamp(Duration::from_millis(1), Duration::from_millis(100))
            });
            match poll.poll(&mut events, Some(wait)) {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                polled => polled.expect("a poll"),
            }
            let now = Instant::now();
            ready.extend(events.iter().map(|event| event.token().0));
            while timers.peek().is_some_and(|&Reverse((at, _))| at <= now) {
                ready.extend(timers.pop().map(|Reverse((_, slot))| slot));
            }
            for slot in ready.drain(..) {
                let Some(client) = clients[slot].as_mut() else { continue };
                let before = [client.connected, client.counted];
                let outcome = client.advance(now, &mut buffer);
                let is_new = |now: bool, before: bool| usize::from(now && !before);
                self.connected.fetch_add(is_new(client.connected, before[0]), Ordering::SeqCst);
                self.counted.fetch_add(is_new(client.counted, before[1]), Ordering::SeqCst);
                timers.extend(client.wakes.map(|at| Reverse((at, slot))));
                if let Some(outcome) = outcome {
                    clients[slot] = None;
                    free.push(slot);
                    ends.push(outcome);
                }
            }
        }
    }
}

struct Client {
    stream: TcpStream,
    connected: bool,
    counted: bool,
    /// The remaining steps, in reverse order.
    steps: Vec<Step>,
    /// Number of bytes of this step that were sent.
    sent: usize,
    /// Bytes received in this step.
    got: Vec<u8>,
    wakes: Option<Instant>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Self { connected, sent, .. } = self;
        let step = self.steps.last().map(|step| format!("{step:?}")).unwrap_or_default();
        let (got, left) = (self.got.len(), self.steps.len());
        write!(
            f,
            "connected {connected}, sent {sent}, got {got}, {left} steps left, at {step:.100}"
        )
    }
}

/// The state of a step.
enum Now {
    Next,
    Waits,
    Over(Outcome),
}

impl Client {
    fn call(
        address: SocketAddr,
        mut steps: Vec<Step>,
        poll: &Poll,
        token: Token,
    ) -> io::Result<Self> {
        steps.reverse();
        let mut stream = TcpStream::connect(address)?;
        poll.registry().register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        let (connected, counted) = (false, false);
        Ok(Self { stream, connected, counted, steps, sent: 0, got: Vec::new(), wakes: None })
    }

    /// Does as many steps as are possible now; returns the outcome after the last one.
    fn advance(&mut self, now: Instant, buffer: &mut [u8]) -> Option<Outcome> {
        if !self.connected {
            match self.stream.take_error() {
                Ok(None) => {}
                _ => return Some(Outcome::NotConnected),
            }
            match self.stream.peer_addr() {
                Ok(_) => self.connected = true,
                Err(e) if e.kind() == ErrorKind::NotConnected => return None,
                Err(_) => return Some(Outcome::NotConnected),
            }
            let _ = self.stream.set_nodelay(true);
        }
        loop {
            let Some(step) = self.steps.pop() else { return Some(Outcome::Done) };
            match self.carry_out(&step, now, buffer) {
                Now::Next => {
                    (self.sent, self.wakes) = (0, None);
                    self.got.clear();
                }
                Now::Waits => {
                    self.steps.push(step);
                    return None;
                }
                Now::Over(outcome) => return Some(outcome),
            }
        }
    }

    fn carry_out(&mut self, step: &Step, now: Instant, buffer: &mut [u8]) -> Now {
        match step {
            Step::Talk { send, expect, or_last } => self.talk(send, expect, or_last, buffer),
            Step::Wait(time) => match self.wakes {
                Some(at) if at <= now => Now::Next,
                Some(_) => Now::Waits,
                None => {
                    self.wakes = Some(now + *time);
                    Now::Waits
                }
            },
            Step::Push(bytes) => match self.stream.write(&bytes[self.sent..]) {
                Ok(sent) if self.sent + sent < bytes.len() => {
                    self.sent += sent;
                    self.carry_out(step, now, buffer)
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => Now::Waits,
                _ => Now::Next,
            },
            Step::HalfClose => {
                let _ = self.stream.shutdown(Shutdown::Write); // the next call reports an error, if any
                Now::Next
            }
            Step::End => match self.stream.read(buffer) {
                Ok(0) => Now::Next,
                Ok(bytes) => failed(format!("{bytes} bytes more than expected")),
                Err(e) => waits_or_failed(&e, "before the server's end"),
            },
            Step::UntilClosed => self.until_closed(buffer),
            &Step::Trickle(byte, every) => {
                if self.wakes.is_none_or(|at| at <= now) {
                    self.wakes = Some(now + every);
                    if let Err(e) = self.stream.write(&[byte])
                        && e.kind() != ErrorKind::WouldBlock
                    {
                        return Now::Next;
                    }
                }
                self.until_closed(buffer)
            }
            Step::Stuff(bytes) => loop {
                match self.stream.write(&bytes[self.sent % bytes.len()..]) {
                    Ok(sent) => self.sent += sent,
                    Err(e) if e.kind() == ErrorKind::WouldBlock => return Now::Waits,
                    Err(_) => return Now::Next,
                }
            },
            Step::Reset => {
                let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
                Now::Over(Outcome::Done) // the connection is dropped now
            }
            Step::Count => {
                self.counted = true;
                Now::Next
            }
        }
    }

    fn until_closed(&mut self, buffer: &mut [u8]) -> Now {
        loop {
            match self.stream.read(buffer) {
                Ok(0) => return Now::Next,
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Now::Waits,
                Err(_) => return Now::Next,
            }
        }
    }

    fn talk(&mut self, send: &[u8], expect: &[u8], or_last: &[u8], buffer: &mut [u8]) -> Now {
        while self.sent < send.len() {
            match self.stream.write(&send[self.sent..]) {
                Ok(sent) => self.sent += sent,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => return failed(format!("{e} after {} bytes were sent", self.sent)),
            }
        }
        loop {
            let is_last = !or_last.is_empty() && self.got == or_last;
            if is_last {
                self.steps = vec![Step::End];
                return Now::Next;
            }
            if self.got.len() == expect.len() && begins_with(expect, &self.got) {
                return if self.sent == send.len() { Now::Next } else { Now::Waits };
            }
            let want = expect.len().max(or_last.len()) - self.got.len();
            let room = want.min(buffer.len());
            match self.stream.read(&mut buffer[..room]) {
                Ok(0) => {
                    return failed(format!(
                        "the end after {} of {} bytes",
                        self.got.len(),
                        expect.len()
                    ));
                }
                Ok(bytes) => self.got.extend_from_slice(&buffer[..bytes]),
                Err(e) => {
                    return waits_or_failed(&e, &format!("after {} bytes came", self.got.len()));
                }
            }
            if !begins_with(expect, &self.got) && !or_last.starts_with(&self.got) {
                let got = String::from_utf8_lossy(&self.got);
                return failed(format!("wrong bytes: {got:.200}"));
            }
        }
    }
}

/// Whether `expected` begins with these bytes; `?` in it is any byte.
fn begins_with(expected: &[u8], got: &[u8]) -> bool {
    let same = |(expected, got): (&u8, &u8)| *expected == b'?' || expected == got;
    got.len() <= expected.len() && expected.iter().zip(got).all(same)
}

fn failed(how: String) -> Now {
    Now::Over(Outcome::Failed(how))
}

fn waits_or_failed(error: &io::Error, when: &str) -> Now {
    match error.kind() {
        ErrorKind::WouldBlock => Now::Waits,
        _ => failed(format!("{error} {when}")),
    }
}

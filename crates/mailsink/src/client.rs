//! A client of the sink's event loop: what can be said and taken in without waiting is.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use platform::readiness::Interest;
use rustls::{ServerConfig, ServerConnection};

use super::conversation::{Conversation, Next, Outcome};
use super::house::House;
use channel::Channel;

/// How much is read at once.
pub const READ_AT_ONCE: usize = 64 * 1024;
/// How long a client that was told why it is closed upon may go on talking.
const LINGER: Duration = Duration::from_secs(2);
/// How often more of a reply is said that never ends.
const ENDLESS_EVERY: Duration = Duration::from_millis(10);
/// How many lines of it at once.
const ENDLESS_LINES: usize = 16;
/// Times a second that a slow reader reads, if there is something.
const SLOW_READS: u64 = 10;

/// What all clients use in their turn.
pub struct Shared {
    pub house: House,
    /// Until when a client has time that does something now.
    pub until: Instant,
    pub tls: Option<Arc<ServerConfig>>,
    pub read_rate: Option<u64>,
    buffer: Box<[u8]>,
    out: Vec<u8>,
}

impl Shared {
    pub fn new(house: House, tls: Option<Arc<ServerConfig>>, read_rate: Option<u64>) -> Self {
        let now = house.now;
        let buffer = vec![0; READ_AT_ONCE].into();
        Self { house, until: now, tls, read_rate, buffer, out: Vec::new() }
    }
}

/// Whether a client stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Stays,
    Gone,
}

use Verdict::{Gone, Stays};

/// A connection, non-blocking, and the conversation on it.
#[derive(Debug)]
pub struct Client {
    channel: Channel,
    talk: Conversation,
    mode: Mode,
    /// What the system did not take yet.
    unsent: Vec<u8>,
    /// What has come and is not understood yet, since something is to be said first.
    pending: Vec<u8>,
    /// Until when it has time.
    deadline: Instant,
    /// When it is to be gone on with, if not only when its socket is ready; taken by the loop.
    pub alarm: Option<Instant>,
    /// What its socket is watched for.
    pub watched: Interest,
    /// Its number among all that ever came.
    pub number: u64,
}

/// What is done next, once all is sent that is to be.
#[derive(Debug)]
enum Mode {
    Talking,
    /// A reply is said slowly or late.
    Paced(Box<Paced>),
    /// Read for now is enough.
    Resting,
    StartingTls,
    Closing,
    /// Is told that nothing more follows.
    Finishing,
    /// Was told, and its words are thrown away.
    Lingering,
    /// Its words are thrown away.
    Stalled,
}

#[derive(Debug)]
struct Paced {
    reply: Vec<u8>,
    said: usize,
    every: Option<Duration>,
    endless: bool,
    next: Next,
}

impl Client {
    /// One that was just accepted.
    pub fn new(socket: TcpStream, number: u64, shared: &Shared) -> Self {
        Self {
            channel: Channel::new(socket),
            talk: Conversation::new(number, &shared.house),
            mode: Mode::Talking,
            unsent: Vec::new(),
            pending: Vec::new(),
            deadline: shared.until,
            alarm: None,
            watched: Interest::Nothing,
            number,
        }
    }

    /// Its socket.
    pub fn socket(&self) -> &TcpStream {
        self.channel.socket()
    }

    /// Until when it has time; as long as it is we who keep it waiting, it has.
    pub fn deadline(&self, shared: &Shared) -> Instant {
        match self.mode {
            Mode::Paced(_) | Mode::Resting => shared.until,
            _ => self.deadline,
        }
    }

    /// What its socket is to be watched for now.
    pub fn interest(&self) -> Interest {
        if self.channel.is_handshaking() {
            return self.channel.interest(false);
        }
        let all_said = self.unsent.is_empty() && !self.channel.wants_write();
        let takes_in = matches!(self.mode, Mode::Talking | Mode::Lingering | Mode::Stalled);
        match (all_said, takes_in) {
            (true, true) => Interest::Read,
            (true, false) => Interest::Nothing,
            (false, _) => Interest::Write,
        }
    }

    /// Greets it.
    pub fn greet(&mut self, shared: &mut Shared) -> Verdict {
        let mut out = std::mem::take(&mut shared.out);
        out.clear();
        let outcome = self.talk.greet(&mut shared.house, &mut out);
        let said = self.answer(&mut out, outcome, shared.house.now);
        shared.out = out;
        if said.is_err() { Gone } else { self.advance(false, shared) }
    }

    /// Its socket is ready: takes in and says what is possible.
    pub fn is_ready(&mut self, readable: bool, writable: bool, shared: &mut Shared) -> Verdict {
        let waits = matches!(self.mode, Mode::Paced(_) | Mode::Resting);
        if waits && readable && writable && self.socket().peer_addr().is_err() {
            shared.house.counters.cut_off.add(1);
            return Gone; // its end is told of, though nothing was asked for
        }
        self.advance(readable, shared)
    }

    /// Its alarm: says more, or reads again.
    pub fn wake(&mut self, shared: &mut Shared) -> Verdict {
        let now = shared.house.now;
        match std::mem::replace(&mut self.mode, Mode::Talking) {
            Mode::Paced(paced) => {
                self.say_more(paced, now);
                self.advance(false, shared)
            }
            Mode::Resting => self.advance(true, shared),
            Mode::Lingering => Gone,
            other => {
                self.mode = other;
                Stays
            }
        }
    }

    /// The sink stops: who has nothing under way is told so, who gets nothing anyway is closed upon.
    pub fn stop(&mut self, shared: &mut Shared) -> Verdict {
        self.deadline = self.deadline.min(shared.until);
        match &self.mode {
            Mode::Stalled => Gone,
            Mode::Paced(paced) if paced.endless => Gone,
            Mode::Talking if self.talk.is_at_rest() && self.pending.is_empty() => {
                self.unsent.extend_from_slice(b"421 4.3.2 the sink stops\r\n");
                self.mode = Mode::Finishing;
                self.advance(false, shared)
            }
            _ => Stays,
        }
    }

    /// Closes it.
    pub fn close(self) {
        self.channel.close();
    }

    fn advance(&mut self, readable: bool, shared: &mut Shared) -> Verdict {
        // No event tells of what TLS has taken in already.
        let mut may_read = readable || self.channel.has_received();
        loop {
            match self.say_rest(shared) {
                Ok(true) => {}
                Ok(false) => return Stays,
                Err(_) => return self.lost(shared),
            }
            match self.mode {
                Mode::Talking if !self.pending.is_empty() => {
                    let bytes = std::mem::take(&mut self.pending);
                    if self.understand(&bytes, shared).is_err() {
                        return Gone;
                    }
                }
                Mode::Talking if may_read => match self.take_in(shared) {
                    Ok(more) => may_read = more,
                    Err(verdict) => return verdict,
                },
                Mode::Lingering | Mode::Stalled if may_read => match self.throw_away(shared) {
                    Ok(more) => may_read = more,
                    Err(verdict) => return verdict,
                },
                Mode::StartingTls => {
                    if self.start_tls(shared).is_err() {
                        return Gone;
                    }
                    may_read = false;
                }
                Mode::Finishing => {
                    self.channel.finish();
                    self.mode = Mode::Lingering;
                    self.alarm = Some((shared.house.now + LINGER).min(shared.until));
                }
                Mode::Closing => return Gone,
                _ => return Stays,
            }
        }
    }

    /// Sends what waits; whether all went out.
    fn say_rest(&mut self, shared: &Shared) -> io::Result<bool> {
        while !self.unsent.is_empty() {
            match self.channel.send(&self.unsent) {
                Ok(bytes) if bytes == self.unsent.len() => self.unsent = Vec::new(),
                Ok(bytes) => drop(self.unsent.drain(..bytes)),
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) => return Err(e),
            }
            self.deadline = shared.until;
        }
        match self.channel.flush() {
            Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(self.channel.is_handshaking()),
            other => other.map(|()| true),
        }
    }

    /// Takes in what has come, once. Whether there may be more that no event will tell of.
    fn take_in(&mut self, shared: &mut Shared) -> Result<bool, Verdict> {
        let mut buffer = std::mem::take(&mut shared.buffer);
        let slowly = shared.read_rate.map(|rate| (rate / SLOW_READS).max(1));
        let room = slowly.map_or(buffer.len(), |most| buffer.len().min(most as usize));
        let taken = self.channel.receive(&mut buffer[..room]);
        let result = match taken {
            Ok(0) => Err(self.ended(shared)),
            Ok(bytes) => {
                self.deadline = shared.until;
                match self.understand(&buffer[..bytes], shared) {
                    Ok(()) => Ok(self.rest(bytes, shared)),
                    Err(_) => Err(Gone),
                }
            }
            Err(e) => self.not_received(&e, shared),
        };
        shared.buffer = buffer;
        result
    }

    fn not_received(&mut self, error: &io::Error, shared: &Shared) -> Result<bool, Verdict> {
        match error.kind() {
            ErrorKind::Interrupted => Ok(true),
            ErrorKind::WouldBlock => Ok(false),
            _ => Err(self.lost(shared)),
        }
    }

    /// Who reads slowly pauses, as long as it takes at that rate to read so much.
    fn rest(&mut self, bytes: usize, shared: &Shared) -> bool {
        if let Some(rate) = shared.read_rate
            && matches!(self.mode, Mode::Talking)
        {
            self.mode = Mode::Resting;
            let pause = Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
            self.alarm = Some(shared.house.now + pause);
        }
        self.channel.has_received()
    }

    fn throw_away(&mut self, shared: &mut Shared) -> Result<bool, Verdict> {
        match self.channel.receive(&mut shared.buffer) {
            Ok(0) => Err(Gone),
            Ok(_) => {
                if matches!(self.mode, Mode::Stalled) {
                    self.deadline = shared.until;
                }
                Ok(self.channel.has_received())
            }
            Err(e) => self.not_received(&e, shared),
        }
    }

    /// The client has said all, and not QUIT.
    fn ended(&mut self, shared: &Shared) -> Verdict {
        shared.house.counters.cut_off.add(1);
        Gone
    }

    /// The connection, or its TLS, is broken.
    fn lost(&mut self, shared: &Shared) -> Verdict {
        match self.channel.is_handshaking() {
            true => shared.house.counters.tls_failed.add(1),
            false => shared.house.counters.cut_off.add(1),
        }
        Gone
    }

    /// Takes in bytes and answers them.
    fn understand(&mut self, bytes: &[u8], shared: &mut Shared) -> io::Result<()> {
        let mut out = std::mem::take(&mut shared.out);
        out.clear();
        let (used, outcome) = self.talk.received(bytes, &mut shared.house, &mut out);
        if outcome.next == Next::More && used < bytes.len() {
            self.pending = bytes[used..].to_vec();
        }
        let said = self.answer(&mut out, outcome, shared.house.now);
        shared.out = out;
        said
    }

    fn answer(&mut self, out: &mut Vec<u8>, outcome: Outcome, now: Instant) -> io::Result<()> {
        let Outcome { pace, next } = outcome;
        match pace {
            None => self.then(next),
            Some(pace) => {
                let mut reply = out.split_off(pace.from);
                if pace.endless && pace.every.is_none() {
                    reply = reply.repeat(ENDLESS_LINES);
                }
                let every = pace.every;
                let paced = Paced { reply, said: 0, every, endless: pace.endless, next };
                self.mode = Mode::Paced(Box::new(paced));
                self.alarm = Some(now + pace.after);
            }
        }
        self.say(out)
    }

    fn then(&mut self, next: Next) {
        self.mode = match next {
            Next::More => Mode::Talking,
            Next::Close => Mode::Closing,
            Next::Linger => Mode::Finishing,
            Next::Stall => Mode::Stalled,
            Next::StartTls => Mode::StartingTls,
            Next::Reset => {
                let _ = socket2::SockRef::from(self.socket()).set_linger(Some(Duration::ZERO));
                Mode::Closing
            }
        };
    }

    /// Says something, without a copy of what the system takes at once.
    fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let taken = match self.unsent.is_empty() {
            false => 0,
            true => match self.channel.send(bytes) {
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => 0,
                other => other?,
            },
        };
        self.unsent.extend_from_slice(&bytes[taken..]);
        Ok(())
    }

    /// Says the next part of a reply that is not said at once.
    fn say_more(&mut self, mut paced: Box<Paced>, now: Instant) {
        let rest = paced.reply.len() - paced.said;
        let part = if paced.every.is_some() { rest.min(1) } else { rest };
        // Who does not read is not given more.
        if self.unsent.is_empty() {
            self.unsent.extend_from_slice(&paced.reply[paced.said..paced.said + part]);
            paced.said += part;
        }
        if paced.said < paced.reply.len() || paced.endless {
            paced.said %= paced.reply.len().max(1);
            self.alarm = Some(now + paced.every.unwrap_or(ENDLESS_EVERY));
            self.mode = Mode::Paced(paced);
        } else {
            self.then(paced.next);
        }
    }

    fn start_tls(&mut self, shared: &Shared) -> Result<(), rustls::Error> {
        let Some(configuration) = &shared.tls else { return Ok(()) };
        self.channel.start_tls(ServerConnection::new(Arc::clone(configuration))?);
        self.talk.is_secured();
        self.pending = Vec::new();
        self.mode = Mode::Talking;
        shared.house.counters.tls.add(1);
        Ok(())
    }
}

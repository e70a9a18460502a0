//! Clients of the sink's event loop, which read and write as much as is possible without waiting.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use platform::socket::readiness::Interest;
use rustls::{ServerConfig, ServerConnection};

use crate::session::{Input, Next, Outcome, ServerSession};
use crate::state::SinkState;
use channel::Channel;

/// Number of bytes read at a time.
pub const READ_AT_ONCE: usize = 64 * 1024;
/// Time in which the sink reads and discards after it has sent the last reply.
const LINGER: Duration = Duration::from_secs(2);
/// Interval between the parts of an endless reply.
const ENDLESS_EVERY: Duration = Duration::from_millis(10);
/// Number of lines of an endless reply sent at a time.
const ENDLESS_LINES: usize = 16;
/// Number of reads per second with a limited read rate.
const SLOW_READS: u64 = 10;
/// Number of bytes of a message for which a client has the timeout, as for a whole command (RFC 5321, section 4.5.3.2).
const BLOCK: usize = 1_024;

/// State that all clients share; the event loop passes it to one after the other.
pub struct Shared {
    pub sink: SinkState,
    /// The deadline for a client that is active now.
    pub until: Instant,
    pub tls: Option<Arc<ServerConfig>>,
    pub read_rate: Option<u64>,
    buffer: Box<[u8]>,
    out: Vec<u8>,
}

impl Shared {
    pub fn new(sink: SinkState, tls: Option<Arc<ServerConfig>>, read_rate: Option<u64>) -> Self {
        let now = sink.now;
        let buffer = vec![0; READ_AT_ONCE].into();
        Self { sink, until: now, tls, read_rate, buffer, out: Vec::new() }
    }
}

/// Whether the event loop keeps a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Keep,
    Close,
}

use Verdict::{Close, Keep};

/// A non-blocking connection and its session.
#[derive(Debug)]
pub struct Client {
    channel: Channel,
    session: ServerSession,
    mode: Mode,
    /// Bytes that the system has not accepted yet.
    unsent: Vec<u8>,
    /// Received bytes that are handled after the replies so far are sent.
    pending: Vec<u8>,
    /// The time at which the client times out.
    deadline: Instant,
    /// Number of bytes received since the deadline was moved, in a message.
    in_block: usize,
    /// The time at which [`Client::wake`] must be called; the event loop takes it.
    pub alarm: Option<Instant>,
    /// The readiness for which the socket is watched.
    pub watched: Interest,
    /// Number of the connection.
    pub number: u64,
}

/// The state of a client when its output is sent.
#[derive(Debug)]
enum Mode {
    /// Reads commands.
    Reading,
    /// Sends a reply late or slowly.
    Paced(Box<Paced>),
    /// Waits, since the read rate is limited.
    Throttled,
    StartingTls,
    Closing,
    /// Shuts down sending.
    Finishing,
    /// Reads and discards until the client closes.
    Lingering,
    /// Reads and discards, and sends nothing.
    Stalled,
}

#[derive(Debug)]
struct Paced {
    reply: Vec<u8>,
    sent: usize,
    every: Option<Duration>,
    endless: bool,
    next: Next,
}

impl Client {
    /// A client for a connection that was just accepted.
    pub fn new(socket: TcpStream, number: u64, shared: &Shared) -> Self {
        Self {
            channel: Channel::new(socket),
            session: ServerSession::new(number, &shared.sink),
            mode: Mode::Reading,
            unsent: Vec::new(),
            pending: Vec::new(),
            deadline: shared.until,
            in_block: 0,
            alarm: None,
            watched: Interest::Nothing,
            number,
        }
    }

    /// The socket.
    pub fn socket(&self) -> &TcpStream {
        self.channel.socket()
    }

    /// The time at which the client times out. It moves while the sink delays a reply, but not while the client does not take
    /// what was sent.
    pub fn deadline(&self, shared: &Shared) -> Instant {
        match self.mode {
            Mode::Paced(_) if self.unsent.is_empty() => shared.until,
            _ => self.deadline,
        }
    }

    /// The readiness for which the socket must be watched now.
    pub fn interest(&self) -> Interest {
        if self.channel.is_handshaking() {
            return self.channel.interest(false);
        }
        let all_sent = self.unsent.is_empty() && !self.channel.wants_write();
        let reads = matches!(self.mode, Mode::Reading | Mode::Lingering | Mode::Stalled);
        match (all_sent, reads) {
            (true, true) => Interest::Read,
            (true, false) => Interest::Nothing,
            (false, _) => Interest::Write,
        }
    }

    /// Sends the greeting.
    pub fn greet(&mut self, shared: &mut Shared) -> Verdict {
        let mut out = std::mem::take(&mut shared.out);
        out.clear();
        let outcome = self.session.greet(&mut shared.sink, &mut out);
        let sent = self.send_replies(&mut out, outcome, shared.sink.now);
        shared.out = out;
        if sent.is_err() { Close } else { self.advance(false, shared) }
    }

    /// Reads and sends what a ready socket permits.
    pub fn is_ready(&mut self, readable: bool, writable: bool, shared: &mut Shared) -> Verdict {
        let waits = matches!(self.mode, Mode::Paced(_) | Mode::Throttled);
        if waits && readable && writable && self.socket().peer_addr().is_err() {
            shared.sink.counters.cut_off.add(1);
            return Close; // systems report the end even if the socket is not watched
        }
        self.advance(readable, shared)
    }

    /// Handles the timer: sends more, or reads again.
    pub fn wake(&mut self, shared: &mut Shared) -> Verdict {
        let now = shared.sink.now;
        match std::mem::replace(&mut self.mode, Mode::Reading) {
            Mode::Paced(paced) => {
                self.send_more(paced, now);
                self.advance(false, shared)
            }
            Mode::Throttled => self.advance(true, shared),
            Mode::Lingering => Close,
            other => {
                self.mode = other;
                Keep
            }
        }
    }

    /// Handles the sink's stop: an idle client gets 421, a client that would get no reply is closed.
    pub fn stop(&mut self, shared: &mut Shared) -> Verdict {
        self.deadline = self.deadline.min(shared.until);
        match &self.mode {
            Mode::Stalled => Close,
            Mode::Paced(paced) if paced.endless => Close,
            Mode::Reading if self.session.is_idle() && self.pending.is_empty() => {
                self.unsent.extend_from_slice(b"421 4.3.2 the sink stops\r\n");
                self.mode = Mode::Finishing;
                self.advance(false, shared)
            }
            _ => Keep,
        }
    }

    /// Closes the connection.
    pub fn close(self) {
        self.channel.close();
    }

    fn advance(&mut self, readable: bool, shared: &mut Shared) -> Verdict {
        // No readiness event reports bytes that TLS has already read.
        let mut may_read = readable || self.channel.has_received();
        loop {
            match self.send_rest(shared) {
                Ok(true) => {}
                Ok(false) => return Keep,
                Err(_) => return self.lost(shared),
            }
            match self.mode {
                Mode::Reading if !self.pending.is_empty() => {
                    let bytes = std::mem::take(&mut self.pending);
                    if self.handle(&bytes, shared).is_err() {
                        return Close;
                    }
                }
                Mode::Reading if may_read => match self.read(shared) {
                    Ok(more) => may_read = more,
                    Err(verdict) => return verdict,
                },
                Mode::Lingering | Mode::Stalled if may_read => match self.discard(shared) {
                    Ok(more) => may_read = more,
                    Err(verdict) => return verdict,
                },
                Mode::StartingTls => {
                    if self.start_tls(shared).is_err() {
                        return Close;
                    }
                    may_read = false;
                }
                Mode::Finishing => {
                    self.channel.finish();
                    self.mode = Mode::Lingering;
                    self.alarm = Some((shared.sink.now + LINGER).min(shared.until));
                }
                Mode::Closing => return Close,
                _ => return Keep,
            }
        }
    }

    /// Sends the remaining output. Returns whether all of it was accepted.
    fn send_rest(&mut self, shared: &Shared) -> io::Result<bool> {
        while !self.unsent.is_empty() {
            match self.channel.send(&self.unsent) {
                Ok(bytes) if bytes == self.unsent.len() => {
                    self.unsent = Vec::new();
                    self.deadline = shared.until;
                }
                Ok(bytes) => drop(self.unsent.drain(..bytes)),
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        match self.channel.flush() {
            Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(self.channel.is_handshaking()),
            other => other.map(|()| true),
        }
    }

    /// Reads once, and handles the bytes. Returns whether there may be more bytes that no readiness event reports.
    fn read(&mut self, shared: &mut Shared) -> Result<bool, Verdict> {
        let mut buffer = std::mem::take(&mut shared.buffer);
        let slowly = shared.read_rate.map(|rate| (rate / SLOW_READS).max(1));
        let room = slowly.map_or(buffer.len(), |most| buffer.len().min(most as usize));
        let taken = self.channel.receive(&mut buffer[..room]);
        let result = match taken {
            Ok(0) => Err(self.ended(shared)),
            Ok(bytes) => {
                let commands = shared.sink.counters.commands.get();
                match self.handle(&buffer[..bytes], shared) {
                    Ok(()) => {
                        self.in_block += bytes;
                        self.move_deadline(commands, shared);
                        Ok(self.throttle(bytes, shared))
                    }
                    Err(_) => Err(Close),
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

    /// Gives the client time for its next command, or for the next block of a message: none for a few bytes of either, which it
    /// could send for ever. There were `commands` commands before.
    fn move_deadline(&mut self, commands: u64, shared: &Shared) {
        let is_due = match self.session.input() {
            Input::Whole => true,
            Input::Message if self.in_block >= BLOCK => true,
            Input::Message | Input::PartOfLine => shared.sink.counters.commands.get() > commands,
        };
        if is_due {
            (self.deadline, self.in_block) = (shared.until, 0);
        }
    }

    /// Pauses after `bytes` bytes for the time that reading them takes at a limited read rate.
    fn throttle(&mut self, bytes: usize, shared: &Shared) -> bool {
        if let Some(rate) = shared.read_rate
            && matches!(self.mode, Mode::Reading)
        {
            self.mode = Mode::Throttled;
            let pause = Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
            self.deadline += pause;
            self.alarm = Some(shared.sink.now + pause);
        }
        self.channel.has_received()
    }

    fn discard(&mut self, shared: &mut Shared) -> Result<bool, Verdict> {
        match self.channel.receive(&mut shared.buffer) {
            Ok(0) => Err(Close),
            Ok(_) => Ok(self.channel.has_received()),
            Err(e) => self.not_received(&e, shared),
        }
    }

    /// Handles the client's close of the connection without QUIT.
    fn ended(&mut self, shared: &Shared) -> Verdict {
        shared.sink.counters.cut_off.add(1);
        Close
    }

    /// Handles the failure of the connection or the TLS handshake.
    fn lost(&mut self, shared: &Shared) -> Verdict {
        match self.channel.is_handshaking() {
            true => shared.sink.counters.tls_failed.add(1),
            false => shared.sink.counters.cut_off.add(1),
        }
        Close
    }

    /// Passes bytes to the session, and sends its replies.
    fn handle(&mut self, bytes: &[u8], shared: &mut Shared) -> io::Result<()> {
        let mut out = std::mem::take(&mut shared.out);
        out.clear();
        let (used, outcome) = self.session.received(bytes, &mut shared.sink, &mut out);
        if outcome.next == Next::More && used < bytes.len() {
            self.pending = bytes[used..].to_vec();
        }
        let sent = self.send_replies(&mut out, outcome, shared.sink.now);
        shared.out = out;
        sent
    }

    fn send_replies(
        &mut self,
        out: &mut Vec<u8>,
        outcome: Outcome,
        now: Instant,
    ) -> io::Result<()> {
        let Outcome { pace, next } = outcome;
        match pace {
            None => self.then(next),
            Some(pace) => {
                let mut reply = out.split_off(pace.from);
                if pace.endless && pace.every.is_none() {
                    reply = reply.repeat(ENDLESS_LINES);
                }
                let every = pace.every;
                let paced = Paced { reply, sent: 0, every, endless: pace.endless, next };
                self.mode = Mode::Paced(Box::new(paced));
                self.alarm = Some(now + pace.after);
            }
        }
        self.send(out)
    }

    fn then(&mut self, next: Next) {
        self.mode = match next {
            Next::More => Mode::Reading,
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

    /// Sends bytes; only those that the system does not accept are copied.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
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

    /// Sends the next part of a reply that is sent late or slowly.
    fn send_more(&mut self, mut paced: Box<Paced>, now: Instant) {
        let rest = paced.reply.len() - paced.sent;
        let part = if paced.every.is_some() { rest.min(1) } else { rest };
        // A client that does not read gets nothing more.
        if self.unsent.is_empty() {
            self.unsent.extend_from_slice(&paced.reply[paced.sent..paced.sent + part]);
            paced.sent += part;
        }
        if paced.sent < paced.reply.len() || paced.endless {
            paced.sent %= paced.reply.len().max(1);
            self.alarm = Some(now + paced.every.unwrap_or(ENDLESS_EVERY));
            self.mode = Mode::Paced(paced);
        } else {
            self.then(paced.next);
        }
    }

    fn start_tls(&mut self, shared: &Shared) -> Result<(), rustls::Error> {
        let Some(configuration) = &shared.tls else { return Ok(()) };
        self.channel.start_tls(ServerConnection::new(Arc::clone(configuration))?);
        self.session.is_secured();
        self.pending = Vec::new();
        self.mode = Mode::Reading;
        shared.sink.counters.tls.add(1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::counts::Counters;
    use crate::options::SinkOptions;
    use crate::record::Recorder;

    #[test]
    fn an_endless_reply_that_is_not_read_gives_no_more_time() {
        let counters = Arc::new(Counters::default());
        let sink = SinkState::new(&SinkOptions::default(), Recorder::default(), counters);
        let mut shared = Shared::new(sink, None, None);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut client = Client::new(socket, 1, &shared);
        let began = shared.until;
        let (reply, next) = (b"250-\r\n".to_vec(), Next::More);
        client.mode =
            Mode::Paced(Box::new(Paced { reply, sent: 0, every: None, endless: true, next }));
        shared.until += Duration::from_secs(1);
        assert_eq!(client.deadline(&shared), shared.until);
        client.unsent = b"250-\r\n".to_vec();
        assert_eq!(client.deadline(&shared), began);
    }
}

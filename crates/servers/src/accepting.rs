//! Accepting connections, and what to do when the system has no descriptor for another or the server is to
//! stop.

use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use platform::server_socket::{accept, has_deferred, has_pending, ignore_new, stop_listening};
use platform::socket_io::is_shortage;

use crate::server::{Server, Terms};

/// How long nothing is accepted after a shortage, unless something is given back before.
pub const PAUSE: Duration = Duration::from_millis(10);
/// How long connections under way when a server stops take to arrive.
pub const LAST_ARRIVE_WITHIN: Duration = Duration::from_millis(20);
/// How long those take that the system keeps to itself until the client has spoken.
pub const LAST_SPEAK_WITHIN: Duration = Duration::from_secs(2);
/// Connections accepted in one turn of an event loop, so that those accepted get their turn.
pub const BURST_AT_MOST: usize = 64;

/// Connections as they are accepted by calls that wait, until the server is to stop; then those that have
/// arrived by then.
pub struct Blocking<'a> {
    server: &'a Server,
    listener: &'a TcpListener,
    last: Option<LastOnes>,
    /// Others who accept have left the last ones to us, if any come.
    alone: bool,
}

impl<'a> Blocking<'a> {
    /// Connections to the server's only listener.
    pub fn new(server: &'a Server) -> Self {
        Self { server, listener: &server.listeners[0], last: None, alone: false }
    }

    /// Waits for a connection; gives none once the server is to stop.
    fn wait(&self) -> Option<io::Result<TcpStream>> {
        let stop = self.server.terms.stop;
        stop.may_sleep();
        let accepted = (!stop.is_requested()).then(|| self.listener.accept());
        stop.is_awake();
        accepted.map(|accepted| accepted.map(|(stream, _)| stream))
    }

    /// Gets ready to take what has arrived: each who accepts does so, as many as there are.
    fn begin_to_drain(&mut self) -> io::Result<()> {
        self.server.terms.stop.begin_to_drain();
        self.last = Some(LastOnes::at(self.listener, &self.server.terms));
        self.listener.set_nonblocking(true)?;
        Ok(())
    }

    /// A connection that has arrived; none when all have.
    fn one_of_the_last(&mut self, last: LastOnes) -> Option<io::Result<TcpStream>> {
        let mut is_over = false;
        loop {
            if last.are_cut_off() {
                stop_listening(self.listener);
                return None;
            }
            match self.listener.accept() {
                Ok((stream, _)) => return Some(stream.set_nonblocking(false).map(|()| stream)),
                Err(e) if is_shortage(&e) => {
                    self.server.terms.counters.note_shortage(&e);
                    std::thread::sleep(PAUSE);
                }
                // None waits, or another who accepts has found that and listens no more.
                Err(_) if is_over => {
                    stop_listening(self.listener);
                    return None;
                }
                Err(_) if Instant::now() < last.surely => std::thread::sleep(PAUSE),
                Err(_) if !self.alone && self.server.terms.stop.leave_to_others() => return None,
                Err(_) => {
                    self.alone = true;
                    is_over = !last.may_come(self.listener);
                    if !is_over {
                        std::thread::sleep(PAUSE);
                    }
                }
            }
        }
    }
}

impl Iterator for Blocking<'_> {
    type Item = io::Result<TcpStream>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(last) = self.last {
                return self.one_of_the_last(last);
            }
            match self.wait() {
                None => {
                    if let Err(e) = self.begin_to_drain() {
                        return Some(Err(e));
                    }
                }
                Some(Ok(stream)) => return Some(Ok(stream)),
                // Another thread was quicker: Wine says so even where it should wait.
                Some(Err(e)) if e.kind() == ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Some(Err(e)) if is_shortage(&e) => {
                    self.server.terms.counters.note_shortage(&e);
                    std::thread::sleep(PAUSE);
                }
                Some(Err(e)) if is_of_one_connection(&e) => {}
                Some(Err(e)) => return Some(Err(e)),
            }
        }
    }
}

/// How long connections may still arrive at a server that is to stop, after new ones are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastOnes {
    surely: Instant,
    at_most: Instant,
    /// New ones are ignored, else they could come for ever.
    are_known: bool,
}

impl LastOnes {
    /// From now on new ones at `listener` are ignored, where the system can do that.
    pub fn at(listener: &TcpListener, terms: &Terms) -> Self {
        let are_known = ignore_new(listener);
        let now = Instant::now();
        let speaks = terms.protocol.client_sends_first();
        let at_most = now + if speaks { LAST_SPEAK_WITHIN } else { LAST_ARRIVE_WITHIN };
        Self { surely: now + LAST_ARRIVE_WITHIN, at_most, are_known }
    }

    /// Whether no more are accepted, though there may be some.
    pub fn are_cut_off(self) -> bool {
        !self.are_known && Instant::now() >= self.surely
    }

    /// Whether one may arrive, beside those that have and wait to be accepted.
    pub fn may_come(self, listener: &TcpListener) -> bool {
        let now = Instant::now();
        now < self.surely || (now < self.at_most && has_deferred(listener))
    }
}

/// Whether it concerns the connection that was to be accepted, or nobody, but not the listener (accept(2)).
pub fn is_of_one_connection(error: &io::Error) -> bool {
    let aborted = [ErrorKind::ConnectionAborted, ErrorKind::ConnectionReset];
    let unreachable = [ErrorKind::NetworkUnreachable, ErrorKind::HostUnreachable];
    let passing = [ErrorKind::Interrupted, ErrorKind::TimedOut, ErrorKind::PermissionDenied];
    [&aborted[..], &unreachable, &passing].concat().contains(&error.kind())
}

/// Accepts for an event loop: never waits, and pauses after a shortage.
pub struct Acceptor<'a> {
    server: &'a Server,
    listener: &'a TcpListener,
    state: State,
    /// Nothing is accepted until then.
    paused: Option<Instant>,
    /// When it was last told the time.
    now: Instant,
    burst: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The server is to stop: what arrives is still accepted; to be looked at again then.
    Draining(LastOnes, Instant),
    Closed,
}

impl<'a> Acceptor<'a> {
    /// Accepts from `listener`.
    ///
    /// # Errors
    /// Where it cannot be made non-blocking.
    pub fn new(server: &'a Server, listener: &'a TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self::of_queue(server, listener))
    }

    /// For a loop that has the system accept, instead of calling [`Acceptor::accept`].
    pub fn of_queue(server: &'a Server, listener: &'a TcpListener) -> Self {
        server.terms.stop.may_sleep();
        let now = Instant::now();
        Self { server, listener, state: State::Open, paused: None, now, burst: 1 }
    }

    /// The connections of one turn: one after a turn that found no second, more while they are plenty.
    ///
    /// # Errors
    /// Where the listener is broken.
    pub fn accept(&mut self, mut take: impl FnMut(TcpStream)) -> io::Result<()> {
        for _ in 0..self.burst {
            match accept(self.listener) {
                Ok(stream) => take(stream),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    self.burst = 1;
                    return Ok(());
                }
                Err(e) if is_shortage(&e) => {
                    self.pause(&e);
                    return Ok(());
                }
                Err(e) if is_of_one_connection(&e) => {}
                Err(e) => return Err(e),
            }
        }
        self.burst = (self.burst * 2).min(BURST_AT_MOST);
        Ok(())
    }

    /// Accepts nothing for a while, for want of something.
    pub fn pause(&mut self, shortage: &io::Error) {
        self.server.terms.counters.note_shortage(shortage);
        self.paused = Some(Instant::now() + PAUSE);
    }

    /// Goes with the time: ends a pause, begins to drain when the server is to stop, ends that.
    pub fn tick(&mut self, now: Instant) {
        self.now = now;
        self.paused = self.paused.filter(|&until| now < until);
        match self.state {
            State::Open if self.server.terms.stop.is_requested() => {
                self.server.terms.stop.is_awake();
                let last = LastOnes::at(self.listener, &self.server.terms);
                self.state = State::Draining(last, now + LAST_ARRIVE_WITHIN);
            }
            State::Draining(last, at) if now >= at && self.paused.is_none() => {
                let goes_on = last.may_come(self.listener) || has_pending(self.listener);
                if goes_on && !last.are_cut_off() {
                    self.state = State::Draining(last, now + LAST_ARRIVE_WITHIN);
                } else {
                    stop_listening(self.listener);
                    self.state = State::Closed;
                }
            }
            _ => {}
        }
    }

    /// A descriptor was given back: a pause is over.
    pub fn resume(&mut self) {
        self.paused = None;
    }

    /// Whether it wants to know of new connections.
    pub fn is_open(&self) -> bool {
        self.state != State::Closed && self.paused.is_none()
    }

    /// Whether the server stops: connections are to end soon.
    pub fn is_stopping(&self) -> bool {
        self.state != State::Open
    }

    /// Whether nothing is accepted any more.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// When it wants [`Acceptor::tick`] to be called at the latest.
    pub fn wakes_at(&self) -> Option<Instant> {
        match self.state {
            // No connection need come to wake who has not begun to wait.
            State::Open if self.server.terms.stop.is_requested() => Some(self.now),
            State::Open => self.paused,
            State::Draining(_, at) => Some(self.paused.unwrap_or(at)),
            State::Closed => None,
        }
    }
}

impl Drop for Acceptor<'_> {
    /// Who ends with an error does not wait any more: nobody need wake it.
    fn drop(&mut self) {
        if self.state == State::Open {
            self.server.terms.stop.is_awake();
        }
    }
}

//! Accepting connections, and what to do when the system has no descriptor for another or the server is to
//! stop.

use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use platform::socket::{accept, ignore_new, is_shortage, stop_listening};

use super::Server;

/// How long nothing is accepted after a shortage, unless something is given back before.
pub const PAUSE: Duration = Duration::from_millis(10);
/// How long connections under way when a server stops take to arrive.
pub const LAST_ARRIVE_WITHIN: Duration = Duration::from_millis(20);
/// Connections accepted in one turn of an event loop, so that those accepted get their turn.
pub const BURST_AT_MOST: usize = 64;

/// Connections as they are accepted by calls that wait, until the server is to stop; then those that have
/// arrived by then.
pub struct Blocking<'a> {
    server: &'a Server,
    listener: &'a TcpListener,
    drained_by: Option<Instant>,
}

impl<'a> Blocking<'a> {
    /// Connections to the server's only listener.
    pub fn new(server: &'a Server) -> Self {
        Self { server, listener: &server.listeners[0], drained_by: None }
    }
}

impl Iterator for Blocking<'_> {
    type Item = io::Result<TcpStream>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.drained_by.is_none() && self.server.terms.stop.is_requested() {
                if !self.server.terms.stop.notice() {
                    return None; // the others go on; the last sees to it that nobody is forgotten
                }
                ignore_new(self.listener);
                if let Err(e) = self.listener.set_nonblocking(true) {
                    return Some(Err(e));
                }
                self.drained_by = Some(Instant::now() + LAST_ARRIVE_WITHIN);
            }
            match self.listener.accept() {
                Ok((stream, _)) if self.drained_by.is_some() => {
                    return Some(stream.set_nonblocking(false).map(|()| stream));
                }
                Ok((stream, _)) => return Some(Ok(stream)),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    if self.drained_by.is_some_and(|until| Instant::now() > until) {
                        stop_listening(self.listener);
                        return None;
                    }
                    // Else another thread was quicker: Wine says so even where it should wait.
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(e) if is_shortage(&e) => {
                    self.server.terms.counters.note_shortage(&e);
                    std::thread::sleep(PAUSE);
                }
                Err(e) if is_of_one_connection(&e) => {}
                Err(e) => return Some(Err(e)),
            }
        }
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
    burst: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Nothing is accepted until then.
    Paused(Instant),
    /// The server is to stop: what arrives until then is still accepted.
    Draining(Instant),
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
        Self { server, listener, state: State::Open, burst: 1 }
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
        if self.state == State::Open {
            self.state = State::Paused(Instant::now() + PAUSE);
        }
    }

    /// Goes with the time: ends a pause, begins to drain when the server is to stop, ends that.
    pub fn tick(&mut self, now: Instant) {
        if matches!(self.state, State::Open | State::Paused(_))
            && self.server.terms.stop.is_requested()
        {
            self.server.terms.stop.notice();
            ignore_new(self.listener);
            self.state = State::Draining(now + LAST_ARRIVE_WITHIN);
        }
        match self.state {
            State::Paused(until) if now >= until => self.state = State::Open,
            State::Draining(until) if now >= until => {
                stop_listening(self.listener);
                self.state = State::Closed;
            }
            _ => {}
        }
    }

    /// A descriptor was given back: a pause is over.
    pub fn resume(&mut self) {
        if let State::Paused(_) = self.state {
            self.state = State::Open;
        }
    }

    /// Whether it wants to know of new connections.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open | State::Draining(_))
    }

    /// Whether the server stops: connections are to end soon.
    pub fn is_stopping(&self) -> bool {
        matches!(self.state, State::Draining(_) | State::Closed)
    }

    /// Whether nothing is accepted any more.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// When it wants [`Acceptor::tick`] to be called at the latest.
    pub fn wakes_at(&self) -> Option<Instant> {
        match self.state {
            State::Paused(until) | State::Draining(until) => Some(until),
            State::Open | State::Closed => None,
        }
    }
}

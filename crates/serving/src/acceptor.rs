//! Accepting in an event loop.

use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use platform::process::interrupts::{CAN_INTERRUPT_EVENT_LOOPS, Interruptible};
use platform::socket::server::{accept, has_pending, stop_listening};
use platform::socket::transfer::is_shortage;

use crate::accept::{
    ARRIVE_WITHIN, AcceptContext, Drain, PAUSE, STOP_CHECKED_EVERY, is_of_one_connection,
};
use crate::stop::Waiter;

/// Maximum number of connections accepted from one listener in one iteration of the loop, so that accepted connections are
/// served too.
pub const BURST_AT_MOST: usize = 64;

/// Accepts connections from the listeners of an event loop: never blocks, pauses after a shortage, and drains the accept
/// queues when the stop is requested.
#[derive(Debug)]
pub struct Acceptor<'a> {
    context: AcceptContext<'a>,
    /// Waits until the loop drains; a loop that ends with an error need not be woken.
    waiter: Waiter,
    listeners: Vec<Listener<'a>>,
    state: State,
    /// The end of a pause, if accepting is paused.
    paused: Option<Instant>,
    /// The time of the last call of [`Acceptor::tick`].
    now: Instant,
}

/// A listener, and the number of connections accepted from it in one iteration: it is one after an iteration without a
/// second connection, and doubles after each iteration that used it up.
#[derive(Debug)]
struct Listener<'a> {
    socket: &'a TcpListener,
    burst: usize,
    /// Number of calls of accept(2) in this iteration.
    calls: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The stop was requested, and pending connections are accepted. At the given time the acceptor checks whether any are
    /// left.
    Draining(Drain, Instant),
    Closed,
}

impl<'a> Acceptor<'a> {
    /// Accepts from `listeners`, at least one.
    ///
    /// # Errors
    /// If a listener cannot be made non-blocking.
    pub fn new(
        context: AcceptContext<'a>,
        listeners: impl IntoIterator<Item = &'a TcpListener>,
    ) -> io::Result<Self> {
        let listeners: Vec<_> = listeners.into_iter().collect();
        for listener in &listeners {
            listener.set_nonblocking(true)?;
        }
        Ok(Self::without_accept(context, listeners))
    }

    /// Serves a loop in which the kernel accepts, instead of calls of [`Acceptor::accept`].
    pub fn without_accept(
        context: AcceptContext<'a>,
        listeners: impl IntoIterator<Item = &'a TcpListener>,
    ) -> Self {
        let waiter = context.stop.waiter(Interruptible::event_loop());
        waiter.begin_wait();
        let listeners = listeners.into_iter();
        let listeners = listeners.map(|socket| Listener { socket, burst: 1, calls: 0 }).collect();
        Self { context, waiter, listeners, state: State::Open, paused: None, now: Instant::now() }
    }

    /// The next connection of this iteration from the first listener.
    ///
    /// # Errors
    /// If the listener is broken.
    pub fn accept(&mut self) -> io::Result<Option<TcpStream>> {
        self.accept_from(0)
    }

    /// The next connection of this iteration from a listener, as a non-blocking socket; `None` if no further ones must be
    /// accepted in this iteration.
    ///
    /// # Errors
    /// If the listener is broken.
    pub fn accept_from(&mut self, listener: usize) -> io::Result<Option<TcpStream>> {
        let is_open = self.is_open();
        let listener = &mut self.listeners[listener];
        while is_open && listener.calls < listener.burst {
            listener.calls += 1;
            match accept(listener.socket) {
                Ok(stream) => return Ok(Some(stream)),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    (listener.burst, listener.calls) = (1, 0);
                    return Ok(None);
                }
                Err(e) if is_shortage(&e) => {
                    listener.calls = 0;
                    self.pause(&e);
                    return Ok(None);
                }
                Err(e) if is_of_one_connection(&e) => {}
                Err(e) => return Err(e),
            }
        }
        if listener.calls >= listener.burst {
            listener.burst = (listener.burst * 2).min(BURST_AT_MOST);
        }
        listener.calls = 0;
        Ok(None)
    }

    /// Pauses accepting after a shortage, so that the loop does not spin.
    pub fn pause(&mut self, shortage: &io::Error) {
        self.context.shortages.note(shortage);
        self.paused = Some(Instant::now() + PAUSE);
    }

    /// Begins an iteration, in which it must be called: ends a pause, begins to drain when the stop is requested, and ends
    /// draining.
    pub fn tick(&mut self, now: Instant) {
        self.now = now;
        self.paused = self.paused.filter(|&until| now < until);
        match self.state {
            State::Open if self.context.stop.is_requested() => {
                self.waiter.end_wait();
                let drain = Drain::begin(self.sockets(), &self.context);
                self.state = State::Draining(drain, now + ARRIVE_WITHIN);
            }
            State::Draining(drain, at) if now >= at && self.paused.is_none() => {
                let is_awaited = |socket| drain.may_arrive(socket) || has_pending(socket);
                if self.sockets().any(is_awaited) && !drain.is_cut_off() {
                    self.state = State::Draining(drain, now + ARRIVE_WITHIN);
                } else {
                    self.sockets().for_each(stop_listening);
                    self.state = State::Closed;
                }
            }
            _ => {}
        }
    }

    fn sockets(&self) -> impl Iterator<Item = &'a TcpListener> {
        self.listeners.iter().map(|listener| listener.socket)
    }

    /// Ends a pause, since a connection was closed.
    pub fn resume(&mut self) {
        self.paused = None;
    }

    /// Whether the loop must watch the listeners for connections.
    pub fn is_open(&self) -> bool {
        self.state != State::Closed && self.paused.is_none()
    }

    /// Whether the server stops, so that connections must end soon.
    pub fn is_stopping(&self) -> bool {
        self.state != State::Open
    }

    /// Whether nothing is accepted any more.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// The latest time for the next call of [`Acceptor::tick`].
    pub fn wakes_at(&self) -> Option<Instant> {
        match self.state {
            // The call is due at once: a loop that has not begun to wait is woken by nothing.
            State::Open if self.context.stop.is_requested() => Some(self.now),
            State::Open if CAN_INTERRUPT_EVENT_LOOPS => self.paused,
            State::Open => Some(self.paused.unwrap_or(self.now + STOP_CHECKED_EVERY)),
            State::Draining(_, at) => Some(self.paused.unwrap_or(at)),
            State::Closed => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::atomic::Ordering;

    use platform::socket::server::{Listening, listen};

    use super::*;
    use crate::accept::Shortages;
    use crate::stop::Stop;

    fn listener() -> TcpListener {
        listen((Ipv4Addr::LOCALHOST, 0).into(), Listening::default()).unwrap()
    }

    fn clients(of: &TcpListener, count: usize) -> Vec<TcpStream> {
        let address = of.local_addr().unwrap();
        (0..count).map(|_| TcpStream::connect(address).unwrap()).collect()
    }

    /// Accepts in one iteration, and waits until it has accepted any.
    fn accept_all(acceptor: &mut Acceptor, listener: usize) -> usize {
        std::iter::from_fn(|| acceptor.accept_from(listener).unwrap()).count()
    }

    #[test]
    fn bursts_grow_per_listener_and_a_pause_stops_all() {
        let (stop, shortages) = (Stop::new().unwrap(), Shortages::default());
        let context = AcceptContext { stop, clients_send_first: false, shortages: &shortages };
        let sockets = [listener(), listener()];
        let _clients = [clients(&sockets[0], 8), clients(&sockets[1], 2)];
        assert!(has_pending(&sockets[0]) && has_pending(&sockets[1]));
        let mut acceptor = Acceptor::new(context, &sockets).unwrap();
        assert_eq!([0, 0, 0].map(|nth| accept_all(&mut acceptor, nth)), [1, 2, 4]);
        assert_eq!(accept_all(&mut acceptor, 1), 1);
        acceptor.pause(&io::Error::other("too many open files"));
        assert_eq!(shortages.no_descriptor.load(Ordering::Relaxed), 1);
        assert!(!acceptor.is_open() && acceptor.wakes_at().is_some());
        assert_eq!(accept_all(&mut acceptor, 1), 0);
        acceptor.resume();
        assert_eq!([0, 1].map(|nth| accept_all(&mut acceptor, nth)), [1, 1]);
    }

    #[test]
    fn pending_connections_are_accepted_after_the_stop() {
        let (stop, shortages) = (Stop::new().unwrap(), Shortages::default());
        let context = AcceptContext { stop, clients_send_first: false, shortages: &shortages };
        let sockets = [listener(), listener()];
        let mut acceptor = Acceptor::new(context, &sockets).unwrap();
        let _clients = clients(&sockets[1], 3);
        // Without an interrupt only a limited wait ends.
        assert_eq!(acceptor.wakes_at().is_none(), CAN_INTERRUPT_EVENT_LOOPS);
        stop.request();
        assert_eq!(acceptor.wakes_at(), Some(acceptor.now));
        let mut accepted = 0;
        testing::until(|| {
            acceptor.tick(Instant::now());
            accepted += accept_all(&mut acceptor, 0) + accept_all(&mut acceptor, 1);
            assert!(acceptor.is_stopping());
            acceptor.is_closed()
        });
        assert_eq!(accepted, 3);
    }
}

//! The sink's event loop.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use platform::readiness::{Interest, Readiness, Ready};
use platform::server_socket::{Listening, accept, has_pending, ignore_new, listen, stop_listening};
use platform::socket_io::is_shortage;
use serving::deadlines::Deadlines;

use crate::client::{Client, Shared, Verdict};
use crate::counts::{Counters, Counts};
use crate::error::BindError;
use crate::options::SinkOptions;
use crate::record::Recorder;
use crate::state::SinkState;
use crate::stop::Stop;
use crate::timers::Timers;

/// Pause in accepting after a shortage, unless a connection is closed before.
const PAUSE: Duration = Duration::from_millis(10);
/// How long the sink still accepts after a stop: for connections that were being established.
const LAST_ARRIVE_WITHIN: Duration = Duration::from_millis(20);
/// How long messages in progress may take after a stop.
const DRAIN_WITHIN: Duration = Duration::from_secs(10);
/// Maximum number of connections accepted from one listener in one iteration, so that accepted ones are served too.
const BURST_AT_MOST: usize = 64;

/// A listening sink.
pub struct Sink {
    listeners: Vec<Listener>,
    addresses: Vec<SocketAddr>,
    readiness: Readiness,
    stop: Stop,
    timeout: Duration,
    shared: Shared,
    counters: Arc<Counters>,
    clients: Vec<Option<Client>>,
    free: Vec<usize>,
    open: usize,
    deadlines: Deadlines,
    timers: Timers,
    state: State,
    /// Nothing is accepted until this time.
    paused: Option<Instant>,
}

/// A listening socket, and how many connections are accepted from it in one iteration: one after an iteration that
/// found no second, twice as many after each that found enough.
struct Listener {
    socket: TcpListener,
    burst: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Connections that have arrived are accepted until the first time; messages in progress may take until the second.
    Draining(Instant, Instant),
    Closed(Instant),
}

/// The counters of a sink, for other threads.
#[derive(Debug, Clone)]
pub struct Counting(Arc<Counters>);

impl Counting {
    /// The present values.
    pub fn read(&self) -> Counts {
        self.0.read()
    }
}

impl Sink {
    /// Listens, without serving yet: clients can connect, and wait.
    ///
    /// # Errors
    /// If an address is in use or not local, or the log or directory cannot be opened.
    pub fn bind(options: &SinkOptions) -> Result<Self, BindError> {
        let recorder = Recorder::open(options.log.as_deref(), options.capture.as_deref())
            .map_err(BindError::Records)?;
        let mut readiness = Readiness::new().map_err(BindError::Loop)?;
        let mut listeners = Vec::new();
        let mut addresses = Vec::new();
        for (number, &address) in options.listen.iter().enumerate() {
            let opened = open(address, options.window).and_then(|listener| {
                readiness.watch(&listener, number, Interest::Read)?;
                Ok((listener.local_addr()?, listener))
            });
            let (bound, listener) = opened.map_err(|cause| BindError::Listen { address, cause })?;
            listeners.push(Listener { socket: listener, burst: 1 });
            addresses.push(bound);
        }
        if listeners.is_empty() {
            return Err(BindError::Nowhere);
        }
        let counters = Arc::new(Counters::default());
        let sink = SinkState::new(options, recorder, Arc::clone(&counters));
        Ok(Self {
            listeners,
            addresses,
            stop: Stop::new(readiness.waker().map_err(BindError::Loop)?),
            readiness,
            timeout: options.timeout,
            shared: Shared::new(sink, options.tls.clone(), options.read_rate),
            counters,
            clients: Vec::new(),
            free: Vec::new(),
            open: 0,
            deadlines: Deadlines::default(),
            timers: Timers::default(),
            state: State::Open,
            paused: None,
        })
    }

    /// The addresses it listens at, in the order of the options.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Stops it, from another thread.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Its counters, for another thread.
    pub fn counting(&self) -> Counting {
        Counting(Arc::clone(&self.counters))
    }

    /// Serves until a stop is requested and the messages in progress are accepted. Returns its counters.
    ///
    /// # Errors
    /// If it cannot continue. The failure of one connection is not an error.
    pub fn serve(mut self) -> io::Result<Counts> {
        let mut ready = Vec::new();
        while self.open > 0 || !matches!(self.state, State::Closed(_)) {
            self.readiness.wait(self.wait(), &mut ready)?;
            self.tick();
            self.serve_ready(&ready)?;
        }
        Ok(self.counters.read())
    }

    /// Serves clients before listeners: closing connections frees resources for new ones.
    fn serve_ready(&mut self, ready: &[Ready]) -> io::Result<()> {
        let listeners = self.listeners.len();
        for one in ready.iter().filter(|one| one.number >= listeners) {
            let slot = one.number - listeners;
            self.update(slot, |client, shared| client.is_ready(one.readable, one.writable, shared));
        }
        for one in ready.iter().filter(|one| one.number < listeners) {
            self.accept(one.number)?;
        }
        Ok(())
    }

    /// How long to wait for readiness.
    fn wait(&self) -> Option<Duration> {
        if self.stop.is_requested() && self.state == State::Open {
            return Some(Duration::ZERO);
        }
        let drained = match self.state {
            State::Draining(until, _) => Some(until),
            _ => None,
        };
        let all = [self.deadlines.next(), self.timers.next(), self.paused, drained];
        let first = all.into_iter().flatten().min()?;
        Some(first.saturating_duration_since(Instant::now()))
    }

    /// Handles deadlines and timers, once per iteration.
    fn tick(&mut self) {
        let now = Instant::now();
        self.shared.sink.now = now;
        self.shared.until = match self.state {
            State::Open => now + self.timeout,
            State::Draining(_, ends) | State::Closed(ends) => ends,
        };
        if self.paused.is_some_and(|until| until <= now) {
            self.resume();
        }
        while let Some((slot, number)) = self.timers.due(now) {
            let is_same = self.clients[slot].as_ref().is_some_and(|one| one.number == number);
            if is_same {
                self.update(slot, Client::wake);
            }
        }
        self.close_timed_out(now);
        match self.state {
            State::Open if self.stop.is_requested() => self.begin_to_drain(now),
            State::Draining(until, ends) if until <= now => self.close_listeners(ends),
            _ => {}
        }
    }

    fn close_timed_out(&mut self, now: Instant) {
        let (clients, shared) = (&self.clients, &self.shared);
        let until = |slot: usize| clients[slot].as_ref().map(|one| one.deadline(shared));
        let mut late = Vec::new();
        while let Some(slot) = self.deadlines.due(now, until) {
            late.push(slot);
        }
        for slot in late {
            self.counters.timed_out.add(1);
            self.close(slot);
        }
    }

    /// Runs `act` for the client in a slot, and updates what the client waits for.
    fn update(&mut self, slot: usize, act: impl FnOnce(&mut Client, &mut Shared) -> Verdict) {
        // The slot is free if its client was closed in the same iteration.
        let Some(client) = self.clients.get_mut(slot).and_then(Option::as_mut) else { return };
        let mut verdict = act(client, &mut self.shared);
        if verdict == Verdict::Keep && self.state != State::Open {
            verdict = client.stop(&mut self.shared);
        }
        if verdict == Verdict::Close {
            return self.close(slot);
        }
        if let Some(at) = client.alarm.take() {
            self.timers.add(at, slot, client.number);
        }
        let interest = client.interest();
        if interest != client.watched {
            client.watched = interest;
            let number = slot + self.listeners.len();
            if self.readiness.change(client.socket(), number, interest).is_err() {
                self.close(slot);
            }
        }
    }

    fn close(&mut self, slot: usize) {
        let Some(client) = self.clients[slot].take() else { return };
        self.readiness.forget_closed(slot + self.listeners.len());
        client.close();
        self.free.push(slot);
        self.count_open(self.open - 1);
        if self.paused.is_some() {
            self.resume();
        }
    }

    fn count_open(&mut self, open: usize) {
        self.open = open;
        self.counters.open.store(open as u64, Ordering::Relaxed);
    }

    /// Accepts connections from one listener, at most its burst.
    fn accept(&mut self, listener: usize) -> io::Result<()> {
        if self.paused.is_some() || matches!(self.state, State::Closed(_)) {
            return Ok(());
        }
        for _ in 0..self.listeners[listener].burst {
            match accept(&self.listeners[listener].socket) {
                Ok(socket) => self.begin(socket),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    self.listeners[listener].burst = 1;
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
        let burst = &mut self.listeners[listener].burst;
        *burst = (*burst * 2).min(BURST_AT_MOST);
        Ok(())
    }

    /// Greets a new client, and keeps it unless it is closed at once.
    fn begin(&mut self, socket: std::net::TcpStream) {
        self.counters.connections.add(1);
        let mut client = Client::new(socket, self.counters.connections.get(), &self.shared);
        let verdict = match self.state {
            State::Open => client.greet(&mut self.shared),
            _ => client.stop(&mut self.shared),
        };
        if verdict == Verdict::Close {
            return client.close();
        }
        let slot = self.free.pop().unwrap_or(self.clients.len());
        if slot == self.clients.len() {
            self.clients.push(None);
        }
        let number = slot + self.listeners.len();
        client.watched = client.interest();
        if let Err(e) = self.readiness.watch(client.socket(), number, client.watched) {
            self.free.push(slot);
            return self.pause(&e);
        }
        if let Some(at) = client.alarm.take() {
            self.timers.add(at, slot, client.number);
        }
        self.deadlines.add(slot, client.deadline(&self.shared));
        self.clients[slot] = Some(client);
        self.count_open(self.open + 1);
    }

    /// Pauses accepting after a shortage; else the loop would spin.
    fn pause(&mut self, shortage: &io::Error) {
        match shortage.kind() {
            ErrorKind::OutOfMemory => self.counters.no_memory.add(1),
            _ => self.counters.no_descriptor.add(1),
        }
        self.paused = Some(self.shared.sink.now + PAUSE);
        self.watch_listeners(Interest::Nothing);
    }

    fn resume(&mut self) {
        self.paused = None;
        self.watch_listeners(Interest::Read);
    }

    fn watch_listeners(&mut self, interest: Interest) {
        if matches!(self.state, State::Closed(_)) {
            return;
        }
        for (number, listener) in self.listeners.iter().enumerate() {
            let _ = self.readiness.change(&listener.socket, number, interest);
        }
    }

    /// Accepts no new connections; idle clients get 421.
    fn begin_to_drain(&mut self, now: Instant) {
        for listener in &self.listeners {
            ignore_new(&listener.socket);
        }
        let ends = now + self.timeout.min(DRAIN_WITHIN);
        self.state = State::Draining(now + LAST_ARRIVE_WITHIN, ends);
        self.shared.until = ends;
        self.deadlines = Deadlines::default();
        for slot in 0..self.clients.len() {
            self.update(slot, |_, _| Verdict::Keep); // Stops the client.
            if let Some(client) = &self.clients[slot] {
                self.deadlines.add(slot, client.deadline(&self.shared));
            }
        }
    }

    /// Accepts the connections that have arrived, and closes the listeners.
    fn close_listeners(&mut self, ends: Instant) {
        self.resume();
        for listener in 0..self.listeners.len() {
            self.listeners[listener].burst = BURST_AT_MOST;
            if has_pending(&self.listeners[listener].socket) {
                let _ = self.accept(listener);
            }
            stop_listening(&self.listeners[listener].socket);
            self.readiness.forget(&self.listeners[listener].socket, listener);
        }
        self.paused = None;
        self.state = State::Closed(ends);
    }
}

/// Opens a non-blocking listener. The buffer is set before the address is known to any client.
fn open(address: SocketAddr, window: Option<usize>) -> io::Result<TcpListener> {
    let listener = listen(address, Listening::default())?;
    if let Some(bytes) = window {
        socket2::SockRef::from(&listener).set_recv_buffer_size(bytes)?;
    }
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Whether the error concerns one connection and not the listener (accept(2)).
fn is_of_one_connection(error: &io::Error) -> bool {
    use ErrorKind::{
        ConnectionAborted, ConnectionReset, HostUnreachable, Interrupted, NetworkUnreachable,
        PermissionDenied, TimedOut,
    };
    matches!(
        error.kind(),
        ConnectionAborted
            | ConnectionReset
            | HostUnreachable
            | Interrupted
            | NetworkUnreachable
            | PermissionDenied
            | TimedOut
    )
}

//! The sink's event loop.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use platform::socket::readiness::{Interest, Readiness, Ready};
use platform::socket::server::{Listening, listen};
use serving::{AcceptContext, Acceptor, Deadlines, Slots, TimerQueue};

use crate::client::{Client, Shared, Verdict};
use crate::counts::{Counters, Counts};
use crate::error::BindError;
use crate::options::SinkOptions;
use crate::record::Recorder;
use crate::state::SinkState;
use crate::stop::Stop;

/// A listening sink.
pub struct Sink {
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    readiness: Readiness,
    stop: Stop,
    timeout: Duration,
    drain: Duration,
    shared: Shared,
    counters: Arc<Counters>,
}

/// Read access to a sink's counters, for other threads.
#[derive(Debug, Clone)]
pub struct Counting(Arc<Counters>);

impl Counting {
    /// The current values.
    pub fn read(&self) -> Counts {
        self.0.read()
    }
}

impl Sink {
    /// Listens, without serving yet: clients can connect and wait.
    ///
    /// # Errors
    /// If an address is in use or not local, or the log or directory cannot be opened.
    pub fn bind(options: &SinkOptions) -> Result<Self, BindError> {
        let recorder = Recorder::open(options.log.as_deref(), options.capture.as_deref())
            .map_err(BindError::Records)?;
        let readiness = Readiness::new().map_err(BindError::Loop)?;
        let mut listeners = Vec::new();
        let mut addresses = Vec::new();
        for &address in &options.listen {
            let opened = open(address, options.window)
                .and_then(|listener| Ok((listener.local_addr()?, listener)));
            let (bound, listener) = opened.map_err(|cause| BindError::Listen { address, cause })?;
            listeners.push(listener);
            addresses.push(bound);
        }
        if listeners.is_empty() {
            return Err(BindError::Nowhere);
        }
        let counters = Arc::new(Counters::default());
        let sink = SinkState::new(options, recorder, Arc::clone(&counters));
        let stop = readiness.waker().and_then(Stop::new).map_err(BindError::Loop)?;
        Ok(Self {
            listeners,
            addresses,
            stop,
            readiness,
            timeout: options.timeout,
            drain: options.drain,
            shared: Shared::new(sink, options.tls.clone(), options.read_rate),
            counters,
        })
    }

    /// The addresses of the listeners, in the order of the options.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// A handle that stops the sink from another thread.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Access to the counters from another thread.
    pub fn counting(&self) -> Counting {
        Counting(Arc::clone(&self.counters))
    }

    /// Serves until a stop is requested and the messages in progress are accepted. Returns the counters.
    ///
    /// # Errors
    /// If the sink cannot continue. The failure of one connection is not an error.
    pub fn serve(self) -> io::Result<Counts> {
        let context = AcceptContext {
            stop: self.stop.flag(),
            clients_send_first: false,
            shortages: &self.counters.shortages,
        };
        let mut readiness = self.readiness;
        for (number, listener) in self.listeners.iter().enumerate() {
            readiness.watch(listener, number, Interest::Read)?;
        }
        let event_loop = EventLoop {
            listeners: &self.listeners,
            acceptor: Acceptor::new(context, &self.listeners)?,
            listening: Some(Interest::Read),
            readiness,
            timeout: self.timeout,
            drain: self.drain,
            shared: self.shared,
            counters: &self.counters,
            clients: Slots::default(),
            deadlines: Deadlines::default(),
            timers: TimerQueue::default(),
            ends: None,
        };
        event_loop.run()?;
        Ok(self.counters.read())
    }
}

/// The event loop of a sink that serves.
struct EventLoop<'a> {
    listeners: &'a [TcpListener],
    acceptor: Acceptor<'a>,
    /// The readiness for which the listeners are watched; `None` when they are closed.
    listening: Option<Interest>,
    readiness: Readiness,
    timeout: Duration,
    drain: Duration,
    shared: Shared,
    counters: &'a Counters,
    clients: Slots<Client>,
    deadlines: Deadlines,
    /// The timers of clients, at most one for each, with the slot and the number of the client: the slot may have been
    /// reused when the timer is due.
    timers: TimerQueue<(usize, u64)>,
    /// The time at which messages in progress must be complete; only after a stop.
    ends: Option<Instant>,
}

impl EventLoop<'_> {
    fn run(mut self) -> io::Result<()> {
        let mut ready = Vec::new();
        while !self.clients.is_empty() || !self.acceptor.is_closed() {
            self.readiness.wait(self.wait(), &mut ready)?;
            self.tick();
            self.serve_ready(&ready)?;
            self.watch_listeners();
        }
        Ok(())
    }

    /// Serves clients before listeners: closing connections frees resources for new ones.
    fn serve_ready(&mut self, ready: &[Ready]) -> io::Result<()> {
        let listeners = self.listeners.len();
        for one in ready.iter().filter(|one| one.number >= listeners) {
            let slot = one.number - listeners;
            self.update(slot, |client, shared| client.is_ready(one.readable, one.writable, shared));
        }
        for one in ready.iter().filter(|one| one.number < listeners) {
            while let Some(socket) = self.acceptor.accept_from(one.number)? {
                self.begin(socket);
            }
        }
        Ok(())
    }

    /// The time to wait for readiness; `None` for no limit.
    fn wait(&self) -> Option<Duration> {
        let all = [self.deadlines.next(), self.timers.next(), self.acceptor.wakes_at()];
        let first = all.into_iter().flatten().min()?;
        Some(first.saturating_duration_since(Instant::now()))
    }

    /// Handles deadlines, timers and the stop, once per iteration.
    fn tick(&mut self) {
        let now = Instant::now();
        self.shared.sink.now = now;
        self.shared.until = self.ends.unwrap_or(now + self.timeout);
        while let Some((slot, number)) = self.timers.due(now) {
            if self.clients.get(slot).is_some_and(|one| one.number == number) {
                self.update(slot, Client::wake);
            }
        }
        self.close_timed_out(now);
        self.acceptor.tick(now);
        if self.acceptor.is_stopping() && self.ends.is_none() {
            self.begin_to_drain(now);
        }
    }

    fn close_timed_out(&mut self, now: Instant) {
        let (clients, shared) = (&self.clients, &self.shared);
        let deadline_of = |slot: usize| clients.get(slot).map(|one| one.deadline(shared));
        for slot in self.deadlines.expired(now, deadline_of) {
            self.counters.timed_out.add(1);
            self.close(slot);
        }
    }

    /// Runs `act` for the client in a slot, and updates its watched readiness and timer.
    fn update(&mut self, slot: usize, act: impl FnOnce(&mut Client, &mut Shared) -> Verdict) {
        // The slot is free if its client was closed in the same iteration.
        let Some(client) = self.clients.get_mut(slot) else { return };
        let mut verdict = act(client, &mut self.shared);
        if verdict == Verdict::Keep && self.ends.is_some() {
            verdict = client.stop(&mut self.shared);
        }
        if verdict == Verdict::Close {
            return self.close(slot);
        }
        if let Some(at) = client.alarm.take() {
            self.timers.add(at, (slot, client.number));
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
        let Some(client) = self.clients.remove(slot) else { return };
        self.readiness.forget_closed(slot + self.listeners.len());
        client.close();
        self.count_open();
        self.acceptor.resume();
    }

    fn count_open(&self) {
        self.counters.open.store(self.clients.len() as u64, Ordering::Relaxed);
    }

    /// Greets a new client, and keeps it unless it is closed at once.
    fn begin(&mut self, socket: TcpStream) {
        self.counters.connections.add(1);
        let mut client = Client::new(socket, self.counters.connections.get(), &self.shared);
        let verdict = match self.ends {
            None => client.greet(&mut self.shared),
            Some(_) => client.stop(&mut self.shared),
        };
        if verdict == Verdict::Close {
            return client.close();
        }
        let slot = self.clients.next();
        let number = slot + self.listeners.len();
        client.watched = client.interest();
        if let Err(e) = self.readiness.watch(client.socket(), number, client.watched) {
            return self.acceptor.pause(&e);
        }
        if let Some(at) = client.alarm.take() {
            self.timers.add(at, (slot, client.number));
        }
        self.deadlines.add(slot, client.deadline(&self.shared));
        self.clients.insert(client);
        self.count_open();
    }

    /// Watches the listeners only while connections are accepted, so that the loop does not spin.
    fn watch_listeners(&mut self) {
        let interest = match self.acceptor.is_open() {
            true => Some(Interest::Read),
            false if self.acceptor.is_closed() => None,
            false => Some(Interest::Nothing),
        };
        if interest == self.listening {
            return;
        }
        self.listening = interest;
        for (number, listener) in self.listeners.iter().enumerate() {
            match interest {
                Some(interest) => drop(self.readiness.change(listener, number, interest)),
                None => self.readiness.forget(listener, number),
            }
        }
    }

    /// Gives the messages in progress a limited time; idle clients get 421.
    fn begin_to_drain(&mut self, now: Instant) {
        let ends = now + self.timeout.min(self.drain);
        self.ends = Some(ends);
        self.shared.until = ends;
        self.deadlines = Deadlines::default();
        for slot in 0..self.clients.end() {
            self.update(slot, |_, _| Verdict::Keep); // this call stops the client
            if let Some(client) = self.clients.get(slot) {
                self.deadlines.add(slot, client.deadline(&self.shared));
            }
        }
    }
}

/// Opens a listener. The buffer is set before the address is known to any client.
fn open(address: SocketAddr, window: Option<usize>) -> io::Result<TcpListener> {
    let listener = listen(address, Listening::default())?;
    if let Some(bytes) = window {
        socket2::SockRef::from(&listener).set_recv_buffer_size(bytes)?;
    }
    Ok(listener)
}

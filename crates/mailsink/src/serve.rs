//! The sink's event loop.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use platform::readiness::{Interest, Readiness, Ready};
use platform::socket::{
    Listening, accept, has_arrived, ignore_new, is_shortage, listen, stop_listening,
};
use serving::deadlines::Deadlines;

use super::client::{Client, Shared, Verdict};
use super::counts::{Counters, Counts};
use super::house::House;
use super::record::Records;
use super::timers::Alarms;
use super::{BindError, Plan, Stop};

/// How long nothing is accepted after a shortage, unless something is given back before.
const PAUSE: Duration = Duration::from_millis(10);
/// How long connections under way when the sink stops take to arrive.
const LAST_ARRIVE_WITHIN: Duration = Duration::from_millis(20);
/// How long messages under way when the sink stops may take.
const DRAIN_WITHIN: Duration = Duration::from_secs(10);
/// Connections accepted in one turn of the loop at one listener, so that those accepted get their turn.
const BURST_AT_MOST: usize = 64;

/// A sink that listens.
pub struct Sink {
    doors: Vec<Door>,
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
    alarms: Alarms,
    state: State,
    /// Nothing is accepted until then.
    paused: Option<Instant>,
}

/// A listener, and how many it accepts in a turn: one after a turn that found no second, more while they
/// are plenty.
struct Door {
    listener: TcpListener,
    burst: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// What has arrived is accepted until the first moment; what is under way may take until the second.
    Draining(Instant, Instant),
    Closed(Instant),
}

/// What a sink has counted, for other threads.
#[derive(Debug, Clone)]
pub struct Counting(Arc<Counters>);

impl Counting {
    /// What it has counted so far.
    pub fn read(&self) -> Counts {
        self.0.read()
    }
}

impl Sink {
    /// Has a sink listen that does not serve yet: clients can connect, and wait.
    ///
    /// # Errors
    /// Where an address is in use or not of this machine, or what it is to write cannot be opened.
    pub fn bind(plan: &Plan) -> Result<Self, BindError> {
        let records = Records::open(plan.log.as_deref(), plan.capture.as_deref())
            .map_err(BindError::Records)?;
        let mut readiness = Readiness::new().map_err(BindError::Loop)?;
        let mut doors = Vec::new();
        let mut addresses = Vec::new();
        for (place, &address) in plan.listen.iter().enumerate() {
            let opened = open(address, plan.window).and_then(|listener| {
                readiness.watch(&listener, place, Interest::Read)?;
                Ok((listener.local_addr()?, listener))
            });
            let (bound, listener) = opened.map_err(|cause| BindError::Listen { address, cause })?;
            doors.push(Door { listener, burst: 1 });
            addresses.push(bound);
        }
        if doors.is_empty() {
            return Err(BindError::Nowhere);
        }
        let counters = Arc::new(Counters::default());
        let house = House::new(plan, records, Arc::clone(&counters));
        Ok(Self {
            doors,
            addresses,
            stop: Stop::new(readiness.waker().map_err(BindError::Loop)?),
            readiness,
            timeout: plan.timeout,
            shared: Shared::new(house, plan.tls.clone(), plan.read_rate),
            counters,
            clients: Vec::new(),
            free: Vec::new(),
            open: 0,
            deadlines: Deadlines::default(),
            alarms: Alarms::default(),
            state: State::Open,
            paused: None,
        })
    }

    /// Where it listens, in the order they were asked for.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// How to stop it, from another thread.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// What it has counted, for another thread.
    pub fn counting(&self) -> Counting {
        Counting(Arc::clone(&self.counters))
    }

    /// Serves until told to stop, then until the messages under way are taken; what it has counted.
    ///
    /// # Errors
    /// Where it cannot go on at all. What concerns one client only is no error.
    pub fn serve(mut self) -> io::Result<Counts> {
        let mut ready = Vec::new();
        while self.open > 0 || !matches!(self.state, State::Closed(_)) {
            self.readiness.wait(self.wait(), &mut ready)?;
            self.tick();
            self.serve_ready(&ready)?;
        }
        Ok(self.counters.read())
    }

    /// Clients first, since some may give back what others need.
    fn serve_ready(&mut self, ready: &[Ready]) -> io::Result<()> {
        let doors = self.doors.len();
        for one in ready.iter().filter(|one| one.number >= doors) {
            let place = one.number - doors;
            self.go_on(place, |client, shared| client.is_ready(one.readable, one.writable, shared));
        }
        for one in ready.iter().filter(|one| one.number < doors) {
            self.accept(one.number)?;
        }
        Ok(())
    }

    /// How long there is nothing to do.
    fn wait(&self) -> Option<Duration> {
        if self.stop.is_requested() && self.state == State::Open {
            return Some(Duration::ZERO);
        }
        let drained = match self.state {
            State::Draining(until, _) => Some(until),
            _ => None,
        };
        let all = [self.deadlines.next(), self.alarms.next(), self.paused, drained];
        let first = all.into_iter().flatten().min()?;
        Some(first.saturating_duration_since(Instant::now()))
    }

    /// Goes with the time, once a turn.
    fn tick(&mut self) {
        let now = Instant::now();
        self.shared.house.now = now;
        self.shared.until = match self.state {
            State::Open => now + self.timeout,
            State::Draining(_, ends) | State::Closed(ends) => ends,
        };
        if self.paused.is_some_and(|until| until <= now) {
            self.resume();
        }
        while let Some((place, number)) = self.alarms.due(now) {
            let is_same = self.clients[place].as_ref().is_some_and(|one| one.number == number);
            if is_same {
                self.go_on(place, Client::wake);
            }
        }
        self.close_late(now);
        match self.state {
            State::Open if self.stop.is_requested() => self.begin_to_drain(now),
            State::Draining(until, ends) if until <= now => self.close_doors(ends),
            _ => {}
        }
    }

    fn close_late(&mut self, now: Instant) {
        let (clients, shared) = (&self.clients, &self.shared);
        let until = |place: usize| clients[place].as_ref().map(|one| one.deadline(shared));
        let mut late = Vec::new();
        while let Some(place) = self.deadlines.due(now, until) {
            late.push(place);
        }
        for place in late {
            self.counters.timed_out.add(1);
            self.close(place);
        }
    }

    /// Has a client go on, and sees to what it waits for then.
    fn go_on(&mut self, place: usize, act: impl FnOnce(&mut Client, &mut Shared) -> Verdict) {
        // A place that is free is of one closed in the same turn.
        let Some(client) = self.clients.get_mut(place).and_then(Option::as_mut) else { return };
        let mut verdict = act(client, &mut self.shared);
        if verdict == Verdict::Stays && self.state != State::Open {
            verdict = client.stop(&mut self.shared);
        }
        if verdict == Verdict::Gone {
            return self.close(place);
        }
        if let Some(at) = client.alarm.take() {
            self.alarms.add(at, place, client.number);
        }
        let interest = client.interest();
        if interest != client.watched {
            client.watched = interest;
            let number = place + self.doors.len();
            if self.readiness.change(client.socket(), number, interest).is_err() {
                self.close(place);
            }
        }
    }

    fn close(&mut self, place: usize) {
        let Some(client) = self.clients[place].take() else { return };
        self.readiness.forget_closed(place + self.doors.len());
        client.close();
        self.free.push(place);
        self.count_open(self.open - 1);
        if self.paused.is_some() {
            self.resume();
        }
    }

    fn count_open(&mut self, open: usize) {
        self.open = open;
        self.counters.open.store(open as u64, Ordering::Relaxed);
    }

    /// Accepts at one listener what one turn may.
    fn accept(&mut self, door: usize) -> io::Result<()> {
        if self.paused.is_some() || matches!(self.state, State::Closed(_)) {
            return Ok(());
        }
        for _ in 0..self.doors[door].burst {
            match accept(&self.doors[door].listener) {
                Ok(socket) => self.begin(socket),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    self.doors[door].burst = 1;
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
        let burst = &mut self.doors[door].burst;
        *burst = (*burst * 2).min(BURST_AT_MOST);
        Ok(())
    }

    /// Greets a new client, and keeps it unless that is all.
    fn begin(&mut self, socket: std::net::TcpStream) {
        self.counters.connections.add(1);
        let mut client = Client::new(socket, self.counters.connections.get(), &self.shared);
        let verdict = match self.state {
            State::Open => client.greet(&mut self.shared),
            _ => client.stop(&mut self.shared),
        };
        if verdict == Verdict::Gone {
            return client.close();
        }
        let place = self.free.pop().unwrap_or(self.clients.len());
        if place == self.clients.len() {
            self.clients.push(None);
        }
        let number = place + self.doors.len();
        client.watched = client.interest();
        if let Err(e) = self.readiness.watch(client.socket(), number, client.watched) {
            self.free.push(place);
            return self.pause(&e);
        }
        if let Some(at) = client.alarm.take() {
            self.alarms.add(at, place, client.number);
        }
        self.deadlines.add(place, client.deadline(&self.shared));
        self.clients[place] = Some(client);
        self.count_open(self.open + 1);
    }

    /// Accepts nothing for a while, for want of something: without that the loop would turn for nothing.
    fn pause(&mut self, shortage: &io::Error) {
        match shortage.kind() {
            ErrorKind::OutOfMemory => self.counters.no_memory.add(1),
            _ => self.counters.no_descriptor.add(1),
        }
        self.paused = Some(self.shared.house.now + PAUSE);
        self.watch_doors(Interest::Nothing);
    }

    fn resume(&mut self) {
        self.paused = None;
        self.watch_doors(Interest::Read);
    }

    fn watch_doors(&mut self, interest: Interest) {
        if matches!(self.state, State::Closed(_)) {
            return;
        }
        for (number, door) in self.doors.iter().enumerate() {
            let _ = self.readiness.change(&door.listener, number, interest);
        }
    }

    /// Takes no new connections; who has nothing under way is told to go.
    fn begin_to_drain(&mut self, now: Instant) {
        for door in &self.doors {
            ignore_new(&door.listener);
        }
        let ends = now + self.timeout.min(DRAIN_WITHIN);
        self.state = State::Draining(now + LAST_ARRIVE_WITHIN, ends);
        self.shared.until = ends;
        self.deadlines = Deadlines::default();
        for place in 0..self.clients.len() {
            self.go_on(place, |_, _| Verdict::Stays); // which tells it
            if let Some(client) = &self.clients[place] {
                self.deadlines.add(place, client.deadline(&self.shared));
            }
        }
    }

    /// What has arrived is accepted, and then no more.
    fn close_doors(&mut self, ends: Instant) {
        self.resume();
        for door in 0..self.doors.len() {
            self.doors[door].burst = BURST_AT_MOST;
            if has_arrived(&self.doors[door].listener) {
                let _ = self.accept(door);
            }
            stop_listening(&self.doors[door].listener);
            self.readiness.forget(&self.doors[door].listener, door);
        }
        self.paused = None;
        self.state = State::Closed(ends);
    }
}

/// Listens, without waiting. The buffer is set before anybody can connect from who is told of the address.
fn open(address: SocketAddr, window: Option<usize>) -> io::Result<TcpListener> {
    let listener = listen(address, Listening::default())?;
    if let Some(bytes) = window {
        socket2::SockRef::from(&listener).set_recv_buffer_size(bytes)?;
    }
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Whether it concerns the connection that was to be accepted, or nobody, but not the listener (accept(2)).
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

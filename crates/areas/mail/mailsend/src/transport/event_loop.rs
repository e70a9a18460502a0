//! Event loops: one thread serves many connections, and waits until any of them is ready.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use platform::socket::client::{is_in_progress, stream_socket};
use platform::socket::readiness::{Interest, PollBackend, Readiness, Ready};
use platform::socket::transfer::is_shortage;

use channel::Channel;
use smtp::session::{Event, Session, SessionFailure};
use smtp::transaction::Message;

use super::socket::{in_words, prepare};
use crate::delivery::Delivery;
use crate::dispatcher::{Assignment, Request, Response, Work};
use crate::error::SendError;
use crate::options::DeliveryOptions;
use crate::stats::TransportStats;
use crate::transactions::TransactionBuilder;

/// Number of bytes received at a time.
const BUFFER: usize = 64 * 1024;
/// Interval at which deadlines are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// Pause after a connection could not be made for lack of ports or descriptors.
const PAUSE: Duration = Duration::from_millis(50);
/// Maximum number of connections made in one iteration, so that established connections are served too.
const MADE_AT_ONCE: usize = 64;

/// Carries out a delivery by `loops` event loops.
pub fn run(
    delivery: &Delivery,
    loops: usize,
    backend: PollBackend,
) -> Result<TransportStats, SendError> {
    let same = TransactionBuilder::same(delivery.options())?;
    if loops <= 1 {
        return Loop::new(delivery, backend, same)?.run();
    }
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..loops)
            .map(|_| {
                let same = same.clone();
                let run = move || {
                    let stats = Loop::new(delivery, backend, same).and_then(Loop::run);
                    stats.inspect_err(|_| delivery.signals().stop())
                };
                let thread = std::thread::Builder::new().spawn_scoped(scope, run);
                thread.inspect_err(|_| delivery.signals().stop())
            })
            .collect();
        let stats = all.into_iter().map(|one| match one {
            Ok(thread) => thread.join().expect("a loop does not panic"),
            Err(e) => Err(SendError::System("a thread for a loop cannot be had", e)),
        });
        stats.reduce(|all, one| Ok(all?.plus(one?))).expect("there is one at least")
    })
}

struct Loop<'a> {
    options: &'a DeliveryOptions,
    delivery: &'a Delivery<'a>,
    builder: TransactionBuilder<'a>,
    readiness: Readiness,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    live: usize,
    /// Connections that may have events or bytes to send.
    touched: Vec<usize>,
    buffer: Box<[u8]>,
    checked: Instant,
    paused_until: Option<Instant>,
    stats: TransportStats,
}

struct Connection {
    channel: Channel,
    session: Session,
    assignment: Assignment,
    interest: Interest,
    /// Time at which the last group of commands was sent.
    sent_at: Instant,
    deadline: Instant,
    replies: u64,
}

impl<'a> Loop<'a> {
    fn new(
        delivery: &'a Delivery<'a>,
        backend: PollBackend,
        same: Option<Arc<Message>>,
    ) -> Result<Self, SendError> {
        let cannot = |e| SendError::System("waiting for sockets", e);
        let readiness = Readiness::by(backend).map_err(cannot)?;
        delivery.register(readiness.waker().map_err(cannot)?);
        Ok(Self {
            options: delivery.options(),
            delivery,
            builder: TransactionBuilder::new(delivery.options(), same),
            readiness,
            connections: Vec::new(),
            free: Vec::new(),
            live: 0,
            touched: Vec::new(),
            buffer: vec![0; BUFFER].into(),
            checked: Instant::now(),
            paused_until: None,
            stats: TransportStats::default(),
        })
    }

    fn run(mut self) -> Result<TransportStats, SendError> {
        let mut ready: Vec<Ready> = Vec::new();
        loop {
            let wait = self.connect()?;
            self.process()?;
            let Some(wait) = wait.or((self.live > 0).then_some(CHECK_INTERVAL)) else { break };
            let wait = if self.live > 0 { wait.min(CHECK_INTERVAL) } else { wait };
            let waited = self.readiness.wait(Some(wait), &mut ready);
            waited.map_err(|e| SendError::System("waiting for sockets", e))?;
            let now = Instant::now();
            for ready in &ready {
                self.receive(ready, now);
            }
            self.expire(now);
            self.process()?;
        }
        Ok(self.stats)
    }

    /// Makes the connections that the dispatcher assigns. Returns the time after which to request more; `None` if there
    /// will be no more.
    fn connect(&mut self) -> Result<Option<Duration>, SendError> {
        if let Some(pause) =
            self.paused_until.map(|at| at.saturating_duration_since(Instant::now()))
        {
            if !pause.is_zero() {
                return Ok(Some(pause));
            }
            self.paused_until = None;
        }
        let delivery = self.delivery;
        for _ in 0..MADE_AT_ONCE {
            let work = delivery.dispatcher().work(self.options);
            match work {
                Work::Wait(wait) => return Ok(Some(wait)),
                Work::Done => return Ok(None),
                Work::Connect(assignment) => {
                    if self.open(assignment) {
                        self.paused_until = Some(Instant::now() + PAUSE);
                        return Ok(Some(PAUSE));
                    }
                }
            }
        }
        Ok(Some(Duration::ZERO))
    }

    /// Starts a connection. Returns whether there was a shortage of ports or descriptors.
    fn open(&mut self, mut assignment: Assignment) -> bool {
        let number = self.free.pop().unwrap_or(self.connections.len());
        let source = self.source(&assignment);
        let made = begin(&assignment, source).and_then(|socket| {
            self.readiness.watch(&socket, number, Interest::Read)?;
            Ok(socket)
        });
        let mut session = Session::new(Arc::clone(&assignment.session));
        match made {
            Ok(socket) => {
                let now = Instant::now();
                let deadline = now + session.phase().timeout().min(self.options.timeout);
                if number == self.connections.len() {
                    self.connections.push(None);
                }
                self.connections[number] = Some(Connection {
                    channel: Channel::new(socket),
                    session,
                    assignment,
                    interest: Interest::Read,
                    sent_at: now,
                    deadline,
                    replies: 0,
                });
                self.live += 1;
                self.stats.connections += 1;
                false
            }
            Err(e) => {
                self.free.push(number);
                let is_ours = is_shortage(&e) || e.kind() == ErrorKind::AddrNotAvailable;
                if is_ours {
                    self.stats.shortages += 1;
                } else {
                    self.stats.failed += 1;
                    session.not_connected(&in_words(&e));
                }
                // A local shortage is not a failure of the server.
                let failure = std::iter::from_fn(|| session.event()).find_map(failure_of);
                let mut dispatcher = self.delivery.dispatcher();
                if let Some(failure) = failure {
                    dispatcher.handle(self.options, &mut assignment, Request::Failed(failure));
                }
                dispatcher.handle(self.options, &mut assignment, Request::Closed);
                is_ours
            }
        }
    }

    fn source(&self, to: &Assignment) -> Option<IpAddr> {
        let made = usize::try_from(self.stats.connections).unwrap_or(0);
        self.options.source(made, to.address)
    }

    /// Handles what a server has sent.
    fn receive(&mut self, ready: &Ready, now: Instant) {
        let Some(connection) = self.connections.get_mut(ready.number).and_then(Option::as_mut)
        else {
            return;
        };
        self.touched.push(ready.number);
        if ready.readable || connection.channel.is_handshaking() {
            connection.receive(&mut self.buffer);
        }
        if connection.session.replies() != connection.replies {
            connection.replies = connection.session.replies();
            connection.extend_deadline(now, self.options.timeout);
        }
    }

    /// Ends sessions whose server has exceeded its deadline.
    fn expire(&mut self, now: Instant) {
        if now < self.checked + CHECK_INTERVAL {
            return;
        }
        self.checked = now;
        let is_stopped = self.delivery.is_stopped();
        for (number, connection) in self.connections.iter_mut().enumerate() {
            let Some(connection) = connection else { continue };
            if connection.deadline <= now && !connection.session.is_over() {
                connection.session.broken("it took too long");
                self.touched.push(number);
            } else if is_stopped && connection.session.leave() {
                self.touched.push(number);
            }
        }
    }

    /// Passes the events of the touched connections to the dispatcher, and sends the sessions' output, until no event and
    /// no output is left.
    fn process(&mut self) -> Result<(), SendError> {
        while !self.touched.is_empty() {
            let events = self.gather();
            if !events.is_empty() {
                self.handle(events)?;
                continue;
            }
            let now = Instant::now();
            for number in std::mem::take(&mut self.touched) {
                self.flush(number, now);
            }
        }
        Ok(())
    }

    /// The events of the touched connections that concern the dispatcher.
    fn gather(&mut self) -> Vec<(usize, Event)> {
        let mut events = Vec::new();
        let now = Instant::now();
        for &number in &self.touched {
            let Some(connection) = self.connections[number].as_mut() else { continue };
            while let Some(event) = connection.session.event() {
                match event {
                    Event::Answered(phase) => {
                        self.stats
                            .answered(phase, now.saturating_duration_since(connection.sent_at));
                    }
                    Event::Secure => connection.secure(self.options),
                    other => events.push((number, other)),
                }
            }
        }
        events
    }

    /// Makes the dispatcher handle all events, commits them to the journal in one transaction, and applies the responses.
    fn handle(&mut self, events: Vec<(usize, Event)>) -> Result<(), SendError> {
        let mut responses = Vec::with_capacity(events.len());
        let mut over = Vec::new();
        let mut dispatcher = self.delivery.dispatcher();
        for (number, event) in events {
            let Some(connection) = self.connections[number].as_mut() else { continue };
            let request = match event {
                Event::Delivering(recipients) => Request::Delivering(recipients),
                Event::Settled(outcomes) => Request::Settled(outcomes),
                Event::Ready => Request::Next { is_secure: connection.session.is_secure() },
                Event::Failed(failure) => {
                    self.stats.failed += 1;
                    Request::Failed(failure)
                }
                Event::Finished => {
                    over.push(number);
                    Request::Closed
                }
                Event::Answered(_) | Event::Secure => continue,
            };
            let response = dispatcher.handle(self.options, &mut connection.assignment, request);
            responses.extend(response.map(|response| (number, response)));
        }
        dispatcher.commit()?;
        drop(dispatcher);
        for (number, response) in responses {
            let Some(connection) = self.connections[number].as_mut() else { continue };
            match response {
                Response::Proceed => connection.session.deliver(),
                Response::Quit => connection.session.quit(),
                Response::Begin(recipients) => {
                    self.stats.transactions += 1;
                    connection.session.begin(self.builder.build(&recipients)?);
                }
            }
        }
        over.into_iter().for_each(|number| self.close(number));
        Ok(())
    }

    fn close(&mut self, number: usize) {
        if let Some(connection) = self.connections[number].take() {
            self.readiness.forget_closed(number);
            self.stats.groups += connection.session.groups();
            connection.channel.close();
            self.free.push(number);
            self.live -= 1;
        }
    }

    /// Sends the session's output.
    fn flush(&mut self, number: usize, now: Instant) {
        let Some(connection) = self.connections[number].as_mut() else { return };
        let mut has_sent = false;
        while !connection.session.to_send().is_empty() {
            match connection.channel.send(connection.session.to_send()) {
                Ok(bytes) => {
                    connection.session.was_sent(bytes);
                    self.stats.sent += bytes as u64;
                    has_sent = true;
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    connection.session.broken(&in_words(&e));
                    return self.touched.push(number);
                }
            }
        }
        // The TLS layer may still hold bytes that it has accepted.
        if let Err(e) = connection.channel.flush()
            && !matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
        {
            connection.session.broken(&in_words(&e));
            return self.touched.push(number);
        }
        if has_sent {
            connection.sent_at = now;
            connection.extend_deadline(now, self.options.timeout);
        }
        let interest = connection.channel.interest(!connection.session.to_send().is_empty());
        if interest != connection.interest {
            connection.interest = interest;
            let socket = connection.channel.socket();
            if let Err(e) = self.readiness.change(socket, number, interest) {
                connection.session.broken(&in_words(&e));
                self.touched.push(number);
            }
        }
    }
}

impl Connection {
    fn receive(&mut self, buffer: &mut [u8]) {
        if self.channel.is_handshaking() && !self.continue_handshake() {
            return;
        }
        if self.session.needs_local()
            && let Ok(local) = self.channel.socket().local_addr()
        {
            self.session.set_local(local.ip());
        }
        loop {
            match self.channel.receive(buffer) {
                Ok(0) => self.session.broken("the server closed the connection"),
                Ok(bytes) => self.session.received(&buffer[..bytes]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) if self.session.replies() == 0 && is_of_connecting(&e) => {
                    self.session.not_connected(&in_words(&e))
                }
                Err(e) => self.session.broken(&in_words(&e)),
            }
            if self.session.is_over() || !self.channel.has_received() {
                return;
            }
        }
    }

    /// Starts TLS on the connection.
    fn secure(&mut self, options: &DeliveryOptions) {
        match options.tls.connect(&self.assignment.name) {
            Ok(tls) => {
                self.channel.start_tls(tls);
                self.continue_handshake();
            }
            Err(e) => self.session.broken(&e.to_string()),
        }
    }

    /// Continues the handshake. Returns whether it is complete.
    fn continue_handshake(&mut self) -> bool {
        match self.channel.handshake() {
            Ok(()) => {
                self.session.is_secured();
                true
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => false,
            Err(e) => {
                self.session.broken(&in_words(&e));
                false
            }
        }
    }

    /// Restarts the deadline for the server's reply.
    fn extend_deadline(&mut self, now: Instant, at_most: Duration) {
        self.deadline = now + self.session.phase().timeout().min(at_most);
    }
}

/// Starts to connect; the result is known when the socket is ready.
fn begin(assignment: &Assignment, source: Option<IpAddr>) -> io::Result<TcpStream> {
    let socket = stream_socket(assignment.address.is_ipv6())?;
    prepare(&socket, source)?;
    match socket.connect(&assignment.address.into()) {
        Ok(()) => {}
        Err(e) if is_in_progress(&e) => {}
        Err(e) => return Err(e),
    }
    Ok(socket.into())
}

/// Whether the connection could not be made.
fn is_of_connecting(error: &io::Error) -> bool {
    use ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable, TimedOut};
    matches!(error.kind(), ConnectionRefused | HostUnreachable | NetworkUnreachable | TimedOut)
}

fn failure_of(event: Event) -> Option<SessionFailure> {
    match event {
        Event::Failed(failure) => Some(failure),
        _ => None,
    }
}

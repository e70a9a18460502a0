//! Event loops: all connections of one are a thread's, which waits for whichever has something to say.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use platform::net::{bind_address, is_in_progress, stream_socket};
use platform::readiness::{Interest, Means, Readiness, Ready};
use platform::socket::is_shortage;

use super::desk::{Answer, Ask, Assignment, Office, Work};
use super::maker::Maker;
use super::tally::Carried;
use super::{Plan, SendError, source};
use crate::channel::Channel;
use crate::smtp::session::{Event, Message, Session};

/// How much is taken in at once.
const BUFFER: usize = 64 * 1024;
/// How often it is looked who takes too long.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// After a shortage of ports or descriptors no connection is made for so long.
const REST: Duration = Duration::from_millis(50);
/// Connections made in one turn, so that those made before have their turn too.
const MADE_AT_ONCE: usize = 64;

/// Carries a delivery out by so many loops.
pub fn carry(
    plan: &Plan,
    office: &Office,
    loops: usize,
    means: Means,
) -> Result<Carried, SendError> {
    let same = Maker::same(plan)?;
    if loops <= 1 {
        return Loop::new(plan, office, means, same)?.run();
    }
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..loops)
            .map(|_| {
                let same = same.clone();
                let carry = move || {
                    let carried = Loop::new(plan, office, means, same).and_then(Loop::run);
                    carried.inspect_err(|_| office.signals().stop())
                };
                let thread = std::thread::Builder::new().spawn_scoped(scope, carry);
                thread.inspect_err(|_| office.signals().stop())
            })
            .collect();
        let carried = all.into_iter().map(|one| match one {
            Ok(thread) => thread.join().expect("a loop does not panic"),
            Err(e) => Err(SendError::System("a thread for a loop cannot be had", e)),
        });
        carried.reduce(|all, one| Ok(all?.plus(one?))).expect("there is one at least")
    })
}

struct Loop<'a> {
    plan: &'a Plan,
    office: &'a Office,
    maker: Maker<'a>,
    readiness: Readiness,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    live: usize,
    /// Connections that may have something to ask or to say.
    touched: Vec<usize>,
    buffer: Box<[u8]>,
    looked: Instant,
    rests_until: Option<Instant>,
    carried: Carried,
}

struct Connection {
    channel: Channel,
    session: Session,
    assignment: Assignment,
    interest: Interest,
    /// When the group of commands that is to be answered was sent.
    asked: Instant,
    deadline: Instant,
    replies: u64,
}

impl<'a> Loop<'a> {
    fn new(
        plan: &'a Plan,
        office: &'a Office,
        means: Means,
        same: Option<Arc<Message>>,
    ) -> Result<Self, SendError> {
        let cannot = |e| SendError::System("waiting for sockets", e);
        let readiness = Readiness::by(means).map_err(cannot)?;
        office.wakes(readiness.waker().map_err(cannot)?);
        Ok(Self {
            plan,
            office,
            maker: Maker::new(plan, same),
            readiness,
            connections: Vec::new(),
            free: Vec::new(),
            live: 0,
            touched: Vec::new(),
            buffer: vec![0; BUFFER].into(),
            looked: Instant::now(),
            rests_until: None,
            carried: Carried::default(),
        })
    }

    fn run(mut self) -> Result<Carried, SendError> {
        let mut ready: Vec<Ready> = Vec::new();
        loop {
            let wait = self.connect()?;
            self.attend()?;
            let Some(wait) = wait.or((self.live > 0).then_some(LOOK_EVERY)) else { break };
            let wait = if self.live > 0 { wait.min(LOOK_EVERY) } else { wait };
            let waited = self.readiness.wait(Some(wait), &mut ready);
            waited.map_err(|e| SendError::System("waiting for sockets", e))?;
            let now = Instant::now();
            for ready in &ready {
                self.take_in(ready, now);
            }
            self.expire(now);
            self.attend()?;
        }
        Ok(self.carried)
    }

    /// Makes the connections that are to be made; how long there will be no others, or `None` if there never will.
    fn connect(&mut self) -> Result<Option<Duration>, SendError> {
        if let Some(rest) = self.rests_until.map(|at| at.saturating_duration_since(Instant::now()))
        {
            if !rest.is_zero() {
                return Ok(Some(rest));
            }
            self.rests_until = None;
        }
        let office = self.office;
        for _ in 0..MADE_AT_ONCE {
            let work = office.desk().desk().work(self.plan);
            match work {
                Work::Wait(wait) => return Ok(Some(wait)),
                Work::Done => return Ok(None),
                Work::Connect(assignment) => {
                    if self.make(assignment) {
                        self.rests_until = Some(Instant::now() + REST);
                        return Ok(Some(REST));
                    }
                }
            }
        }
        Ok(Some(Duration::ZERO))
    }

    /// Makes a connection; whether there was no room for it.
    fn make(&mut self, mut assignment: Assignment) -> bool {
        let number = self.free.pop().unwrap_or(self.connections.len());
        let source = self.source(&assignment);
        let made = begin(&assignment, source).and_then(|socket| {
            self.readiness.watch(&socket, number, Interest::Read)?;
            Ok(socket)
        });
        let mut session = Session::new(Arc::clone(&assignment.terms));
        match made {
            Ok(socket) => {
                let now = Instant::now();
                let deadline = now + session.phase().timeout().min(self.plan.timeout);
                if number == self.connections.len() {
                    self.connections.push(None);
                }
                self.connections[number] = Some(Connection {
                    channel: Channel::new(socket),
                    session,
                    assignment,
                    interest: Interest::Read,
                    asked: now,
                    deadline,
                    replies: 0,
                });
                self.live += 1;
                self.carried.connections += 1;
                false
            }
            Err(e) => {
                self.free.push(number);
                let is_ours = is_shortage(&e) || e.kind() == ErrorKind::AddrNotAvailable;
                if is_ours {
                    self.carried.shortages += 1;
                } else {
                    self.carried.troubled += 1;
                    session.broken(&e.to_string());
                }
                // Where it is our own shortage, the server is not to blame.
                let trouble = std::iter::from_fn(|| session.event()).find_map(trouble_of);
                let mut at = self.office.desk();
                at.desk().ask(self.plan, &mut assignment, Ask::Closed(trouble));
                is_ours
            }
        }
    }

    fn source(&self, to: &Assignment) -> Option<IpAddr> {
        let made = usize::try_from(self.carried.connections).unwrap_or(0);
        source(&self.plan.sources, made, to.address)
    }

    /// Takes in what a server has sent.
    fn take_in(&mut self, ready: &Ready, now: Instant) {
        let Some(connection) = self.connections.get_mut(ready.number).and_then(Option::as_mut)
        else {
            return;
        };
        self.touched.push(ready.number);
        if ready.readable || connection.channel.is_handshaking() {
            connection.take_in(&mut self.buffer);
        }
        if connection.session.replies() != connection.replies {
            connection.replies = connection.session.replies();
            connection.allow(now, self.plan.timeout);
        }
    }

    /// Ends connections to servers that take too long.
    fn expire(&mut self, now: Instant) {
        if now < self.looked + LOOK_EVERY {
            return;
        }
        self.looked = now;
        let is_stopped = self.office.is_stopped();
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

    /// Has the desk answer what those connections ask that were touched, and says what there is to say to servers,
    /// until neither is left.
    fn attend(&mut self) -> Result<(), SendError> {
        while !self.touched.is_empty() {
            let asked = self.gather();
            if !asked.is_empty() {
                self.ask(asked)?;
                continue;
            }
            let now = Instant::now();
            for number in std::mem::take(&mut self.touched) {
                self.flush(number, now);
            }
        }
        Ok(())
    }

    /// What the connections that were touched want of the desk.
    fn gather(&mut self) -> Vec<(usize, Event)> {
        let mut asked = Vec::new();
        let now = Instant::now();
        for &number in &self.touched {
            let Some(connection) = self.connections[number].as_mut() else { continue };
            while let Some(event) = connection.session.event() {
                match event {
                    Event::Answered(phase) => {
                        self.carried
                            .answered(phase, now.saturating_duration_since(connection.asked));
                    }
                    Event::Secure => connection.secure(self.plan),
                    other => asked.push((number, other)),
                }
            }
        }
        asked
    }

    /// Has all of it answered at once, and written down.
    fn ask(&mut self, asked: Vec<(usize, Event)>) -> Result<(), SendError> {
        let mut answers = Vec::with_capacity(asked.len());
        let mut over = Vec::new();
        let mut at = self.office.desk();
        for (number, event) in asked {
            let Some(connection) = self.connections[number].as_mut() else { continue };
            let ask = match event {
                Event::Delivering(places) => Ask::Delivering(places),
                Event::Settled(outcomes) => Ask::Settled(outcomes),
                Event::Ready => Ask::Next,
                Event::Over => {
                    over.push(number);
                    Ask::Closed(None)
                }
                Event::Refused(trouble) => {
                    over.push(number);
                    self.carried.troubled += 1;
                    Ask::Closed(Some(trouble))
                }
                Event::Answered(_) | Event::Secure => continue,
            };
            let answer = at.desk().ask(self.plan, &mut connection.assignment, ask);
            answers.extend(answer.map(|answer| (number, answer)));
        }
        at.desk().write_down()?;
        drop(at);
        for (number, answer) in answers {
            let Some(connection) = self.connections[number].as_mut() else { continue };
            match answer {
                Answer::GoOn => connection.session.deliver(),
                Answer::Quit => connection.session.quit(),
                Answer::Begin(places) => {
                    self.carried.transactions += 1;
                    connection.session.begin(self.maker.make(&places)?);
                }
            }
        }
        over.into_iter().for_each(|number| self.close(number));
        Ok(())
    }

    fn close(&mut self, number: usize) {
        if let Some(connection) = self.connections[number].take() {
            self.readiness.forget_closed(number);
            self.carried.groups += connection.session.groups();
            connection.channel.close();
            self.free.push(number);
            self.live -= 1;
        }
    }

    /// Sends what there is to send.
    fn flush(&mut self, number: usize, now: Instant) {
        let Some(connection) = self.connections[number].as_mut() else { return };
        let mut has_sent = false;
        while !connection.session.to_send().is_empty() {
            match connection.channel.send(connection.session.to_send()) {
                Ok(bytes) => {
                    connection.session.was_sent(bytes);
                    self.carried.sent += bytes as u64;
                    has_sent = true;
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    connection.session.broken(&e.to_string());
                    return self.touched.push(number);
                }
            }
        }
        // What TLS has taken need not have gone out.
        if let Err(e) = connection.channel.flush()
            && !matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
        {
            connection.session.broken(&e.to_string());
            return self.touched.push(number);
        }
        if has_sent {
            connection.asked = now;
            connection.allow(now, self.plan.timeout);
        }
        let interest = connection.channel.interest(!connection.session.to_send().is_empty());
        if interest != connection.interest {
            connection.interest = interest;
            let socket = connection.channel.socket();
            if let Err(e) = self.readiness.change(socket, number, interest) {
                connection.session.broken(&e.to_string());
                self.touched.push(number);
            }
        }
    }
}

impl Connection {
    fn take_in(&mut self, buffer: &mut [u8]) {
        if self.channel.is_handshaking() && !self.shake_hands() {
            return;
        }
        loop {
            match self.channel.receive(buffer) {
                Ok(0) => self.session.broken("the server closed the connection"),
                Ok(bytes) => self.session.received(&buffer[..bytes]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => self.session.broken(&e.to_string()),
            }
            if self.session.is_over() || !self.channel.has_received() {
                return;
            }
        }
    }

    /// Begins TLS.
    fn secure(&mut self, plan: &Plan) {
        match plan.tls.connect(&self.assignment.name) {
            Ok(tls) => {
                self.channel.start_tls(tls);
                self.shake_hands();
            }
            Err(e) => self.session.broken(&e.to_string()),
        }
    }

    /// Goes on with the handshake; whether it is done.
    fn shake_hands(&mut self) -> bool {
        match self.channel.handshake() {
            Ok(()) => {
                self.session.is_secured();
                true
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => false,
            Err(e) => {
                self.session.broken(&e.to_string());
                false
            }
        }
    }

    /// The server has as long again.
    fn allow(&mut self, now: Instant, at_most: Duration) {
        self.deadline = now + self.session.phase().timeout().min(at_most);
    }
}

/// A connection that is being made: what becomes of it is seen when it can be read.
fn begin(assignment: &Assignment, source: Option<IpAddr>) -> io::Result<TcpStream> {
    let socket = stream_socket(assignment.address.is_ipv6())?;
    if let Some(source) = source {
        bind_address(&socket, source)?;
    }
    // Groups of commands are sent whole: nothing is gained by waiting for more.
    socket.set_tcp_nodelay(true)?;
    match socket.connect(&assignment.address.into()) {
        Ok(()) => {}
        Err(e) if is_in_progress(&e) => {}
        Err(e) => return Err(e),
    }
    Ok(socket.into())
}

fn trouble_of(event: Event) -> Option<crate::smtp::session::Trouble> {
    match event {
        Event::Refused(trouble) => Some(trouble),
        _ => None,
    }
}

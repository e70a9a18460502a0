//! A connection carried by calls that wait.

use std::io::ErrorKind;
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use platform::net::bind_address;
use socket2::{Domain, Socket, Type};

use super::desk::{Answer, Ask};
use super::maker::Maker;
use super::tally::Carried;
use super::{Plan, SendError};
use crate::channel::Channel;
use crate::smtp::session::{Event, Phase, Session, Terms};

/// How much is taken in at once.
const BUFFER: usize = 16 * 1024;
/// The system knows no shorter time-out.
const SHORTEST: Duration = Duration::from_millis(1);
/// How often it is looked whether to wait on.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Where to connect to, and what for.
#[derive(Debug, Clone)]
pub struct Call {
    /// The server's name.
    pub name: Arc<str>,
    /// Where it listens.
    pub address: std::net::SocketAddr,
    /// Where from, if that matters.
    pub source: Option<IpAddr>,
    /// What is said.
    pub terms: Arc<Terms>,
}

/// Talks to a server until there is no more to say. `desk` is asked what to do, `is_stopped` whether a server is
/// waited for that has nothing of ours.
///
/// # Errors
/// Where the delivery cannot go on.
pub fn converse(
    plan: &Plan,
    call: &Call,
    maker: &mut Maker,
    carried: &mut Carried,
    is_stopped: impl Fn() -> bool,
    mut desk: impl FnMut(Ask) -> Result<Option<Answer>, SendError>,
) -> Result<(), SendError> {
    let mut session = Session::new(Arc::clone(&call.terms));
    let mut asked = Instant::now();
    let mut channel = connect(call, plan.timeout).map(Channel::new);
    match &channel {
        Ok(_) => carried.connections += 1,
        Err(e) => session.broken(&e.to_string()),
    }
    let mut buffer = [0; BUFFER];
    loop {
        while let Some(event) = session.event() {
            let ask = match event {
                Event::Answered(phase) => {
                    carried.answered(phase, asked.elapsed());
                    continue;
                }
                Event::Secure => {
                    secure(plan, call, &mut channel, &mut session);
                    continue;
                }
                Event::Delivering(places) => Ask::Delivering(places),
                Event::Settled(outcomes) => Ask::Settled(outcomes),
                Event::Ready => Ask::Next,
                Event::Over | Event::Refused(_) => {
                    carried.groups += session.groups();
                    let trouble = match event {
                        Event::Refused(trouble) => Some(trouble),
                        _ => None,
                    };
                    carried.troubled += u64::from(trouble.is_some());
                    if let Ok(channel) = channel {
                        channel.close();
                    }
                    return desk(Ask::Closed(trouble)).map(drop);
                }
            };
            match desk(ask)? {
                Some(Answer::GoOn) => session.deliver(),
                Some(Answer::Quit) => session.quit(),
                Some(Answer::Begin(places)) => {
                    carried.transactions += 1;
                    session.begin(maker.make(&places)?);
                }
                None => {}
            }
        }
        let Ok(channel) = &mut channel else { continue };
        let sent = carried.sent;
        say(&mut session, channel, carried);
        if carried.sent > sent {
            asked = Instant::now();
        }
        if session.event_is_waiting() {
            continue;
        }
        hear(&mut session, channel, &mut buffer, plan.timeout, &is_stopped);
    }
}

fn connect(call: &Call, timeout: Duration) -> std::io::Result<TcpStream> {
    let timeout = Phase::Connect.timeout().min(timeout);
    let socket = Socket::new(Domain::for_address(call.address), Type::STREAM, None)?;
    if let Some(source) = call.source {
        bind_address(&socket, source)?;
    }
    socket.set_tcp_nodelay(true)?;
    socket.connect_timeout(&call.address.into(), timeout)?;
    socket.set_write_timeout(Some(timeout))?;
    Ok(socket.into())
}

fn secure(plan: &Plan, call: &Call, channel: &mut std::io::Result<Channel>, session: &mut Session) {
    let Ok(channel) = channel else { return };
    let timeout = Phase::Tls.timeout().min(plan.timeout);
    let until = Instant::now() + timeout;
    let done = plan.tls.connect(&call.name).map_err(|e| e.to_string()).and_then(|tls| {
        channel.start_tls(tls);
        loop {
            let left = until.saturating_duration_since(Instant::now()).max(SHORTEST);
            channel.socket().set_read_timeout(Some(left)).map_err(|e| e.to_string())?;
            match channel.handshake() {
                Err(e) if is_for_now(&e) && Instant::now() < until => {}
                done => return done.map_err(|e| reason(&e)),
            }
        }
    });
    match done {
        Ok(()) => session.is_secured(),
        Err(why) => session.broken(&why),
    }
}

/// Says all there is to say.
fn say(session: &mut Session, channel: &mut Channel, carried: &mut Carried) {
    while !session.to_send().is_empty() {
        match channel.send(session.to_send()) {
            Ok(bytes) => {
                session.was_sent(bytes);
                carried.sent += bytes as u64;
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return session.broken(&reason(&e)),
        }
    }
    if let Err(e) = channel.flush() {
        session.broken(&reason(&e));
    }
}

/// Waits for a whole reply, as long as the server may take for it.
fn hear(
    session: &mut Session,
    channel: &mut Channel,
    buffer: &mut [u8],
    at_most: Duration,
    is_stopped: impl Fn() -> bool,
) {
    let until = Instant::now() + session.phase().timeout().min(at_most);
    let replies = session.replies();
    while session.replies() == replies && !session.is_over() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return session.broken("it took too long");
        }
        if is_stopped() && session.leave() {
            return;
        }
        if channel.socket().set_read_timeout(Some(left.min(LOOK_EVERY))).is_err() {
            return session.broken("no time-out can be set");
        }
        match channel.receive(buffer) {
            Ok(0) => session.broken("the server closed the connection"),
            Ok(bytes) => session.received(&buffer[..bytes]),
            Err(e) if is_for_now(&e) => {}
            Err(e) => session.broken(&e.to_string()),
        }
    }
}

/// Whether to look again: a call that waits tells of its time-out in two ways.
fn is_for_now(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// A call that waits tells of its time-out in two ways.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "it took too long".to_owned(),
        _ => error.to_string(),
    }
}

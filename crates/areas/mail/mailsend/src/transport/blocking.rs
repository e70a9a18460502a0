//! Serves one connection by blocking calls, in its own thread or process.

use std::io::ErrorKind;
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use channel::Channel;
use smtp::session::{Event, Session, SessionOptions, SmtpPhase};

use super::socket::{in_words, prepare};
use crate::dispatcher::{Assignment, Request, Response};
use crate::error::SendError;
use crate::options::DeliveryOptions;
use crate::stats::TransportStats;
use crate::transactions::TransactionBuilder;

/// Number of bytes received at a time.
const BUFFER: usize = 16 * 1024;
/// Minimum time-out that the system accepts.
const SHORTEST: Duration = Duration::from_millis(1);
/// Interval at which a waiting connection checks whether the delivery was stopped.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// A connection to make.
#[derive(Debug, Clone)]
pub struct Call {
    /// The server's name.
    pub name: Arc<str>,
    /// The server's address.
    pub address: std::net::SocketAddr,
    /// The local address, if one is required.
    pub source: Option<IpAddr>,
    /// The settings of the session.
    pub session: Arc<SessionOptions>,
}

impl Call {
    /// The connection of an assignment, from the local address `source`.
    pub fn new(assignment: &Assignment, source: Option<IpAddr>) -> Self {
        Self {
            name: assignment.name.clone(),
            address: assignment.address,
            source,
            session: assignment.session.clone(),
        }
    }
}

/// Runs a session until it ends. `dispatcher` handles its requests. When `is_stopped`, the session does not wait for a
/// server to which it has sent nothing yet.
///
/// # Errors
/// If the delivery cannot continue.
pub fn run_session(
    options: &DeliveryOptions,
    call: &Call,
    builder: &mut TransactionBuilder,
    stats: &mut TransportStats,
    is_stopped: impl Fn() -> bool,
    mut dispatcher: impl FnMut(Request) -> Result<Option<Response>, SendError>,
) -> Result<(), SendError> {
    let mut session = Session::new(Arc::clone(&call.session));
    let mut asked = Instant::now();
    let mut channel = connect(call, options.timeout).map(Channel::new);
    match &channel {
        Ok(channel) => {
            stats.connections += 1;
            if session.needs_local()
                && let Ok(local) = channel.socket().local_addr()
            {
                session.set_local(local.ip());
            }
        }
        Err(e) => session.not_connected(&in_words(e)),
    }
    let mut buffer = [0; BUFFER];
    loop {
        while let Some(event) = session.event() {
            let request = match event {
                Event::Answered(phase) => {
                    stats.answered(phase, asked.elapsed());
                    continue;
                }
                Event::Secure => {
                    secure(options, call, &mut channel, &mut session);
                    continue;
                }
                Event::Delivering(recipients) => Request::Delivering(recipients),
                Event::Settled(outcomes) => Request::Settled(outcomes),
                Event::Ready => Request::Next { is_secure: session.is_secure() },
                Event::Failed(failure) => {
                    stats.failed += 1;
                    Request::Failed(failure)
                }
                Event::Finished => {
                    stats.groups += session.groups();
                    if let Ok(channel) = channel {
                        channel.close();
                    }
                    return dispatcher(Request::Closed).map(drop);
                }
            };
            match dispatcher(request)? {
                Some(Response::Proceed) => session.deliver(),
                Some(Response::Quit) => session.quit(),
                Some(Response::Begin(recipients)) => {
                    stats.transactions += 1;
                    session.begin(builder.build(&recipients)?);
                }
                None => {}
            }
        }
        let Ok(channel) = &mut channel else { continue };
        let sent = stats.sent;
        send_all(&mut session, channel, stats);
        if stats.sent > sent {
            asked = Instant::now();
        }
        if session.event_is_waiting() {
            continue;
        }
        receive_reply(&mut session, channel, &mut buffer, options.timeout, &is_stopped);
    }
}

fn connect(call: &Call, timeout: Duration) -> std::io::Result<TcpStream> {
    let timeout = SmtpPhase::Connect.timeout().min(timeout);
    let socket = Socket::new(Domain::for_address(call.address), Type::STREAM, None)?;
    prepare(&socket, call.source)?;
    socket.connect_timeout(&call.address.into(), timeout)?;
    socket.set_write_timeout(Some(timeout))?;
    Ok(socket.into())
}

fn secure(
    options: &DeliveryOptions,
    call: &Call,
    channel: &mut std::io::Result<Channel>,
    session: &mut Session,
) {
    let Ok(channel) = channel else { return };
    let timeout = SmtpPhase::Tls.timeout().min(options.timeout);
    let until = Instant::now() + timeout;
    let done = options.tls.connect(&call.name).map_err(|e| e.to_string()).and_then(|tls| {
        channel.start_tls(tls);
        loop {
            let left = until.saturating_duration_since(Instant::now()).max(SHORTEST);
            let wait = left.min(CHECK_INTERVAL);
            channel.socket().set_read_timeout(Some(wait)).map_err(|e| e.to_string())?;
            match channel.handshake() {
                Err(e) if is_temporary(&e) && Instant::now() < until => {}
                done => return done.map_err(|e| reason(&e)),
            }
        }
    });
    match done {
        Ok(()) => session.is_secured(),
        Err(why) => session.broken(&why),
    }
}

/// Sends all pending output of the session.
fn send_all(session: &mut Session, channel: &mut Channel, stats: &mut TransportStats) {
    while !session.to_send().is_empty() {
        match channel.send(session.to_send()) {
            Ok(bytes) => {
                session.was_sent(bytes);
                stats.sent += bytes as u64;
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return session.broken(&reason(&e)),
        }
    }
    if let Err(e) = channel.flush() {
        session.broken(&reason(&e));
    }
}

/// Waits for one whole reply, for at most the timeout of its phase.
fn receive_reply(
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
        if channel.socket().set_read_timeout(Some(left.min(CHECK_INTERVAL))).is_err() {
            return session.broken("no time-out can be set");
        }
        match channel.receive(buffer) {
            Ok(0) => session.broken("the server closed the connection"),
            Ok(bytes) => session.received(&buffer[..bytes]),
            Err(e) if is_temporary(&e) => {}
            Err(e) => session.broken(&in_words(&e)),
        }
    }
}

/// Whether the call may be repeated, because it was interrupted or timed out; systems report a time-out by two error kinds.
fn is_temporary(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// The error in words; systems report a time-out by two error kinds.
fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "it took too long".to_owned(),
        _ => in_words(error),
    }
}

//! The transport with a process for each connection. A child sends its requests to the dispatcher over a socket pair; each
//! request and each response is a line of JSON.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use platform::process::children::{self, Fork};
use platform::socket::readiness::{Interest, Readiness, Ready};
use serde::{Deserialize, Serialize};
use smtp::session::{DeliveryStatus, Outcome, SessionFailure, SmtpPhase};

use super::blocking::{Call, run_session};
use crate::delivery::Delivery;
use crate::dispatcher::{Assignment, Request, Response, Work};
use crate::error::SendError;
use crate::options::DeliveryOptions;
use crate::stats::TransportStats;
use crate::transactions::TransactionBuilder;

/// Pause after a process could not be started.
const PAUSE: Duration = Duration::from_millis(50);
/// Maximum wait at the end for children that have closed their socket.
const ENDS_WITHIN: Duration = Duration::from_secs(10);
/// Number of bytes received from a child at a time.
const BUFFER: usize = 16 * 1024;

/// A message from a child.
#[derive(Debug, Serialize, Deserialize)]
enum ChildMessage {
    /// A request to the dispatcher.
    Request(Request),
    /// The connection is closed; with the child's statistics.
    Done(TransportStats),
    /// The delivery cannot continue.
    Failed(String),
}

/// The parent's state of a child.
struct Child {
    socket: UnixStream,
    assignment: Assignment,
    /// Received bytes that are not a whole line yet.
    partial: Vec<u8>,
    /// Indexes of the recipients that the child has taken, and whether the message is being sent to them.
    taken: Vec<(u32, bool)>,
    has_requested: bool,
    is_closed: bool,
}

/// Carries out a delivery.
pub fn run(delivery: &Delivery) -> Result<TransportStats, SendError> {
    let options = delivery.options();
    let cannot = |e| SendError::System("a process for each connection", e);
    children::reap_by_handler().map_err(cannot)?;
    let mut parent = Parent {
        options,
        delivery,
        builder: TransactionBuilder::new(options, TransactionBuilder::same(options)?),
        readiness: Readiness::new().map_err(cannot)?,
        children: Vec::new(),
        open: 0,
        made: 0,
        stats: TransportStats::default(),
    };
    delivery.register(parent.readiness.waker().map_err(cannot)?);
    parent.run()?;
    // The CPU time of a child is known only when it has been waited for.
    let until = Instant::now() + ENDS_WITHIN;
    while children::running() > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(parent.stats)
}

struct Parent<'a> {
    options: &'a DeliveryOptions,
    delivery: &'a Delivery<'a>,
    builder: TransactionBuilder<'a>,
    readiness: Readiness,
    children: Vec<Option<Child>>,
    open: usize,
    made: usize,
    stats: TransportStats,
}

impl Parent<'_> {
    fn run(&mut self) -> Result<(), SendError> {
        let mut ready: Vec<Ready> = Vec::new();
        loop {
            let work = self.delivery.dispatcher().work(self.options);
            let wait = match work {
                Work::Connect(assignment) => {
                    self.start(assignment)?;
                    Duration::ZERO
                }
                Work::Wait(wait) => wait,
                Work::Done => {
                    if self.delivery.is_stopped() {
                        self.abandon_idle()?;
                    }
                    if self.open == 0 {
                        return Ok(());
                    }
                    PAUSE
                }
            };
            let waited = self.readiness.wait(Some(wait), &mut ready);
            waited.map_err(|e| SendError::System("waiting for processes", e))?;
            for ready in &ready {
                self.receive(ready.number)?;
            }
        }
    }

    fn start(&mut self, mut assignment: Assignment) -> Result<(), SendError> {
        let source = self.options.source(self.made, assignment.address);
        match self.fork(&Call::new(&assignment, source)) {
            Ok(socket) => {
                let number = self.children.iter().position(Option::is_none);
                let number = number.unwrap_or(self.children.len());
                if number == self.children.len() {
                    self.children.push(None);
                }
                let watched = self.readiness.watch(&socket, number, Interest::Read);
                watched.map_err(|e| SendError::System("waiting for processes", e))?;
                self.children[number] = Some(Child {
                    socket,
                    assignment,
                    partial: Vec::new(),
                    taken: Vec::new(),
                    has_requested: false,
                    is_closed: false,
                });
                self.open += 1;
                self.made += 1;
            }
            Err(_) => {
                // A local shortage is not a failure of the server.
                self.stats.shortages += 1;
                self.delivery.request(&mut assignment, Request::Closed)?;
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    /// Forks. Returns the parent's end of the socket pair.
    fn fork(&mut self, call: &Call) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        match children::fork()? {
            Fork::Parent => {
                ours.set_nonblocking(true)?;
                Ok(ours)
            }
            Fork::Child => {
                drop(ours);
                run_child(self.options, call, &mut self.builder, &theirs);
                children::exit();
            }
        }
    }

    /// Handles the messages of a child.
    fn receive(&mut self, number: usize) -> Result<(), SendError> {
        let Some(child) = self.children.get_mut(number).and_then(Option::as_mut) else {
            return Ok(());
        };
        let mut buffer = [0; BUFFER];
        match child.socket.read(&mut buffer) {
            Ok(bytes) if bytes > 0 => child.partial.extend_from_slice(&buffer[..bytes]),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Ok(());
            }
            Ok(_) | Err(_) => return self.ended(number),
        }
        while let Some(child) = self.children[number].as_mut()
            && let Some(end) = child.partial.iter().position(|&byte| byte == b'\n')
        {
            let line: Vec<u8> = child.partial.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(ChildMessage::Request(request)) => {
                    child.note(&request);
                    let response = self.delivery.request(&mut child.assignment, request)?;
                    if let Some(response) = response {
                        if let Response::Begin(recipients) = &response {
                            child.taken.extend(recipients.iter().map(|&index| (index, false)));
                        }
                        // An error means that the child has ended, which the next read reports.
                        let _ = write_line(&mut &child.socket, &response);
                    }
                }
                Ok(ChildMessage::Done(stats)) => {
                    self.stats = std::mem::take(&mut self.stats).plus(stats);
                }
                Ok(ChildMessage::Failed(why)) => {
                    let error = io::Error::other(why);
                    return Err(SendError::System("a process for a connection", error));
                }
                Err(e) => return Err(SendError::System("a process for a connection", e.into())),
            }
        }
        Ok(())
    }

    /// Closes the sockets of children that have taken no recipients, after a stop. These children end with this process, or
    /// at their next request.
    fn abandon_idle(&mut self) -> Result<(), SendError> {
        for number in 0..self.children.len() {
            let child = self.children[number].as_ref();
            if child.is_some_and(|child| !child.has_requested) {
                self.ended(number)?;
            }
        }
        Ok(())
    }

    /// Handles the end of a child. If the child had not closed its connection properly, its recipients are deferred or
    /// requeued.
    fn ended(&mut self, number: usize) -> Result<(), SendError> {
        let Some(mut child) = self.children[number].take() else { return Ok(()) };
        self.readiness.forget(&child.socket, number);
        self.open -= 1;
        if child.is_closed {
            return Ok(());
        }
        let why = "the process for the connection ended";
        let assignment = &mut child.assignment;
        // The outcomes are in two requests: a partly requeued transaction would make the queue limit the transaction's
        // size.
        for (sending, status) in
            [(true, DeliveryStatus::Uncertain), (false, DeliveryStatus::Requeued)]
        {
            let of_them = child.taken.iter().filter(|(_, is_sending)| *is_sending == sending);
            let outcomes =
                of_them.map(|&(recipient, _)| Outcome { recipient, status, why: why.into() });
            self.delivery.request(assignment, Request::Settled(outcomes.collect()))?;
        }
        let failure = SessionFailure {
            phase: SmtpPhase::Idle,
            why: why.into(),
            is_login: false,
            is_permanent: false,
        };
        self.delivery.request(assignment, Request::Failed(failure))?;
        self.delivery.request(assignment, Request::Closed)?;
        Ok(())
    }
}

impl Child {
    /// Keeps track of the recipients the child has taken.
    fn note(&mut self, request: &Request) {
        self.has_requested = true;
        match request {
            Request::Delivering(recipients) => {
                for (index, is_sending) in &mut self.taken {
                    *is_sending |= recipients.contains(index);
                }
            }
            Request::Settled(outcomes) => self
                .taken
                .retain(|(index, _)| outcomes.iter().all(|outcome| outcome.recipient != *index)),
            Request::Closed => self.is_closed = true,
            Request::Next { .. } | Request::Failed(_) => {}
        }
    }
}

/// The child's main function: serves one connection.
fn run_child(
    options: &DeliveryOptions,
    call: &Call,
    builder: &mut TransactionBuilder,
    socket: &UnixStream,
) {
    let mut responses = BufReader::new(socket);
    let mut stats = TransportStats::default();
    let broken = |e: io::Error| SendError::System("the connection to the dispatcher", e);
    let request = |request: Request| {
        let has_response = request.has_response();
        write_line(&mut &*socket, &ChildMessage::Request(request)).map_err(broken)?;
        if !has_response {
            return Ok(None);
        }
        let mut text = String::new();
        responses.read_line(&mut text).map_err(broken)?;
        serde_json::from_str(&text).map(Some).map_err(|e| broken(e.into()))
    };
    let result = run_session(options, call, builder, &mut stats, || false, request);
    let last = match result {
        Ok(()) => ChildMessage::Done(stats),
        Err(e) => ChildMessage::Failed(e.to_string()),
    };
    let _ = write_line(&mut &*socket, &last);
}

fn write_line(socket: &mut impl Write, what: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(what)?;
    text.push(b'\n');
    socket.write_all(&text)
}

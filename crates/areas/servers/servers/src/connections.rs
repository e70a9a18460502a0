//! The connections of an event loop and their timeouts.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use serving::{Acceptor, Deadlines, Slots};

use crate::connection::{Connection, READ_AT_ONCE, Reading};
use crate::exchange::Wants;
use crate::server::Server;

/// All open connections, by the slot number under which the loop watches them.
pub struct Connections<'a> {
    server: &'a Server,
    reading: Reading,
    slots: Slots<Slot>,
    deadlines: Deadlines,
    now: Instant,
    /// The latest deadline, when the server stops.
    ends: Option<Instant>,
    buffer: Box<[u8]>,
}

struct Slot {
    connection: Connection,
    /// The readiness for which the connection is watched.
    wants: Wants,
}

/// The change that a loop must make to its watch of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// The watch is unchanged.
    Same,
    /// The connection must be watched for something else.
    Other(Wants),
    /// The connection and its socket are closed.
    Closed,
}

impl<'a> Connections<'a> {
    /// An empty table of connections.
    pub fn new(server: &'a Server, reading: Reading) -> Self {
        Self {
            server,
            reading,
            slots: Slots::default(),
            deadlines: Deadlines::default(),
            now: Instant::now(),
            ends: None,
            buffer: vec![0; READ_AT_ONCE].into(),
        }
    }

    /// Sends and receives what is possible at once on a new connection. Unless that ends the exchange, keeps the
    /// connection, and returns its slot and the readiness it waits for.
    pub fn begin(&mut self, stream: TcpStream) -> Option<(usize, Wants)> {
        let terms = &self.server.terms;
        let mut connection = Connection::new(stream, terms, self.next_deadline());
        if self.ends.is_some() {
            connection.finish_soon();
        }
        let wants = connection.advance(&mut self.buffer, self.reading, terms);
        if wants == Wants::Close {
            return None;
        }
        Some((self.keep(connection, wants), wants))
    }

    /// The deadline for a client that is active now.
    fn next_deadline(&self) -> Instant {
        self.ends.unwrap_or(self.now + self.server.terms.timeout)
    }

    fn keep(&mut self, connection: Connection, wants: Wants) -> usize {
        let deadline = connection.deadline();
        let slot = self.slots.insert(Slot { connection, wants });
        self.deadlines.add(slot, deadline);
        slot
    }

    /// Continues with a ready connection; closes it at the end of its exchange. Does nothing for a free slot, whose
    /// connection was closed in the same iteration.
    pub fn advance(&mut self, number: usize) -> Watch {
        if self.receive(number, self.reading) { self.send(number) } else { Watch::Same }
    }

    /// Receives from a connection; returns whether [`Connections::send`] must follow, to send the reply or to close.
    /// Receiving from all connections before sending to any keeps the kernel's code in the CPU's caches.
    pub fn receive(&mut self, number: usize, reading: Reading) -> bool {
        let deadline = self.next_deadline();
        let Some(slot) = self.slots.get_mut(number) else { return false };
        let wants = slot.connection.receive(&mut self.buffer, reading, &self.server.terms);
        let is_done = wants == Wants::Read;
        if is_done {
            slot.connection.extend(deadline);
        }
        !is_done
    }

    /// Sends to a connection for which [`Connections::receive`] has returned true, or closes it.
    pub fn send(&mut self, number: usize) -> Watch {
        let deadline = self.next_deadline();
        let Some(slot) = self.slots.get_mut(number) else {
            return Watch::Same;
        };
        let wants = slot.connection.send(&mut self.buffer, &self.server.terms);
        if wants == Wants::Close {
            self.close(number);
            return Watch::Closed;
        }
        slot.connection.extend(deadline);
        if std::mem::replace(&mut slot.wants, wants) == wants {
            Watch::Same
        } else {
            Watch::Other(wants)
        }
    }

    /// Begins an iteration, in which it must be called: closes connections that have timed out, and has all of them end
    /// soon when the server stops. `closed` is called before a connection is closed.
    pub fn tick(&mut self, acceptor: &mut Acceptor, mut closed: impl FnMut(usize, &TcpStream)) {
        self.now = Instant::now();
        acceptor.tick(self.now);
        if acceptor.is_stopping() && self.ends.is_none() {
            self.ends = Some(self.next_deadline());
            self.slots.values_mut().for_each(|slot| slot.connection.finish_soon());
        }
        let slots = &self.slots;
        let deadline_of = |number| slots.get(number).map(|slot| slot.connection.deadline());
        for number in self.deadlines.expired(self.now, deadline_of) {
            if let Some(stream) = self.stream(number) {
                closed(number, stream);
            }
            self.server.terms.note_timed_out();
            self.close(number);
            acceptor.resume();
        }
    }

    /// Closes a connection.
    pub fn close(&mut self, number: usize) {
        self.slots.remove(number);
    }

    /// The socket of a connection.
    pub fn stream(&self, number: usize) -> Option<&TcpStream> {
        self.slots.get(number).map(|slot| slot.connection.stream())
    }

    /// All connections: slot, socket, and the readiness each waits for.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &TcpStream, Wants)> {
        self.slots.iter().map(|(number, slot)| (number, slot.connection.stream(), slot.wants))
    }

    /// Number of connections.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are no connections.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The time that a loop may wait until the next [`Connections::tick`]; `None` for no limit.
    pub fn wait(&self, acceptor: &Acceptor) -> Option<Duration> {
        let first = self.deadlines.next().into_iter().chain(acceptor.wakes_at()).min()?;
        Some(first.saturating_duration_since(self.now))
    }
}

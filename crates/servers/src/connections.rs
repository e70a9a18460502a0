//! The connections of an event loop, and until when each has time.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use serving::deadlines::Deadlines;

use crate::accepting::Acceptor;
use crate::connection::{Connection, READ_AT_ONCE, Reading};
use crate::exchange::Wants;
use crate::server::Server;

/// All connections that wait for something, by the number that the loop watches them under.
pub struct Connections<'a> {
    server: &'a Server,
    reading: Reading,
    all: Vec<Option<Slot>>,
    free: Vec<usize>,
    open: usize,
    deadlines: Deadlines,
    now: Instant,
    /// The server stops, and nobody is given time beyond this.
    ends: Option<Instant>,
    buffer: Box<[u8]>,
}

struct Slot {
    connection: Connection,
    /// What it is watched for.
    wants: Wants,
}

/// What became of a connection, for a loop to watch it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// As before.
    Same,
    /// For something else.
    Other(Wants),
    /// It is closed, and its socket with it.
    Gone,
}

impl<'a> Connections<'a> {
    /// None yet.
    pub fn new(server: &'a Server, reading: Reading) -> Self {
        Self {
            server,
            reading,
            all: Vec::new(),
            free: Vec::new(),
            open: 0,
            deadlines: Deadlines::default(),
            now: Instant::now(),
            ends: None,
            buffer: vec![0; READ_AT_ONCE].into(),
        }
    }

    /// Says and takes in what a new client allows at once; if anything is left, keeps the connection and gives
    /// its number and what it waits for.
    pub fn begin(&mut self, stream: TcpStream) -> Option<(usize, Wants)> {
        let mut connection =
            Connection::new(stream, self.server.terms.protocol, self.next_deadline());
        if self.ends.is_some() {
            connection.finish_soon();
        }
        let wants = connection.advance(&mut self.buffer, self.reading);
        if wants == Wants::Close {
            return None;
        }
        Some((self.keep(connection, wants), wants))
    }

    /// Until when a client has time that is to do something from now on.
    fn next_deadline(&self) -> Instant {
        self.ends.unwrap_or(self.now + self.server.terms.timeout)
    }

    fn keep(&mut self, connection: Connection, wants: Wants) -> usize {
        let deadline = connection.deadline();
        self.open += 1;
        let number = self.free.pop().unwrap_or(self.all.len());
        if number == self.all.len() {
            self.all.push(None);
        }
        self.deadlines.add(number, deadline);
        self.all[number] = Some(Slot { connection, wants });
        number
    }

    /// Goes on with a connection that can be read or written; closes it when it is over. A number that is not
    /// in use is of a connection closed in the same turn.
    pub fn advance(&mut self, number: usize) -> Watch {
        if self.take_in(number, self.reading) { self.say(number) } else { Watch::Same }
    }

    /// Takes in what a connection has sent, to be read like this. What there is to say to it is left for
    /// [`Connections::say`], which must follow if there is anything, or it is over: so says the result. To do the
    /// same for all before the next keeps the kernel's code in the CPU's caches.
    pub fn take_in(&mut self, number: usize, reading: Reading) -> bool {
        let deadline = self.next_deadline();
        let Some(slot) = self.all.get_mut(number).and_then(Option::as_mut) else { return false };
        let is_all = slot.connection.take_in(&mut self.buffer, reading) == Wants::Read;
        if is_all {
            slot.connection.allow(deadline);
        }
        !is_all
    }

    /// Goes on with a connection of which [`Connections::take_in`] has left something to say, or that is over.
    pub fn say(&mut self, number: usize) -> Watch {
        let deadline = self.next_deadline();
        let Some(slot) = self.all.get_mut(number).and_then(Option::as_mut) else {
            return Watch::Same;
        };
        let wants = slot.connection.say(&mut self.buffer);
        if wants == Wants::Close {
            self.close(number);
            return Watch::Gone;
        }
        slot.connection.allow(deadline);
        if std::mem::replace(&mut slot.wants, wants) == wants {
            Watch::Same
        } else {
            Watch::Other(wants)
        }
    }

    /// Takes note of the time, once a turn; closes who has kept us waiting too long. Tells the acceptor
    /// of both, and all of them when the server is to stop.
    pub fn tick(&mut self, acceptor: &mut Acceptor, mut gone: impl FnMut(usize, &TcpStream)) {
        self.now = Instant::now();
        acceptor.tick(self.now);
        if acceptor.is_stopping() && self.ends.is_none() {
            self.ends = Some(self.next_deadline());
            self.all.iter_mut().flatten().for_each(|slot| slot.connection.finish_soon());
        }
        let all = &self.all;
        let until = |number: usize| all[number].as_ref().map(|slot| slot.connection.deadline());
        let mut late = Vec::new();
        while let Some(number) = self.deadlines.due(self.now, until) {
            late.push(number);
        }
        for number in late {
            if let Some(slot) = &self.all[number] {
                gone(number, slot.connection.stream());
            }
            self.server.terms.note_timed_out();
            self.close(number);
            acceptor.resume();
        }
    }

    /// Closes a connection.
    pub fn close(&mut self, number: usize) {
        self.all[number] = None;
        self.free.push(number);
        self.open -= 1;
    }

    /// The socket of a connection.
    #[cfg_attr(windows, expect(dead_code, reason = "only queues in the kernel are told of each"))]
    pub fn stream(&self, number: usize) -> Option<&TcpStream> {
        self.all.get(number)?.as_ref().map(|slot| slot.connection.stream())
    }

    /// All connections: number, socket, and what each waits for.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &TcpStream, Wants)> {
        let slots = self.all.iter().enumerate();
        slots.filter_map(|(number, slot)| {
            slot.as_ref().map(|slot| (number, slot.connection.stream(), slot.wants))
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.open
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.open == 0
    }

    /// How long a loop may wait until [`Connections::tick`] has something to do.
    pub fn wait(&self, acceptor: &Acceptor) -> Option<Duration> {
        let first = self.deadlines.next().into_iter().chain(acceptor.wakes_at()).min()?;
        Some(first.saturating_duration_since(self.now))
    }
}

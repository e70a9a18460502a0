//! A connection of an event loop: what can be said without waiting is said.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Instant;

use platform::socket_io::{receive, send};

use crate::exchange::{Exchange, Wants};
use serving::Protocol;

/// How much is read at once.
pub const READ_AT_ONCE: usize = 16 * 1024;

/// Whether a connection that can be read is read until the system has no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only epoll tells once"))]
pub enum Reading {
    /// Once: whoever watches it tells again that there is more.
    Once,
    /// Until there is no more, which less than was asked for tells too: whoever watches it tells only of what is
    /// new (epoll(7)).
    UntilEmpty,
    /// Until the client's end, which was told of already.
    UntilEnd,
}

/// A connection with a non-blocking socket.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    exchange: Exchange,
    deadline: Instant,
    /// How what has come may be read; `None` until it is told of again.
    reading: Option<Reading>,
}

impl Connection {
    /// A connection just accepted, non-blocking, to a client who has time until `deadline`.
    pub fn new(stream: TcpStream, protocol: Protocol, deadline: Instant) -> Self {
        Self { stream, exchange: Exchange::new(protocol), deadline, reading: None }
    }

    /// Its socket.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Takes in and says what is possible without waiting; gives what it waits for then.
    pub fn advance(&mut self, buffer: &mut [u8], reading: Reading) -> Wants {
        match self.take_in(buffer, reading) {
            Wants::Read => Wants::Read,
            Wants::Write | Wants::Close => self.say(buffer),
        }
    }

    /// As [`Connection::advance`], but what there is to say is left for [`Connection::say`].
    pub fn take_in(&mut self, buffer: &mut [u8], reading: Reading) -> Wants {
        self.reading = Some(reading);
        self.go_on(buffer, false)
    }

    /// Says what [`Connection::take_in`] has left, and takes in what that had no room for.
    pub fn say(&mut self, buffer: &mut [u8]) -> Wants {
        self.go_on(buffer, true)
    }

    fn go_on(&mut self, buffer: &mut [u8], may_say: bool) -> Wants {
        loop {
            match (self.exchange.wants(), self.reading) {
                (Wants::Write, _) if may_say => match send(&self.stream, self.exchange.to_send()) {
                    Ok(bytes) => self.exchange.was_sent(bytes),
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(e) if e.kind() == ErrorKind::WouldBlock => return Wants::Write,
                    Err(_) => return Wants::Close, // the client has gone
                },
                (Wants::Read, Some(reading)) => match receive(&self.stream, buffer) {
                    Ok(0) => self.exchange.ended(),
                    Ok(bytes) => {
                        self.exchange.received(&buffer[..bytes]);
                        self.reading = match reading {
                            Reading::Once => None,
                            Reading::UntilEmpty if bytes < buffer.len() => None,
                            Reading::UntilEmpty | Reading::UntilEnd => Some(reading),
                        };
                    }
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(e) if e.kind() == ErrorKind::WouldBlock => self.reading = None,
                    Err(_) => return Wants::Close,
                },
                (wants, _) => return wants,
            }
        }
    }

    /// The server stops: the next reply is the last.
    pub fn finish_soon(&mut self) {
        self.exchange.finish_soon();
    }

    /// Gives the client time until `deadline`, unless it is in the middle of a request: then its time runs
    /// on, or it could send a byte at a time for ever.
    pub fn allow(&mut self, deadline: Instant) {
        if !self.exchange.is_in_request() {
            self.deadline = deadline;
        }
    }

    /// Until when the client has time.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }
}

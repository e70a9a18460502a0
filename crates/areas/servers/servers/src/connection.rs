//! Connections of event loops, which send and receive as much as is possible without blocking.

use std::io::ErrorKind;
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use platform::socket::transfer;

use crate::exchange::{Exchange, Wants};
use crate::server::Terms;

/// Size of the receive buffer, in bytes.
pub const READ_AT_ONCE: usize = 16 * 1024;

/// The extent to which a readable connection is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only epoll is edge-triggered"))]
pub enum Reading {
    /// One read: a level-triggered watch reports the connection again if there is more.
    Once,
    /// Reads until no data is left, which a short read shows too: an edge-triggered watch reports only new data (epoll(7)).
    UntilEmpty,
    /// Reads until the end of the stream, which was reported already.
    UntilEnd,
}

/// A connection with a non-blocking socket.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    exchange: Exchange,
    deadline: Instant,
    /// How the connection is to be read now; `None` until it is reported as readable again.
    reading: Option<Reading>,
    /// Whether a request was received or its reply sent to the end since the deadline was extended.
    has_advanced: bool,
}

impl Connection {
    /// A connection that was just accepted, with a non-blocking socket.
    pub fn new(stream: TcpStream, terms: &Terms, deadline: Instant) -> Self {
        let exchange = Exchange::new(terms.protocol, &|| terms.work());
        Self { stream, exchange, deadline, reading: None, has_advanced: false }
    }

    /// The socket.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Receives and sends what is possible without blocking; returns the readiness that the connection waits for then.
    pub fn advance(&mut self, buffer: &mut [u8], reading: Reading, terms: &Terms) -> Wants {
        match self.receive(buffer, reading, terms) {
            Wants::Read => Wants::Read,
            Wants::Write | Wants::Shut | Wants::Close => self.send(buffer, terms),
        }
    }

    /// Receives like [`Connection::advance`], but leaves the reply to [`Connection::send`].
    pub fn receive(&mut self, buffer: &mut [u8], reading: Reading, terms: &Terms) -> Wants {
        self.reading = Some(reading);
        self.proceed(buffer, false, terms)
    }

    /// Sends the reply that [`Connection::receive`] has left, and receives data that it had no room for.
    pub fn send(&mut self, buffer: &mut [u8], terms: &Terms) -> Wants {
        self.proceed(buffer, true, terms)
    }

    fn proceed(&mut self, buffer: &mut [u8], may_send: bool, terms: &Terms) -> Wants {
        loop {
            match (self.exchange.wants(), self.reading) {
                (Wants::Write, _) if may_send => {
                    match transfer::send(&self.stream, self.exchange.to_send()) {
                        Ok(bytes) => {
                            self.exchange.was_sent(bytes);
                            self.has_advanced |= self.exchange.to_send().is_empty();
                        }
                        Err(e) if e.kind() == ErrorKind::Interrupted => {}
                        Err(e) if e.kind() == ErrorKind::WouldBlock => return Wants::Write,
                        Err(_) => return Wants::Close, // the client has closed the connection
                    }
                }
                (Wants::Shut, _) if may_send => {
                    let _ = self.stream.shutdown(Shutdown::Write); // the next call reports an error, if any
                    self.exchange.was_shut();
                }
                (Wants::Read, Some(reading)) => match transfer::receive(&self.stream, buffer) {
                    Ok(0) => self.exchange.ended(),
                    Ok(bytes) => {
                        self.exchange.received(&buffer[..bytes], &|| terms.work());
                        self.has_advanced = true;
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

    /// Makes the next reply the last, since the server stops.
    pub fn finish_soon(&mut self) {
        self.exchange.finish_soon();
    }

    /// Extends the deadline, except in the middle of a request or a reply, so that a client cannot send or receive a byte at a
    /// time for ever.
    pub fn extend(&mut self, deadline: Instant) {
        if std::mem::take(&mut self.has_advanced) && !self.exchange.is_in_request() {
            self.deadline = deadline;
        }
    }

    /// The time at which the client times out.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::time::Duration;

    use socket2::{Domain, SockRef, Socket, Type};

    use super::*;
    use crate::{Protocol, Task};

    #[test]
    fn a_part_of_a_reply_gives_no_more_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        SockRef::from(&listener).set_send_buffer_size(1).unwrap();
        let client = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        client.set_recv_buffer_size(1).unwrap();
        client.connect(&listener.local_addr().unwrap().into()).unwrap();
        let mut client = TcpStream::from(client);
        let (stream, _) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        let terms = Terms::new(Protocol::HTTP, Duration::from_secs(1), Task::None).unwrap();
        let began = Instant::now();
        let at = |s| began + Duration::from_secs(s);
        let mut connection = Connection::new(stream, &terms, at(1));
        let mut buffer = [0; READ_AT_ONCE];
        client.write_all(&b"GET / HTTP/1.1\nHost:\n\n".repeat(500)).unwrap();
        client.set_nonblocking(true).unwrap();
        testing::until(|| connection.advance(&mut buffer, Reading::Once, &terms) == Wants::Write);
        connection.extend(at(2));
        assert_eq!(connection.deadline(), at(2), "for the reply");
        let mut left = connection.exchange.to_send().len();
        for _ in 0..3 {
            let before = left;
            testing::until(|| {
                let _ = client.read(&mut [0; 64 * 1024]);
                connection.send(&mut buffer, &terms);
                connection.extend(at(3));
                left = connection.exchange.to_send().len();
                left < before
            });
            assert!(left > 0, "the client was to receive a part");
            assert_eq!(connection.deadline(), at(2));
        }
        testing::until(|| {
            let _ = client.read(&mut [0; 64 * 1024]);
            connection.send(&mut buffer, &terms) == Wants::Read
        });
        connection.extend(at(4));
        assert_eq!(connection.deadline(), at(4), "for the next request");
    }
}

//! Exchanges on connections that are open: asking, taking the reply, and what comes after it.

use std::io::{ErrorKind as Io, Read, Write};

use mio::event::Event;
use mio::{Interest, Token};
use platform::client_socket;

use super::Generator;
use crate::load::connection::{Phase, SURELY_ONE_SEGMENT};
use crate::load::plan::Next;
use crate::load::reply::{self, Verdict};
use crate::load::step::ErrorKind;

impl Generator {
    /// Says what is to be said. All at once, after all replies are read: a server that gets requests in
    /// bunches is woken less often, and the time that reading takes is in no latency.
    pub(super) fn say(&mut self) {
        let mut asking = std::mem::take(&mut self.asking);
        for place in asking.drain(..) {
            if self.places[place].phase == Phase::Sending {
                self.send(place);
            }
        }
        self.asking = asking;
    }

    /// Has a connection that is there begin its next exchange, before the next wait.
    pub(super) fn ask(&mut self, place: usize, planned: Option<u64>) {
        self.serial = self.serial.wrapping_add(1);
        let connection = &mut self.places[place];
        self.exchange.begin(&mut connection.progress, self.serial, connection.exchanges);
        connection.sent = 0;
        connection.planned = planned.is_some();
        connection.begun = planned.unwrap_or(self.turn_at);
        connection.since = self.turn_at;
        connection.phase = Phase::Sending;
        self.asking.push(place);
    }

    /// Sends what is to be sent of the request.
    pub(super) fn send(&mut self, place: usize) {
        let before = self.clock.now();
        loop {
            let connection = &mut self.places[place];
            let Some(stream) = &mut connection.stream else { return };
            let request = self.exchange.request(&connection.progress);
            let rest = &request[connection.sent as usize..];
            let sent = stream.write(rest);
            let connecting = connection.phase == Phase::Connecting;
            match sent {
                Ok(count) => {
                    let (first, whole) = (connection.sent == 0, count == rest.len());
                    connection.sent += count as u32;
                    connection.phase = if whole { Phase::Receiving } else { Phase::Sending };
                    if connecting {
                        self.connected(place, before);
                    }
                    let connection = &mut self.places[place];
                    if first {
                        connection.since = before;
                        connection.begun =
                            if connection.planned { connection.begun } else { before };
                    }
                    if whole {
                        return;
                    }
                }
                Err(error) => match error.kind() {
                    Io::Interrupted => {}
                    Io::WouldBlock => return,
                    Io::NotConnected if connecting => return,
                    _ => return self.fail_of(place, &error),
                },
            }
        }
    }

    pub(super) fn see_to(&mut self, event: &Event) {
        let place = event.token().0;
        let Some(connection) = self.places.get(place) else { return };
        let Some(stream) = &connection.stream else { return };
        if event.is_error()
            && let Ok(Some(error)) = stream.take_error()
        {
            return self.fail_of(place, &error);
        }
        match connection.phase {
            Phase::Connecting if self.exchange.client_begins() => {
                self.send(place);
                self.wait_for_replies_only(place);
            }
            Phase::Connecting => {
                self.connected(place, self.turn_at);
                self.places[place].phase = Phase::Receiving;
                self.wait_for_replies_only(place);
            }
            Phase::Sending if event.is_writable() => self.send(place),
            _ => {}
        }
        if event.is_readable() || event.is_read_closed() {
            self.receive(place, event.is_read_closed() && !event.is_error());
        }
    }

    /// Where each read that would block rearms the wait, also for being able to send, that would end the
    /// next wait at once. Requests that may have to be sent in parts need it nevertheless.
    fn wait_for_replies_only(&mut self, place: usize) {
        let small = self.exchange.largest_request() <= SURELY_ONE_SEGMENT;
        if client_socket::SHORT_READ_IS_ALL || !small {
            return;
        }
        let connection = &mut self.places[place];
        if let (Phase::Receiving, Some(stream)) = (connection.phase, &mut connection.stream) {
            // If it fails, there is a useless event now and then.
            let _ = self.poll.registry().reregister(stream, Token(place), Interest::READABLE);
        }
    }

    /// Takes what came; with `ended`, the end comes after it.
    fn receive(&mut self, place: usize, ended: bool) {
        loop {
            let Some(stream) = &mut self.places[place].stream else { return };
            match stream.read(&mut self.buffer) {
                Ok(0) => return self.ended(place),
                Ok(count) => {
                    self.take(place, count);
                    if count < self.buffer.len() && client_socket::SHORT_READ_IS_ALL {
                        return if ended {
                            self.ended(place)
                        };
                    }
                }
                Err(error) => match error.kind() {
                    Io::Interrupted => {}
                    Io::WouldBlock => return,
                    _ => return self.fail_of(place, &error),
                },
            }
        }
    }

    /// Takes the first `count` bytes of the buffer as what came on a connection.
    fn take(&mut self, place: usize, count: usize) {
        let Self { places, exchange, buffer, .. } = self;
        let (connection, bytes) = (&mut places[place], &buffer[..count]);
        let verdict = match connection.phase {
            Phase::Closing => Verdict::Wrong(reply::too_much(bytes)),
            Phase::Idle => Verdict::Wrong(format!("it came unasked: {}", reply::shown(bytes))),
            _ => exchange.take(&mut connection.progress, bytes),
        };
        let unsent = exchange.request(&connection.progress).len() > connection.sent as usize;
        match verdict {
            Verdict::More => {}
            Verdict::Whole { .. } if unsent && connection.phase == Phase::Sending => {
                self.wrong(place, "it was whole before the request was".into());
            }
            Verdict::Whole { closes } => self.replied(place, closes),
            Verdict::Wrong(how) => self.wrong(place, how),
        }
    }

    fn wrong(&mut self, place: usize, how: String) {
        self.tally.errors.first_wrong.get_or_insert(how);
        self.fail(place, ErrorKind::WrongReply);
    }

    /// What came by now was there when the last wait ended, or came later where reading goes on until
    /// nothing is left.
    fn came_at(&self) -> u64 {
        if client_socket::SHORT_READ_IS_ALL { self.turn_at } else { self.clock.now() }
    }

    /// The reply of a connection is whole.
    fn replied(&mut self, place: usize, closes: bool) {
        let now = self.came_at();
        let begun = self.places[place].begun;
        if begun >= self.counted_from {
            self.tally.replies += 1;
            self.tally.reply.saturating_record(now.saturating_sub(begun));
        }
        self.no_longer_fresh(place);
        let connection = &mut self.places[place];
        connection.exchanges = connection.exchanges.saturating_add(1);
        if closes {
            (connection.phase, connection.since) = (Phase::Closing, now);
            return;
        }
        match self.plan.next(now, self.places.len() - self.vacant.len()) {
            Next::Begin(planned) => self.ask(place, planned),
            Next::Wait => {
                self.places[place].phase = Phase::Idle;
                self.idle.push(place);
            }
            Next::Leave => self.leave(place),
        }
    }

    /// The server has closed.
    fn ended(&mut self, place: usize) {
        let connection = &mut self.places[place];
        if connection.stream.is_none() {
            return;
        }
        if connection.phase != Phase::Closing {
            return self.fail(place, ErrorKind::ClosedEarly);
        }
        let begun = connection.begun;
        connection.shut(true);
        let now = self.came_at();
        if begun >= self.counted_from {
            self.tally.close.saturating_record(now.saturating_sub(begun));
        }
        match self.plan.next(now, self.live()) {
            Next::Begin(planned) => self.connect(place, planned),
            Next::Wait | Next::Leave => self.vacate(place),
        }
    }
}

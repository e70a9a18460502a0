//! Exchanges on open connections: sending the request, receiving the reply, and the close.

use std::io::{ErrorKind as Io, Read, Write};

use mio::event::Event;
use mio::{Interest, Token};
use platform::socket::client;

use super::state::Generator;
use crate::connection::{ConnectionState, ONE_SEGMENT};
use crate::schedule::Next;
use crate::step::ErrorKind;
use crate::verdict::{Verdict, shown, surplus};

impl Generator {
    /// Sends the requests of this iteration after all replies were read: the server is woken less often, and no latency
    /// includes the time of reading.
    pub(super) fn send_requests(&mut self) {
        let mut to_send = std::mem::take(&mut self.to_send);
        for slot in to_send.drain(..) {
            if self.slots[slot].state == ConnectionState::Sending {
                self.send(slot);
            }
        }
        self.to_send = to_send;
    }

    /// Begins the next exchange of an open connection, before the next wait.
    pub(super) fn begin_exchange(&mut self, slot: usize, scheduled: Option<u64>) {
        self.serial = self.serial.wrapping_add(1);
        let connection = &mut self.slots[slot];
        self.exchange.begin(&mut connection.progress, self.serial, connection.exchanges);
        connection.sent = 0;
        connection.scheduled = scheduled.is_some();
        connection.begun = scheduled.unwrap_or(self.woke_at);
        connection.since = self.woke_at;
        connection.state = ConnectionState::Sending;
        self.to_send.push(slot);
    }

    /// Sends the rest of the request.
    pub(super) fn send(&mut self, slot: usize) {
        let before = self.clock.now();
        loop {
            let connection = &mut self.slots[slot];
            let Some(stream) = &mut connection.stream else { return };
            let request = self.exchange.request(&connection.progress);
            let rest = &request[connection.sent as usize..];
            let sent = stream.write(rest);
            let connecting = connection.state == ConnectionState::Connecting;
            match sent {
                Ok(count) => {
                    let (first, whole) = (connection.sent == 0, count == rest.len());
                    connection.sent += count as u32;
                    connection.state =
                        if whole { ConnectionState::Receiving } else { ConnectionState::Sending };
                    if connecting {
                        self.connected(slot, before);
                    }
                    let connection = &mut self.slots[slot];
                    if first {
                        connection.since = before;
                        connection.begun =
                            if connection.scheduled { connection.begun } else { before };
                    }
                    if whole {
                        return;
                    }
                }
                Err(error) => match error.kind() {
                    Io::Interrupted => {}
                    Io::WouldBlock => return,
                    Io::NotConnected if connecting => return,
                    _ => return self.fail_with(slot, &error),
                },
            }
        }
    }

    pub(super) fn handle(&mut self, event: &Event) {
        let slot = event.token().0;
        let Some(connection) = self.slots.get(slot) else { return };
        let Some(stream) = &connection.stream else { return };
        if event.is_error()
            && let Ok(Some(error)) = stream.take_error()
        {
            return self.fail_with(slot, &error);
        }
        match connection.state {
            ConnectionState::Connecting if self.exchange.client_sends_first() => {
                self.send(slot);
                self.wait_for_replies_only(slot);
            }
            ConnectionState::Connecting => {
                self.connected(slot, self.woke_at);
                self.slots[slot].state = ConnectionState::Receiving;
                self.wait_for_replies_only(slot);
            }
            ConnectionState::Sending if event.is_writable() => self.send(slot),
            _ => {}
        }
        if event.is_readable() || event.is_read_closed() {
            self.receive(slot, event.is_read_closed() && !event.is_error());
        }
    }

    /// Stops waiting for writability. Where each read that would block rearms the wait, also for writability, the next wait
    /// would end at once. Connections whose requests may need several writes keep it.
    fn wait_for_replies_only(&mut self, slot: usize) {
        let small = self.exchange.largest_request() <= ONE_SEGMENT;
        if client::SHORT_READ_IS_ALL || !small {
            return;
        }
        let connection = &mut self.slots[slot];
        if let (ConnectionState::Receiving, Some(stream)) =
            (connection.state, &mut connection.stream)
        {
            // An error only causes some useless events.
            let _ = self.poll.registry().reregister(stream, Token(slot), Interest::READABLE);
        }
    }

    /// Receives available data; with `ended`, the end of the stream follows.
    fn receive(&mut self, slot: usize, ended: bool) {
        loop {
            let Some(stream) = &mut self.slots[slot].stream else { return };
            match stream.read(&mut self.buffer) {
                Ok(0) => return self.ended(slot),
                Ok(count) => {
                    self.judge(slot, count);
                    if count < self.buffer.len() && client::SHORT_READ_IS_ALL {
                        return if ended {
                            self.ended(slot)
                        };
                    }
                }
                Err(error) => match error.kind() {
                    Io::Interrupted => {}
                    Io::WouldBlock => return,
                    _ => return self.fail_with(slot, &error),
                },
            }
        }
    }

    /// Judges the first `count` bytes of the buffer, received on a connection.
    fn judge(&mut self, slot: usize, count: usize) {
        let Self { slots, exchange, buffer, .. } = self;
        let (connection, bytes) = (&mut slots[slot], &buffer[..count]);
        let verdict = match connection.state {
            ConnectionState::Closing => Verdict::Wrong(surplus(bytes)),
            ConnectionState::Idle => Verdict::Wrong(format!("it came unasked: {}", shown(bytes))),
            _ => exchange.take(&mut connection.progress, bytes),
        };
        let unsent = exchange.request(&connection.progress).len() > connection.sent as usize;
        match verdict {
            Verdict::More => {}
            Verdict::Whole { .. } if unsent && connection.state == ConnectionState::Sending => {
                self.wrong(slot, "it was whole before the request was".into());
            }
            Verdict::Whole { closes } => self.replied(slot, closes),
            Verdict::Wrong(how) => self.wrong(slot, how),
        }
    }

    fn wrong(&mut self, slot: usize, how: String) {
        self.tally.errors.first_wrong.get_or_insert(how);
        self.fail(slot, ErrorKind::WrongReply);
    }

    /// The arrival time of received data: the end of the last wait, or now where reads continue until they would block.
    fn received_at(&self) -> u64 {
        if client::SHORT_READ_IS_ALL { self.woke_at } else { self.clock.now() }
    }

    /// Handles a complete reply.
    fn replied(&mut self, slot: usize, closes: bool) {
        let now = self.received_at();
        let begun = self.slots[slot].begun;
        let timeout = self.load.timeout.as_nanos() as u64;
        if self.slots[slot].scheduled && now.saturating_sub(begun) > timeout {
            return self.fail(slot, ErrorKind::TimedOut);
        }
        if begun >= self.counted_from {
            self.tally.replies += 1;
            self.tally.reply.saturating_record(now.saturating_sub(begun));
        }
        self.clear_fresh(slot);
        let connection = &mut self.slots[slot];
        connection.exchanges = connection.exchanges.saturating_add(1);
        if closes {
            (connection.state, connection.since) = (ConnectionState::Closing, now);
            return;
        }
        match self.schedule.next(now, self.slots.len() - self.vacant.len()) {
            Next::Begin(scheduled) => self.begin_exchange(slot, scheduled),
            Next::Wait => {
                self.slots[slot].state = ConnectionState::Idle;
                self.idle.push(slot);
            }
            Next::Close => self.close(slot),
        }
    }

    /// Handles the server's close.
    fn ended(&mut self, slot: usize) {
        let connection = &mut self.slots[slot];
        if connection.stream.is_none() {
            return;
        }
        if connection.state == ConnectionState::Receiving {
            match self.exchange.ended(&mut connection.progress) {
                Verdict::More => {}
                Verdict::Whole { closes } => self.replied(slot, closes),
                Verdict::Wrong(how) => return self.wrong(slot, how),
            }
        }
        let connection = &mut self.slots[slot];
        if connection.stream.is_none() {
            return; // its reply came too late
        }
        if connection.state != ConnectionState::Closing {
            return self.fail(slot, ErrorKind::ClosedEarly);
        }
        let begun = connection.begun;
        connection.close(true);
        let now = self.received_at();
        if begun >= self.counted_from {
            self.tally.close.saturating_record(now.saturating_sub(begun));
        }
        match self.schedule.next(now, self.live()) {
            Next::Begin(scheduled) => self.connect(slot, scheduled),
            Next::Wait | Next::Close => self.vacate(slot),
        }
    }
}

//! Opens connections, a few at a time, and retries failed ones.

use std::net::IpAddr;

use mio::{Interest, Token};
use platform::socket::client;

use super::state::{Generator, MS, RETRY_AFTER};
use crate::connection::{Connection, ConnectionState, open, source_of};

/// Maximum number of fresh connections that wait for their first reply, so that a step to thousands of connections does not
/// overload the server at once.
const OPENING_AT_MOST: usize = 64;
/// Number of connections opened each millisecond beyond that maximum, for a server that answers slowly.
const OPENED_PER_MS: usize = 16;
/// Minimum time between two retries of failed connections, in ns, so that a dead server does not keep a CPU busy.
const BETWEEN_RETRIES: u64 = MS / 10;

impl Generator {
    /// The time at which the next connection must be retried or opened, if any.
    pub(super) fn opens_at(&self, now: u64) -> Option<u64> {
        let again = self
            .resting
            .front()
            .map(|&(_, at)| at.max(self.retried_at + BETWEEN_RETRIES).max(now + MS));
        let more = (self.live() < self.schedule.target()).then(|| {
            let soon = if self.opening < self.most_opening() { now } else { self.opened_at + MS };
            soon.max(self.blocked_until)
        });
        again.into_iter().chain(more).min()
    }

    /// Maximum number of fresh connections, in proportion to all connections: at a busy server, each waits for all others.
    fn most_opening(&self) -> usize {
        OPENING_AT_MOST.max(self.live() / 4)
    }

    /// Retries the slots whose pause is over.
    pub(super) fn retry(&mut self, now: u64) {
        self.retried_at = self.retried_at.max(now.saturating_sub(RETRY_AFTER));
        while let Some(&(slot, at)) = self.resting.front() {
            if at > now || self.retried_at + BETWEEN_RETRIES > now {
                return;
            }
            self.retried_at += BETWEEN_RETRIES;
            self.resting.pop_front();
            match self.live() > self.schedule.target() {
                true => self.vacate(slot),
                false => self.connect(slot, None),
            }
        }
    }

    /// Opens missing connections, a few at a time.
    pub(super) fn fill(&mut self, now: u64) {
        let missing = self.schedule.target().saturating_sub(self.live());
        if missing == 0 || now < self.blocked_until {
            return;
        }
        let mut allowed = self.most_opening().saturating_sub(self.opening);
        if allowed == 0 && now >= self.opened_at + MS {
            allowed = OPENED_PER_MS;
        }
        if allowed > 0 {
            self.opened_at = now;
        }
        for _ in 0..missing.min(allowed) {
            let slot = self.new_slot();
            self.slots[slot].fresh = true;
            self.opening += 1;
            self.connect(slot, None);
            if now < self.blocked_until {
                return;
            }
        }
    }

    pub(super) fn new_slot(&mut self) -> usize {
        self.vacant.pop().unwrap_or_else(|| {
            self.slots.push(Connection::default());
            self.slots.len() - 1
        })
    }

    /// Starts to connect; the exchange begins at its `scheduled` time, or when connected.
    pub(super) fn connect(&mut self, slot: usize, scheduled: Option<u64>) {
        let source: Option<IpAddr> = source_of(slot, self.load.to, &self.load.sources);
        let now = self.clock.now();
        self.serial = self.serial.wrapping_add(1);
        let connection = &mut self.slots[slot];
        self.exchange.begin(&mut connection.progress, self.serial, 0);
        connection.state = ConnectionState::Connecting;
        (connection.exchanges, connection.sent, connection.since) = (0, 0, now);
        (connection.scheduled, connection.begun) = (scheduled.is_some(), scheduled.unwrap_or(now));
        match open(self.load.to, source, self.exchange.largest_request()) {
            Ok(stream) => connection.stream = Some(stream),
            Err(error) => return self.fail_with(slot, &error),
        }
        let mut interest = Interest::READABLE | Interest::WRITABLE;
        // A connection on loopback is often established by now, and can send at once.
        if self.exchange.client_sends_first() {
            self.send(slot);
            if self.slots[slot].state == ConnectionState::Receiving && client::SHORT_READ_IS_ALL {
                interest = Interest::READABLE;
            }
        }
        if let Some(stream) = &mut self.slots[slot].stream
            && let Err(error) = self.poll.registry().register(stream, Token(slot), interest)
        {
            self.fail_with(slot, &error);
        }
    }

    /// Handles a connection that was established at `now`.
    pub(super) fn connected(&mut self, slot: usize, now: u64) {
        let connection = &self.slots[slot];
        self.tally.connections += 1;
        self.tally.connect.saturating_record(now.saturating_sub(connection.since));
    }
}

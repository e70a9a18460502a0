//! Opening connections, a few at a time, and trying again.

use std::net::IpAddr;

use mio::{Interest, Token};
use platform::client_socket;

use super::{Generator, MS, REST};
use crate::load::connection::{Connection, Phase, open, source_of};

/// So many new connections may wait for their first reply while their number is raised: a step to thousands
/// does not fall on the server at once.
const OPENING_AT_MOST: usize = 64;
/// A server that answers slowly gets so many more each millisecond nevertheless.
const OPENED_PER_MS: usize = 16;
/// Connections that came to nothing are tried again no more often than this, all together: a dead server shall not
/// keep a CPU busy.
const BETWEEN_RETRIES: u64 = MS / 10;

impl Generator {
    /// When a connection is to be tried again or opened, if any is.
    pub(super) fn opens_at(&self, now: u64) -> Option<u64> {
        let again = self
            .resting
            .front()
            .map(|&(_, at)| at.max(self.retried_at + BETWEEN_RETRIES).max(now + MS));
        let more = (self.live() < self.plan.target()).then(|| {
            let soon = if self.opening < self.most_opening() { now } else { self.opened_at + MS };
            soon.max(self.blocked_until)
        });
        again.into_iter().chain(more).min()
    }

    /// How many may wait for their first reply: in proportion to those there are, since each waits for all of
    /// them where the server is busy.
    fn most_opening(&self) -> usize {
        OPENING_AT_MOST.max(self.live() / 4)
    }

    /// Tries places again that have rested.
    pub(super) fn retry(&mut self, now: u64) {
        self.retried_at = self.retried_at.max(now.saturating_sub(REST));
        while let Some(&(place, at)) = self.resting.front() {
            if at > now || self.retried_at + BETWEEN_RETRIES > now {
                return;
            }
            self.retried_at += BETWEEN_RETRIES;
            self.resting.pop_front();
            match self.live() > self.plan.target() {
                true => self.vacate(place),
                false => self.connect(place, None),
            }
        }
    }

    /// Opens connections that are missing, a few at a time.
    pub(super) fn fill(&mut self, now: u64) {
        let missing = self.plan.target().saturating_sub(self.live());
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
            let place = self.new_place();
            self.places[place].fresh = true;
            self.opening += 1;
            self.connect(place, None);
            if now < self.blocked_until {
                return;
            }
        }
    }

    pub(super) fn new_place(&mut self) -> usize {
        self.vacant.pop().unwrap_or_else(|| {
            self.places.push(Connection::default());
            self.places.len() - 1
        })
    }

    /// Asks for a connection, for an exchange planned at a moment or as soon as it is there.
    pub(super) fn connect(&mut self, place: usize, planned: Option<u64>) {
        let source: Option<IpAddr> = source_of(place, self.load.to, &self.load.sources);
        let now = self.clock.now();
        self.serial = self.serial.wrapping_add(1);
        let connection = &mut self.places[place];
        self.exchange.begin(&mut connection.progress, self.serial, 0);
        connection.phase = Phase::Connecting;
        (connection.exchanges, connection.sent, connection.since) = (0, 0, now);
        (connection.planned, connection.begun) = (planned.is_some(), planned.unwrap_or(now));
        match open(self.load.to, source, self.exchange.largest_request()) {
            Ok(stream) => connection.stream = Some(stream),
            Err(error) => return self.fail_of(place, &error),
        }
        let mut interest = Interest::READABLE | Interest::WRITABLE;
        // On loopback it is often there by now, and the first word can be said at once.
        if self.exchange.client_begins() {
            self.send(place);
            if self.places[place].phase == Phase::Receiving && client_socket::SHORT_READ_IS_ALL {
                interest = Interest::READABLE;
            }
        }
        if let Some(stream) = &mut self.places[place].stream
            && let Err(error) = self.poll.registry().register(stream, Token(place), interest)
        {
            self.fail_of(place, &error);
        }
    }

    /// The connection was established at `now`.
    pub(super) fn connected(&mut self, place: usize, now: u64) {
        let connection = &self.places[place];
        self.tally.connections += 1;
        self.tally.connect.saturating_record(now.saturating_sub(connection.since));
    }
}

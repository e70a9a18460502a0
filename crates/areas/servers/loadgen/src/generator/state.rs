//! The state of the generator, and the transitions of a slot that all its parts use.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use mio::{Events, Poll};
use platform::{CaseError, socket::client};

use crate::connection::{Connection, ConnectionState};
use crate::load::Load;
use crate::peers::Peers;
use crate::reply::Exchange;
use crate::schedule::LoadSchedule;
use crate::step::{ErrorKind, Step};

/// A millisecond, in ns.
pub(super) const MS: u64 = 1_000_000;
/// Maximum number of events of one wait.
const EVENTS: usize = 1_024;
/// Size of the receive buffer, in bytes.
const BUFFER: usize = 64 * 1024 + 1;
/// Time after which a failed connection is retried, in ns.
pub(super) const RETRY_AFTER: u64 = 10 * MS;
/// Time after a shortage of ports or descriptors in which no connections are opened, in ns.
const AFTER_SHORTAGE: u64 = 100 * MS;

/// Drives connections to one server. Dropping it closes them.
#[derive(Debug)]
pub struct Generator {
    pub(super) load: Load,
    pub(super) poll: Poll,
    pub(super) events: Events,
    pub(super) exchange: Exchange,
    pub(super) clock: Clock,
    pub(super) schedule: LoadSchedule,
    pub(super) slots: Vec<Connection>,
    /// Slots without a connection.
    pub(super) vacant: Vec<usize>,
    /// Slots of connections without an exchange.
    pub(super) idle: Vec<usize>,
    /// Slots to be retried, each with the earliest time.
    pub(super) resting: VecDeque<(usize, u64)>,
    pub(super) retried_at: u64,
    /// Number of fresh connections.
    pub(super) opening: usize,
    pub(super) opened_at: u64,
    /// Time at which a fresh connection last received its first reply or failed.
    pub(super) answered_at: u64,
    /// Time before which no connections are opened.
    pub(super) blocked_until: u64,
    pub(super) swept_at: u64,
    /// Time at which the last wait ended.
    pub(super) woke_at: u64,
    /// Time before which scheduled exchanges are not counted.
    pub(super) counted_from: u64,
    /// Slots of connections that send a request in this iteration.
    pub(super) to_send: Vec<usize>,
    pub(super) serial: u32,
    pub(super) buffer: Vec<u8>,
    pub(super) tally: Step,
    /// The threads of this load, if there are several.
    pub(super) peers: Option<Arc<Peers>>,
    /// Number of ended exchanges of `tally` that were added to those of all threads.
    pub(super) added: u64,
}

/// The clock of the generator, in ns: it stops between steps.
#[derive(Debug)]
pub(super) struct Clock {
    epoch: Instant,
    stopped: Option<Instant>,
}

impl Clock {
    pub fn now(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    pub fn stop(&mut self) {
        self.stopped = Some(Instant::now());
    }

    pub fn resume(&mut self) {
        if let Some(stopped) = self.stopped.take() {
            self.epoch += stopped.elapsed();
        }
    }
}

impl Generator {
    /// A generator without connections, on the calling thread.
    ///
    /// # Errors
    /// If the system denies sockets or cannot wait for them, or the thread cannot be pinned to the CPU.
    pub fn new(load: Load) -> Result<Self, CaseError> {
        if let Some(cpu) = load.cpu {
            platform::cpu::pin_thread(cpu)?;
        }
        client::minimize_timer_slack();
        platform::socket::check(load.to.is_ipv6())?;
        let poll = Poll::new().map_err(|e| CaseError::from_io("waiting for sockets", &e))?;
        let exchange = Exchange::new(load.protocol, load.status, &load.to.to_string());
        let now = Instant::now();
        Ok(Self {
            load,
            poll,
            events: Events::with_capacity(EVENTS),
            exchange,
            clock: Clock { epoch: now, stopped: Some(now) },
            schedule: LoadSchedule::Hold { target: 0 },
            slots: Vec::new(),
            vacant: Vec::new(),
            idle: Vec::new(),
            resting: VecDeque::new(),
            retried_at: 0,
            opening: 0,
            opened_at: 0,
            answered_at: 0,
            blocked_until: 0,
            swept_at: 0,
            woke_at: 0,
            counted_from: 0,
            to_send: Vec::new(),
            serial: 0,
            buffer: vec![0; BUFFER],
            tally: Step::empty(0, None),
            peers: None,
            added: 0,
        })
    }

    /// Makes this one of several threads of a load, or the only one again.
    pub(crate) fn join(&mut self, peers: Option<Arc<Peers>>) {
        (self.peers, self.added) = (peers, self.tally.ended());
    }

    /// Number of slots with a connection, or to be retried.
    pub(super) fn live(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }

    pub(super) fn fail_with(&mut self, slot: usize, error: &std::io::Error) {
        let kind = ErrorKind::of(error);
        if kind == ErrorKind::Other {
            self.tally.errors.first_other.get_or_insert_with(|| error.to_string());
        }
        self.fail(slot, kind);
    }

    /// Records that an exchange failed. In a closed loop the slot is retried after a pause, unless connections cannot be
    /// opened now.
    pub(super) fn fail(&mut self, slot: usize, kind: ErrorKind) {
        if self.is_counted(slot) || kind == ErrorKind::WrongReply {
            self.tally.errors.add(kind);
            if self.slots[slot].scheduled && self.slots[slot].state == ConnectionState::Closing {
                // A request must count as either a reply or an error.
                self.tally.replies = self.tally.replies.saturating_sub(1);
            }
        }
        self.clear_fresh(slot);
        let connection = &mut self.slots[slot];
        connection.close(true);
        if connection.state == ConnectionState::Idle {
            self.idle.retain(|&idle| idle != slot);
        }
        let now = self.clock.now();
        if kind.is_shortage() {
            self.blocked_until = now + AFTER_SHORTAGE;
            self.vacate(slot);
        } else if matches!(self.schedule, LoadSchedule::Open(_)) {
            self.vacate(slot);
        } else {
            self.slots[slot].state = ConnectionState::Resting;
            self.resting.push_back((slot, now + RETRY_AFTER));
        }
    }

    /// Whether the failure of a connection counts. In an open loop only failures of requests scheduled in the counted time
    /// do, since the server may close idle connections.
    fn is_counted(&self, slot: usize) -> bool {
        let LoadSchedule::Open(_) = self.schedule else { return true };
        let connection = &self.slots[slot];
        connection.is_in_progress() && connection.scheduled && connection.begun >= self.counted_from
    }

    /// Closes a connection that is no longer needed.
    pub(super) fn close(&mut self, slot: usize) {
        self.slots[slot].close(false);
        self.vacate(slot);
    }

    pub(super) fn vacate(&mut self, slot: usize) {
        self.slots[slot].state = ConnectionState::Vacant;
        self.vacant.push(slot);
    }

    pub(super) fn clear_fresh(&mut self, slot: usize) {
        if std::mem::take(&mut self.slots[slot].fresh) {
            self.opening -= 1;
            self.answered_at = self.clock.now();
        }
    }
}

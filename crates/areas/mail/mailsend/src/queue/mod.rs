//! The queue decides which destination gets the next connection, which recipients it takes, and when they are retried.
//!
//! A destination is a domain, or the relay for all domains. Recipients are stored as integer indexes, numbered through all
//! destinations, so that each costs a few bytes. Times are in milliseconds since the start.

mod retry;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::time::Duration;

use smtp::session::DeliveryStatus;

use retry::ATTEMPTS_AT_MOST;
pub use retry::Retry;

/// First pause of a destination after a failure, unless recipients are retried sooner.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of destinations whose routes are being looked up at the same time.
const LOOKED_UP_AT_MOST: usize = 1_000;

/// Limits on concurrency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of connections.
    pub connections: usize,
    /// Maximum number of connections to one destination.
    pub per_destination: usize,
    /// Maximum number of recipients in one transaction.
    pub per_transaction: usize,
    /// Number of connections to a server before it has admitted any; then the number doubles.
    pub at_first: usize,
}

/// The next step of the delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Connect to this destination.
    Connect(u32),
    /// Wait until this time, or until something else changes.
    Wait(Option<u32>),
    /// End: all recipients have a final result.
    Done,
}

/// The fate of a recipient after a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The result is final.
    Final,
    /// The recipient will be retried.
    Retry,
}

/// The recipients without a final result, by destination.
#[derive(Debug)]
pub struct Queue {
    /// Destination `d` has the recipients from `starts[d]` to `starts[d + 1]`.
    starts: Vec<u32>,
    destinations: Vec<Destination>,
    recipients: Vec<RecipientState>,
    limits: Limits,
    retry: Retry,
    /// Destinations that need a connection, in the order in which they get one.
    ring: VecDeque<u32>,
    /// Paused destinations, by the end of their pause.
    paused: BinaryHeap<Reverse<(u32, u32)>>,
    /// Deferred recipients, by the time of their retry.
    due: BinaryHeap<Reverse<(u32, u32)>>,
    /// Recipients that were taken and returned to the queue, by destination.
    returned: HashMap<u32, Vec<u32>>,
    /// Destinations whose route is being looked up.
    looked_up: Vec<u32>,
    open: usize,
    /// Number of recipients without a final result.
    unsettled: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct RecipientState {
    attempts: u16,
    /// The reason of the last deferral; 0 if there is none.
    reason: u16,
    is_done: bool,
    /// Whether a server may have accepted the message without a reply.
    is_uncertain: bool,
    /// Whether the message was sent again after that.
    is_repeated: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Destination {
    /// The first recipient that was never taken.
    next: u32,
    /// Number of recipients that can be taken.
    waiting: u32,
    connections: u32,
    /// Number of connections that have not taken recipients yet.
    opening: u32,
    /// Maximum number of recipients in one transaction, as learned from the server.
    per_transaction: u32,
    /// Number of consecutive failures to find the route.
    failures: u16,
    /// Time since which no server could be reached.
    down_since: Option<u32>,
    /// The reason why; 0 if there is none.
    reason: u16,
    is_paused: bool,
    is_looked_up: bool,
    is_in_ring: bool,
    /// Whether it is in the list of a server without free connections.
    is_waiting: bool,
}

impl Queue {
    /// A queue for destinations with `sizes` recipients, which are indexed in this order.
    pub fn new(sizes: impl IntoIterator<Item = usize>, limits: Limits, retry: Retry) -> Self {
        let mut starts = vec![0];
        let mut destinations = Vec::new();
        for size in sizes {
            let start = *starts.last().expect("one at least");
            let waiting = u32::try_from(size).expect("a list has fewer");
            starts.push(start + waiting);
            let per_transaction = u32::try_from(limits.per_transaction.max(1)).unwrap_or(u32::MAX);
            let next = start;
            let destination = Destination { next, waiting, per_transaction, ..Default::default() };
            destinations.push(destination);
        }
        let recipients = *starts.last().expect("one at least") as usize;
        Self {
            starts,
            destinations,
            recipients: vec![RecipientState::default(); recipients],
            limits,
            retry,
            ring: VecDeque::new(),
            paused: BinaryHeap::new(),
            due: BinaryHeap::new(),
            returned: HashMap::new(),
            looked_up: Vec::new(),
            open: 0,
            unsettled: recipients,
        }
    }

    /// Restores the state of a recipient from an earlier run, before [`Queue::begin`].
    pub fn restore(&mut self, recipient: u32, attempts: u16, is_done: bool) {
        let state = &mut self.recipients[recipient as usize];
        debug_assert!(!state.is_done, "a recipient is restored once");
        (state.attempts, state.is_done) = (attempts, is_done);
        if is_done {
            let destination = self.destination_of(recipient);
            self.destinations[destination as usize].waiting -= 1;
            self.unsettled -= 1;
        }
    }

    /// Restores whether a recipient may have received the message, and whether it was sent again after that.
    pub fn restore_uncertain(&mut self, recipient: u32, is_uncertain: bool, is_repeated: bool) {
        let state = &mut self.recipients[recipient as usize];
        (state.is_uncertain, state.is_repeated) = (is_uncertain, is_repeated);
    }

    /// Begins the delivery: each destination with recipients may get a connection.
    pub fn begin(&mut self) {
        (0..self.destinations.len()).for_each(|destination| self.refresh(destination as u32));
    }

    /// The next step. A returned destination counts as connected until [`Queue::closed`].
    pub fn next(&mut self, now: u32) -> Next {
        self.wake(now);
        while self.open < self.limits.connections && self.looked_up.len() < LOOKED_UP_AT_MOST {
            let Some(destination) = self.ring.pop_front() else { break };
            self.destinations[destination as usize].is_in_ring = false;
            if self.needs_connection(destination) {
                let one = &mut self.destinations[destination as usize];
                one.connections += 1;
                one.opening += 1;
                self.open += 1;
                self.refresh(destination);
                return Next::Connect(destination);
            }
        }
        if self.unsettled == 0 {
            return Next::Done;
        }
        let paused = self.paused.peek().map(|&Reverse((at, _))| at);
        let due = self.due.peek().map(|&Reverse((at, _))| at);
        Next::Wait(paused.into_iter().chain(due).min())
    }

    /// Takes recipients of a destination for a transaction; empty if none can be taken now. `is_first`: this is the first
    /// transaction of its connection.
    pub fn take(&mut self, destination: u32, is_first: bool) -> Vec<u32> {
        let end = self.starts[destination as usize + 1];
        let one = &mut self.destinations[destination as usize];
        one.opening -= u32::from(is_first);
        let most = one.per_transaction.min(one.waiting) as usize;
        let mut taken = Vec::with_capacity(most);
        if let Some(returned) = self.returned.get_mut(&destination) {
            taken.extend(returned.drain(returned.len().saturating_sub(most)..));
            if returned.is_empty() {
                self.returned.remove(&destination);
            }
        }
        while taken.len() < most && one.next < end {
            if !self.recipients[one.next as usize].is_done {
                taken.push(one.next);
            }
            one.next += 1;
        }
        debug_assert_eq!(taken.len(), most);
        one.waiting -= taken.len() as u32;
        if is_first {
            self.refresh(destination);
        }
        taken
    }

    /// Applies the result of a transaction for a recipient that was taken.
    pub fn settle(
        &mut self,
        destination: u32,
        recipient: u32,
        status: DeliveryStatus,
        now: u32,
    ) -> Verdict {
        let one = &mut self.recipients[recipient as usize];
        debug_assert!(!one.is_done);
        match status {
            DeliveryStatus::Delivered | DeliveryStatus::Failed => {
                one.is_done = true;
                self.unsettled -= 1;
                Verdict::Final
            }
            DeliveryStatus::Requeued => {
                self.give_back(destination, recipient);
                Verdict::Retry
            }
            DeliveryStatus::Deferred | DeliveryStatus::Uncertain => {
                one.attempts = one.attempts.saturating_add(1).min(ATTEMPTS_AT_MOST);
                match self.retry.wait(one.attempts, self.retry.after) {
                    Some(wait) => {
                        self.due.push(Reverse((later(now, wait), recipient)));
                        Verdict::Retry
                    }
                    None => {
                        one.is_done = true;
                        self.unsettled -= 1;
                        Verdict::Final
                    }
                }
            }
        }
    }

    /// Returns a recipient to the queue that was taken and not tried.
    pub fn give_back(&mut self, destination: u32, recipient: u32) {
        self.returned.entry(destination).or_default().push(recipient);
        self.destinations[destination as usize].waiting += 1;
        self.refresh(destination);
    }

    /// Limits the recipients in one transaction to a destination.
    pub fn limit_transaction(&mut self, destination: u32, recipients: usize) {
        let one = &mut self.destinations[destination as usize];
        let recipients = u32::try_from(recipients.max(1)).unwrap_or(u32::MAX);
        one.per_transaction = one.per_transaction.min(recipients);
    }

    /// Records that a connection is closed. `has_taken`: it had taken recipients.
    pub fn closed(&mut self, destination: u32, has_taken: bool) {
        let one = &mut self.destinations[destination as usize];
        one.connections -= 1;
        one.opening -= u32::from(!has_taken);
        self.open -= 1;
        self.refresh(destination);
    }

    /// Records that a server of the destination has replied for a recipient.
    pub fn record_success(&mut self, destination: u32) {
        let one = &mut self.destinations[destination as usize];
        (one.failures, one.down_since, one.reason) = (0, None, 0);
    }

    /// Records that no server of the destination can be reached before `until`, for the reason with this number. Returns
    /// whether its recipients must be given up instead of waiting.
    pub fn is_down(&mut self, destination: u32, reason: u16, now: u32, until: u32) -> bool {
        let one = &mut self.destinations[destination as usize];
        one.reason = reason;
        let since = *one.down_since.get_or_insert(now);
        Duration::from_millis(u64::from(until - since)) > self.retry.give_up
    }

    /// Records why a server of the destination refused connections.
    pub fn note_reason(&mut self, destination: u32, reason: u16) {
        self.destinations[destination as usize].reason = reason;
    }

    /// Pauses a destination until a time, or until [`Queue::resume`].
    pub fn pause(&mut self, destination: u32, until: u32) {
        let one = &mut self.destinations[destination as usize];
        one.is_paused = true;
        self.paused.push(Reverse((until, destination)));
    }

    /// Ends the pause of a destination that has waited for a free connection. Returns whether it needs a connection now.
    pub fn resume(&mut self, destination: u32) -> bool {
        let one = &mut self.destinations[destination as usize];
        one.is_paused = false;
        one.is_waiting = false;
        self.refresh(destination);
        self.destinations[destination as usize].is_in_ring
    }

    /// Marks a destination as one that waits for a free connection. Returns whether it did not wait before.
    pub fn waits(&mut self, destination: u32) -> bool {
        !std::mem::replace(&mut self.destinations[destination as usize].is_waiting, true)
    }

    /// Records that the route of a destination could not be found, and pauses it, longer each time. Returns whether its recipients
    /// must be given up instead.
    #[must_use]
    pub fn record_failure(&mut self, destination: u32, now: u32) -> bool {
        let one = &mut self.destinations[destination as usize];
        if one.is_paused {
            return false; // another connection has reported the same failure
        }
        one.failures = one.failures.saturating_add(1).min(ATTEMPTS_AT_MOST);
        match self.retry.wait(one.failures, self.retry.after.min(FIRST_PAUSE)) {
            Some(pause) => {
                one.is_paused = true;
                self.paused.push(Reverse((later(now, pause), destination)));
                false
            }
            None => true,
        }
    }

    /// Gives up all recipients of a destination that wait to be taken, and returns them.
    pub fn give_up(&mut self, destination: u32) -> Vec<u32> {
        let one = &mut self.destinations[destination as usize];
        let mut recipients = self.returned.remove(&destination).unwrap_or_default();
        let end = self.starts[destination as usize + 1];
        let rest = std::mem::replace(&mut one.next, end)..end;
        recipients.extend(rest.filter(|&index| !self.recipients[index as usize].is_done));
        debug_assert_eq!(recipients.len(), one.waiting as usize);
        one.waiting = 0;
        self.unsettled -= recipients.len();
        for &recipient in &recipients {
            self.recipients[recipient as usize].is_done = true;
        }
        recipients
    }

    /// Postpones the connection of a destination whose route is being looked up.
    pub fn look_up(&mut self, destination: u32) {
        self.destinations[destination as usize].is_looked_up = true;
        self.looked_up.push(destination);
        self.closed(destination, false);
    }

    /// Records that routes have become known: destinations that waited for them may get connections.
    pub fn routes_known(&mut self) {
        for destination in std::mem::take(&mut self.looked_up) {
            self.destinations[destination as usize].is_looked_up = false;
            self.refresh(destination);
        }
    }

    /// Records that the whole message was sent to a recipient; `is_uncertain`: without a reply. Returns whether the
    /// recipient is the first time one that may have received it twice.
    pub fn sent(&mut self, recipient: u32, is_uncertain: bool) -> bool {
        let one = &mut self.recipients[recipient as usize];
        let is_again =
            one.is_uncertain && !std::mem::replace(&mut one.is_repeated, one.is_uncertain);
        one.is_uncertain |= is_uncertain;
        is_again
    }

    /// Whether a server may have accepted the message for a recipient without a reply.
    pub fn is_uncertain(&self, recipient: u32) -> bool {
        self.recipients[recipient as usize].is_uncertain
    }

    /// Records the reason of a recipient's deferral.
    pub fn note_deferral(&mut self, recipient: u32, reason: u16) {
        self.recipients[recipient as usize].reason = reason;
    }

    /// The recipients without a final result, each with the number of its latest reason: the one of its destination, if
    /// that cannot be reached.
    pub fn left(&self) -> impl Iterator<Item = (u32, u16)> {
        let places = self.starts.windows(2).zip(&self.destinations);
        let of = |(place, one): (&[u32], &Destination)| {
            let reason = one.reason;
            (place[0]..place[1]).map(move |recipient| (recipient, reason))
        };
        places.flat_map(of).filter_map(|(recipient, reason)| {
            let one = &self.recipients[recipient as usize];
            let reason = if reason > 0 { reason } else { one.reason };
            (!one.is_done).then_some((recipient, reason))
        })
    }

    /// A recipient of a destination that waits to be taken.
    pub fn first_waiting(&self, destination: u32) -> Option<u32> {
        let returned = self.returned.get(&destination).and_then(|all| all.last());
        let rest =
            self.destinations[destination as usize].next..self.starts[destination as usize + 1];
        let is_open = |&index: &u32| !self.recipients[index as usize].is_done;
        returned.copied().or_else(|| rest.into_iter().find(is_open))
    }

    /// The wait after which a recipient that was just deferred is retried.
    pub fn wait_of(&self, recipient: u32) -> Duration {
        let attempts = self.recipients[recipient as usize].attempts;
        self.retry.wait(attempts, self.retry.after).unwrap_or(self.retry.at_most)
    }

    /// Whether a destination cannot be reached.
    pub fn has_paused(&self) -> bool {
        !self.paused.is_empty()
    }

    /// Number of recipients without a final result.
    pub fn unsettled(&self) -> usize {
        self.unsettled
    }

    /// Number of open connections.
    pub fn open(&self) -> usize {
        self.open
    }

    /// Number of recipients that wait to be retried.
    pub fn waits_to_retry(&self) -> usize {
        self.due.len()
    }

    /// Number of completed attempts for a recipient.
    pub fn attempts(&self, recipient: u32) -> u16 {
        self.recipients[recipient as usize].attempts
    }

    /// The destination of a recipient.
    pub fn destination_of(&self, recipient: u32) -> u32 {
        (self.starts.partition_point(|&start| start <= recipient) - 1) as u32
    }

    /// The index of a destination's first recipient.
    pub fn start(&self, destination: u32) -> u32 {
        self.starts[destination as usize]
    }

    fn wake(&mut self, now: u32) {
        while let Some(&Reverse((at, destination))) = self.paused.peek()
            && at <= now
        {
            self.paused.pop();
            self.destinations[destination as usize].is_paused = false;
            self.refresh(destination);
        }
        while let Some(&Reverse((at, recipient))) = self.due.peek()
            && at <= now
        {
            self.due.pop();
            self.give_back(self.destination_of(recipient), recipient);
        }
    }

    fn needs_connection(&self, destination: u32) -> bool {
        let one = &self.destinations[destination as usize];
        !one.is_paused
            && !one.is_looked_up
            && (one.connections as usize) < self.limits.per_destination
            && one.waiting.div_ceil(one.per_transaction) > one.opening
    }

    /// Adds a destination to those that need a connection, if it needs one and is not among them.
    fn refresh(&mut self, destination: u32) {
        if self.needs_connection(destination) {
            let one = &mut self.destinations[destination as usize];
            if !std::mem::replace(&mut one.is_in_ring, true) {
                self.ring.push_back(destination);
            }
        }
    }
}

fn later(now: u32, wait: Duration) -> u32 {
    now.saturating_add(u32::try_from(wait.as_millis()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests;

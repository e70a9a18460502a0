//! The dispatcher: decides which connections are made and which recipients each takes, and records the results in the
//! journal.

mod protocol;
mod reasons;
mod restore;
mod servers;
mod signals;

use std::sync::Arc;
use std::time::{Duration, Instant};

use smtp::security::Security;
use smtp::session::{DeliveryStatus, Outcome, SessionOptions};

use crate::error::SendError;
use crate::health::Servers;
use crate::journal::{EventKind, Journal};
use crate::options::DeliveryOptions;
use crate::queue::{Next, Queue, Verdict};
use crate::stats::TransportStats;
use crate::tally::{Count, Summary, Tally};
pub use protocol::{Assignment, Request, Response, Work};
use reasons::Reasons;
pub use reasons::{Notice, NoticeKind};
pub use signals::Signals;

/// Maximum time that a transport waits before it requests work again.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// The state of a delivery: queue, results, journal.
#[derive(Debug)]
pub struct Dispatcher {
    queue: Queue,
    journal: Option<Journal>,
    tally: Tally,
    signals: Arc<Signals>,
    session: Arc<SessionOptions>,
    /// Session settings without TLS, for servers that offer STARTTLS but fail at it.
    session_in_clear: Arc<SessionOptions>,
    servers: Servers,
    reasons: Reasons,
    /// The error that stops the delivery.
    fatal: Option<SendError>,
    /// Number of recipients whose message was being sent when an earlier run of this delivery ended.
    in_flight_before: u32,
    /// Maximum number of connections open at the same time so far.
    open_at_most: usize,
    /// Number of invalid addresses in the list.
    bad: u32,
    /// Number of all recipients, including invalid addresses.
    recipients: usize,
    /// Number of recipients with a final result before this run.
    before: u32,
    /// Number of connections assigned so far.
    assigned: usize,
    began: Instant,
    ends: Option<Instant>,
}

impl Dispatcher {
    /// Restores the state from the journal, if there is one.
    pub fn new(
        options: &DeliveryOptions,
        journal: Option<Journal>,
        signals: Arc<Signals>,
    ) -> Result<Self, SendError> {
        let list = &options.list;
        let domains = || (0..list.domains()).map(|domain| list.members(domain).len());
        let queue = if options.is_relayed {
            Queue::new([domains().sum()], options.limits, options.retry)
        } else {
            Queue::new(domains(), options.limits, options.retry)
        };
        let began = Instant::now();
        let in_clear = SessionOptions { security: Security::Off, ..options.session.clone() };
        let mut dispatcher = Self {
            queue,
            journal,
            tally: Tally::new(list.domains()),
            signals,
            session: Arc::new(options.session.clone()),
            session_in_clear: Arc::new(in_clear),
            servers: Servers::new(options.limits.at_first, &options.retry),
            reasons: Reasons::default(),
            fatal: None,
            in_flight_before: 0,
            open_at_most: 0,
            bad: u32::try_from(list.bad_numbers().len()).unwrap_or(u32::MAX),
            recipients: list.deliverable() + list.bad_numbers().len(),
            before: 0,
            assigned: 0,
            began,
            ends: options.time.map(|time| began + time),
        };
        dispatcher.restore(options)?;
        dispatcher.before = dispatcher.tally.all.all();
        dispatcher.queue.begin();
        dispatcher.commit()?;
        Ok(dispatcher)
    }

    /// The next work for a transport.
    pub fn work(&mut self, options: &DeliveryOptions) -> Work {
        let now = Instant::now();
        if self.ends.is_some_and(|ends| now >= ends) {
            self.signals.stop();
        }
        if self.is_stopping() {
            return Work::Done;
        }
        if self.signals.take_known_routes() {
            self.queue.routes_known();
        }
        loop {
            let now = self.now();
            match self.queue.next(now) {
                Next::Done => {
                    self.signals.wake();
                    return Work::Done;
                }
                Next::Wait(until) => return Work::Wait(self.wait(until)),
                Next::Connect(destination) => {
                    if let Some(assignment) = self.assign(options, destination) {
                        self.open_at_most = self.open_at_most.max(self.queue.open());
                        return Work::Connect(assignment);
                    }
                }
            }
        }
    }

    /// Handles a request of a connection. [`Dispatcher::commit`] must follow before the response is used.
    pub fn handle(
        &mut self,
        options: &DeliveryOptions,
        assignment: &mut Assignment,
        request: Request,
    ) -> Option<Response> {
        match request {
            Request::Delivering(recipients) => {
                for recipient in recipients {
                    self.journal(options, recipient, EventKind::Sending, "");
                }
                Some(Response::Proceed)
            }
            Request::Settled(outcomes) => {
                self.settle(options, assignment, &outcomes);
                None
            }
            Request::Next { is_secure } => Some(self.next(assignment, is_secure)),
            Request::Failed(failure) => {
                self.failed(options, assignment, &failure);
                None
            }
            Request::Closed => {
                self.closed(assignment);
                None
            }
        }
    }

    /// Commits the recorded events to the journal.
    pub fn commit(&mut self) -> Result<(), SendError> {
        match &mut self.journal {
            Some(journal) => Ok(journal.commit()?),
            None => Ok(()),
        }
    }

    fn next(&mut self, assignment: &mut Assignment, is_secure: bool) -> Response {
        if self.is_stopping() || assignment.transactions_left == 0 {
            return Response::Quit;
        }
        let is_first = !std::mem::replace(&mut assignment.has_taken, true);
        assignment.transactions_left -= 1;
        assignment.is_secure = is_secure;
        if is_first {
            self.admitted(assignment);
        }
        let recipients = self.queue.take(assignment.destination, is_first);
        if recipients.is_empty() { Response::Quit } else { Response::Begin(recipients) }
    }

    fn settle(
        &mut self,
        options: &DeliveryOptions,
        assignment: &mut Assignment,
        outcomes: &[Outcome],
    ) {
        let (destination, now) = (assignment.destination, self.now());
        let is_requeued = |outcome: &&Outcome| outcome.status == DeliveryStatus::Requeued;
        let requeued = outcomes.iter().filter(is_requeued).count();
        if requeued > 0 && requeued < outcomes.len() {
            self.queue.limit_transaction(destination, outcomes.len() - requeued);
        }
        for outcome in outcomes {
            if matches!(outcome.status, DeliveryStatus::Delivered | DeliveryStatus::Uncertain) {
                let is_uncertain = outcome.status == DeliveryStatus::Uncertain;
                let is_again = self.queue.sent(outcome.recipient, is_uncertain);
                self.tally.repeated += u32::from(is_again);
            }
            let verdict = self.queue.settle(destination, outcome.recipient, outcome.status, now);
            let kind = match (outcome.status, verdict) {
                (DeliveryStatus::Requeued, _) => continue,
                (DeliveryStatus::Delivered, _) => EventKind::Delivered,
                (DeliveryStatus::Failed, _) => EventKind::Failed,
                (DeliveryStatus::Deferred, Verdict::Retry) => EventKind::Deferred,
                (DeliveryStatus::Uncertain, Verdict::Retry) => EventKind::Uncertain,
                (DeliveryStatus::Deferred | DeliveryStatus::Uncertain, Verdict::Final) => {
                    EventKind::GivenUp
                }
            };
            if verdict == Verdict::Retry {
                let reason = self.reasons.number(None, &outcome.why);
                self.queue.note_deferral(outcome.recipient, reason);
            }
            if outcome.status == DeliveryStatus::Uncertain && kind == EventKind::GivenUp {
                // The message is not sent again, but the server may have accepted it.
                self.journal(options, outcome.recipient, EventKind::Uncertain, &outcome.why);
            }
            self.record(options, outcome.recipient, kind, &outcome.why);
        }
        self.settled(options, assignment, outcomes);
    }

    /// Counts an event, and records it in the journal.
    fn record(&mut self, options: &DeliveryOptions, recipient: u32, kind: EventKind, why: &str) {
        let (domain, _) = options.list.at(recipient);
        self.tally.count(Some(domain), kind, why);
        let is_missed = matches!(kind, EventKind::GivenUp | EventKind::Failed);
        if is_missed && self.queue.is_uncertain(recipient) {
            self.tally.possibly_delivered.add(kind);
        }
        self.journal(options, recipient, kind, why);
    }

    fn journal(&mut self, options: &DeliveryOptions, recipient: u32, kind: EventKind, why: &str) {
        if let Some(journal) = &mut self.journal {
            let (_, number) = options.list.at(recipient);
            journal.record(number, kind, why);
        }
    }

    fn give_up(&mut self, options: &DeliveryOptions, destination: u32, kind: EventKind, why: &str) {
        for recipient in self.queue.give_up(destination) {
            self.record(options, recipient, kind, why);
        }
        // The commit cannot wait for a further request, which may never come.
        if let Err(error) = self.commit() {
            self.stop_with(error);
        }
    }

    /// Stops the delivery with `error`.
    fn stop_with(&mut self, error: SendError) {
        self.fatal.get_or_insert(error);
        self.signals.stop();
    }

    fn is_stopping(&self) -> bool {
        self.signals.is_stopped()
    }

    fn wait(&self, until: Option<u32>) -> Duration {
        let until = until.map(|at| Duration::from_millis(u64::from(at.saturating_sub(self.now()))));
        let ends = self.ends.map(|ends| ends.saturating_duration_since(Instant::now()));
        until.into_iter().chain(ends).fold(LONGEST_WAIT, Duration::min)
    }

    /// Milliseconds since the delivery began.
    fn now(&self) -> u32 {
        u32::try_from(self.began.elapsed().as_millis()).unwrap_or(u32::MAX)
    }

    /// Number of recipients with a final result, by result.
    pub fn count(&self) -> Count {
        self.tally.all
    }

    /// Number of all recipients.
    pub fn recipients(&self) -> usize {
        self.recipients
    }

    /// Number of open connections.
    pub fn open_connections(&self) -> usize {
        self.queue.open()
    }

    /// Number of recipients that wait to be retried.
    pub fn waiting(&self) -> usize {
        self.queue.waits_to_retry()
    }

    /// The latest reason why recipients wait, if any do.
    pub fn reason(&self) -> Option<Arc<str>> {
        let is_waiting = self.queue.waits_to_retry() > 0 || self.queue.has_paused();
        self.reasons.latest().filter(|_| is_waiting).cloned()
    }

    /// Removes and returns the notices so far.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        self.reasons.take_notices()
    }

    /// The recipients without a final result by their latest reason, and the number of them that may have received the
    /// message.
    fn left(&self) -> (Vec<(String, u32)>, u32) {
        let mut counts = std::collections::HashMap::new();
        let mut possibly_delivered = 0;
        for (recipient, reason) in self.queue.left() {
            *counts.entry(reason).or_insert(0) += 1;
            possibly_delivered += u32::from(self.queue.is_uncertain(recipient));
        }
        let text = |(reason, of): (u16, u32)| match reason {
            0 => ("not tried yet".to_owned(), of),
            reason => (self.reasons.text(reason).to_owned(), of),
        };
        let mut left: Vec<(String, u32)> = counts.into_iter().map(text).collect();
        left.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        (left, possibly_delivered)
    }

    /// The results, once all connections are closed.
    ///
    /// # Errors
    /// The error that stopped the delivery.
    pub fn summary(
        &mut self,
        options: &DeliveryOptions,
        carried: TransportStats,
    ) -> Result<Summary, SendError> {
        if let Some(fatal) = self.fatal.take() {
            return Err(fatal);
        }
        debug_assert_eq!(self.queue.open(), 0);
        let (left, possibly_delivered_left) = self.left();
        Ok(Summary {
            left,
            possibly_delivered: self.tally.possibly_delivered,
            possibly_delivered_left,
            encrypted: self.tally.encrypted,
            in_clear: self.tally.in_clear,
            count: self.tally.all,
            before: self.before,
            bad: self.bad,
            unsettled: self.queue.unsettled(),
            repeated: self.tally.repeated,
            in_flight_before: self.in_flight_before,
            deferrals: self.tally.deferrals,
            domains: self.tally.domains.clone(),
            replies: self.tally.replies(),
            carried,
            open_at_most: self.open_at_most,
            took: self.began.elapsed(),
            is_stopped: self.queue.unsettled() > 0 || options.time.is_some(),
        })
    }
}

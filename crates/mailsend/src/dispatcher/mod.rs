//! The dispatcher: decides which connections are made and which recipients each takes, and records the results in the
//! journal.

mod protocol;
mod restore;
mod signals;

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use smtp::security::Security;
use smtp::session::{DeliveryStatus, Outcome, SessionFailure, SessionOptions, SmtpPhase};

use crate::error::SendError;
use crate::journal::{EventKind, Journal};
use crate::options::DeliveryOptions;
use crate::queue::{Next, Queue, Verdict};
use crate::route::{Route, Target};
use crate::stats::TransportStats;
use crate::tally::{Count, Summary, Tally};
pub use protocol::{Assignment, Request, Response, Work};
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
    /// Destinations that offer TLS but failed at it.
    in_clear: HashSet<u32>,
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
            in_clear: HashSet::new(),
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

    /// The connection to make to a destination; `None` if its route is not known yet, or leads to no server.
    fn assign(&mut self, options: &DeliveryOptions, destination: u32) -> Option<Assignment> {
        let domain = match options.is_relayed {
            true => "",
            false => options.list.domain_name(destination as usize),
        };
        let Some(route) = options.router.route(domain) else {
            self.queue.look_up(destination);
            return None;
        };
        let targets = match &*route {
            Route::To(targets) => targets,
            Route::Never(why) => {
                self.queue.closed(destination, false);
                self.give_up(options, destination, EventKind::Failed, why);
                return None;
            }
            Route::Later(why) => {
                self.queue.closed(destination, false);
                self.record_failure(options, destination, why);
                return None;
            }
        };
        let Some((tried, of, target, address)) = self.choose(destination, targets) else {
            // The route has changed, and the remaining addresses failed before.
            self.queue.clear_failures(destination);
            self.queue.closed(destination, false);
            return None;
        };
        let is_clear = self.in_clear.contains(&destination);
        let session = if is_clear { &self.session_in_clear } else { &self.session };
        Some(Assignment {
            destination,
            name: target.name.as_str().into(),
            address,
            session: Arc::clone(session),
            tried,
            of,
            transactions_left: options.per_connection.max(1),
            has_taken: false,
            has_settled: false,
        })
    }

    /// Chooses the destination's address to connect to: in turn among the addresses of the best preference that have not
    /// failed. Returns the address's number, the number of addresses, and the address with its target.
    fn choose<'a>(
        &mut self,
        destination: u32,
        targets: &'a [Target],
    ) -> Option<(usize, usize, &'a Target, SocketAddr)> {
        let all: Vec<(&Target, SocketAddr)> = targets
            .iter()
            .flat_map(|to| to.addresses.iter().map(move |&address| (to, address)))
            .collect();
        let usable: Vec<usize> =
            (0..all.len()).filter(|&one| !self.queue.has_failed(destination, one)).collect();
        let best = usable.iter().map(|&one| all[one].0.preference).min()?;
        let equal: Vec<usize> =
            usable.into_iter().filter(|&one| all[one].0.preference == best).collect();
        let tried = equal[self.assigned % equal.len()];
        self.assigned = self.assigned.wrapping_add(1);
        let (target, address) = all[tried];
        Some((tried, all.len(), target, address))
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
            Request::Next => Some(self.next(assignment)),
            Request::Closed(failure) => {
                self.closed(options, assignment, failure);
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

    fn next(&mut self, assignment: &mut Assignment) -> Response {
        if self.is_stopping() || assignment.transactions_left == 0 {
            return Response::Quit;
        }
        let is_first = !std::mem::replace(&mut assignment.has_taken, true);
        assignment.transactions_left -= 1;
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
            if matches!(outcome.status, DeliveryStatus::Delivered | DeliveryStatus::Failed) {
                assignment.has_settled = true;
                self.queue.record_success(destination);
            }
            if outcome.status == DeliveryStatus::Uncertain && kind == EventKind::GivenUp {
                // The message is not sent again, but the server may have accepted it.
                self.journal(options, outcome.recipient, EventKind::Uncertain, &outcome.why);
            }
            self.record(options, outcome.recipient, kind, &outcome.why);
        }
    }

    /// Counts an event, and records it in the journal.
    fn record(&mut self, options: &DeliveryOptions, recipient: u32, kind: EventKind, why: &str) {
        let (domain, _) = options.list.at(recipient);
        self.tally.count(Some(domain), kind, why);
        self.journal(options, recipient, kind, why);
    }

    fn journal(&mut self, options: &DeliveryOptions, recipient: u32, kind: EventKind, why: &str) {
        if let Some(journal) = &mut self.journal {
            let (_, number) = options.list.at(recipient);
            journal.record(number, kind, why);
        }
    }

    fn closed(
        &mut self,
        options: &DeliveryOptions,
        assignment: &Assignment,
        failure: Option<SessionFailure>,
    ) {
        let destination = assignment.destination;
        self.queue.closed(destination, assignment.has_taken);
        let Some(failure) = failure else { return };
        if failure.is_login && options.is_relayed {
            let server = assignment.name.to_string();
            self.stop_with(SendError::Login { server, why: failure.why.to_string() });
        } else if failure.phase == SmtpPhase::Tls && may_omit_tls(assignment) {
            self.in_clear.insert(destination);
        } else if !assignment.has_taken {
            // Another address of the destination may work.
            let all = self.queue.address_failed(destination, assignment.tried, assignment.of);
            if all {
                let why = format!("{} ({}): {}", assignment.name, assignment.address, failure.why);
                self.record_failure(options, destination, &why);
            }
        } else if !assignment.has_settled {
            self.record_failure(options, destination, &failure.why);
        }
    }

    /// Records that a destination could not be reached: pauses it, or gives up its recipients.
    fn record_failure(&mut self, options: &DeliveryOptions, destination: u32, why: &str) {
        let now = self.now();
        if self.queue.record_failure(destination, now) {
            self.give_up(options, destination, EventKind::GivenUp, why);
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
        Ok(Summary {
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

/// Whether the delivery may continue without TLS after TLS has failed; it must not send a password then.
fn may_omit_tls(assignment: &Assignment) -> bool {
    let session = &assignment.session;
    session.security == Security::Offered && session.credentials.is_none()
}

//! Connections: to which server of a destination each is made, and what its end says of the server.

use std::net::SocketAddr;
use std::sync::Arc;

use smtp::security::Security;
use smtp::session::{DeliveryStatus, Outcome, SessionFailure, SmtpPhase};

use super::protocol::Assignment;
use super::{Dispatcher, NoticeKind};
use crate::health::{Candidate, Choice, Consequence, FailedConnection};
use crate::journal::EventKind;
use crate::options::DeliveryOptions;
use crate::route::{Route, Target};

impl Dispatcher {
    /// The connection to make to a destination; `None` if its route is not known yet, leads to no server, or no server
    /// admits a connection now.
    pub(super) fn assign(
        &mut self,
        options: &DeliveryOptions,
        destination: u32,
    ) -> Option<Assignment> {
        let Some(route) = options.router.route(domain_of(options, destination)) else {
            self.queue.look_up(destination);
            return None;
        };
        match &*route {
            Route::To(targets) => self.choose(options, destination, targets),
            Route::Never(why) => {
                self.queue.closed(destination, false);
                self.give_up(options, destination, EventKind::Failed, why);
                None
            }
            Route::Later(why) => {
                self.queue.closed(destination, false);
                let reason = self.reasons.number(None, &why.as_str().into());
                self.queue.note_reason(destination, reason);
                self.route_failed(options, destination, why);
                None
            }
        }
    }

    /// Chooses the server for a connection to a destination.
    fn choose(
        &mut self,
        options: &DeliveryOptions,
        destination: u32,
        targets: &[Target],
    ) -> Option<Assignment> {
        let now = self.now();
        let all = addresses(options, targets);
        let candidates = candidates(&all);
        let may_omit_tls = may_omit_tls(options);
        match self.servers.choose(&candidates, may_omit_tls, self.assigned, now) {
            Choice::Connect { number, in_clear } => {
                self.assigned = self.assigned.wrapping_add(1);
                let (target, address) = all[number];
                self.servers.begin(address, now);
                let session = if in_clear { &self.session_in_clear } else { &self.session };
                Some(Assignment {
                    destination,
                    name: target.name.as_str().into(),
                    address,
                    session: Arc::clone(session),
                    begun: now,
                    transactions_left: options.per_connection.max(1),
                    has_taken: false,
                    has_settled: false,
                    has_failed: false,
                    is_secure: false,
                })
            }
            Choice::Full { number, until } => {
                if self.queue.waits(destination) {
                    self.servers.wait_for(all[number].1, destination);
                }
                self.queue.pause(destination, until);
                self.queue.closed(destination, false);
                None
            }
            Choice::Down { until, is_permanent, why } => {
                self.queue.closed(destination, false);
                self.down(options, destination, until, is_permanent, &why);
                None
            }
        }
    }

    /// Pauses a destination without a server that can be reached before `until`, or gives up its recipients.
    fn down(
        &mut self,
        options: &DeliveryOptions,
        destination: u32,
        until: u32,
        is_permanent: bool,
        why: &str,
    ) {
        let now = self.now();
        let (server, reply) = why.split_once(": ").unwrap_or(("", why));
        let reason = self.reasons.number(Some(server), &reply.into());
        let is_over = self.queue.is_down(destination, reason, now, until.max(now));
        if is_permanent {
            self.give_up(options, destination, EventKind::Failed, why);
        } else if is_over {
            self.give_up(options, destination, EventKind::GivenUp, why);
        } else {
            self.queue.pause(destination, until);
        }
    }

    /// Handles the case that a failure leaves a destination without a server. It is not left to the next connection, which
    /// may be made after the pause.
    fn check_down(&mut self, options: &DeliveryOptions, destination: u32) {
        let Some(route) = options.router.route(domain_of(options, destination)) else { return };
        let Route::To(targets) = &*route else { return };
        let candidates = candidates(&addresses(options, targets));
        let may_omit_tls = may_omit_tls(options);
        let choice = self.servers.choose(&candidates, may_omit_tls, self.assigned, self.now());
        if let Choice::Down { until, is_permanent, why } = choice {
            self.down(options, destination, until, is_permanent, &why);
        }
    }

    /// Records that a connection can carry transactions.
    pub(super) fn admitted(&mut self, assignment: &Assignment) {
        self.servers.admitted(assignment.address, assignment.is_secure);
        self.wake_waiting(assignment.address);
    }

    /// Records what the results of a transaction say of its server.
    pub(super) fn settled(
        &mut self,
        options: &DeliveryOptions,
        assignment: &mut Assignment,
        outcomes: &[Outcome],
    ) {
        let is = |status| outcomes.iter().filter(move |outcome| outcome.status == status);
        let delivered = is(DeliveryStatus::Delivered).count();
        let count = match assignment.is_secure {
            true => &mut self.tally.encrypted,
            false => &mut self.tally.in_clear,
        };
        *count += u32::try_from(delivered).unwrap_or(u32::MAX);
        let deferred = || is(DeliveryStatus::Deferred).chain(is(DeliveryStatus::Uncertain)).next();
        if delivered > 0 || is(DeliveryStatus::Failed).next().is_some() {
            assignment.has_settled = true;
            self.servers.succeeded(assignment.address);
            self.queue.record_success(assignment.destination);
        } else if let Some(deferred) = deferred() {
            self.queue.record_success(assignment.destination);
            let wait = 2 * self.queue.wait_of(deferred.recipient);
            let until = self.now().saturating_add(u32::try_from(wait.as_millis()).unwrap_or(0));
            self.servers.set_aside(assignment.address, until);
            let kind = NoticeKind::TriedAgain(options.retry.give_up);
            let why = format!("{}: {}", server(assignment), deferred.why).into();
            self.reasons.announce(assignment.address, &why, kind);
        }
    }

    /// Records that a session has failed.
    pub(super) fn failed(
        &mut self,
        options: &DeliveryOptions,
        assignment: &mut Assignment,
        failure: &SessionFailure,
    ) {
        assignment.has_failed = true;
        let (address, now) = (assignment.address, self.now());
        if failure.is_login && options.is_relayed {
            let server = assignment.name.to_string();
            self.servers.ended(address, assignment.has_taken);
            let why = failure.why.to_string();
            return self.stop_with(crate::error::SendError::Login { server, why });
        }
        if assignment.has_settled {
            return self.servers.ended(address, assignment.has_taken);
        }
        let failed = FailedConnection {
            begun: assignment.begun,
            was_working: assignment.has_taken,
            is_refusal: is_refusal(failure.phase, assignment.has_taken),
            is_permanent: failure.is_permanent,
            is_tls: failure.phase == SmtpPhase::Tls && may_omit_tls(options),
        };
        let name = server(assignment);
        let why: Arc<str> = format!("{name}: {}", failure.why).into();
        let consequence = self.servers.failed(address, failed, &why, now);
        self.check_down(options, assignment.destination);
        let kind = match consequence {
            Consequence::None => return,
            Consequence::Paused => NoticeKind::TriedAgain(options.retry.give_up),
            Consequence::Limited(connections) => NoticeKind::Limited(connections),
            Consequence::InClear => NoticeKind::InClear,
        };
        self.reasons.announce(address, &why, kind);
        let reason = self.reasons.number(Some(&name), &failure.why);
        self.queue.note_reason(assignment.destination, reason);
        if let Some(recipient) = self.queue.first_waiting(assignment.destination) {
            self.journal(options, recipient, EventKind::Server, &why);
        }
    }

    /// Records that a connection is closed.
    pub(super) fn closed(&mut self, assignment: &Assignment) {
        self.queue.closed(assignment.destination, assignment.has_taken);
        if !assignment.has_failed {
            self.servers.ended(assignment.address, assignment.has_taken);
        }
        self.wake_waiting(assignment.address);
    }

    /// Wakes as many destinations that wait for connections to a server as it admits now.
    fn wake_waiting(&mut self, address: SocketAddr) {
        let (mut woken, now) = (0, self.now());
        while let Some(destination) = self.servers.freed(address, woken, now) {
            woken += u32::from(self.queue.resume(destination));
        }
    }

    /// Records that the route of a destination could not be found: pauses it, or gives up its recipients.
    fn route_failed(&mut self, options: &DeliveryOptions, destination: u32, why: &str) {
        let now = self.now();
        if self.queue.record_failure(destination, now) {
            self.give_up(options, destination, EventKind::GivenUp, why);
        }
    }
}

/// The domain of a destination, for its route; any for a relay.
fn domain_of(options: &DeliveryOptions, destination: u32) -> &str {
    match options.is_relayed {
        true => "",
        false => options.list.domain_name(destination as usize),
    }
}

/// Whether a failure in this phase means that the server refuses the connection. It may say goodbye to an idle one, but not before
/// that `has_taken` a transaction: the next connection would be made at once.
fn is_refusal(phase: SmtpPhase, has_taken: bool) -> bool {
    phase <= SmtpPhase::Mail || (phase == SmtpPhase::Idle && !has_taken)
}

fn candidates(all: &[(&Target, SocketAddr)]) -> Vec<Candidate> {
    let one = |&(to, address): &(&Target, _)| Candidate { address, preference: to.preference };
    all.iter().map(one).collect()
}

/// The addresses of servers, of a family from which connections are made; all if there is none.
fn addresses<'a>(
    options: &DeliveryOptions,
    targets: &'a [Target],
) -> Vec<(&'a Target, SocketAddr)> {
    let all = targets.iter().flat_map(|to| to.addresses.iter().map(move |&at| (to, at)));
    let mut all: Vec<(&Target, SocketAddr)> = all.collect();
    let is_reached = |address: &SocketAddr| {
        options.sources.iter().any(|from| from.is_ipv6() == address.is_ipv6())
    };
    if all.iter().any(|(_, address)| is_reached(address)) {
        all.retain(|(_, address)| is_reached(address));
    }
    all
}

/// The server of a connection: name and address.
fn server(assignment: &Assignment) -> String {
    match assignment.address.ip().to_string() == *assignment.name {
        true => assignment.address.to_string(),
        false => format!("{} ({})", assignment.name, assignment.address),
    }
}

/// Whether the delivery may continue without TLS where it fails; it must not send a password then.
fn may_omit_tls(options: &DeliveryOptions) -> bool {
    options.session.security == Security::Offered && options.session.credentials.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_connection_that_was_used_may_end_while_it_is_idle() {
        assert!(is_refusal(SmtpPhase::Idle, false) && !is_refusal(SmtpPhase::Idle, true));
        assert!(is_refusal(SmtpPhase::Greeting, false) && is_refusal(SmtpPhase::Mail, true));
        assert!(!is_refusal(SmtpPhase::Rcpt, false) && !is_refusal(SmtpPhase::Quit, true));
    }
}

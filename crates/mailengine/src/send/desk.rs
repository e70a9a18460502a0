//! The one place where it is decided who talks to whom about what, and where it is written down what came of it.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use platform::readiness::Waker;
use serde::{Deserialize, Serialize};

use super::tally::{Carried, Count, Fates, Summary};
use super::{Plan, SendError, in_clear};
use crate::journal::{Journal, What};
use crate::queue::{Next, Queue, Verdict};
use crate::route::{Route, Target};
use crate::smtp::session::{Fate, Outcome, Phase, Terms, Trouble};
use crate::tls::client::Security;

/// Nobody sleeps longer without looking around.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// A connection to be made, and what it is for.
#[derive(Debug, Clone)]
pub struct Assignment {
    destination: u32,
    /// The server's name, for its certificate and for people.
    pub name: Arc<str>,
    /// Where it listens.
    pub address: SocketAddr,
    /// What is said to it.
    pub terms: Arc<Terms>,
    /// Which of so many addresses it is.
    tried: usize,
    of: usize,
    transactions_left: u32,
    has_taken: bool,
    has_settled: bool,
}

/// What a connection asks the desk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    /// Those of these places are about to get the message.
    Delivering(Vec<u32>),
    /// This became of some.
    Settled(Vec<Outcome>),
    /// What is next?
    Next,
    /// The connection is closed, and maybe why it had to be.
    Closed(Option<Trouble>),
}

/// What the desk answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// It is written down: go on.
    GoOn,
    /// These are next.
    Begin(Vec<u32>),
    /// Nothing is: say goodbye.
    Quit,
}

/// What there is to do for whoever carries connections.
#[derive(Debug)]
pub enum Work {
    /// Make this connection.
    Connect(Assignment),
    /// Nothing new, for so long.
    Wait(Duration),
    /// Nothing any more, once what is open is closed.
    Done,
}

/// What a delivery has come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Recipients whose fate is known.
    pub count: Count,
    /// Recipients in all.
    pub of: usize,
    /// Connections that are open.
    pub open: usize,
    /// Recipients that wait for another attempt.
    pub waiting: usize,
}

/// The desk of a delivery, for those who carry it out, and for who watches it.
#[derive(Debug, Default)]
pub struct Office {
    desk: Mutex<Option<Desk>>,
    /// Something has changed that another thread may wait for.
    changed: Condvar,
    signals: Arc<Signals>,
}

/// What can be told from anywhere, at any time.
#[derive(Debug, Default)]
pub struct Signals {
    is_stopped: AtomicBool,
    routes_are_known: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
}

impl Signals {
    /// Nothing more is to begin; what is under way is finished.
    pub fn stop(&self) {
        self.stop_soon();
        self.wake();
    }

    /// As [`Signals::stop`], for who cannot wake anybody, such as a thread without the others' descriptors: it is
    /// noticed within half a second.
    pub fn stop_soon(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
    }

    /// Whether it was told to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst)
    }

    /// A route has become known: what [`crate::route::Router::mx`] is to call.
    pub fn route_is_known(&self) {
        self.routes_are_known.store(true, Ordering::SeqCst);
        self.wake();
    }

    fn wake(&self) {
        let wakers = self.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        wakers.iter().for_each(Waker::wake);
    }
}

impl Office {
    /// What reaches it from elsewhere.
    pub fn signals(&self) -> Arc<Signals> {
        Arc::clone(&self.signals)
    }

    /// What it has come to; nothing before it has begun.
    pub fn progress(&self) -> Progress {
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        desk.as_ref().map(Desk::progress).unwrap_or_default()
    }

    pub(super) fn open(&self, plan: &Plan, journal: Option<Journal>) -> Result<(), SendError> {
        let desk = Desk::new(plan, journal, Arc::clone(&self.signals))?;
        *self.desk.lock().unwrap_or_else(PoisonError::into_inner) = Some(desk);
        Ok(())
    }

    pub(super) fn close(&self, plan: &Plan, carried: Carried) -> Result<Summary, SendError> {
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut desk = desk.expect("opened before");
        desk.write_down()?;
        desk.summary(plan, carried)
    }

    /// Has `waker`'s loop wake when something happens that is not of its connections.
    pub(super) fn wakes(&self, waker: Waker) {
        self.signals.wakers.lock().unwrap_or_else(PoisonError::into_inner).push(waker);
    }

    /// Whether nothing more is to begin.
    pub(super) fn is_stopped(&self) -> bool {
        self.signals.is_stopped()
    }

    /// At the desk nobody else is meanwhile.
    pub(super) fn desk(&self) -> AtDesk<'_> {
        AtDesk(self.desk.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks one thing, and has it written down.
    pub(super) fn ask(
        &self,
        plan: &Plan,
        assignment: &mut Assignment,
        ask: Ask,
    ) -> Result<Option<Answer>, SendError> {
        let mut at = self.desk();
        let desk = at.desk();
        let answer = desk.ask(plan, assignment, ask);
        let written = desk.write_down();
        drop(at);
        self.changed.notify_all();
        written.map(|()| answer)
    }

    /// Waits until something may have changed, for as long as there is no more to do.
    pub(super) fn wait(&self, at_most: Duration) {
        let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.changed.wait_timeout(desk, at_most);
    }
}

/// Being at the desk.
pub(super) struct AtDesk<'a>(MutexGuard<'a, Option<Desk>>);

impl AtDesk<'_> {
    pub fn desk(&mut self) -> &mut Desk {
        self.0.as_mut().expect("it is open while it is carried out")
    }
}

/// Who is to get what, who has, and where it is written down.
#[derive(Debug)]
pub(super) struct Desk {
    queue: Queue,
    journal: Option<Journal>,
    fates: Fates,
    signals: Arc<Signals>,
    terms: Arc<Terms>,
    in_clear: Arc<Terms>,
    /// Destinations whose TLS cannot be spoken, though they offer it.
    clear: HashSet<u32>,
    /// What makes it impossible to go on.
    fatal: Option<SendError>,
    in_flight_before: u32,
    open_at_most: usize,
    bad: u32,
    of: usize,
    /// Recipients whose fate was known before it began.
    before: u32,
    /// Connections that were to be made so far.
    assigned: usize,
    began: Instant,
    ends: Option<Instant>,
}

impl Desk {
    fn new(
        plan: &Plan,
        journal: Option<Journal>,
        signals: Arc<Signals>,
    ) -> Result<Self, SendError> {
        let list = &plan.list;
        let domains = || (0..list.domains()).map(|domain| list.members(domain).len());
        let queue = if plan.is_relayed {
            Queue::new([domains().sum()], plan.limits, plan.retry)
        } else {
            Queue::new(domains(), plan.limits, plan.retry)
        };
        let began = Instant::now();
        let mut desk = Self {
            queue,
            journal,
            fates: Fates { domains: vec![Count::default(); list.domains()], ..Fates::default() },
            signals,
            terms: Arc::new(plan.terms.clone()),
            in_clear: in_clear(&plan.terms),
            clear: HashSet::new(),
            fatal: None,
            in_flight_before: 0,
            open_at_most: 0,
            bad: u32::try_from(list.bad_numbers().len()).unwrap_or(u32::MAX),
            of: list.deliverable() + list.bad_numbers().len(),
            before: 0,
            assigned: 0,
            began,
            ends: plan.time.map(|time| began + time),
        };
        desk.restore(plan)?;
        desk.before = desk.fates.all.all();
        desk.queue.begin();
        desk.write_down()?;
        Ok(desk)
    }

    /// Takes up what the journal tells of earlier sessions; and counts addresses that are none.
    fn restore(&mut self, plan: &Plan) -> Result<(), SendError> {
        let mut known: Vec<(u16, Option<What>)> = vec![(0, None); plan.list.len()];
        let (fates, in_flight) = (&mut self.fates, &mut self.in_flight_before);
        if let Some(journal) = &self.journal {
            journal.history(|entry| {
                let Some((attempts, last)) = known.get_mut(entry.recipient as usize) else {
                    return;
                };
                let is_attempt = matches!(entry.what, What::Deferred | What::Uncertain);
                // Sent again without a word of what became of it: it was killed meanwhile.
                let was_cut = entry.what == What::Sending && *last == Some(What::Sending);
                *in_flight += u32::from(was_cut);
                *attempts = attempts.saturating_add(u16::from(is_attempt || was_cut));
                *last = Some(entry.what);
                // Of an address that is none the line was written down, too.
                let is_bad = plan.list.bad_numbers().binary_search(&entry.recipient).is_ok();
                let why = entry.why.split_once(": ").filter(|_| is_bad);
                fates.count(None, entry.what, why.map_or(&*entry.why, |(_, reason)| reason));
            })?;
        }
        for (number, line, reason) in plan.list.bad() {
            if known[number as usize].1.is_none() {
                let why = format!("line {line}: {reason}");
                self.fates.count(None, What::Failed, &reason);
                if let Some(journal) = &mut self.journal {
                    journal.note(number, What::Failed, &why);
                }
            }
        }
        for place in 0..u32::try_from(plan.list.deliverable()).unwrap_or(u32::MAX) {
            let (domain, number) = plan.list.at(place);
            let (attempts, Some(last)) = known[number as usize] else { continue };
            let was_in_flight = last == What::Sending;
            self.in_flight_before += u32::from(was_in_flight);
            let attempts = attempts.saturating_add(u16::from(was_in_flight));
            self.queue.restore(place, attempts, last.is_final());
            self.fates.domains[domain].add(last);
        }
        Ok(())
    }

    /// What there is to do now.
    pub fn work(&mut self, plan: &Plan) -> Work {
        let now = Instant::now();
        if self.ends.is_some_and(|ends| now >= ends) {
            self.signals.stop();
        }
        if self.is_stopping() {
            return Work::Done;
        }
        if self.signals.routes_are_known.swap(false, Ordering::SeqCst) {
            self.queue.known();
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
                    if let Some(assignment) = self.assign(plan, destination) {
                        self.open_at_most = self.open_at_most.max(self.queue.open());
                        return Work::Connect(assignment);
                    }
                }
            }
        }
    }

    /// The connection to be made to a destination, if it is known where that is.
    fn assign(&mut self, plan: &Plan, destination: u32) -> Option<Assignment> {
        let domain = if plan.is_relayed { "" } else { plan.list.domain_name(destination as usize) };
        let Some(route) = plan.router.route(domain) else {
            self.queue.look_up(destination);
            return None;
        };
        let targets = match &*route {
            Route::To(targets) => targets,
            Route::Never(why) => {
                self.queue.closed(destination, false);
                self.give_up(plan, destination, What::Failed, why);
                return None;
            }
            Route::Later(why) => {
                self.queue.closed(destination, false);
                self.trouble(plan, destination, why);
                return None;
            }
        };
        let Some((tried, of, target, address)) = self.choose(destination, targets) else {
            // The route has changed, and those that are left were of no use before.
            self.queue.forgive(destination);
            self.queue.closed(destination, false);
            return None;
        };
        let is_clear = self.clear.contains(&destination);
        Some(Assignment {
            destination,
            name: target.name.as_str().into(),
            address,
            terms: Arc::clone(if is_clear { &self.in_clear } else { &self.terms }),
            tried,
            of,
            transactions_left: plan.per_connection.max(1),
            has_taken: false,
            has_settled: false,
        })
    }

    /// Which of a destination's addresses to connect to: among those that are not known to be of no use the preferred
    /// ones, in turn. Gives its number, how many there are, and whose it is.
    fn choose<'a>(
        &mut self,
        destination: u32,
        targets: &'a [Target],
    ) -> Option<(usize, usize, &'a Target, SocketAddr)> {
        let all: Vec<(&Target, SocketAddr)> = targets
            .iter()
            .flat_map(|to| to.addresses.iter().map(move |&address| (to, address)))
            .collect();
        let useful: Vec<usize> =
            (0..all.len()).filter(|&one| !self.queue.is_useless(destination, one)).collect();
        let best = useful.iter().map(|&one| all[one].0.preference).min()?;
        let equal: Vec<usize> =
            useful.into_iter().filter(|&one| all[one].0.preference == best).collect();
        let tried = equal[self.assigned % equal.len()];
        self.assigned = self.assigned.wrapping_add(1);
        let (target, address) = all[tried];
        Some((tried, all.len(), target, address))
    }

    /// Answers what a connection asks.
    pub fn ask(&mut self, plan: &Plan, assignment: &mut Assignment, ask: Ask) -> Option<Answer> {
        match ask {
            Ask::Delivering(places) => {
                if let Some(journal) = &mut self.journal {
                    for place in places {
                        let (_, number) = plan.list.at(place);
                        journal.note(number, What::Sending, "");
                    }
                }
                Some(Answer::GoOn)
            }
            Ask::Settled(outcomes) => {
                self.settle(plan, assignment, &outcomes);
                None
            }
            Ask::Next => Some(self.next(assignment)),
            Ask::Closed(trouble) => {
                self.closed(plan, assignment, trouble);
                None
            }
        }
    }

    /// Writes down what was noted.
    pub fn write_down(&mut self) -> Result<(), SendError> {
        match &mut self.journal {
            Some(journal) => Ok(journal.commit()?),
            None => Ok(()),
        }
    }

    fn next(&mut self, assignment: &mut Assignment) -> Answer {
        if self.is_stopping() || assignment.transactions_left == 0 {
            return Answer::Quit;
        }
        let is_first = !std::mem::replace(&mut assignment.has_taken, true);
        assignment.transactions_left -= 1;
        let places = self.queue.take(assignment.destination, is_first);
        if places.is_empty() { Answer::Quit } else { Answer::Begin(places) }
    }

    fn settle(&mut self, plan: &Plan, assignment: &mut Assignment, outcomes: &[Outcome]) {
        let (destination, now) = (assignment.destination, self.now());
        let again = outcomes.iter().filter(|outcome| outcome.fate == Fate::Again).count();
        if again > 0 && again < outcomes.len() {
            self.queue.takes_at_most(destination, outcomes.len() - again);
        }
        for outcome in outcomes {
            let verdict = self.queue.settle(destination, outcome.place, outcome.fate, now);
            let what = match (outcome.fate, verdict) {
                (Fate::Again, _) => continue,
                (Fate::Delivered, _) => What::Delivered,
                (Fate::Failed, _) => What::Failed,
                (Fate::Deferred, Verdict::Again) => What::Deferred,
                (Fate::Uncertain, Verdict::Again) => What::Uncertain,
                (Fate::Deferred | Fate::Uncertain, Verdict::Final) => What::GivenUp,
            };
            if matches!(outcome.fate, Fate::Delivered | Fate::Failed) {
                assignment.has_settled = true;
                self.queue.thrives(destination);
            }
            if outcome.fate == Fate::Uncertain && what == What::GivenUp {
                // It is not sent again, but may have been taken.
                self.write_of(plan, outcome.place, What::Uncertain, &outcome.why);
            }
            self.note(plan, outcome.place, what, &outcome.why);
        }
    }

    /// Counts, and takes note for the journal.
    fn note(&mut self, plan: &Plan, place: u32, what: What, why: &str) {
        let (domain, _) = plan.list.at(place);
        self.fates.count(Some(domain), what, why);
        self.write_of(plan, place, what, why);
    }

    fn write_of(&mut self, plan: &Plan, place: u32, what: What, why: &str) {
        let (_, number) = plan.list.at(place);
        if let Some(journal) = &mut self.journal {
            journal.note(number, what, why);
        }
    }

    fn closed(&mut self, plan: &Plan, assignment: &Assignment, trouble: Option<Trouble>) {
        let destination = assignment.destination;
        self.queue.closed(destination, assignment.has_taken);
        let Some(trouble) = trouble else { return };
        if trouble.is_login && plan.is_relayed {
            let server = assignment.name.to_string();
            self.stop_with(SendError::Login { server, why: trouble.why.to_string() });
        } else if trouble.phase == Phase::Tls && self.may_do_without_tls(assignment) {
            self.clear.insert(destination);
        } else if !assignment.has_taken {
            // Another address may do better.
            let all = self.queue.address_failed(destination, assignment.tried, assignment.of);
            if all {
                let why = format!("{} ({}): {}", assignment.name, assignment.address, trouble.why);
                self.trouble(plan, destination, &why);
            }
        } else if !assignment.has_settled {
            self.trouble(plan, destination, &trouble.why);
        }
    }

    /// Whether it is better to talk in clear than not at all: not if a password is to be said.
    fn may_do_without_tls(&self, assignment: &Assignment) -> bool {
        let terms = &assignment.terms;
        terms.security == Security::Offered && terms.credentials.is_none()
    }

    /// A destination could not be talked to.
    fn trouble(&mut self, plan: &Plan, destination: u32, why: &str) {
        let now = self.now();
        if self.queue.troubled(destination, now) {
            self.give_up(plan, destination, What::GivenUp, why);
        }
    }

    fn give_up(&mut self, plan: &Plan, destination: u32, what: What, why: &str) {
        for place in self.queue.give_up(destination) {
            self.note(plan, place, what, why);
        }
        // Maybe nobody has anything to ask after this, by which it would be written.
        if let Err(error) = self.write_down() {
            self.stop_with(error);
        }
    }

    /// It cannot go on.
    pub fn stop_with(&mut self, error: SendError) {
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

    /// Milliseconds since it began.
    fn now(&self) -> u32 {
        u32::try_from(self.began.elapsed().as_millis()).unwrap_or(u32::MAX)
    }

    fn progress(&self) -> Progress {
        Progress {
            count: self.fates.all,
            of: self.of,
            open: self.queue.open(),
            waiting: self.queue.waits_to_retry(),
        }
    }

    fn summary(mut self, plan: &Plan, carried: Carried) -> Result<Summary, SendError> {
        if let Some(fatal) = self.fatal.take() {
            return Err(fatal);
        }
        debug_assert_eq!(self.queue.open(), 0);
        let replies = self.fates.replies.into_iter();
        let mut replies: Vec<_> = replies
            .map(|((end, reply), alike)| {
                (end, alike.exactly.map_or(reply, String::from), alike.times)
            })
            .collect();
        replies.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| (a.0, &a.1).cmp(&(b.0, &b.1))));
        Ok(Summary {
            count: self.fates.all,
            before: self.before,
            bad: self.bad,
            unsettled: self.queue.unsettled(),
            repeated: self.fates.repeated,
            in_flight_before: self.in_flight_before,
            deferrals: self.fates.deferrals,
            domains: self.fates.domains,
            replies,
            carried,
            open_at_most: self.open_at_most,
            took: self.began.elapsed(),
            is_stopped: self.queue.unsettled() > 0 || plan.time.is_some(),
        })
    }
}

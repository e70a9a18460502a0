//! The loop that drives all connections: its steps, its turns, and what it does when something fails. [`opening`]
//! has how connections come to be, [`talking`] what is said on them.

mod opening;
mod talking;

use std::collections::VecDeque;
use std::io::ErrorKind as Io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mio::{Events, Poll};
use platform::tree::ProcessTree;
use platform::usage::{ProcessUsage, thread_cpu_time};
use platform::{CaseError, client_socket};

use super::Load;
use super::connection::{Connection, Phase};
use super::plan::{Moments, Next, Plan};
use super::reply::Exchange;
use super::step::{ErrorKind, Errors, Step, Unfinished};
use super::window::Window;

const MS: u64 = 1_000_000;
/// Events taken at once.
const EVENTS: usize = 1_024;
/// A reply is read in parts of up to this.
const BUFFER: usize = 64 * 1024 + 1;
/// While connections are opened and none of those that wait is answered for so long, it is not waited for them.
const STUCK: u64 = 500 * MS;
/// A connection that came to nothing is tried again after this.
const REST: u64 = 10 * MS;
/// After a shortage of ports or descriptors no further connections are opened for this long.
const AFTER_SHORTAGE: u64 = 100 * MS;
/// A planned moment nearer than this is waited for with a fine timer.
const FINE: u64 = 2 * MS;
/// Nothing is waited for longer than this without looking around.
const LONGEST_WAIT: u64 = 100 * MS;

/// Drives connections to one server. Dropping it closes them.
#[derive(Debug)]
pub struct Generator {
    load: Load,
    poll: Poll,
    events: Events,
    exchange: Exchange,
    clock: Clock,
    plan: Plan,
    places: Vec<Connection>,
    /// Places of no connection.
    vacant: Vec<usize>,
    /// Places of connections with nothing to say.
    idle: Vec<usize>,
    /// Places to be tried again, with the time from when on.
    resting: VecDeque<(usize, u64)>,
    retried_at: u64,
    /// Places that are fresh.
    opening: usize,
    opened_at: u64,
    /// When one that was fresh had its first reply, or came to nothing.
    answered_at: u64,
    /// No connections are opened before.
    blocked_until: u64,
    swept_at: u64,
    /// When the last wait ended.
    turn_at: u64,
    /// Exchanges planned before are not counted.
    counted_from: u64,
    /// Places of connections that are to say something in this turn.
    asking: Vec<usize>,
    serial: u32,
    buffer: Vec<u8>,
    tally: Step,
}

/// What [`Generator::hold`] holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Connections that are open and idle.
    pub open: usize,
    /// How long it took to open them.
    pub took: Duration,
    /// What went wrong meanwhile.
    pub errors: Errors,
}

/// Nanoseconds in which the generator was at work: between steps it stands still.
#[derive(Debug)]
struct Clock {
    epoch: Instant,
    stopped: Option<Instant>,
}

impl Clock {
    fn now(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    fn stop(&mut self) {
        self.stopped = Some(Instant::now());
    }

    fn go_on(&mut self) {
        if let Some(stopped) = self.stopped.take() {
            self.epoch += stopped.elapsed();
        }
    }
}

impl Generator {
    /// A generator without connections, on the calling thread.
    ///
    /// # Errors
    /// If the system gives no means to wait for sockets, or the CPU asked for is not to be had.
    pub fn new(load: Load) -> Result<Self, CaseError> {
        if let Some(cpu) = load.cpu {
            platform::cpu::pin_thread(cpu)?;
        }
        client_socket::minimize_timer_slack();
        let poll = Poll::new().map_err(|e| CaseError::from_io("waiting for sockets", &e))?;
        let exchange = Exchange::new(load.protocol, load.status, &load.to.to_string());
        let now = Instant::now();
        Ok(Self {
            load,
            poll,
            events: Events::with_capacity(EVENTS),
            exchange,
            clock: Clock { epoch: now, stopped: Some(now) },
            plan: Plan::Hold { target: 0 },
            places: Vec::new(),
            vacant: Vec::new(),
            idle: Vec::new(),
            resting: VecDeque::new(),
            retried_at: 0,
            opening: 0,
            opened_at: 0,
            answered_at: 0,
            blocked_until: 0,
            swept_at: 0,
            turn_at: 0,
            counted_from: 0,
            asking: Vec::new(),
            serial: 0,
            buffer: vec![0; BUFFER],
            tally: Step::empty(0, None),
        })
    }

    /// Closed loop: `concurrency` connections in flight, raised or lowered from what there are, then a tenth
    /// of `duration` (at most half a second) uncounted, then `duration` counted. It ends: opening them takes no
    /// longer than the timeout and 1 s for each 1,000.
    ///
    /// # Errors
    /// If waiting for sockets fails, or [`Load::stop`] was set. That a server does not answer is no error
    /// but a step without replies.
    pub fn step(&mut self, concurrency: usize, duration: Duration) -> Result<Step, CaseError> {
        let server = self.load.server;
        self.step_watched(concurrency, Window::of(duration), &mut || cpu_of(server))
    }

    /// As [`step`](Self::step), counted for a `window`. Calls `server_cpu` when the counted time begins and when it
    /// has ended: it tells the CPU time that the server has used so far, `None` where that is unknown.
    ///
    /// # Errors
    /// As of [`step`](Self::step).
    pub fn step_watched(
        &mut self,
        concurrency: usize,
        window: Window,
        server_cpu: &mut dyn FnMut() -> Option<Duration>,
    ) -> Result<Step, CaseError> {
        self.clock.go_on();
        self.set(Plan::Closed { target: concurrency });
        let step = self.raise().and_then(|()| self.count(concurrency, None, window, server_cpu));
        self.clock.stop();
        step
    }

    /// Open loop: `per_second` exchanges planned each second, on up to `most` connections, for a tenth of
    /// `duration` (at most half a second) uncounted and then for `duration`. One that finds no connection
    /// free waits for one; its time counts from the planned moment all the same.
    ///
    /// # Errors
    /// As of [`step`](Self::step), and if the rate is not positive or there may be no connection.
    pub fn rate(
        &mut self,
        per_second: f64,
        most: usize,
        duration: Duration,
    ) -> Result<Step, CaseError> {
        if !(per_second > 0.0 && per_second <= 1e9) || most == 0 {
            return Err(CaseError::Failed(format!(
                "{per_second} requests a second on {most} connections are no load"
            )));
        }
        self.clock.go_on();
        self.set(Plan::Open(Moments::new(self.clock.now(), per_second, most)));
        let server = self.load.server;
        let window = Window::of(duration);
        let step = self.count(most, Some(per_second), window, &mut || cpu_of(server));
        self.clock.stop();
        step
    }

    /// Opens `count` connections, each of which has one exchange, and leaves them idle. It waits no longer
    /// than opening them may take (see [`step`](Self::step)). They stay open until the next step.
    ///
    /// # Errors
    /// As of [`step`](Self::step), and if the server closes after its first reply, so that none can idle.
    pub fn hold(&mut self, count: usize) -> Result<Held, CaseError> {
        if self.load.protocol.requests == Some(1) {
            let protocol = self.load.protocol;
            let why = format!("{protocol}: the server closes after its reply, none is ever idle");
            return Err(CaseError::Unsupported(why));
        }
        self.clock.go_on();
        self.tally = Step::empty(count, None);
        self.set(Plan::Hold { target: count });
        let began = self.clock.now();
        let raised = self.raise();
        let took = Duration::from_nanos(self.clock.now() - began);
        self.clock.stop();
        raised.map(|()| Held { open: self.idle.len(), took, errors: self.tally.errors.clone() })
    }

    /// Takes up another plan.
    fn set(&mut self, plan: Plan) {
        self.plan = plan;
        self.blocked_until = 0;
        if matches!(self.plan, Plan::Open(_)) {
            return;
        }
        let closed = matches!(self.plan, Plan::Closed { .. });
        for place in std::mem::take(&mut self.idle) {
            match self.live() > self.plan.target() {
                true => self.leave(place),
                false if closed => self.ask(place, None),
                false => self.idle.push(place),
            }
        }
    }

    /// Opens connections until there are as many as planned, for a limited time.
    fn raise(&mut self) -> Result<(), CaseError> {
        let target = self.plan.target();
        let patience = self.load.timeout + Duration::from_millis(100 + target as u64);
        let until = self.clock.now() + patience.as_nanos() as u64;
        let hold = matches!(self.plan, Plan::Hold { .. });
        loop {
            let now = self.clock.now();
            let short = now < self.blocked_until;
            let all = if hold { self.idle.len() } else { self.live() } >= target;
            let settled = self.opening == 0 && (all || short);
            // Nobody new was answered for long: those that wait will not be.
            let stuck = all && now >= self.opened_at.max(self.answered_at) + STUCK;
            if settled || stuck || now >= until {
                return Ok(());
            }
            self.turn(until)?;
        }
    }

    /// Goes on for a while uncounted, then counts.
    fn count(
        &mut self,
        concurrency: usize,
        rate: Option<f64>,
        window: Window,
        server_cpu: &mut dyn FnMut() -> Option<Duration>,
    ) -> Result<Step, CaseError> {
        self.run_for(window.settling(), concurrency)?;
        let server = server_cpu();
        self.tally = Step::empty(concurrency, rate);
        self.tally.shares_cpu = self.load.shares_cpu;
        let (from, cpu) = (self.clock.now(), cpu_now());
        self.counted_from = if rate.is_some() { from } else { 0 };
        self.run_for(window, concurrency)?;
        let now = self.clock.now();
        let server = server_cpu().zip(server);
        let mut step = std::mem::replace(&mut self.tally, Step::empty(0, None));
        self.counted_from = 0;
        step.elapsed = Duration::from_nanos(now - from);
        step.cpu = cpu_now().zip(cpu).map(|(now, then)| now.saturating_sub(then));
        step.server_cpu = server.map(|(now, then)| now.saturating_sub(then));
        step.open = self.places.iter().filter(|place| place.stream.is_some()).count();
        step.unfinished = self.unfinished(now);
        Ok(step)
    }

    fn unfinished(&self, now: u64) -> Unfinished {
        let under_way = self.places.iter().filter(|place| place.is_under_way());
        let mut count = under_way.clone().count() as u64;
        let mut oldest = under_way.map(|place| place.begun).min().unwrap_or(now);
        if let Plan::Open(moments) = &self.plan {
            count += moments.due(now);
            oldest = oldest.min(moments.next());
        }
        Unfinished { count, oldest: Duration::from_nanos(now.saturating_sub(oldest)) }
    }

    /// Goes on for as long as `window` says, with so many connections.
    fn run_for(&mut self, window: Window, connections: usize) -> Result<(), CaseError> {
        let from = self.clock.now();
        let [least, most] =
            [window.at_least, window.at_most].map(|time| from + time.as_nanos() as u64);
        let wanted = self.tally.ended() + u64::from(window.service_rounds) * connections as u64;
        loop {
            let now = self.clock.now();
            let until = if now < least { least } else { most };
            if now >= until || (now >= least && self.tally.ended() >= wanted) {
                return Ok(());
            }
            self.turn(until)?;
        }
    }

    /// Does what is due, waits for events until `until` at the latest, and sees to them.
    fn turn(&mut self, until: u64) -> Result<(), CaseError> {
        if self.load.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(CaseError::Interrupted("stopped".into()));
        }
        let now = self.clock.now();
        self.sweep(now);
        self.retry(now);
        self.fill(now);
        self.dispatch(now);
        self.say();
        let mut events = std::mem::replace(&mut self.events, Events::with_capacity(0));
        let waited = self.wait(&mut events, until);
        for event in &events {
            self.see_to(event);
        }
        self.events = events;
        waited
    }

    fn wait(&mut self, events: &mut Events, until: u64) -> Result<(), CaseError> {
        let before = self.clock.now();
        let (due, fine) = self.due(before);
        let time = due.min(until).saturating_sub(before).min(LONGEST_WAIT);
        let time = match fine && due <= until {
            true if time > FINE => Duration::from_nanos(time - FINE / 2),
            true => {
                client_socket::wait_finely(&self.poll, Duration::from_nanos(time));
                Duration::ZERO
            }
            false => Duration::from_nanos(time),
        };
        let polled = self.poll.poll(events, Some(time));
        self.turn_at = self.clock.now();
        self.tally.waiting += Duration::from_nanos(self.turn_at - before);
        match polled {
            Err(error) if error.kind() != Io::Interrupted => {
                Err(CaseError::from_io("waiting for sockets", &error))
            }
            _ => Ok(()),
        }
    }

    /// When something is to be done without an event, and whether to the microsecond.
    fn due(&self, now: u64) -> (u64, bool) {
        let swept = self.swept_at + self.between_sweeps();
        let due = self.opens_at(now).map_or(swept, |at| at.min(swept));
        match &self.plan {
            Plan::Open(moments) if self.can_take(moments.most, now) && moments.next() < due => {
                (moments.next(), true)
            }
            _ => (due, false),
        }
    }

    fn between_sweeps(&self) -> u64 {
        (self.load.timeout.as_nanos() as u64 / 20).clamp(MS, LONGEST_WAIT)
    }

    /// Connections, and places that are to have one again.
    fn live(&self) -> usize {
        self.places.len() - self.vacant.len()
    }

    /// Gives up what has taken too long. Looking at all of them now and then costs less than keeping
    /// them in order all the time.
    fn sweep(&mut self, now: u64) {
        if now < self.swept_at + self.between_sweeps() {
            return;
        }
        self.swept_at = now;
        let timeout = self.load.timeout.as_nanos() as u64;
        for place in 0..self.places.len() {
            let connection = &self.places[place];
            if connection.is_under_way() && now.saturating_sub(connection.since) > timeout {
                self.fail(place, ErrorKind::TimedOut);
            }
        }
    }

    /// Begins exchanges whose planned moment has come, on connections that are free.
    fn dispatch(&mut self, now: u64) {
        loop {
            let Plan::Open(moments) = &self.plan else { return };
            if moments.next() > now || !self.can_take(moments.most, now) {
                return;
            }
            let Next::Begin(moment) = self.plan.next(now, 0) else { return };
            match self.idle.pop() {
                Some(place) => self.ask(place, moment),
                None => {
                    let place = self.new_place();
                    self.connect(place, moment);
                }
            }
        }
    }

    /// Whether a planned exchange could begin.
    fn can_take(&self, most: usize, now: u64) -> bool {
        !self.idle.is_empty() || (self.live() < most && now >= self.blocked_until)
    }

    fn fail_of(&mut self, place: usize, error: &std::io::Error) {
        let kind = ErrorKind::of(error);
        if kind == ErrorKind::Other {
            self.tally.errors.first_other.get_or_insert_with(|| error.to_string());
        }
        self.fail(place, kind);
    }

    /// An exchange came to nothing. In a closed loop its place is tried again after a rest; where nothing
    /// can be opened just now, it is done without.
    fn fail(&mut self, place: usize, kind: ErrorKind) {
        self.tally.errors.add(kind);
        self.no_longer_fresh(place);
        let connection = &mut self.places[place];
        connection.shut(true);
        if connection.phase == Phase::Idle {
            self.idle.retain(|&idle| idle != place);
        }
        let now = self.clock.now();
        if kind.is_shortage() {
            self.blocked_until = now + AFTER_SHORTAGE;
            self.vacate(place);
        } else if matches!(self.plan, Plan::Open(_)) {
            self.vacate(place);
        } else {
            self.places[place].phase = Phase::Resting;
            self.resting.push_back((place, now + REST));
        }
    }

    /// Ends a connection that is no longer needed, as any client does.
    fn leave(&mut self, place: usize) {
        self.places[place].shut(false);
        self.vacate(place);
    }

    fn vacate(&mut self, place: usize) {
        self.places[place].phase = Phase::Vacant;
        self.vacant.push(place);
    }

    fn no_longer_fresh(&mut self, place: usize) {
        if std::mem::take(&mut self.places[place].fresh) {
            self.opening -= 1;
            self.answered_at = self.clock.now();
        }
    }
}

/// CPU time of a process and its children so far; `None` where none is named or the system does not tell.
fn cpu_of(process: Option<u32>) -> Option<Duration> {
    ProcessTree::cpu_of(process?).ok().map(|tree| tree.cpu)
}

/// CPU time of this thread; of the process where the system tells no thread's.
fn cpu_now() -> Option<Duration> {
    thread_cpu_time().or_else(|| Some(ProcessUsage::now().cpu).filter(|cpu| !cpu.is_zero()))
}

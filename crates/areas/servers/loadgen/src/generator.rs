//! The generator's steps and its event loop. [`opening`] opens connections, [`exchanges`] sends requests and receives
//! replies.

mod exchanges;
mod opening;
mod state;

use std::io::ErrorKind as Io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mio::Events;
use platform::process::tree::ProcessTree;
use platform::process::usage::{ProcessUsage, thread_cpu_time};
use platform::{CaseError, socket::client};

pub use state::Generator;

use self::state::MS;
use crate::connection::{Connection, ConnectionState};
use crate::schedule::{Arrivals, LoadSchedule, Next};
use crate::step::{ErrorKind, Errors, Step, Unfinished};
use crate::window::Window;

/// Time in ns without a first reply on any fresh connection, after which waiting for the opened connections ends.
const STUCK: u64 = 500 * MS;
/// Maximum time to a scheduled time, in ns, that is awaited with a timer of microseconds.
const FINE: u64 = 2 * MS;
/// Maximum time of one wait while other threads are awaited, in ns.
const MEETING: u64 = MS / 10;
/// Maximum time of one wait, in ns.
const LONGEST_WAIT: u64 = 100 * MS;

/// The result of [`Generator::hold`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Number of connections that are open and idle.
    pub open: usize,
    /// Time to open them.
    pub took: Duration,
    /// Errors during that time.
    pub errors: Errors,
}

/// An open loop of scheduled exchanges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    /// Number of exchanges scheduled each second.
    pub per_second: f64,
    /// Maximum number of connections.
    pub most: usize,
    /// Uncounted time at the beginning.
    pub settling: Duration,
    /// Counted time.
    pub duration: Duration,
    /// Whether the exchanges scheduled in the counted time are awaited after it, until each has a reply or an error. The
    /// server's CPU time is then the mean over both times.
    pub awaits_all: bool,
}

/// The figures of the load, and the times for which it is counted.
struct Count {
    concurrency: usize,
    rate: Option<f64>,
    settling: Window,
    window: Window,
    awaits_all: bool,
}

impl Generator {
    /// Runs a closed loop with `concurrency` connections: opens or closes connections, then runs for a tenth of `duration`
    /// (at most half a second) uncounted, then for `duration` counted. Opening takes at most the timeout plus 1 s for each
    /// 1,000 connections.
    ///
    /// # Errors
    /// If waiting for sockets fails, or [`Load::stop`](crate::Load::stop) is set. If the server does not answer, the result
    /// is a step without replies.
    pub fn step(&mut self, concurrency: usize, duration: Duration) -> Result<Step, CaseError> {
        let server = self.load.server;
        self.step_watched(concurrency, Window::of(duration), &mut || cpu_of(server))
    }

    /// Runs a closed loop like [`step`](Self::step), counted for a `window`. Calls `server_cpu` at the beginning and at the
    /// end of the counted time, which returns the CPU time that the server has used so far, `None` if unknown.
    ///
    /// # Errors
    /// See [`step`](Self::step).
    pub fn step_watched(
        &mut self,
        concurrency: usize,
        window: Window,
        server_cpu: &mut dyn FnMut() -> Option<Duration>,
    ) -> Result<Step, CaseError> {
        self.clock.resume();
        self.follow(LoadSchedule::Closed { target: concurrency });
        let settling = window.settling();
        let count = Count { concurrency, rate: None, settling, window, awaits_all: false };
        let step = self.open_all().and_then(|()| self.count(&count, server_cpu));
        self.clock.stop();
        step
    }

    /// Runs an open loop: `per_second` exchanges scheduled each second, on up to `most` connections, for a tenth of
    /// `duration` (at most half a second) uncounted and then for `duration` counted. An exchange without a free connection
    /// waits for one; its latency and its timeout still count from the scheduled time.
    ///
    /// # Errors
    /// See [`step`](Self::step); also if the rate is not positive or `most` is 0.
    pub fn rate(
        &mut self,
        per_second: f64,
        most: usize,
        duration: Duration,
    ) -> Result<Step, CaseError> {
        let server = self.load.server;
        let settling = Window::of(duration).settling().at_least;
        let offer = Offer { per_second, most, settling, duration, awaits_all: false };
        self.offer(&offer, &mut || cpu_of(server))
    }

    /// Runs an open loop as described by `offer`. Calls `server_cpu` at the beginning and at the end of the counted time.
    ///
    /// # Errors
    /// See [`rate`](Self::rate).
    pub fn offer(
        &mut self,
        offer: &Offer,
        server_cpu: &mut dyn FnMut() -> Option<Duration>,
    ) -> Result<Step, CaseError> {
        let Offer { per_second, most, settling, duration, awaits_all } = *offer;
        if !(per_second > 0.0 && per_second <= 1e9) || most == 0 {
            return Err(CaseError::Failed(format!(
                "{per_second} requests a second on {most} connections are no load"
            )));
        }
        self.clock.resume();
        self.follow(LoadSchedule::Open(Arrivals::new(self.clock.now(), per_second, most)));
        let count = Count {
            concurrency: most,
            rate: Some(per_second),
            settling: Window::of(settling),
            window: Window::of(duration),
            awaits_all,
        };
        let step = self.count(&count, server_cpu);
        self.clock.stop();
        step
    }

    /// Opens `count` connections, with one exchange each, and leaves them idle until the next step. Takes at most as long
    /// as opening in [`step`](Self::step).
    ///
    /// # Errors
    /// See [`step`](Self::step); also if the server closes after its first reply, so that no connection can be idle.
    pub fn hold(&mut self, count: usize) -> Result<Held, CaseError> {
        if self.load.protocol.requests == Some(1) {
            let protocol = self.load.protocol;
            let why = format!("{protocol}: the server closes after its reply, none is ever idle");
            return Err(CaseError::Unsupported(why));
        }
        self.clock.resume();
        self.tally = Step::empty(count, None);
        self.follow(LoadSchedule::Hold { target: count });
        let began = self.clock.now();
        let opened = self.open_all();
        let took = Duration::from_nanos(self.clock.now() - began);
        self.clock.stop();
        opened.map(|()| Held { open: self.idle.len(), took, errors: self.tally.errors.clone() })
    }

    /// Changes the schedule, and closes or uses idle connections accordingly.
    fn follow(&mut self, schedule: LoadSchedule) {
        self.schedule = schedule;
        self.blocked_until = 0;
        if matches!(self.schedule, LoadSchedule::Open(_)) {
            return;
        }
        let closed = matches!(self.schedule, LoadSchedule::Closed { .. });
        for slot in std::mem::take(&mut self.idle) {
            match self.live() > self.schedule.target() {
                true => self.close(slot),
                false if closed => self.begin_exchange(slot, None),
                false => self.idle.push(slot),
            }
        }
    }

    /// Opens connections until the target is reached, for a limited time.
    fn open_all(&mut self) -> Result<(), CaseError> {
        let target = self.schedule.target();
        let patience = self.load.timeout + Duration::from_millis(100 + target as u64);
        let until = self.clock.now() + patience.as_nanos() as u64;
        let hold = matches!(self.schedule, LoadSchedule::Hold { .. });
        loop {
            let now = self.clock.now();
            let short = now < self.blocked_until;
            let all = if hold { self.idle.len() } else { self.live() } >= target;
            let settled = self.opening == 0 && (all || short);
            // No fresh connection was answered for long, so the others will not be answered either.
            let stuck = all && now >= self.opened_at.max(self.answered_at) + STUCK;
            if settled || stuck || now >= until {
                return Ok(());
            }
            self.iterate(until)?;
        }
    }

    /// Runs the load for the settling time uncounted, then counts.
    fn count(
        &mut self,
        what: &Count,
        server_cpu: &mut dyn FnMut() -> Option<Duration>,
    ) -> Result<Step, CaseError> {
        self.meet()?;
        self.run_for(what.settling, what.concurrency)?;
        self.meet()?;
        let server = server_cpu();
        self.meet()?;
        self.ended_in_all();
        (self.tally, self.added) = (Step::empty(what.concurrency, what.rate), 0);
        let (from, cpu) = (self.clock.now(), cpu_now());
        self.counted_from = if what.rate.is_some() { from } else { 0 };
        self.run_for(what.window, what.concurrency)?;
        let now = self.clock.now();
        let (waiting, used) = (self.tally.waiting, cpu_now());
        let open = self.slots.iter().filter(|slot| slot.stream.is_some()).count();
        let planned = self.stop_arrivals(from, now);
        if what.awaits_all {
            // The wait precedes reading the server's CPU time, which may take long under load: replies that arrive
            // meanwhile would be late.
            self.await_all()?;
        }
        let asked = self.clock.now() - from;
        let server = server_cpu().zip(server);
        let unfinished = self.unfinished(self.clock.now());
        let mut step = std::mem::replace(&mut self.tally, Step::empty(0, None));
        (self.counted_from, self.added) = (0, 0);
        step.elapsed = Duration::from_nanos(now - from);
        step.cpu = used.zip(cpu).map(|(now, then)| now.saturating_sub(then));
        let spent = server.map(|(now, then)| now.saturating_sub(then));
        step.server_cpu = match what.awaits_all {
            true => spent.map(|cpu| cpu.mul_f64((now - from) as f64 / asked.max(1) as f64)),
            false => spent,
        };
        (step.shares_cpu, step.server_cpus) = (self.load.shares_cpu, self.load.server_cpus.max(1));
        (step.waiting, step.open) = (waiting, open);
        (step.planned, step.unfinished) = (planned, unfinished);
        Ok(step)
    }

    /// Ends an open loop at `end`; returns the number of exchanges scheduled since `from`.
    fn stop_arrivals(&mut self, from: u64, end: u64) -> u64 {
        let LoadSchedule::Open(arrivals) = &mut self.schedule else { return 0 };
        arrivals.stop(end);
        arrivals.before(end) - arrivals.before(from)
    }

    /// Runs until no exchange is in progress or due. Each exchange ends within its timeout, which is checked from time to
    /// time.
    fn await_all(&mut self) -> Result<(), CaseError> {
        let until =
            self.clock.now() + self.load.timeout.as_nanos() as u64 + 3 * self.between_sweeps();
        while self.unfinished(self.clock.now()).count > 0 && self.clock.now() < until {
            self.iterate(until)?;
        }
        // All remaining exchanges are too late; a thread that did not run for a while may not have noticed.
        self.swept_at = 0;
        self.sweep(self.clock.now());
        self.expire(self.clock.now());
        Ok(())
    }

    /// Waits until all threads of this load have called this; continues with the load meanwhile.
    fn meet(&mut self) -> Result<(), CaseError> {
        let Some(peers) = self.peers.clone() else { return Ok(()) };
        let meeting = peers.arrive();
        while !peers.is_complete(meeting)? {
            self.iterate(self.clock.now() + MEETING)?;
        }
        Ok(())
    }

    /// Number of exchanges that have ended in all threads since the step began.
    fn ended_in_all(&mut self) -> u64 {
        let ended = self.tally.ended();
        let Some(peers) = &self.peers else { return ended };
        let all = peers.add_ended(ended.saturating_sub(self.added));
        self.added = ended;
        all
    }

    fn unfinished(&self, now: u64) -> Unfinished {
        let is_open = matches!(self.schedule, LoadSchedule::Open(_));
        let awaits_reply = |slot: &&Connection| {
            slot.is_in_progress() && !(is_open && slot.state == ConnectionState::Closing)
        };
        let waiting = self.slots.iter().filter(awaits_reply);
        let mut oldest = waiting.clone().map(|slot| slot.begun).min().unwrap_or(now);
        let mut count = waiting.filter(|slot| slot.begun >= self.counted_from).count() as u64;
        if let LoadSchedule::Open(arrivals) = &self.schedule {
            count += arrivals.due(self.counted_from, now);
            oldest = oldest.min(arrivals.next());
        }
        Unfinished { count, oldest: Duration::from_nanos(now.saturating_sub(oldest)) }
    }

    /// Runs for `window` with `connections` connections.
    fn run_for(&mut self, window: Window, connections: usize) -> Result<(), CaseError> {
        let from = self.clock.now();
        let [least, most] =
            [window.at_least, window.at_most].map(|time| from + time.as_nanos() as u64);
        let all = connections * self.peers.as_ref().map_or(1, |peers| peers.count());
        let wanted = self.ended_in_all() + u64::from(window.service_rounds) * all as u64;
        loop {
            let now = self.clock.now();
            let until = if now < least { least } else { most };
            if now >= until || (now >= least && self.ended_in_all() >= wanted) {
                return Ok(());
            }
            self.iterate(until)?;
        }
    }

    /// Runs one iteration of the event loop; waits until `until` at the latest.
    fn iterate(&mut self, until: u64) -> Result<(), CaseError> {
        if self.load.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(CaseError::Interrupted("stopped".into()));
        }
        let now = self.clock.now();
        self.sweep(now);
        self.retry(now);
        self.fill(now);
        self.expire(now);
        self.dispatch(now);
        self.send_requests();
        let mut events = std::mem::replace(&mut self.events, Events::with_capacity(0));
        let waited = self.wait(&mut events, until);
        for event in &events {
            self.handle(event);
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
                client::wait_finely(&self.poll, Duration::from_nanos(time));
                Duration::ZERO
            }
            false => Duration::from_nanos(time),
        };
        let polled = self.poll.poll(events, Some(time));
        self.woke_at = self.clock.now();
        self.tally.waiting += Duration::from_nanos(self.woke_at - before);
        match polled {
            Err(error) if error.kind() != Io::Interrupted => {
                Err(CaseError::from_io("waiting for sockets", &error))
            }
            _ => Ok(()),
        }
    }

    /// The time of the next action that no event causes, and whether it needs a timer of microseconds.
    fn due(&self, now: u64) -> (u64, bool) {
        let swept = self.swept_at + self.between_sweeps();
        let due = self.opens_at(now).map_or(swept, |at| at.min(swept));
        match &self.schedule {
            LoadSchedule::Open(arrivals)
                if self.can_take(arrivals.most, now) && arrivals.next() < due =>
            {
                (arrivals.next(), true)
            }
            _ => (due, false),
        }
    }

    fn between_sweeps(&self) -> u64 {
        (self.load.timeout.as_nanos() as u64 / 20).clamp(MS, LONGEST_WAIT)
    }

    /// Fails the exchanges that have timed out. Scanning all slots from time to time costs less than a sorted list.
    fn sweep(&mut self, now: u64) {
        if now < self.swept_at + self.between_sweeps() {
            return;
        }
        self.swept_at = now;
        let timeout = self.load.timeout.as_nanos() as u64;
        for slot in 0..self.slots.len() {
            let connection = &self.slots[slot];
            let has_reply = connection.state == ConnectionState::Closing;
            let from = match connection.scheduled && !has_reply {
                true => connection.begun,
                false => connection.since,
            };
            if connection.is_in_progress() && now.saturating_sub(from) > timeout {
                self.fail(slot, ErrorKind::TimedOut);
            }
        }
    }

    /// Gives up scheduled exchanges that have waited for a connection for longer than the timeout.
    fn expire(&mut self, now: u64) {
        let oldest = now.saturating_sub(self.load.timeout.as_nanos() as u64);
        let LoadSchedule::Open(arrivals) = &mut self.schedule else { return };
        while arrivals.next() < oldest {
            if let Some(scheduled) = arrivals.take(now)
                && scheduled >= self.counted_from
            {
                self.tally.errors.add(ErrorKind::TimedOut);
            }
        }
    }

    /// Begins the scheduled exchanges that are due, on idle or new connections.
    fn dispatch(&mut self, now: u64) {
        loop {
            let LoadSchedule::Open(arrivals) = &self.schedule else { return };
            if arrivals.next() > now || !self.can_take(arrivals.most, now) {
                return;
            }
            let Next::Begin(scheduled) = self.schedule.next(now, 0) else { return };
            match self.idle.pop() {
                Some(slot) => self.begin_exchange(slot, scheduled),
                None => {
                    let slot = self.new_slot();
                    self.connect(slot, scheduled);
                }
            }
        }
    }

    /// Whether a scheduled exchange can begin.
    fn can_take(&self, most: usize, now: u64) -> bool {
        !self.idle.is_empty() || (self.live() < most && now >= self.blocked_until)
    }
}

/// CPU time of a process and its children so far; `None` without a process, or if unknown.
fn cpu_of(process: Option<u32>) -> Option<Duration> {
    ProcessTree::cpu_of(process?).ok().map(|tree| tree.cpu)
}

/// CPU time of this thread, or of the process where the system does not report threads.
fn cpu_now() -> Option<Duration> {
    thread_cpu_time().or_else(|| Some(ProcessUsage::now().cpu).filter(|cpu| !cpu.is_zero()))
}

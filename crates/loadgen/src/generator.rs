//! The generator's steps and its event loop. [`opening`] opens connections, [`exchanges`] sends requests and receives
//! replies.

mod exchanges;
mod opening;
mod state;

use std::io::ErrorKind as Io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mio::Events;
use platform::tree::ProcessTree;
use platform::usage::{ProcessUsage, thread_cpu_time};
use platform::{CaseError, client_socket};

pub use state::Generator;

use self::state::MS;
use crate::schedule::{Arrivals, LoadSchedule, Next};
use crate::step::{ErrorKind, Errors, Step, Unfinished};
use crate::window::Window;

/// While connections are opened and none receives its first reply for this time, in ns, the wait for them ends.
const STUCK: u64 = 500 * MS;
/// A scheduled time nearer than this, in ns, is waited for with a timer of microseconds.
const FINE: u64 = 2 * MS;
/// Maximum time of one wait, in ns.
const LONGEST_WAIT: u64 = 100 * MS;

/// The result of [`Generator::hold`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Connections that are open and idle.
    pub open: usize,
    /// The time to open them.
    pub took: Duration,
    /// Errors meanwhile.
    pub errors: Errors,
}

impl Generator {
    /// Closed loop with `concurrency` connections: opens or closes connections, then runs for a tenth of `duration` (at
    /// most half a second) uncounted, then for `duration` counted. Opening them takes at most the timeout plus 1 s for
    /// each 1,000.
    ///
    /// # Errors
    /// If waiting for sockets fails, or [`Load::stop`](crate::Load::stop) is set. If the server does not answer, the
    /// result is a step without replies.
    pub fn step(&mut self, concurrency: usize, duration: Duration) -> Result<Step, CaseError> {
        let server = self.load.server;
        self.step_watched(concurrency, Window::of(duration), &mut || cpu_of(server))
    }

    /// As [`step`](Self::step), counted for a `window`. Calls `server_cpu` at the begin and at the end of the counted
    /// time: it returns the CPU time that the server has used so far, `None` if that is unknown.
    ///
    /// # Errors
    /// As of [`step`](Self::step).
    pub fn step_watched(
        &mut self,
        concurrency: usize,
        window: Window,
        server_cpu: &mut dyn FnMut() -> Option<Duration>,
    ) -> Result<Step, CaseError> {
        self.clock.resume();
        self.follow(LoadSchedule::Closed { target: concurrency });
        let step = self.open_all().and_then(|()| self.count(concurrency, None, window, server_cpu));
        self.clock.stop();
        step
    }

    /// Open loop: `per_second` exchanges scheduled each second, on up to `most` connections, for a tenth of `duration`
    /// (at most half a second) uncounted and then for `duration` counted. An exchange without a free connection waits
    /// for one; its latency still counts from the scheduled time.
    ///
    /// # Errors
    /// As of [`step`](Self::step), and if the rate is not positive or `most` is 0.
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
        self.clock.resume();
        self.follow(LoadSchedule::Open(Arrivals::new(self.clock.now(), per_second, most)));
        let server = self.load.server;
        let window = Window::of(duration);
        let step = self.count(most, Some(per_second), window, &mut || cpu_of(server));
        self.clock.stop();
        step
    }

    /// Opens `count` connections, with one exchange each, and leaves them idle. It takes at most as long as opening
    /// takes in [`step`](Self::step). They stay open until the next step.
    ///
    /// # Errors
    /// As of [`step`](Self::step), and if the server closes after its first reply, so that none can be idle.
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

    /// Changes the schedule.
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
            // No fresh connection was answered for long: the others will not be answered either.
            let stuck = all && now >= self.opened_at.max(self.answered_at) + STUCK;
            if settled || stuck || now >= until {
                return Ok(());
            }
            self.iterate(until)?;
        }
    }

    /// Runs for a while uncounted, then counts.
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
        step.open = self.slots.iter().filter(|slot| slot.stream.is_some()).count();
        step.unfinished = self.unfinished(now);
        Ok(step)
    }

    fn unfinished(&self, now: u64) -> Unfinished {
        let in_progress = self.slots.iter().filter(|slot| slot.is_in_progress());
        let mut count = in_progress.clone().count() as u64;
        let mut oldest = in_progress.map(|slot| slot.begun).min().unwrap_or(now);
        if let LoadSchedule::Open(arrivals) = &self.schedule {
            count += arrivals.due(now);
            oldest = oldest.min(arrivals.next());
        }
        Unfinished { count, oldest: Duration::from_nanos(now.saturating_sub(oldest)) }
    }

    /// Runs for a window, with this number of connections.
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
            self.iterate(until)?;
        }
    }

    /// One iteration of the event loop; waits until `until` at the latest.
    fn iterate(&mut self, until: u64) -> Result<(), CaseError> {
        if self.load.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(CaseError::Interrupted("stopped".into()));
        }
        let now = self.clock.now();
        self.sweep(now);
        self.retry(now);
        self.fill(now);
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
                client_socket::wait_finely(&self.poll, Duration::from_nanos(time));
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

    /// When the next action without an event is due, and whether it needs a timer of microseconds.
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

    /// Fails the exchanges that have timed out. A scan of all slots from time to time costs less than a sorted list.
    fn sweep(&mut self, now: u64) {
        if now < self.swept_at + self.between_sweeps() {
            return;
        }
        self.swept_at = now;
        let timeout = self.load.timeout.as_nanos() as u64;
        for slot in 0..self.slots.len() {
            let connection = &self.slots[slot];
            if connection.is_in_progress() && now.saturating_sub(connection.since) > timeout {
                self.fail(slot, ErrorKind::TimedOut);
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

/// CPU time of a process and its children so far; `None` if there is none or it is unknown.
fn cpu_of(process: Option<u32>) -> Option<Duration> {
    ProcessTree::cpu_of(process?).ok().map(|tree| tree.cpu)
}

/// CPU time of this thread; of the process where the system does not report threads.
fn cpu_now() -> Option<Duration> {
    thread_cpu_time().or_else(|| Some(ProcessUsage::now().cpu).filter(|cpu| !cpu.is_zero()))
}

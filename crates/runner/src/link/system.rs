//! A system of a run: starts the agent when a round is due, starts it again after a failure, and gives the system up after
//! several failures.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::RoundOrder;
use measure::record::Line;
use measure::survey::ClockFacts;
use platform::CaseError;
use platform::process::control_group::HostCounts;
use systems::Placement;

use super::exchange::{Exchange, Link};
use super::host::{Starts, Timeouts};
use crate::agent_target::check_agent;
use crate::id::unix_ms;
use crate::launch::{Phases, Report, RoundEnd};
use crate::wire::{ExamineOrder, Hello, Machine};

/// Maximum relative difference of the rates of two clocks that count as equal.
const RATE_TOLERANCE: f64 = 0.05;
/// Minimum time over which rates are compared, and the time that messages may take.
const RATE_TIME: Duration = Duration::from_secs(1);
const MESSAGES_TAKE: Duration = Duration::from_millis(200);
/// Time within which a failing first start is tried again, and the number of such attempts.
const TRIED_AGAIN_WITHIN: Duration = Duration::from_secs(10);
const FIRST_STARTS: usize = 3;

/// A system, and its agent if it runs.
pub(crate) struct SystemLink<'a> {
    system: &'a dyn Starts,
    timeouts: Timeouts,
    /// The CPUs of the host.
    cpus: Vec<usize>,
    /// Whether the system was started so that its work on the host is counted.
    counted: bool,
    /// Whether counting was possible when it was last tried.
    can_be_counted: bool,
    examined: ExamineOrder,
    link: Option<Link>,
    introduction: Option<Introduction>,
    /// Number of successful starts.
    boots: u32,
    /// Number of starts since the last whole round.
    starts_in_a_row: u32,
    last_reason: String,
    /// The time that starts took since the last call of [`SystemLink::take_start_time`].
    start_time: Duration,
}

/// An agent's report about its system.
#[derive(Debug, Clone)]
pub(crate) struct Introduction {
    /// The greeting.
    pub(crate) hello: Hello,
    /// The machine.
    pub(crate) machine: Machine,
    /// The rate of the agent's clock relative to the coordinator's, if they differ.
    pub(crate) rate: Option<f64>,
    /// The system's time of day minus the coordinator's, in ms.
    pub(crate) clock_offset_ms: i64,
    /// Why the system's work on the host cannot be counted; `None` if it can.
    pub(crate) uncounted: Option<String>,
}

/// The outcome of a round.
pub(crate) enum RoundOf {
    /// The round was made, or lost, as its end says.
    Made(Report),
    /// The agent cannot start workers.
    Refused(CaseError),
    /// The coordinator was requested to stop.
    Stopped,
    /// The system is given up, for this reason.
    Gone(String),
}

impl<'a> SystemLink<'a> {
    /// A system that is not started yet.
    pub(crate) fn new(
        system: &'a dyn Starts,
        cpus: &[usize],
        examined: ExamineOrder,
        timeouts: Timeouts,
    ) -> Self {
        let start = system.start_timeout().unwrap_or(timeouts.start);
        Self {
            system,
            timeouts: Timeouts { start, ..timeouts },
            cpus: cpus.to_vec(),
            counted: true,
            can_be_counted: false,
            examined,
            link: None,
            introduction: None,
            boots: 0,
            starts_in_a_row: 0,
            last_reason: String::new(),
            start_time: Duration::ZERO,
        }
    }

    /// The system's name.
    pub(crate) fn name(&self) -> &str {
        self.system.name()
    }

    /// The name of its launcher, if it has one.
    pub(crate) fn launcher(&self) -> Option<&str> {
        self.system.launcher()
    }

    /// Where its helpers run, if it has some.
    pub(crate) fn placement(&self) -> Option<Placement> {
        self.system.placement()
    }

    /// The CPUs of the host on which it runs.
    pub(crate) fn cpus(&self) -> &[usize] {
        self.system.cpus_of(&self.cpus)
    }

    /// Starts the system, and has its agent introduce itself.
    ///
    /// # Errors
    /// The reason why the system does not start, in words.
    pub(crate) fn introduce(&mut self, stop: &AtomicBool) -> Result<Introduction, String> {
        let began = Instant::now();
        let mut started = self.start(stop);
        for _ in 1..FIRST_STARTS {
            let is_early = began.elapsed() < TRIED_AGAIN_WITHIN;
            if started.is_err() && is_early && !stop.load(Ordering::Relaxed) {
                started = self.start(stop);
            }
        }
        started?;
        self.starts_in_a_row = 0;
        self.introduction.clone().ok_or_else(|| "it was not examined".to_owned())
    }

    /// Whether the system's work on the host can be counted.
    pub(crate) fn can_be_counted(&self) -> bool {
        self.can_be_counted
    }

    /// Begins to count the system's work on the host during rounds that request it. Restarts a system that is not prepared
    /// for counting.
    pub(crate) fn begin_counting(&mut self) {
        if !self.counted {
            self.counted = true;
            self.end();
        }
    }

    /// Ends counting, so that it does not affect later rounds.
    pub(crate) fn end_counting(&mut self) {
        self.counted = false;
        if let Some(link) = &mut self.link {
            link.agent().end_counting();
        }
    }

    /// The number of the current start: 1 for the first.
    pub(crate) fn boot(&self) -> u32 {
        self.boots
    }

    /// The time that starts have taken since the last call, which is no time of the rounds.
    pub(crate) fn take_start_time(&mut self) -> Duration {
        std::mem::take(&mut self.start_time)
    }

    /// Ends the agent; the next round starts it again.
    pub(crate) fn end(&mut self) {
        if let Some(link) = self.link.take() {
            link.close();
        }
    }

    /// Makes a round, and reports its phases. Starts the agent first if it does not run.
    pub(crate) fn round(
        &mut self,
        order: &RoundOrder,
        stop: &AtomicBool,
        phases: &Phases,
    ) -> RoundOf {
        while self.link.is_none() {
            if self.starts_in_a_row >= self.timeouts.starts {
                return RoundOf::Gone(format!(
                    "{} was started {} times in a row without a round; at last: {}",
                    self.name(),
                    self.starts_in_a_row,
                    self.last_reason
                ));
            }
            let began = Instant::now();
            if let Err(reason) = self.start(stop) {
                self.last_reason = reason;
            }
            self.start_time += began.elapsed();
            if stop.load(Ordering::Relaxed) {
                return RoundOf::Stopped;
            }
        }
        let (Some(link), Some(introduction)) = (&mut self.link, &self.introduction) else {
            return RoundOf::Gone(self.last_reason.clone());
        };
        let mut order = order.clone();
        if let Some(clock) = clock_like(&order.clock, &introduction.machine.clocks) {
            order.clock = clock.clone();
        }
        let beats = introduction.hello.can(crate::agent::WORKERS);
        let counted = order.mode.is_counted_outside().then(|| settled_counts(link));
        match link.round(order, beats, &self.timeouts, stop, phases) {
            Ok(Exchange::Whole(report)) => {
                self.starts_in_a_row = 0;
                RoundOf::Made(match counted {
                    Some(before) => with_counts(link, before, report),
                    None => report,
                })
            }
            Ok(Exchange::Damaged(reason)) => {
                let end = RoundEnd::Died(format!("the round was lost: {reason}"));
                RoundOf::Made(Report { text: String::new(), end })
            }
            Ok(Exchange::Refused(error)) => RoundOf::Refused(error),
            Ok(Exchange::Stopped) => RoundOf::Stopped,
            Err(lost) => {
                self.link = None;
                self.last_reason.clone_from(&lost.reason);
                let reason = format!("the agent in {} was lost: {}", self.name(), lost.reason);
                let end = if lost.hangs { RoundEnd::Hung(reason) } else { RoundEnd::Died(reason) };
                RoundOf::Made(Report { text: String::new(), end })
            }
        }
    }

    /// Starts the agent, waits until the system has warmed up, and has the agent examine the machine: a restarted system's
    /// clocks may have other rates.
    fn start(&mut self, stop: &AtomicBool) -> Result<(), String> {
        self.starts_in_a_row += 1;
        let agent = self.system.start(&self.cpus, self.counted)?;
        let uncounted = agent.is_counted().err();
        if self.counted {
            self.can_be_counted = uncounted.is_none();
        }
        let opened = Link::open(agent, &self.timeouts, stop);
        let (mut link, hello, first) = opened.map_err(|lost| lost.reason)?;
        let clock_offset_ms = hello.unix_ms - unix_ms();
        check_agent(&hello)?;
        sleep(self.timeouts.warm_up, stop);
        let examined = link.examine(&self.examined, &self.timeouts, stop);
        let (machine, second) = examined.map_err(|lost| lost.reason)?;
        if machine.clocks.is_empty() {
            return Err("its system has no clock to time with".to_owned());
        }
        let rate = self.rate_of(&mut link, first, second, stop)?;
        link.set_rate(rate.unwrap_or(1.0));
        self.introduction = Some(Introduction { hello, machine, rate, clock_offset_ms, uncounted });
        self.link = Some(link);
        self.boots += 1;
        Ok(())
    }

    /// The rate of the agent's clock, if it differs from the coordinator's. It is measured twice, to exclude a clock that
    /// jumped once.
    fn rate_of(
        &self,
        link: &mut Link,
        first: (Duration, Instant),
        second: (Duration, Instant),
        stop: &AtomicBool,
    ) -> Result<Option<f64>, String> {
        if other_rate(first, second).is_none() {
            return Ok(None);
        }
        let mut clocks = || link.clocks(&self.timeouts, stop).map_err(|lost| lost.reason);
        let third = clocks()?;
        sleep(RATE_TIME.min(self.timeouts.warm_up), stop);
        Ok(other_rate(third, clocks()?))
    }
}

/// The rate of an agent's clock between two readings, if the difference exceeds the messages' delays.
fn other_rate(first: (Duration, Instant), second: (Duration, Instant)) -> Option<f64> {
    let here = (second.1 - first.1).as_secs_f64();
    let there = second.0.as_secs_f64() - first.0.as_secs_f64();
    let apart = (there - here).abs();
    let differs = apart > here * RATE_TOLERANCE + MESSAGES_TAKE.as_secs_f64();
    (differs && here > 0.0).then(|| (there / here).max(1e-3))
}

/// Counts of a system's work on the host when the round before has ended there too, with its worker and the processes that
/// served it.
fn settled_counts(link: &mut Link) -> Result<HostCounts, String> {
    const SETTLED_AFTER: Duration = Duration::from_millis(3);
    std::thread::sleep(SETTLED_AFTER);
    link.agent().host_counts()
}

/// Adds to a round's output the system's work on the host since `before`.
fn with_counts(
    link: &mut Link,
    before: Result<HostCounts, String>,
    Report { text, end }: Report,
) -> Report {
    let counted = before.and_then(|before| Ok(settled_counts(link)?.since(before)));
    match counted {
        Ok(counts) => {
            let line = serde_json::to_string(&Line::Host(counts)).expect("plain values");
            Report { text: format!("{line}\n{text}"), end }
        }
        Err(reason) => Report { text, end: RoundEnd::Died(format!("not counted: {reason}")) },
    }
}

/// The clock of the same name, or the best one if there is none.
fn clock_like<'c>(clock: &ClockFacts, clocks: &'c [ClockFacts]) -> Option<&'c ClockFacts> {
    clocks.iter().find(|one| one.name == clock.name).or(clocks.first())
}

fn sleep(time: Duration, stop: &AtomicBool) {
    const STEP: Duration = Duration::from_millis(50);
    let until = Instant::now() + time;
    while Instant::now() < until && !stop.load(Ordering::Relaxed) {
        std::thread::sleep(STEP.min(until.saturating_duration_since(Instant::now())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_of_another_rate_is_noticed_in_spite_of_late_messages() {
        let begin = Instant::now();
        let rate = |there_ms: u64, here_ms: u64| {
            let at = |ms| Duration::from_millis(ms);
            other_rate((at(5_000), begin), (at(5_000 + there_ms), begin + at(here_ms)))
        };
        for (there, here) in [(1_000, 1_000), (1_000, 1_190), (1_000, 870), (60_000, 61_000)] {
            assert_eq!(rate(there, here), None, "{there} ms in {here} ms");
        }
        assert_eq!(rate(2_000, 1_000), Some(2.0));
        assert!(rate(100, 1_000).is_some_and(|rate| (rate - 0.1).abs() < 1e-9));
    }
}

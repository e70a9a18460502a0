//! Exchanges orders and answers with an agent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::RoundOrder;
use platform::CaseError;
use platform::incoming::Next;

use super::host::{Started, Timeouts};
use super::reader::Wire;
use crate::launch::{GRACE, LAST_CHANCE, OUTPUT_AT_MOST, Phases, Report};
use crate::wire::{ExamineOrder, Hello, Machine, Message, NumberedRound, Order};

/// The interval at which requests to stop are checked.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Tolerances for the agent's clock against the coordinator's, since messages are delayed and clocks differ: maximum lead,
/// maximum lag, and a share of the elapsed time for both.
const AHEAD_AT_MOST: Duration = Duration::from_millis(50);
const AHEAD_SHARE: f64 = 0.05;
const BEHIND_AT_MOST: Duration = Duration::from_secs(2);

/// A connected agent.
pub(crate) struct Link {
    agent: Box<dyn Started>,
    wire: Wire,
    /// Number of the next frame.
    next_frame: u64,
    /// Time of the agent's first frame, by its own clock, in us.
    first_at_us: Option<u64>,
    next_round: u64,
    /// The agent's time per time of the coordinator; 1 unless the agent's clock is known to run at another rate.
    rate: f64,
}

/// The result of a round's exchange.
pub(crate) enum Exchange {
    /// The round's messages are whole and in order.
    Whole(Report),
    /// The round is lost, for this reason, but the agent answers.
    Damaged(String),
    /// The agent cannot start workers.
    Refused(CaseError),
    /// The coordinator was requested to stop.
    Stopped,
}

/// The loss of an agent, which answers no more.
#[derive(Debug)]
pub(crate) struct Lost {
    /// The reason, in words.
    pub(crate) reason: String,
    /// Whether the agent is silent rather than ended.
    pub(crate) hangs: bool,
}

/// A message with the times of both clocks.
struct Received {
    message: Message,
    agent: Duration,
    here: Instant,
    /// Whether frames before this one are missing.
    gap: bool,
}

impl Link {
    /// Connects with an agent that was just started, and waits for its greeting. Also returns the agent's clock in the
    /// greeting, with the time of its arrival.
    pub(crate) fn open(
        mut agent: Box<dyn Started>,
        timeouts: &Timeouts,
        stop: &AtomicBool,
    ) -> Result<(Self, Hello, (Duration, Instant)), Lost> {
        let wire = Wire::new(agent.take_input(), agent.take_output());
        let wire =
            wire.map_err(|e| Lost { reason: format!("starting a thread: {e}"), hangs: false })?;
        let mut link =
            Self { agent, wire, next_frame: 0, first_at_us: None, next_round: 0, rate: 1.0 };
        let deadline = Instant::now() + timeouts.start;
        loop {
            let received = link.receive(deadline, timeouts.start, "greet", stop)?;
            if let Message::Hello(hello) = received.message {
                return Ok((link, hello, (received.agent, received.here)));
            }
        }
    }

    /// Has the agent examine its machine. Also returns the readings of both clocks.
    pub(crate) fn examine(
        &mut self,
        what: &ExamineOrder,
        timeouts: &Timeouts,
        stop: &AtomicBool,
    ) -> Result<(Machine, (Duration, Instant)), Lost> {
        self.send(&Order::Examine(what.clone()));
        let deadline = Instant::now() + timeouts.examine;
        loop {
            let received =
                self.receive(deadline, timeouts.examine, "describe the machine", stop)?;
            if let Message::Machine(machine) = received.message {
                return Ok((*machine, (received.agent, received.here)));
            }
        }
    }

    /// Reads both clocks; the agent's reading is as old as its message took.
    pub(crate) fn clocks(
        &mut self,
        timeouts: &Timeouts,
        stop: &AtomicBool,
    ) -> Result<(Duration, Instant), Lost> {
        self.send(&Order::Clock);
        let deadline = Instant::now() + timeouts.silence;
        loop {
            let received = self.receive(deadline, timeouts.silence, "read the clock", stop)?;
            if received.message == Message::Clock {
                return Ok((received.agent, received.here));
            }
        }
    }

    /// The agent's system.
    pub(crate) fn agent(&mut self) -> &mut dyn Started {
        &mut *self.agent
    }

    /// Sets the rate of the agent's clock.
    pub(crate) fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// Makes a round, and reports its phases. `beats`: whether the agent sends heartbeats.
    pub(crate) fn round(
        &mut self,
        order: RoundOrder,
        beats: bool,
        timeouts: &Timeouts,
        stop: &AtomicBool,
        phases: &Phases,
    ) -> Result<Exchange, Lost> {
        let number = self.next_round;
        self.next_round += 1;
        let limit = Duration::from_millis(order.limit_ms) + GRACE + timeouts.round;
        let silence = if beats { timeouts.silence } else { limit };
        let sent = Instant::now();
        let crc = self.send(&Order::Round(Box::new(NumberedRound { number, order })));
        let (mut began, mut text, mut damage) = (None, String::new(), None);
        let what = "end the round";
        loop {
            let received = match self.receive(sent + limit, silence, what, stop) {
                Err(_) if stop.load(Ordering::Relaxed) => return Ok(Exchange::Stopped),
                // If the agent answers at once, it has ended its round, and only messages were lost.
                Err(lost) if lost.hangs && self.clocks(&timeouts.short(), stop).is_ok() => {
                    return Ok(Exchange::Damaged("the end of its output was lost".to_owned()));
                }
                other => other?,
            };
            if received.gap && began.is_some() {
                damage = Some("part of its output was lost or garbled");
            }
            match received.message {
                Message::Began { round, order_crc } if round == number => {
                    (phases.started)();
                    began = Some((received.agent, received.here));
                    if order_crc != crc {
                        damage = Some("its order was garbled");
                    }
                }
                Message::Part { round, text: part } if round == number => {
                    if text.len() + part.len() > OUTPUT_AT_MOST {
                        return Err(self.lost("its output is endless", false));
                    }
                    text.push_str(&part);
                }
                Message::Failed { round, error } if round == number => {
                    return Ok(Exchange::Refused(error));
                }
                Message::Refused(problem) => {
                    return Ok(Exchange::Damaged(format!("its order was garbled: {problem}")));
                }
                Message::Ended { round, end } if round == number => {
                    let Some((agent_then, then)) = began else {
                        return Ok(Exchange::Damaged(
                            "the beginning of its output was lost".into(),
                        ));
                    };
                    let clock = self.jump(agent_then, received.agent, sent, then, received.here);
                    return Ok(match damage.or(clock) {
                        Some(why) => Exchange::Damaged(why.to_owned()),
                        None => Exchange::Whole(Report { text, end }),
                    });
                }
                Message::Bye => return Err(self.lost("its agent has ended", false)),
                _ => {}
            }
        }
    }

    /// Whether the agent's clock jumped during a round: between two messages it must not advance more than the time since
    /// the order was sent, nor much less than the time between the messages' arrivals.
    fn jump(
        &self,
        agent_then: Duration,
        agent_now: Duration,
        sent: Instant,
        then: Instant,
        now: Instant,
    ) -> Option<&'static str> {
        const JUMPED: Option<&str> = Some("its system's clock jumped");
        let Some(passed) = agent_now.checked_sub(agent_then) else { return JUMPED };
        let passed = passed.div_f64(self.rate);
        let ahead = (now - sent).mul_f64(1.0 + AHEAD_SHARE) + AHEAD_AT_MOST;
        let behind = (now - then).mul_f64(1.0 - AHEAD_SHARE).saturating_sub(BEHIND_AT_MOST);
        if passed > ahead || passed < behind { JUMPED } else { None }
    }

    /// Receives the next message, by `deadline` and with at most `silence` before it; `task` names the agent's task in
    /// errors. Output of a kernel that floods its console is no silence: it delays the agent's messages.
    fn receive(
        &mut self,
        deadline: Instant,
        silence: Duration,
        task: &str,
        stop: &AtomicBool,
    ) -> Result<Received, Lost> {
        let began = Instant::now();
        let after_silence =
            |now: Instant| deadline.min(now.checked_add(silence).unwrap_or(deadline));
        let mut until = after_silence(began);
        let mut bytes = self.wire.bytes();
        let mut stopping = false;
        loop {
            match self.wire.next(LOOK_EVERY.min(until.saturating_duration_since(Instant::now()))) {
                Next::Found((0, first)) if self.first_at_us.is_some_and(|at| at != first.at_us) => {
                    return Err(self.lost("its agent has started again", false));
                }
                // The frame is a repetition.
                Next::Found((number, _)) if number < self.next_frame => {}
                Next::Found((number, stamped)) => {
                    self.first_at_us.get_or_insert(stamped.at_us);
                    let gap = number > self.next_frame;
                    self.next_frame = number + 1;
                    let agent = Duration::from_micros(stamped.at_us);
                    let message = stamped.message;
                    return Ok(Received { message, agent, here: Instant::now(), gap });
                }
                Next::End | Next::TooMuch => return Err(self.lost("its agent has ended", false)),
                Next::Nothing => {}
            }
            if !stopping && stop.load(Ordering::Relaxed) {
                stopping = true;
                until = until.min(Instant::now() + LAST_CHANCE);
            }
            let now = Instant::now();
            let still = self.wire.bytes();
            if still != bytes && !stopping {
                (bytes, until) = (still, after_silence(now));
            }
            if now >= until {
                let waited = measure::count::format_duration(now - began);
                return Err(self.lost(&format!("its agent did not {task} within {waited}"), true));
            }
        }
    }

    fn lost(&mut self, what: &str, hangs: bool) -> Lost {
        let words = [self.agent.last_words(), self.wire.noise()];
        let last = words.iter().map(|text| text.trim()).find(|text| !text.is_empty());
        let last = last.map(|text| format!(": {text}")).unwrap_or_default();
        Lost { reason: format!("{what}{last}"), hangs }
    }

    /// Sends an order; returns its checksum.
    fn send(&self, order: &Order) -> u32 {
        let line = serde_json::to_string(order).expect("an order has only plain values");
        let crc = crc32fast::hash(line.as_bytes());
        self.wire.send(line);
        crc
    }

    /// Tells the agent to end, and ends its system.
    pub(crate) fn close(mut self) {
        self.send(&Order::Shutdown);
        let until = Instant::now() + LAST_CHANCE;
        loop {
            match self.wire.next(until.saturating_duration_since(Instant::now())) {
                Next::Found((_, stamped)) if stamped.message != Message::Bye => {}
                _ => break,
            }
        }
        self.agent.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Silent;

    impl Started for Silent {
        fn take_input(&mut self) -> Box<dyn std::io::Write + Send> {
            Box::new(std::io::sink())
        }

        fn take_output(&mut self) -> Box<dyn std::io::Read + Send> {
            Box::new(&b"Kernel panic - not syncing: no init found\r\n"[..])
        }

        fn last_words(&mut self) -> String {
            String::new()
        }

        fn end(&mut self) {}
    }

    fn link(rate: f64) -> Link {
        let mut agent: Box<dyn Started> = Box::new(Silent);
        let wire = Wire::new(agent.take_input(), agent.take_output()).unwrap();
        Link { agent, wire, next_frame: 0, first_at_us: None, next_round: 0, rate }
    }

    #[test]
    fn what_a_console_printed_last_says_why_an_agent_is_lost() {
        let stop = AtomicBool::new(false);
        let opened = Link::open(Box::new(Silent), &Timeouts::default(), &stop);
        let lost = opened.map(drop).unwrap_err();
        assert_eq!(lost.reason, "its agent has ended: Kernel panic - not syncing: no init found");
    }

    #[test]
    fn a_clock_that_shows_too_much_or_too_little_time_has_jumped() {
        let sent = Instant::now();
        let [then, now] = [10, 3_000].map(|ms| sent + Duration::from_millis(ms));
        let jumps = |rate: f64, from_ms: u64, to_ms: u64| {
            let [from, to] = [from_ms, to_ms].map(Duration::from_millis);
            link(rate).jump(from, to, sent, then, now).is_some()
        };
        assert!(!jumps(1.0, 500, 3_490) && !jumps(1.0, 500, 2_500), "messages take time");
        assert!(jumps(1.0, 500, 499) && jumps(1.0, 500, 4_000) && jumps(1.0, 500, 1_000));
        // The clock is known to run at twice the rate.
        assert!(!jumps(2.0, 500, 6_480) && jumps(1.0, 500, 6_480));
    }
}

//! One trial: a delivery for a short time, and its metrics.

use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use mailsend::{Count, Delivery, DeliveryOptions, SendError, Summary, deliver};
use mailsink::Counts as Counted;
use mailsink::hosted::{Hosted, SinkReport};
use measure::round::Mode;
use measure::trial::Timed;
use measure::{CaseError, Doubt, Metric, Params, Round};
use platform::counters::{Counts, ProcessCounter};
use platform::cpu::keep_process_to;
use platform::process::spawn_scoped;
use smtp::session::SmtpPhase;

use super::list::Post;
use super::metrics::{
    CONNECTIONS, EHLO_P50, EHLO_P99, GREETING_P50, GREETING_P99, INVOLUNTARY_SWITCHES, MEMORY,
    OPEN, QUIT_P50, QUIT_P99, RATE, ROUND_TRIPS, RSET_P50, RSET_P99, SENDER_BUSY, SENDER_CPU,
    SINK_BUSY, SINK_CPU, TRANSACTIONS, VOLUNTARY_SWITCHES,
};
use super::sampler::{Moment, SampledDelivery, Sampler, watch};
use super::test_bed::{SINKS, TestBed, how, plan};
use catalog::{count_of, value_of};

/// Time before the counted time in which connections are established.
const WARM_UP: Duration = Duration::from_millis(100);
/// Additional warm-up time per connection.
const WARM_UP_EACH: Duration = Duration::from_micros(100);
/// Length of the counted time.
const COUNTED: Duration = Duration::from_millis(180);
/// Time to start a sink and to stop it.
const AROUND: Duration = Duration::from_millis(100);

/// Share of its CPU from which a process counts as saturated.
const BUSY: f64 = 0.9;

/// Phases whose latencies are reported; test mode has no others.
const PHASES: [(SmtpPhase, &Metric, &Metric); 4] = [
    (SmtpPhase::Greeting, &GREETING_P50, &GREETING_P99),
    (SmtpPhase::Hello, &EHLO_P50, &EHLO_P99),
    (SmtpPhase::Reset, &RSET_P50, &RSET_P99),
    (SmtpPhase::Quit, &QUIT_P50, &QUIT_P99),
];

/// Runs the delivery that the parameters describe.
///
/// # Errors
/// Errors of the sink and of the delivery.
pub fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    how(params)?;
    let test_bed = TestBed::new(round)?;
    let connections = count_of(params, "connections")?;
    platform::process::connections::check(connections + usize::from(SINKS))?;
    let post = Post::write(params)?;
    let mut sink = test_bed.sink(value_of(params, "delay")?)?;
    let plan = plan(params, &post, &sink)?;
    let times = [warm_up(connections), COUNTED * round.times_as_long()];
    if round.is_counting() {
        let made = DeliveryTrial::of(&plan, &mut sink, &test_bed, round.order().mode, times)?;
        round.report_counts(made.settled(), &[made.counts()]);
    } else {
        let timed = round.trial_of(&test_bed.context, || {
            let made = DeliveryTrial::of(&plan, &mut sink, &test_bed, Mode::Sample, times)?;
            Ok(Timed { operations: made.settled(), took: made.counted(), value: made })
        })?;
        timed.value.report(&test_bed, round);
    }
    drop(plan);
    sink.stop()
}

/// Approximate duration of a trial: starting a sink, writing and reading the list of recipients, establishing the connections,
/// counting, and ending each connection in the time `end`.
pub fn takes(recipients: usize, connections: usize, end: Duration) -> Duration {
    /// Time to write and read a recipient.
    const RECIPIENT: Duration = Duration::from_nanos(600);
    let times = |time: Duration, count| time * u32::try_from(count).unwrap_or(u32::MAX);
    AROUND + times(RECIPIENT, recipients) + warm_up(connections) + COUNTED + times(end, connections)
}

/// Time in which any architecture establishes `connections` connections.
fn warm_up(connections: usize) -> Duration {
    WARM_UP + WARM_UP_EACH * u32::try_from(connections).unwrap_or(u32::MAX)
}

/// A completed delivery, with the counters before, during and after it.
struct DeliveryTrial {
    /// Counters before the delivery.
    before: Moment,
    /// Counters at the beginning of the counted time.
    first: Moment,
    /// Counters at the end of the counted time.
    last: Moment,
    /// Counters after the delivery.
    after: Moment,
    summary: Summary,
    memory: Option<u64>,
}

impl DeliveryTrial {
    /// Delivers on this thread, while another samples the counters.
    fn of(
        plan: &DeliveryOptions,
        sink: &mut Hosted,
        test_bed: &TestBed,
        mode: Mode,
        times: [Duration; 2],
    ) -> Result<Self, CaseError> {
        let failed = |e: SendError| CaseError::Failed(e.to_string());
        let delivery = Delivery::new(plan, None, Arc::default()).map_err(failed)?;
        let counter = OnceLock::new();
        let mut sampler = Sampler { sink, counter: &counter };
        let before = sampler.now(0, Duration::ZERO)?;
        let (over, is_over) = mpsc::channel();
        let (delivered, seen) = std::thread::scope(|scope| {
            let (delivery, sampler) = (&delivery, &mut sampler);
            let watch = move || watch(delivery, sampler, &is_over, times);
            let watching = spawn_scoped(scope, "the thread that samples", watch)?;
            // The process is pinned after the sampler's thread has started: that thread is not pinned to this CPU, and its calls
            // are not counted.
            let _ = keep_process_to(&[test_bed.sender]);
            let _ = counter.set(match mode {
                Mode::Count(tracepoint) => ProcessCounter::start(tracepoint),
                _ => None,
            });
            let delivered = deliver(delivery);
            drop(over);
            let seen = watching.join().expect("the sampler does not panic");
            Ok::<_, CaseError>((delivered, seen))
        })?;
        let _ = keep_process_to(test_bed.context.cpus());
        let summary = delivered.map_err(failed)?;
        let SampledDelivery { first, last, memory, cost } = seen?;
        let after = sampler.now(summary.count.all(), cost)?;
        Self {
            first: first.unwrap_or_else(|| before.clone()),
            last: last.unwrap_or_else(|| after.clone()),
            before,
            after,
            summary,
            memory,
        }
        .checked(plan.session.dry)
    }

    /// Fails if nothing was delivered, or if the counts of sender and sink differ.
    fn checked(self, is_dry: bool) -> Result<Self, CaseError> {
        let [before, after] = [&self.before, &self.after].map(|moment| &moment.sink.counts);
        let said = self.summary.replies.iter().map(|(_, reply, _)| reply.as_str());
        let said = said.take(3).collect::<Vec<_>>().join("; ");
        match wrong(self.summary.count, &said, [before, after], is_dry) {
            Some(why) => Err(CaseError::Failed(why)),
            None if self.settled() == 0 => Err(CaseError::Failed(
                "no recipient was accepted within the counted time".to_owned(),
            )),
            None => Ok(self),
        }
    }

    /// Recipients accepted within the counted time.
    fn settled(&self) -> u64 {
        u64::from(self.last.settled.saturating_sub(self.first.settled))
    }

    /// The counted time.
    fn counted(&self) -> Duration {
        self.last.since(&self.first)
    }

    fn counts(&self) -> Counts {
        let spent = self.last.spent_since(&self.first);
        let syscalls = self.last.syscalls.zip(self.first.syscalls);
        Counts {
            syscalls: syscalls.map(|(last, first)| last.saturating_sub(first)),
            voluntary_switches: spent.voluntary_switches,
            involuntary_switches: spent.involuntary_switches,
            ..Counts::default()
        }
    }

    fn report(&self, test_bed: &TestBed, round: &mut Round) {
        let seconds = self.counted().as_secs_f64().max(1e-9);
        let recipients = self.settled() as f64;
        let carried = &self.summary.carried;
        let [from, to] = [&self.first.sink, &self.last.sink];
        let in_time = |count: fn(&SinkReport) -> u64| count(to).saturating_sub(count(from)) as f64;
        let transactions = in_time(|sink| sink.counts.transactions) / seconds;
        let made = in_time(|sink| sink.counts.connections) / seconds;
        round.metric(&RATE, self.settled() as f64 / seconds);
        round.metric(&TRANSACTIONS, transactions);
        round.metric(&CONNECTIONS, made);
        round.metric(&OPEN, self.summary.open_at_most as f64);
        let groups = carried.groups as f64 / carried.transactions.max(1) as f64;
        round.metric(&ROUND_TRIPS, groups);
        for (phase, half, most) in PHASES {
            let Some(times) = carried.latencies.get(&phase) else { continue };
            for (metric, share) in [(half, 0.5), (most, 0.99)] {
                let us = times.value_at_quantile(share) as f64;
                round.metric(metric, us * 1e3);
            }
        }
        let (spent, sink_ns) = (self.last.spent_since(&self.first), in_time(|sink| sink.cpu_ns));
        round.metric(&SENDER_CPU, spent.cpu.as_nanos() as f64 / recipients);
        round.metric(&SENDER_BUSY, self.sender_busy());
        round.metric(&SINK_CPU, sink_ns / recipients);
        round.metric(&SINK_BUSY, self.sink_busy());
        round.metric(&MEMORY, self.memory.map(|memory| memory as f64));
        let each = |switches: Option<u64>| switches.map(|switches| switches as f64 / recipients);
        round.metric(&VOLUNTARY_SWITCHES, each(spent.voluntary_switches));
        round.metric(&INVOLUNTARY_SWITCHES, each(spent.involuntary_switches));
        self.doubts(test_bed).into_iter().for_each(|why| round.doubt(why));
    }

    fn sender_busy(&self) -> f64 {
        let cpu = self.last.spent_since(&self.first).cpu;
        cpu.as_secs_f64() / self.counted().as_secs_f64().max(1e-9)
    }

    fn sink_busy(&self) -> f64 {
        let ns = self.last.sink.cpu_ns.saturating_sub(self.first.sink.cpu_ns);
        ns as f64 / self.counted().as_nanos().max(1) as f64
    }

    /// Doubts about the trial: bottlenecks other than the CPU of the sender.
    fn doubts(&self, test_bed: &TestBed) -> Vec<Doubt> {
        let carried = &self.summary.carried;
        let all = [
            (self.sink_busy() >= BUSY && self.sender_busy() < BUSY, Doubt::ReceiverSaturated),
            (test_bed.sender == test_bed.sink, Doubt::SharedCpu),
            (carried.shortages > 0, Doubt::SenderShortage),
            (carried.failed > 0, Doubt::ConnectionsLost),
        ];
        all.into_iter().filter_map(|(so, why)| so.then_some(why)).collect()
    }
}

/// Error in a delivery, if any, by the counts of the sender and those of the sink before and after it.
fn wrong(count: Count, said: &str, [before, after]: [&Counted; 2], is_dry: bool) -> Option<String> {
    let taken = after.rcpts - before.rcpts;
    let messages = after.messages - before.messages;
    let lost = count.failed + count.given_up;
    match () {
        () if !is_dry && messages == 0 && count.delivered > 0 => {
            Some("the sink received no message".to_owned())
        }
        () if is_dry && messages > 0 => Some(format!("{messages} messages were sent in test mode")),
        () if lost > 0 => Some(format!("{lost} recipients were not accepted: {said}")),
        () if taken != u64::from(count.delivered) => Some(format!(
            "the sink accepted {taken} recipients, and the sender counted {}",
            count.delivered
        )),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_fails_if_the_counts_differ_or_a_message_was_sent() {
        let counted = |rcpts, messages| Counted { rcpts, messages, ..Counted::default() };
        let wrong_of = |delivered, failed, after: Counted| {
            let count = Count { delivered, failed, ..Count::default() };
            wrong(count, "550 no", [&counted(5, 0), &after], true)
        };
        assert_eq!(wrong_of(10, 0, counted(15, 0)), None);
        let cases = [
            (
                wrong_of(10, 0, counted(14, 0)),
                "the sink accepted 9 recipients, and the sender counted 10",
            ),
            (wrong_of(10, 2, counted(15, 0)), "2 recipients were not accepted: 550 no"),
            (wrong_of(10, 0, counted(15, 1)), "1 messages were sent in test mode"),
        ];
        for (found, expected) in cases {
            assert_eq!(found.as_deref(), Some(expected));
        }
        let count = Count { delivered: 10, ..Count::default() };
        let sent = |messages| wrong(count, "", [&counted(5, 0), &counted(15, messages)], false);
        assert_eq!(sent(1), None);
        assert_eq!(sent(0).as_deref(), Some("the sink received no message"));
    }
}

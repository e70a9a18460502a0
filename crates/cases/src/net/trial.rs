//! One trial: a load on a server for a moment, and the figures that come of it.

use std::time::Duration;

use hdrhistogram::Histogram;
use measure::trial::Told;
use measure::{Combine, Direction, Params, Refusal, Round, doubt};
use netload::Protocol;
use netload::hosted::Spent;
use netload::load::{ErrorKind, Step};
use platform::counters::Counts;
use platform::network::listen_overflows;

use super::ground::Ground;
use crate::count_of;

/// The counted time of a trial. Before it the connections are opened and the load is on for a tenth of it.
const COUNTED: Duration = Duration::from_millis(100);
/// To start a server, stop it, and all else around the counted time.
const AROUND: Duration = Duration::from_millis(60);

/// The metrics of a load.
pub const METRICS: &[(&str, &str)] = &[
    ("rate", "replies a second, whole and right"),
    ("connect-p50", "half of the connections were established within this time"),
    ("connect-p99", "99 of 100 connections were established within this time"),
    (
        "reply-p50",
        "half of the replies were whole within this time from asking for the connection, or for the reply where \
         the connection stays",
    ),
    ("reply-p90", "nine of ten replies were whole within this time"),
    ("reply-p99", "99 of 100 replies were whole within this time"),
    ("reply-worst", "the longest time of any reply"),
    ("server-cpu", "CPU time of the server and all its processes, by reply"),
    ("server-busy", "CPUs that the server kept busy"),
    ("generator-cpu", "CPU time of the load generator, by reply"),
    ("generator-busy", "the share of the time that the generator had something to do"),
    ("voluntary-switches", "times the server gave up its CPU, to wait, by reply"),
    ("involuntary-switches", "times the server's CPU was taken away, by reply"),
    ("errors", "exchanges that came to nothing, as a share of all"),
    ("unanswered", "how long the oldest of the requests under way at the end had been waiting"),
];

/// About how long a trial takes of so many connections, for a server that answers about so many a second.
pub fn takes(params: &Params, replies_per_s: f64) -> Duration {
    let connections = count_of(params, "connections").unwrap_or(1) as f64;
    COUNTED + AROUND + Duration::from_secs_f64(connections / replies_per_s)
}

/// A load of as many connections as the parameters say.
pub fn run(params: &Params, protocol: Protocol, round: &mut Round) -> Result<(), Refusal> {
    let ground = Ground::new(params, round)?;
    let connections = count_of(params, "connections")?;
    super::limits::check(connections)?;
    let mut server = ground.server(params, protocol, round)?;
    let mut generator = ground.generator(&server, protocol)?;
    let mut moments = Vec::new();
    let mut load = || -> Result<Seen, Refusal> {
        let mut at_moment = || moments.push((server.spent(), listen_overflows(server.pid())));
        let step = generator.step_watched(connections, COUNTED, &mut at_moment)?;
        let (end, start) = (moments.pop(), moments.pop());
        let (Some((end, overflows)), Some((start, earlier))) = (end, start) else {
            return Err(Refusal::Failed("the load was not counted".into()));
        };
        let overflows = overflows.zip(earlier).map(|(now, then)| now.saturating_sub(then));
        Seen { step, server: end?.since(start?), overflows }.checked()
    };
    if round.is_counting() {
        let seen = load()?;
        round.report_counts(seen.step.replies, &[counts_of(&seen.server)]);
    } else {
        let told = round.trial_of(&ground.stage, || {
            let seen = load()?;
            Ok(Told { operations: seen.step.replies, took: seen.step.elapsed, value: seen })
        })?;
        told.value.report(round);
    }
    drop(generator);
    server.end_now()
}

/// What was seen of one load.
struct Seen {
    step: Step,
    server: Spent,
    /// Connections that the system dropped since too many waited to be accepted.
    overflows: Option<u64>,
}

impl Seen {
    /// A load without a single reply has no figure; a wrong reply makes all figures worthless.
    fn checked(self) -> Result<Self, Refusal> {
        let errors = &self.step.errors;
        if let Some(wrong) = &errors.first_wrong {
            return Err(Refusal::Failed(format!("a wrong reply: {wrong}")));
        }
        if self.step.replies == 0 {
            let met: Vec<String> = ErrorKind::ALL
                .into_iter()
                .filter(|&kind| errors.count(kind) > 0)
                .map(|kind| format!("{} {kind}", errors.count(kind)))
                .collect();
            let met = if met.is_empty() { "no error".to_owned() } else { met.join(", ") };
            return Err(Refusal::Failed(format!("not one reply: {met}")));
        }
        Ok(self)
    }

    fn report(&self, round: &mut Round) {
        let step = &self.step;
        let replies = step.replies as f64;
        let server_cpu = Duration::from_nanos(self.server.cpu_ns);
        let exchanges = (step.replies + step.errors.total()) as f64;
        let mut metric = |name, unit, better, value| {
            round.metric(name, unit, better, Combine::Median, value);
        };
        metric("rate", "replies/s", Direction::Higher, step.replies_per_s());
        for (name, times, p) in [
            ("connect-p50", &step.connect, 0.5),
            ("connect-p99", &step.connect, 0.99),
            ("reply-p50", &step.reply, 0.5),
            ("reply-p90", &step.reply, 0.9),
            ("reply-p99", &step.reply, 0.99),
            ("reply-worst", &step.reply, 1.0),
        ] {
            if let Some(ns) = quantile_of(times, p) {
                metric(name, "ns", Direction::Lower, ns);
            }
        }
        metric("server-cpu", "ns", Direction::Lower, self.server.cpu_ns as f64 / replies);
        metric("server-busy", "CPUs", Direction::Neither, step.share(server_cpu));
        if let Some(cpu) = step.cpu {
            metric("generator-cpu", "ns", Direction::Neither, cpu.as_nanos() as f64 / replies);
        }
        metric("generator-busy", "share", Direction::Neither, step.generator_busy());
        for (name, switches) in [
            ("voluntary-switches", self.server.voluntary_switches),
            ("involuntary-switches", self.server.involuntary_switches),
        ] {
            if let Some(switches) = switches {
                metric(name, "switches", Direction::Lower, switches as f64 / replies);
            }
        }
        metric("errors", "share", Direction::Lower, step.errors.total() as f64 / exchanges);
        let oldest = step.unfinished.oldest.as_nanos() as f64;
        metric("unanswered", "ns", Direction::Lower, oldest);
        self.doubts().into_iter().for_each(|why| round.doubt(why));
    }

    /// Where the server fell over, and why; where it was not the server that was measured.
    fn doubts(&self) -> Vec<&'static str> {
        let (step, server) = (&self.step, &self.server);
        let had = |kind| step.errors.count(kind) > 0;
        let all = [
            (step.client_saturated(), doubt::CLIENT_SATURATED),
            (server.no_process > 0, doubt::NO_PROCESS),
            (server.no_descriptor > 0, doubt::NO_DESCRIPTOR),
            (server.no_memory > 0, doubt::NO_MEMORY),
            (server.timed_out > 0, doubt::CLIENTS_SLOW),
            (self.overflows.is_some_and(|overflows| overflows > 0), doubt::QUEUE_FULL),
            (had(ErrorKind::Refused), doubt::REFUSED),
            (had(ErrorKind::Reset), doubt::RESET),
            (had(ErrorKind::TimedOut), doubt::TIMED_OUT),
            (had(ErrorKind::ClosedEarly), doubt::CLOSED_EARLY),
            (had(ErrorKind::NoPort), doubt::NO_PORT),
            (had(ErrorKind::NoDescriptor), doubt::CLIENT_NO_DESCRIPTOR),
        ];
        all.into_iter().filter_map(|(so, why)| so.then_some(why)).collect()
    }
}

/// What a server has spent, as the untimed pass tells it.
pub fn counts_of(spent: &Spent) -> Counts {
    Counts {
        syscalls: spent.syscalls,
        voluntary_switches: spent.voluntary_switches,
        involuntary_switches: spent.involuntary_switches,
        ..Counts::default()
    }
}

/// `None` where there were no times.
fn quantile_of(times: &Histogram<u64>, p: f64) -> Option<f64> {
    (!times.is_empty()).then(|| times.value_at_quantile(p) as f64)
}

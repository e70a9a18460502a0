use std::time::Duration;

use loadgen::{ErrorKind, Generators, Load, Offer, Step, Window};
use measure::trial::Timed;
use measure::{CaseError, Doubt, Params, Round};
use platform::process::limits::descriptors;
use servers::Protocol;
use servers::hosted::{Hosted, ServerReport};

use super::metrics::{
    CAPACITY, FAILED, GAVE_UP, GOODPUT, KEPT, OFFERED, OVERLOAD, REFUSED, REPLY_P50, REPLY_P99,
    SERVER_BUSY,
};
use super::test_bed::{NETWORK, PLACE, TestBed};
use super::trial::{quantile_of, watched};
use super::{ARCH, CPUS, ONE_OF_EACH_KIND, WORK, all_but, is_here};
use catalog::{Case, Extent, Param, Takes, Trials, length_of, value_of};

/// Architectures that behave under overload like another one.
const UNLIKELY: &[&str] = &["exec", "select", "poll", "wsapoll", "epoll-level", "epoll-per-cpu"];

pub const CASE: Case = Case {
    operation: "One request of independent clients, each with a connection of its own, that arrive at `load` \
                times the rate that the server answers with 64 connections in flight, and give up after `patience`.",
    comparable_to: "wrk2 also sends at a fixed rate and counts latency from the planned time, but waits for every \
                reply; the other figures of servers under load are those of clients that wait (closed loop), which \
                never send more than the server answers.",
    trials: Some(Trials { at_most: 6, on_host: true, includes, ..Trials::new(takes) }),
    params: &[
        Param {
            default: ONE_OF_EACH_KIND,
            full: &all_but::<9>(UNLIKELY),
            takes: Takes::Words(UNLIKELY),
            ..ARCH
        },
        Param::new("load", &["2"])
            .meaning("the requests offered, as a multiple of the rate that the server can answer")
            .full(&["0.5", "0.8", "1", "1.2", "1.5", "2", "3"])
            .takes(Takes::Words(&["0.25", "0.7", "0.9", "1.1", "1.3", "1.75", "2.5", "4"])),
        Param::new("patience", &["200ms"])
            .meaning(
                "how long a client waits for its reply: a server whose queue is longer than \
                 that does all its work in vain",
            )
            .full(&["200ms", "1s"])
            .takes(Takes::Words(&["50ms", "100ms", "500ms", "2s", "5s"])),
        // nginx has an accept queue of 511, and many programs one of 128.
        Param::new("backlog", &["128", "4096"])
            .meaning(
                "the length of the accept queue: the most connections that wait for the server; \
                 it drops further ones, whose clients try again after a second",
            )
            .takes(Takes::Count(u16::MAX as u64)),
        PLACE,
        NETWORK,
        // The work makes the server the bottleneck: its clients need a new connection for each request.
        Param { default: &["cpu:100us"], full: &["cpu:100us"], ..WORK },
        CPUS,
    ],
    metrics: OVERLOAD,
    run: |params, round| {
        let load: f64 = value_of(params, "load")?
            .parse()
            .map_err(|e| CaseError::Failed(format!("parameter load: {e}")))?;
        let patience = length_of(params, "patience")?;
        let test_bed = TestBed::new(params, round)?;
        let mut server = test_bed.server(params, Protocol::TOO_BUSY, round)?;
        let usual = test_bed.load(params, &server, Protocol::TOO_BUSY);
        let of_load = Load { timeout: patience, ..usual.clone() };
        // The clients that determine the capacity wait as long as usual: beside other programs all replies may be late.
        let patient = test_bed.generator(&usual)?;
        let generators = test_bed.generator(&of_load)?;
        let duration = COUNTED * round.times_as_long();
        let timed = round.trial_of(&test_bed.context, || {
            let generators = [patient, generators];
            let seen = ObservedOverload::of(generators, &of_load, load, duration, &mut server)?;
            server.end_now()?;
            Ok(Timed { operations: seen.step.planned, took: seen.step.elapsed, value: seen })
        })?;
        timed.value.report(round);
        Ok(())
    },
    ..Case::new("net", "overload")
};

/// Number of connections with which the capacity is determined.
const IN_FLIGHT: usize = 64;
/// Time for which the capacity is determined.
const WINDOW: Window = Window {
    at_least: Duration::from_millis(120),
    service_rounds: 2,
    at_most: Duration::from_millis(500),
};
/// Time under load before counting starts, in addition to the time after which clients give up as fast as they arrive.
const SETTLING: Duration = Duration::from_millis(50);
/// Time for which an overload is counted.
const COUNTED: Duration = Duration::from_millis(300);
/// Maximum number of connections at once.
const CONNECTIONS_AT_MOST: f64 = 20_000.0;
/// Number of descriptors besides those of connections.
const BESIDE: u64 = 64;

/// Observations of one overload.
struct ObservedOverload {
    /// Replies per second to clients that wait.
    capacity: f64,
    /// Whether the generator limited the capacity.
    is_bound: bool,
    step: Step,
    server: ServerReport,
}

impl ObservedOverload {
    /// Determines the capacity with the first generators, then offers `load` times that rate with the second ones and counts for
    /// `duration`.
    fn of(
        [mut patient, mut generators]: [Generators; 2],
        of_load: &Load,
        load: f64,
        duration: Duration,
        server: &mut Hosted,
    ) -> Result<Self, CaseError> {
        let mut ask = || server.report();
        let report_of = |answer: &Result<ServerReport, CaseError>| answer.as_ref().ok().copied();
        let (closed, ..) = watched(&mut ask, report_of, |server_cpu| {
            patient.step_watched(IN_FLIGHT, WINDOW, server_cpu)
        })?;
        drop(patient);
        let capacity = closed.replies_per_s();
        if closed.replies == 0 {
            return Err(CaseError::Failed("no reply to any client that waits".into()));
        }
        let per_second = capacity * load;
        // By Little's law no more connections are needed; clients beyond them give up without a connection.
        let most = per_second * of_load.timeout.as_secs_f64() * 1.2 + IN_FLIGHT as f64;
        let allowed = descriptors().map_or(f64::MAX, |limit| limit.saturating_sub(BESIDE) as f64);
        let offer = Offer {
            per_second,
            most: most.min(allowed).clamp(1.0, CONNECTIONS_AT_MOST) as usize,
            settling: of_load.timeout + SETTLING,
            duration,
            awaits_all: true,
        };
        let (step, start, end) =
            watched(&mut ask, report_of, |server_cpu| generators.offer(&offer, server_cpu))?;
        let is_bound = closed.client_saturated() || step.client_saturated();
        Self { capacity, is_bound, step, server: end?.since(start?) }.checked()
    }

    /// Fails if a reply was wrong, or if a request has no outcome.
    fn checked(self) -> Result<Self, CaseError> {
        let Step { planned, replies, errors, .. } = &self.step;
        if let Some(wrong) = &errors.first_wrong {
            return Err(CaseError::Failed(format!("a wrong reply: {wrong}")));
        }
        let accounted = replies + errors.total();
        if *planned == 0 || accounted != *planned {
            let left = self.step.unfinished.count;
            let why =
                format!("{accounted} of {planned} requests have an outcome, {left} are unfinished");
            return Err(CaseError::Failed(why));
        }
        Ok(self)
    }

    fn report(&self, round: &mut Round) {
        let step = &self.step;
        let seconds = step.elapsed.as_secs_f64().max(1e-9);
        let (offered, goodput) = (step.planned as f64 / seconds, step.replies_per_s());
        round.metric(&CAPACITY, self.capacity);
        round.metric(&OFFERED, offered);
        round.metric(&GOODPUT, goodput);
        round.metric(&KEPT, goodput / self.capacity.min(offered));
        for (metric, p) in [(&REPLY_P50, 0.5), (&REPLY_P99, 0.99)] {
            round.metric(metric, quantile_of(&step.reply, p));
        }
        let count = |kind| step.errors.count(kind);
        let refused = count(ErrorKind::Refused) + count(ErrorKind::Reset);
        let timed_out = count(ErrorKind::TimedOut);
        let failed = step.errors.total() - refused - timed_out;
        for (metric, count) in [(&REFUSED, refused), (&GAVE_UP, timed_out), (&FAILED, failed)] {
            round.metric(metric, count as f64 / step.planned as f64);
        }
        let cpu = Duration::from_nanos(self.server.cpu_ns);
        round.metric(&SERVER_BUSY, step.share(cpu));
        let had = |kind| count(kind) > 0;
        for (so, why) in [
            (self.is_bound, Doubt::ClientSaturated),
            (self.server.work_failed > 0, Doubt::WorkFailed),
            (had(ErrorKind::NoPort), Doubt::GeneratorLacksPort),
            (had(ErrorKind::NoDescriptor), Doubt::GeneratorLacksDescriptor),
        ] {
            if so {
                round.doubt(why);
            }
        }
    }
}

/// Whether a run of this extent measures the point: a default run measures a process and a thread for each connection, and an
/// event loop.
pub fn includes(params: &Params, extent: Extent) -> bool {
    let arch = value_of(params, "arch").unwrap_or_default();
    match extent {
        Extent::Full => true,
        Extent::Ordinary => {
            is_here(params) && ["fork", "threads", "epoll", "kqueue", "iocp"].contains(&arch)
        }
        Extent::Quick => false,
    }
}

/// Approximate duration of a trial.
pub fn takes(params: &Params) -> Duration {
    const AROUND: Duration = Duration::from_millis(100);
    let patience = length_of(params, "patience").unwrap_or_default();
    match is_here(params) {
        true => AROUND + WINDOW.at_least + SETTLING + COUNTED + 2 * patience,
        false => AROUND,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::tests::load_on_server;

    const PATIENCE: Duration = Duration::from_millis(200);

    #[test]
    fn every_request_of_an_overload_has_one_outcome() {
        for threads in [1, 2] {
            let load = Load { timeout: PATIENCE, ..load_on_server(Duration::from_millis(2)) };
            let mut all = Generators::new(&load, &vec![None; threads]).unwrap();
            let offer = Offer {
                per_second: 1_500.0,
                most: 200,
                settling: Duration::from_millis(50),
                duration: Duration::from_millis(400),
                awaits_all: true,
            };
            let step = all.offer(&offer, &mut || None).unwrap();
            assert!(step.planned > 0 && step.errors.count(ErrorKind::TimedOut) > 0, "{step:?}");
            assert_eq!(step.planned, step.replies + step.errors.total(), "{:?}", step.errors);
            assert_eq!((step.unfinished.count, step.threads), (0, threads));
            // A reply after the time limit does not count.
            let slack = Duration::from_millis(1).as_nanos() as u64;
            assert!(step.reply.max() <= PATIENCE.as_nanos() as u64 + slack, "{}", step.reply.max());
        }
    }
}

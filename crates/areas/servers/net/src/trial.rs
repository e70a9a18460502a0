//! One trial: a load on a server for a short time, and its metrics.

use std::time::Duration;

use hdrhistogram::Histogram;
use loadgen::{ErrorKind, Generators, SlowClients, Step, Window};
use measure::trial::Timed;
use measure::{CaseError, Doubt, Params, Round};
use platform::counters::Counts;
use servers::hosted::ServerReport;
use servers::{Protocol, Work};

use super::metrics::{
    CONNECT_P50, CONNECT_P99, ERRORS, GENERATOR_BUSY, GENERATOR_CPU, INVOLUNTARY_SWITCHES, RATE,
    REPLY_P50, REPLY_P90, REPLY_P99, REPLY_WORST, SERVER_BUSY, SERVER_CPU, SLOW_SERVED, UNANSWERED,
    VOLUNTARY_SWITCHES,
};
use super::network_namespace::listen_overflows;
use super::test_bed::TestBed;
use catalog::{count_of, size_of, value_of};

/// Counted time of a trial. With many connections, 100 ms can be too short to serve each of them once, and the percentiles would
/// be those of the connections served first. Therefore the trial waits until each could be served twice.
const WINDOW: Window = Window {
    at_least: Duration::from_millis(100),
    service_rounds: 2,
    at_most: Duration::from_millis(1_000),
};
/// Time to start a server, to stop it, and to read its reports.
const AROUND: Duration = Duration::from_millis(60);
/// Minimum time under load before counting starts.
const SETTLING: Duration = Duration::from_millis(10);

/// Approximate speed of an architecture on a small machine, per second.
pub struct Speed {
    /// Connections that the server accepts.
    pub accepted: f64,
    /// Replies that the server sends on established connections.
    pub replies: f64,
}

/// Approximate duration of a trial: starting the server, opening the connections, warming up, counting, and stopping the server
/// with all its processes.
pub fn takes(params: &Params, speed: &Speed) -> Duration {
    if !super::is_here(params) {
        return AROUND;
    }
    let connections = count_of(params, "connections").unwrap_or(1) as f64;
    let work = match value_of(params, "work").map(str::parse) {
        Ok(Ok(Work::Cpu(time))) => time.as_secs_f64(),
        _ => 0.0,
    };
    let opening = Duration::from_secs_f64(connections * (1.0 / speed.accepted + work));
    let service_round = Duration::from_secs_f64(connections * (1.0 / speed.replies + work));
    let settling = service_round.clamp(SETTLING, WINDOW.at_most / 2);
    let counted = (service_round * WINDOW.service_rounds).clamp(WINDOW.at_least, WINDOW.at_most);
    // The server writes to the memory first.
    let memory = Duration::from_nanos(size_of(params, "parent").unwrap_or(0) as u64 / 2);
    AROUND + opening + settling + counted + memory
}

/// Runs the load that the parameters describe, beside this number of slow connections.
///
/// # Errors
/// An error if a limit is too low, or if server or generator fail.
pub fn run(
    params: &Params,
    protocol: Protocol,
    slow: usize,
    round: &mut Round,
) -> Result<(), CaseError> {
    let test_bed = TestBed::new(params, round)?;
    let connections = count_of(params, "connections")?;
    platform::process::connections::check(connections + slow)?;
    let mut server = test_bed.server(params, protocol, round)?;
    let slow = match slow {
        0 => None,
        count => Some(SlowClients::start(server.address(), count, test_bed.client_cpu())?),
    };
    if let Some(slow) = &slow {
        slow.wait_for_first_requests();
    }
    let mut generator = test_bed.generator(&test_bed.load(params, &server, protocol))?;
    let slow_count = slow.as_ref().map(SlowClients::count);
    let mut window = WINDOW.times(round.times_as_long());
    if slow.is_some() {
        // In a shorter time not every slow client is to be answered once.
        window.at_least = window.at_least.max(SlowClients::REQUEST_TAKES);
    }
    // The closure ends the generator, the slow clients and the server.
    let load = move || -> Result<ObservedLoad, CaseError> {
        let mut ask = || Answer {
            server: server.report(),
            overflows: listen_overflows(server.pid()),
            slow_replies: slow.as_ref().map_or(0, SlowClients::replies),
        };
        let seen = ObservedLoad::of(&mut generator, connections, window, &mut ask)?;
        drop((generator, slow));
        server.end_now()?;
        Ok(seen)
    };
    if round.is_counting() {
        let seen = load()?;
        round.report_counts(seen.step.replies, &[counts_of(&seen.server)]);
        return Ok(());
    }
    let timed = round.trial_of(&test_bed.context, || {
        let seen = load()?;
        Ok(Timed { operations: seen.step.replies, took: seen.step.elapsed, value: seen })
    })?;
    timed.value.report(round);
    if let Some(count) = slow_count {
        let expected = SlowClients::REQUESTS_PER_S * count as f64;
        let each_s = timed.value.slow_replies as f64 / timed.elapsed.as_secs_f64().max(1e-9);
        // Replies to requests that were complete before are counted too, beside load more than those that are missing at the end.
        round.metric(&SLOW_SERVED, (each_s / expected).min(1.0));
    }
    Ok(())
}

/// Counters at one moment.
struct Answer {
    server: Result<ServerReport, CaseError>,
    overflows: Option<u64>,
    slow_replies: u64,
}

/// Observations of one load.
struct ObservedLoad {
    step: Step,
    server: ServerReport,
    /// Number of connections that the system dropped because the accept queue was full.
    overflows: Option<u64>,
    /// Number of replies to slow clients.
    slow_replies: u64,
}

impl ObservedLoad {
    /// Runs a load on `connections` connections. `ask` reads the counters of the server and of the system.
    fn of(
        generator: &mut Generators,
        connections: usize,
        window: Window,
        ask: &mut (dyn FnMut() -> Answer + Send),
    ) -> Result<Self, CaseError> {
        let (step, start, end) = watched(
            ask,
            |answer| answer.server.as_ref().ok().copied(),
            |server_cpu| generator.step_watched(connections, window, server_cpu),
        )?;
        let overflows = end.overflows.zip(start.overflows);
        let overflows = overflows.map(|(now, then)| now.saturating_sub(then));
        let slow_replies = end.slow_replies - start.slow_replies;
        Self { step, server: end.server?.since(start.server?), overflows, slow_replies }.checked()
    }

    /// Fails if there was no reply, or if a reply was wrong.
    fn checked(self) -> Result<Self, CaseError> {
        let errors = &self.step.errors;
        if let Some(wrong) = &errors.first_wrong {
            return Err(CaseError::Failed(format!("a wrong reply: {wrong}")));
        }
        if self.step.replies == 0 {
            let met = errors.in_words();
            let met = if met.is_empty() { "no error".to_owned() } else { met.join(", ") };
            return Err(CaseError::Failed(format!("no reply: {met}")));
        }
        Ok(self)
    }

    fn report(&self, round: &mut Round) {
        let step = &self.step;
        let replies = step.replies as f64;
        let server_cpu = Duration::from_nanos(self.server.cpu_ns);
        let exchanges = (step.replies + step.errors.total()) as f64;
        round.metric(&RATE, step.replies_per_s());
        for (metric, times, p) in [
            (&CONNECT_P50, &step.connect, 0.5),
            (&CONNECT_P99, &step.connect, 0.99),
            (&REPLY_P50, &step.reply, 0.5),
            (&REPLY_P90, &step.reply, 0.9),
            (&REPLY_P99, &step.reply, 0.99),
            (&REPLY_WORST, &step.reply, 1.0),
        ] {
            round.metric(metric, quantile_of(times, p));
        }
        round.metric(&SERVER_CPU, self.server.cpu_ns as f64 / replies);
        round.metric(&SERVER_BUSY, step.share(server_cpu));
        round.metric(&GENERATOR_CPU, step.cpu.map(|cpu| cpu.as_nanos() as f64 / replies));
        round.metric(&GENERATOR_BUSY, step.generator_busy());
        let each = |switches: Option<u64>| switches.map(|switches| switches as f64 / replies);
        round.metric(&VOLUNTARY_SWITCHES, each(self.server.voluntary_switches));
        round.metric(&INVOLUNTARY_SWITCHES, each(self.server.involuntary_switches));
        round.metric(&ERRORS, step.errors.total() as f64 / exchanges);
        round.metric(&UNANSWERED, step.unfinished.oldest.as_nanos() as f64);
        self.doubts().into_iter().for_each(|why| round.doubt(why));
    }

    /// Doubts: the reasons why the server was saturated or rejected clients, and whether the generator was the bottleneck.
    fn doubts(&self) -> Vec<Doubt> {
        let (step, server) = (&self.step, &self.server);
        let had = |kind| step.errors.count(kind) > 0;
        let all = [
            (step.client_saturated(), Doubt::ClientSaturated),
            (server.no_process > 0, Doubt::ServerLacksProcess),
            (server.no_descriptor > 0, Doubt::ServerLacksDescriptor),
            (server.no_memory > 0, Doubt::ServerLacksMemory),
            (server.work_failed > 0, Doubt::WorkFailed),
            (server.timed_out > 0, Doubt::ClientsTooSlow),
            (self.overflows.is_some_and(|overflows| overflows > 0), Doubt::AcceptQueueFull),
            (had(ErrorKind::Refused), Doubt::ConnectionsRefused),
            (had(ErrorKind::Reset), Doubt::ConnectionsReset),
            (had(ErrorKind::TimedOut), Doubt::TimedOut),
            (had(ErrorKind::ClosedEarly), Doubt::ClosedEarly),
            (had(ErrorKind::NoPort), Doubt::GeneratorLacksPort),
            (had(ErrorKind::NoDescriptor), Doubt::GeneratorLacksDescriptor),
        ];
        all.into_iter().filter_map(|(so, why)| so.then_some(why)).collect()
    }
}

/// Runs a load, and returns it with the answers at the beginning and at the end of the counted time. `ask` reads the counters;
/// `report_of` is the server's part of an answer.
///
/// # Errors
/// Errors of the load.
pub fn watched<A: Send>(
    ask: &mut (dyn FnMut() -> A + Send),
    report_of: impl Fn(&A) -> Option<ServerReport> + Sync,
    load: impl FnOnce(&mut (dyn FnMut() -> Option<Duration> + Send)) -> Result<Step, CaseError>,
) -> Result<(Step, A, A), CaseError> {
    let mut answers = Vec::with_capacity(2);
    let step = load(&mut || {
        let answer = ask();
        let cpu = report_of(&answer).map(|report| Duration::from_nanos(report.cpu_ns));
        answers.push(answer);
        cpu
    })?;
    match (answers.pop(), answers.pop()) {
        (Some(end), Some(start)) => Ok((step, start, end)),
        _ => Err(CaseError::Failed("the load was not counted".into())),
    }
}

/// The counts of a server's report, for the untimed pass.
pub fn counts_of(report: &ServerReport) -> Counts {
    Counts {
        syscalls: report.syscalls,
        voluntary_switches: report.voluntary_switches,
        involuntary_switches: report.involuntary_switches,
        ..Counts::default()
    }
}

/// A quantile of the times; `None` if there are no times.
pub fn quantile_of(times: &Histogram<u64>, p: f64) -> Option<f64> {
    (!times.is_empty()).then(|| times.value_at_quantile(p) as f64)
}

#[cfg(test)]
pub mod tests {
    use std::io::Write;
    use std::net::TcpListener;

    use loadgen::Load;

    use super::*;

    /// A load on a server that answers one connection at a time and takes at least `each` for it.
    pub fn load_on_server(each: Duration) -> Load {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                std::thread::sleep(each);
                let _ = stream.write_all(b"450 too busy\r\n");
            }
        });
        Load::new(to, Protocol::TOO_BUSY)
    }

    /// The observations of a load on such a server that reports this CPU time.
    fn seen(each: Duration, connections: usize, server_cpu: Duration) -> ObservedLoad {
        let mut cpu_ns = [7, 7 + server_cpu.as_nanos() as u64].into_iter();
        let mut ask = || Answer {
            server: Ok(ServerReport { cpu_ns: cpu_ns.next().unwrap(), ..ServerReport::default() }),
            overflows: None,
            slow_replies: 0,
        };
        let mut generator = Generators::new(&load_on_server(each), &[]).unwrap();
        ObservedLoad::of(&mut generator, connections, WINDOW, &mut ask).unwrap()
    }

    #[test]
    fn the_generator_is_the_bottleneck_only_if_the_server_was_idle() {
        let is_client_saturated = |server_cpu: Duration| {
            let mut seen = seen(Duration::ZERO, 2, server_cpu);
            assert_eq!(seen.step.server_cpu, Some(server_cpu));
            seen.step.waiting = Duration::ZERO;
            seen.doubts().contains(&Doubt::ClientSaturated)
        };
        assert!(is_client_saturated(Duration::from_millis(1)));
        assert!(!is_client_saturated(Duration::from_secs(3_600)));
    }

    #[test]
    fn counting_lasts_until_all_connections_were_served_several_times() {
        // In 100 ms at most 50 of the 60 connections are answered.
        let step = seen(Duration::from_millis(2), 60, Duration::ZERO).step;
        let is_cut_short = step.elapsed >= WINDOW.at_most;
        assert!(step.replies + step.errors.total() >= 2 * 60 || is_cut_short, "{step:?}");
    }
}
